#!/bin/sh
# The program as a person meets it: verbs, exit codes, what goes to stdout and what to stderr.
#
#   program_test.sh NIGHTJAR MAKE_TINY_MODEL
set -u
nightjar=$1
make_tiny_model=$2
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
n_failures=0

# check NAME WANTED_CODE COMMAND...: runs it, keeps out and err.
check() {
    name=$1
    wanted=$2
    shift 2
    "$@" >out 2>err
    code=$?
    if [ "$code" -ne "$wanted" ]; then
        echo "FAIL $name: exit code $code, wanted $wanted"
        sed 's/^/    /' err
        n_failures=$((n_failures + 1))
    else
        echo "ok   $name"
    fi
}

# has FILE TEXT: the last command's output contains the text.
has() {
    if ! grep -qF -- "$2" "$1"; then
        echo "FAIL $name: $1 lacks \"$2\":"
        sed 's/^/    /' "$1"
        n_failures=$((n_failures + 1))
    fi
}

"$make_tiny_model" t5 model || exit 1
cat >job.yaml <<'YAML'
nightjar: 1
name: pair
model: model
sampling: {temperature: 0.9, max_tokens: 6, seed: 1}
prompts:
  - {id: a, ids: [1, 2, 3]}
  - {id: b, ids: [4, 5, 6]}
YAML
sed 's/4, 5/4, 55/' job.yaml >changed.yaml
printf 'nightjar: 1\nids: [1]\nsampling: {temprature: 1}\n' >typo.yaml
printf 'nightjar: 1\nname: gone\nmodel: nowhere\nids: [1]\n' >gone.yaml

check "no verb is a usage error" 2 "$nightjar"
check "an unknown verb is a usage error" 2 "$nightjar" walk
has err 'no verb "walk"'
check "help is data" 0 "$nightjar" --help
has out "nightjar run FILE.yaml"
check "the version is data" 0 "$nightjar" --version
for verb in run validate describe; do
    check "$verb has help" 0 "$nightjar" "$verb" --help
    has out "nightjar $verb"
done

check "a good job file is valid" 0 "$nightjar" validate job.yaml
has out "ok: job.yaml, 2 items"
check "a typo has its place" 3 "$nightjar" validate job.yaml typo.yaml
has err "typo.yaml:3:12"
has err "temperature"
check "an absent job file is an input error" 3 "$nightjar" run no.yaml
check "an absent model is a model error" 12 "$nightjar" run gone.yaml
check "a flag's typo is a usage error" 2 "$nightjar" run job.yaml --thread 2
has err "did you mean --threads?"
check "an unknown CPU level is a usage error" 2 "$nightjar" run job.yaml --cpu-level z80

check "a run ends with 0" 0 "$nightjar" run job.yaml
has out "results/pair/results.jsonl"
has err "2 of 2 items done, 0 failed; 12 tokens generated"
check "a finished run is said to be" 0 "$nightjar" run job.yaml
has err "nothing to do: all 2 items finished before"
check "a changed job is refused" 6 "$nightjar" run changed.yaml
has err "--restart"
check "restart goes on" 0 "$nightjar" run changed.yaml --restart
has err "6 tokens generated"
check "fresh begins again" 0 "$nightjar" run changed.yaml --fresh
has err "12 tokens generated"
[ -f results/pair.1/results.jsonl ] || { echo "FAIL fresh kept nothing"; n_failures=$((n_failures + 1)); }

check "describe tells what is on" 0 "$nightjar" describe model
has out "attention residuals          on"
has out "fingerprint"
check "describe wants a model" 12 "$nightjar" describe nowhere

# A signal: the end of the sweep, 75, and the command that continues.
sed 's/max_tokens: 6/max_tokens: 4000/' job.yaml >long.yaml
"$nightjar" run long.yaml --out signalled --threads 1 >out 2>err &
pid=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    [ -s signalled/tokens.log ] && [ "$(wc -c <signalled/tokens.log)" -gt 1000 ] && break
    sleep 0.1
done
kill -TERM "$pid"
check "a signalled run says 75" 75 wait "$pid"
"$nightjar" run long.yaml --out "signalled" --threads 1 >out 2>err &
pid=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    grep -q restored err && break
    sleep 0.1
done
kill -TERM "$pid"
wait "$pid"
code=$?
name="a continued run that is stopped names the command that continues"
if [ "$code" -eq 75 ]; then
    echo "ok   $name"
    has err "continue with: nightjar run long.yaml --out signalled --threads 1"
    has err "restored"
else
    echo "FAIL $name: exit code $code"
    n_failures=$((n_failures + 1))
fi

[ "$n_failures" -eq 0 ]
