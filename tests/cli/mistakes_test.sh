#!/bin/sh
# What a person does wrong, and what the program answers: exit codes, messages, and the same as
# JSON.
#
#   mistakes_test.sh NIGHTJAR MAKE_TINY_MODEL
. "$(dirname "$0")/lib.sh"
make_pair

# The model.
check "describe of a file is a model error" 12 "$nightjar" describe job.yaml
has err "a model is a directory"
check "a run with a file as its model is a model error" 12 "$nightjar" run job.yaml --model job.yaml
has err "a model is a directory"
mkdir jobs
sed 's/model: model/model: nowhere/' job.yaml >jobs/lost.yaml
check "a model that is nowhere was looked for in two places" 12 "$nightjar" run jobs/lost.yaml
has err "no directory jobs/nowhere beside the job file and no nowhere in the working directory"
check "validate names them too" 0 "$nightjar" validate jobs/lost.yaml
has out "no directory jobs/nowhere beside the job file and no nowhere in the working directory"
cp -r model torn
shard=$(ls torn/*.safetensors | sed -n 3p)
rm "$shard"
check "a missing shard is one complaint" 12 "$nightjar" describe torn
has err "$(basename "$shard") is missing ("
has err " tensors)"
lacks err ".weight"
rm -r torn
cp -r model torn
truncate -s -100 "$shard"
check "a shortened shard is said to be cut short" 12 "$nightjar" describe torn
has err "the file is cut short"

# The run folder.
check "a file as the run folder is a usage error" 2 "$nightjar" run job.yaml --out job.yaml
has err "is not a folder or cannot be made"
check "a run folder below a file is a usage error" 2 "$nightjar" run job.yaml --out job.yaml/below
mkdir closed && chmod 500 closed
printf 'a\n1\n' >secret.csv && chmod 000 secret.csv
printf 'nightjar: 1\nmodel: model\nrows: secret.csv\nids: [1]\n' >secret.yaml
# The system refuses root nothing, so root becomes somebody else here.
unprivileged() {
    "$@"
}
may_be_refused=true
if [ "$(id -u)" -eq 0 ]; then
    chmod 755 . model && chmod 644 model/*
    unprivileged() {
        setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
    }
    unprivileged "$nightjar" --version >out 2>&1 || may_be_refused=false
fi
if $may_be_refused; then
    check "a run folder where nothing may be made is a permission" 9 \
        unprivileged "$nightjar" run job.yaml --out closed/below
    check "rows that may not be read are a permission" 9 unprivileged "$nightjar" validate secret.yaml
    check "a job file that may not be read is a permission" 9 \
        unprivileged "$nightjar" validate secret.csv
else
    echo "skip permissions: there is no user to become"
fi

# Flags, before anything else is looked at.
check "an unknown CPU level" 2 "$nightjar" run no.yaml --cpu-level z80
check "too many threads" 2 "$nightjar" run no.yaml --threads 1025
has err "1 to 1024"
check "an epsilon out of range" 2 "$nightjar" run no.yaml --latent-norm-eps 2
check "a flag that resembles none" 2 "$nightjar" run job.yaml --nope
lacks err "did you mean"
check "no job file" 2 "$nightjar" run
has err "run wants a job file: nightjar run FILE"
check "two of them" 2 "$nightjar" run job.yaml other.yaml
has err "run wants one job file, 2 were given: job.yaml, other.yaml"
check "a job file without a verb" 2 "$nightjar" job.yaml
has err 'no verb "job.yaml"; to run a job file: nightjar run job.yaml'
check "a verb with a slip" 2 "$nightjar" valdate job.yaml
has err 'no verb "valdate", did you mean validate?'
check "help with an unknown flag" 0 "$nightjar" run --nope --help
has out "nightjar run FILE [flags]"
check "help of a verb" 0 "$nightjar" help validate
has out "nightjar validate FILE..."
check "help with a flag" 0 "$nightjar" help --help
has out "nightjar bench model"
has out "nightjar bench sweep"
check "help of no verb" 2 "$nightjar" help walk
check "a run's help has all its exit codes" 0 "$nightjar" run --help
for code in 0 1 2 3 6 7 9 11 12 13 70 75; do
    grep -q "^ *$code  " out || fail "no $code"
done

# 1000 stacks do not fit. Sanitizers reserve more than that before they begin.
limited() {
    (
        ulimit -v 400000
        exec "$@"
    )
}
if limited "$nightjar" --version >out 2>&1; then
    check "compute threads that cannot start do not fit" 11 \
        limited "$nightjar" run job.yaml --out crowd --threads 1000
    has err "start compute thread"
else
    echo "skip threads: the program does not start below the limit"
fi

# Whatever fails in a run folder, it is said in which: names of files are the same in all.
sed 's/^prompts:/output: {formats: [markdown]}\n&/' job.yaml >md.yaml
check "a run into a folder of one letter" 0 "$nightjar" run job.yaml --out t
echo mine >t/items
check "a file where the folder of items goes" 13 "$nightjar" run md.yaml --out t
has err "work in the run folder t: open items: Not a directory"
few_files() {
    (
        ulimit -n "$1"
        shift
        exec "$@"
    )
}
for n in 6 7 8 9 10 11; do
    if ! few_files "$n" "$nightjar" run job.yaml --out few --threads 1 2>err >out &&
        grep -q "Too many open files" err; then
        tail -n 1 err >last
        grep -q "model\|run folder few" last || fail "$n files: $(cat last)"
    fi
done

check "a batch that is too wide" 2 "$nightjar" run no.yaml --batch 65537
has err "--batch 65537: a whole number from 1 to 65536 is wanted"
check "no number at all" 2 "$nightjar" run no.yaml --batch ""
has err "--batch: an empty value"

# Job files.
printf 'nightjar: 1\nids: [1]\n---\n' >trailing.yaml
check "a line of dashes at the end begins no job" 0 "$nightjar" validate trailing.yaml
has out "ok: trailing.yaml, 1 item"
printf -- '---\n---\n' >empty.yaml
check "a file of empty documents has no job" 3 "$nightjar" validate empty.yaml
has err "empty.yaml: no job in file, a job begins with 'nightjar: 1'"
awk '{ print } /^model/ { print "budget: {max_items: 2, max_output_tokens: 3}" }' job.yaml >poor.yaml
check "a budget without room has its place" 3 "$nightjar" validate poor.yaml
has err "poor.yaml:4:43: \`budget.max_output_tokens\` of 3 has no room for the first item, raise it"
lacks err "nightjar: "
check "and as JSON" 3 "$nightjar" run poor.yaml --json
has err '"file":"poor.yaml","line":4,"column":43,'
check "one item is no plural" 0 "$nightjar" validate --model model job.yaml
has out "ok: job.yaml, 2 items, 6 prompt tokens"
printf 'nightjar: 1\nids: [1]\n' >one.yaml
check "a job without a model is counted in items" 0 "$nightjar" validate one.yaml
has out "ok: one.yaml, 1 item (no model here"
printf 'n\n' >none.csv
printf 'nightjar: 1\nmodel: model\nrows: none.csv\nids: [1]\n' >none.yaml
check "no items are a mistake to validate" 3 "$nightjar" validate none.yaml
has err "the job has nothing to do"
check "no items are a mistake to run" 3 "$nightjar" run none.yaml
awk 'BEGIN { print "n,m"; for (i = 0; i < 30000; i++) print i }' >ragged.csv
printf 'nightjar: 1\nrows: ragged.csv\nids: [1]\n' >ragged.yaml
check "complaints that are left out are counted" 3 "$nightjar" validate ragged.yaml
has err "and 29,900 more"
awk 'BEGIN { print "n"; for (i = 0; i < 50; i++) print i }' >rows.csv
printf 'nightjar: 1\nmodel: model\nrows: rows.csv\nid: "row-{{n}}"\nids: [1, 99999999]\n' >ids.yaml
check "ids outside the vocabulary are found by validate" 3 "$nightjar" validate ids.yaml
has err "rows.csv:2:1: item 0 (row-0): id 1 is 99999999"
has err "rows.csv:21:1: item 19 (row-19)"
lacks err "rows.csv:22:"
has err "and 30 more"
check "and by run" 3 "$nightjar" run ids.yaml
has err "rows.csv:2:1: item 0 (row-0): id 1 is 99999999"
has err "and 30 more"
sed 's/max_tokens: 6/max_tokens: 2000000000/' job.yaml >wide.yaml
check "a context that is too short says what to do" 3 "$nightjar" validate wide.yaml
has err "shorten the prompt or lower \`max_tokens\`"

# The same as JSON.
check "a run as JSON" 0 "$nightjar" run job.yaml --out run --json
[ ! -s err ] || fail "something on stderr"
has out '"type":"run_started"'
has out '"type":"token"'
has out '"type":"run_done"'
has out '"folder":"run"'
grep -qv '^{"version":1,"type":' out && fail "a line that is no event"
check "a finished run as JSON says so" 0 "$nightjar" run job.yaml --out run --json
has out '"type":"run_done"'
has out '"items":2,"items_done":2,"items_failed":0,"items_kept":2'
check "an error as JSON" 12 "$nightjar" run job.yaml --json --model nowhere
has err '{"version":1,"code":"'
has err '"exit_code":12,"message":"'
check "a flag's mistake as JSON" 2 "$nightjar" run job.yaml --nope --json
has err '"code":"usage","exit_code":2'
check "mistakes in a job as JSON" 3 "$nightjar" run ids.yaml --json
has err '"file":"rows.csv","line":2,'
has err '"complaints_left_out":30'
check "validate as JSON" 0 "$nightjar" validate job.yaml one.yaml --json
has out '{"version":1,"files":[{"file":"job.yaml","is_valid":true,"items":2,"model":"model","prompt_tokens":6,"code":"ok","exit_code":0'
has out '{"file":"one.yaml","is_valid":true,"items":1,"model":null,"prompt_tokens":null'
has out '"no_model":null'
check "where a model was looked for, as JSON" 0 "$nightjar" validate jobs/lost.yaml --json
has out '"no_model":"'
has out 'no directory jobs/nowhere beside the job file'
check "describe as JSON" 0 "$nightjar" describe model --json
has out '{"version":1,"model":"model","graph":{'
check "a missing model as JSON" 12 "$nightjar" describe nowhere --json
has err '"exit_code":12,"message":"'
[ ! -s out ] || fail "something on stdout"
check "validate of mistakes as JSON" 3 "$nightjar" validate ids.yaml --json
has out '"is_valid":false'
[ ! -s err ] || fail "something on stderr"

finish
