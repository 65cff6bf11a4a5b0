#!/bin/sh
# The program as a person meets it: verbs, exit codes, what goes to stdout and what to stderr.
#
#   program_test.sh NIGHTJAR MAKE_TINY_MODEL
. "$(dirname "$0")/../../cli/lib.sh"
make_pair
sed 's/4, 5/4, 55/' job.yaml >changed.yaml
printf 'nightjar: 1\nids: [1]\nsampling: {temprature: 1}\n' >typo.yaml
printf 'nightjar: 1\nname: gone\nmodel: nowhere\nids: [1]\n' >gone.yaml

check "no verb is a usage error" 2 "$nightjar"
check "an unknown verb is a usage error" 2 "$nightjar" walk
has err 'no verb "walk"'
check "help is data" 0 "$nightjar" --help
has out "nightjar run FILE "
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
[ -f results/pair.1/results.jsonl ] || fail "nothing was kept"

check "describe tells what is on" 0 "$nightjar" describe model
has out "attention residuals          on"
has out "fingerprint"
check "describe wants a model" 12 "$nightjar" describe nowhere

# A signal: the end of the sweep, 75, and the command that continues.
sed 's/max_tokens: 6/max_tokens: 4000, n: 100/' job.yaml >long.yaml
"$nightjar" run long.yaml --out signalled --threads 1 >out 2>err &
pid=$!
wait_for 20 log_has_grown signalled || fail "it does not get going"
kill -TERM "$pid"
check "a signalled run says 75" 75 wait "$pid"
"$nightjar" run long.yaml --out "signalled" --threads 1 >out 2>err &
pid=$!
has_restored() {
    grep -q restored err
}
wait_for 20 has_restored || fail "it restores nothing"
kill -TERM "$pid"
wait "$pid"
code=$?
name="a continued run that is stopped names the command that continues"
[ "$code" -eq 75 ] || fail "exit code $code"
has err "continue with: nightjar run long.yaml --out signalled --threads 1"
has err "restored"

finish
