#!/bin/sh
# Every key that nightjar.yaml(5) names does something when a job is run, or is said to be left aside.
# Each is put into a small job, whose run is compared with that of the job without it. The last test
# compares the keys with those of the manual, so that none is forgotten.
#
#   keys_test.sh NIGHTJAR SOURCE_FOLDER
set -u
nightjar=$1
source=$2
model=$source/examples/fledgling
[ -f "$model/model.safetensors.index.json" ] || {
    echo "skipped: no model in $model"
    exit 77
}
# Some seventy short runs, which would wait for the disk and nothing else.
folder=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
n_failures=0
tried=" "

fail() {
    echo "FAIL $1: $2"
    n_failures=$((n_failures + 1))
}

# run NAME CODE: NAME.yaml into the folder NAME.
run() {
    "$nightjar" run "$1.yaml" --out "$1" >"$1.out" 2>"$1.err"
    code=$?
    [ "$code" -eq "$2" ] || fail "$1" "exit code $code, wanted $2: $(tail -n 2 "$1.err")"
}

cat >base.yaml <<YAML
nightjar: 1
model: $model
chat: true
system: Be brief.
vars: {a: Norway}
prompt: "Tell me of {{a}}."
job_seed: 1
sampling: {temperature: 3, max_tokens: 12}
YAML
run base 0

# with KEY OLD NEW: KEY.yaml is the base, the lines that begin with OLD replaced by NEW; without OLD, NEW is
# put behind them.
with() {
    tried="$tried$1 "
    if [ -n "$2" ]; then
        grep -v "^$2" base.yaml >"$1.yaml"
    else
        cp base.yaml "$1.yaml"
    fi
    printf '%s\n' "$3" >>"$1.yaml"
}

# changes KEY OLD NEW: the results are others.
changes() {
    with "$@"
    run "$1" 0
    cmp -s base/results.jsonl "$1/results.jsonl" && fail "$1" "the results are the same"
}

# sets KEY VALUE: the same for a key of `sampling`.
sets() {
    changes "$1" sampling "sampling: {temperature: 3, max_tokens: 12, $1: $2}"
}

# keeps KEY OLD NEW: not one byte of the results is another.
keeps() {
    with "$@"
    run "$1" 0
    cmp -s base/results.jsonl "$1/results.jsonl" || fail "$1" "the results are others"
}

# ends KEY OLD NEW CODE TEXT: the run ends so, and says why.
ends() {
    with "$1" "$2" "$3"
    run "$1" "$4"
    grep -qF -- "$5" "$1.err" || fail "$1" "does not say \"$5\": $(cat "$1.err")"
}

# What is asked, and of whom.
ends nightjar nightjar "nightjar: 2" 3 "format version 2"
ends model model "model: nowhere" 12 "nowhere"
changes prompt prompt "prompt: Tell me of {{a}} and Oslo."
changes messages 'prompt\|system' "messages: [{role: user, content: 'Say {{a}}.'}]"
changes ids 'prompt\|system\|vars\|chat' "ids: [1, 2, 3]"
changes prompts prompt "prompts: ['{{a}}', b]"
changes system system "system: Be long."
changes chat 'chat\|system' "chat: false"
changes thinking "" "thinking: high"
changes vars vars "vars: {a: Peru}"
changes rows vars "rows: [{a: Peru}, {a: Chad}]"
changes id "" "id: 'about-{{a}}'"
changes matrix vars "matrix: {a: [Peru, Chad]}"
changes repeat "" "repeat: 2"
changes job_seed job_seed "job_seed: 2"
changes latent_norm_eps "" "latent_norm_eps: 0.9"

# Tokens.
changes temperature sampling "sampling: {temperature: 0, max_tokens: 12}"
changes max_tokens sampling "sampling: {temperature: 3, max_tokens: 2}"
sets top_p 0.01
sets top_k 1
sets min_p 1
sets presence_penalty -2
sets frequency_penalty -2
sets repeat_penalty 10
sets logit_bias "{65: 100}"
sets seed 5
sets n 2
sets stop "[a, e, i, o, u, ' ']"
sets stop_token_ids "65, logit_bias: {65: 100}"
cmp -s logit_bias/results.jsonl stop_token_ids/results.jsonl && fail stop_token_ids "nothing stopped"
sets logprobs 2
ends response_format "" "response_format: text" 3 "'response_format' is not supported"

# Rows in a file, and combinations.
printf 'a\nPeru\nChad\nMali\nOman\n' >rows.csv
printf 'a;b\nPeru;1\n' >rows.txt
# chooses KEY VALUE ITEMS: `rows` with the key takes so many of the four.
chooses() {
    changes "$1" vars "rows: {$2}"
    items=$(wc -l <"$1/results.jsonl")
    [ "$items" -eq "$3" ] || fail "$1" "$items items, wanted $3"
}
chooses file "file: rows.csv" 4
chooses limit "file: rows.csv, limit: 3" 3
chooses offset "file: rows.csv, offset: 3" 1
chooses shuffle_seed "file: rows.csv, limit: 3, shuffle_seed: 7" 3
cmp -s limit/results.jsonl shuffle_seed/results.jsonl && fail shuffle_seed "the rows are not shuffled"
chooses format "file: rows.txt, format: csv, delimiter: ';'" 1
chooses delimiter "file: rows.txt, format: csv, delimiter: ';'" 1
changes include vars "matrix: {a: [Peru, Chad], include: [{a: Mali}]}"
[ "$(wc -l <include/results.jsonl)" -eq 3 ] || fail include "not three items"
changes exclude vars "matrix: {a: [Peru, Chad], exclude: [{a: Chad}]}"
[ "$(wc -l <exclude/results.jsonl)" -eq 1 ] || fail exclude "not one item"

# Limits.
tried="$tried budget max_items max_output_tokens max_runtime item_timeout "
changes budget vars "$(printf 'rows: rows.csv\nbudget: {max_items: 2}')"
[ "$(wc -l <budget/results.jsonl)" -eq 2 ] || fail max_items "not two items"
changes max_output_tokens vars "$(printf 'rows: rows.csv\nbudget: {max_output_tokens: 30}')"
[ "$(wc -l <max_output_tokens/results.jsonl)" -eq 2 ] || fail max_output_tokens "not two items"
ends max_runtime "" "budget: {max_runtime: 1ms}" 1 "max_runtime"
with item_timeout "" "budget: {item_timeout: 1ms}"
run item_timeout 7
grep -q '"status":"failed"' item_timeout/errors.jsonl || fail item_timeout "no item failed"
with stop_on_failures vars "$(printf 'rows: rows.csv\nbudget: {item_timeout: 1ms}\nbatch: 1\nstop_on_failures: 1')"
run stop_on_failures 1
ends context "" "context: 20" 3 "\`context\`"

# What changes time only.
ends memory "" "memory: 1MB" 11 "memory"
keeps batch "" "batch: 3"
keeps threads "" "threads: 1"
keeps states "" "states: disk"
grep -q "states on disk: " states.err || fail states "not said to be on disk: $(cat states.err)"
[ -z "$(ls states | grep slots)" ] || fail states "a file of states is left: $(ls states)"
keeps prefix_cache "" "prefix_cache: off"
printf 'prefix_cache: none\n' | cat base.yaml - >wrong.yaml
"$nightjar" validate wrong.yaml >wrong.out 2>&1 && fail prefix_cache "none is taken"
keeps snapshot "" "snapshot: {every: 1 sweeps, compress: 9, write_budget: 1MB}"
tried="$tried every compress write_budget "

# What is written.
changes formats vars "$(printf 'rows: rows.csv\noutput: {formats: [csv, markdown], filename: "of-{{a}}"}')"
[ -f formats/results.csv ] || fail formats "no results.csv"
ls formats/items | grep -q "of-Peru" || fail filename "no file is called so: $(ls formats/items)"
tried="$tried filename output "
with dir "" "$(printf 'output: {dir: below}\nname: a job')"
"$nightjar" run dir.yaml >dir.out 2>dir.err || fail dir "$(cat dir.err)"
[ -f "below/a job/results.jsonl" ] || [ -f below/a-job/results.jsonl ] || fail name "no folder of that name in below"
tried="$tried name "
keeps description "" "description: of no effect"
keeps tags "" "tags: [of, no, effect]"
grep -q "of no effect" description/spec.yaml || fail description "not kept with the run"

# What only the daemon obeys: checked, and named as left aside.
# leaves KEY VALUE WRONG
leaves() {
    keeps "$1" "" "$1: $2"
    grep -q "$1" "$1.err" || fail "$1" "not said to be left aside: $(cat "$1.err")"
    printf '%s: %s\n' "$1" "$3" | cat base.yaml - >wrong.yaml
    "$nightjar" validate wrong.yaml >wrong.out 2>&1 && fail "$1" "$3 is taken"
}
leaves nice 10 20
leaves schedule '{window: "22:30-06:30", days: [mon], timezone: UTC, on_window_end: pause}' '{window: 22}'
leaves power '{on_battery: pause, inhibit_sleep: true}' '{on_battery: stop}'
leaves guards '{load_below: 2, user_idle_for: 10m}' '{load_below: low}'
leaves retry '{max_attempts: 3, backoff: 30s}' '{max_attempts: 0}'
leaves priority low urgent
leaves after '[other]' '[{when: ok}]'
leaves preempt true maybe
leaves group_by_prefix true maybe
leaves on_done '[notify-send, done]' 'notify-send done'
leaves on_failed '[notify-send, failed]' '[]'
leaves on_item_failed '[notify-send, failed]' '{run: [x], notify: desktop}'
leaves on_paused '{notify: desktop}' '{notify: me}'

# The manual names no other.
tried="$tried sampling x-... "
for key in $(sed -n 's/^\.It Cm //p' "$source/docs/man/nightjar.yaml.5" | tr -d ,); do
    case "$tried" in
    *" $key "*) ;;
    *) fail "$key" "the manual names it, and nothing here tries it" ;;
    esac
done
[ "$n_failures" -eq 0 ]
