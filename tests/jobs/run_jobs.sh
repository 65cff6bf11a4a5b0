#!/bin/sh
# Runs each job file in jobs/ on the model that ships and checks that every item is there, in order,
# and ok.
#
#   run_jobs.sh NIGHTJAR SOURCE_FOLDER
set -u
nightjar=$1
source=$2
model=$source/examples/fledgling
[ -f "$model/model.safetensors.index.json" ] || {
    echo "skipped: no model in $model"
    exit 77
}
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
n_jobs=0
n_failures=0

fail() {
    echo "FAIL $name: $1"
    n_failures=$((n_failures + 1))
}

for job in "$source"/jobs/*.yaml; do
    name=$(basename "$job" .yaml)
    n_jobs=$((n_jobs + 1))
    began=$(date +%s)
    n_items=$("$nightjar" validate "$job" | sed -n "s/^ok: .*, \([0-9,]*\) items*\(,.*\)*\$/\1/p" | tr -d ,)
    if ! "$nightjar" run "$job" --out "$folder/$name" >/dev/null 2>"$folder/$name.err"; then
        fail "$(tail -n 3 "$folder/$name.err")"
        continue
    fi
    results=$folder/$name/results.jsonl
    n_lines=$(wc -l <"$results")
    n_ok=$(grep -c '"status":"ok"' "$results")
    in_order=$(sed 's/^{"index":\([0-9]*\),.*/\1/' "$results" |
        awk '$0 != NR - 1 { wrong = 1 } END { print wrong ? "no" : "yes" }')
    [ "${n_items:-0}" -gt 0 ] || fail "validate counts no items"
    [ "$n_lines" = "$n_items" ] || fail "$n_lines results of $n_items items"
    [ "$n_ok" = "$n_items" ] || fail "$n_ok of $n_items are ok"
    [ "$in_order" = yes ] || fail "results are not in input order"
    grep -q '"finish_reason":"stop"' "$results" || fail "no item came to an end by itself"
    echo "$name: $n_ok of $n_items ok, $(($(date +%s) - began)) s"
done
[ "$n_jobs" -gt 0 ] || {
    echo "FAIL no job files"
    exit 1
}
[ "$n_failures" -eq 0 ]
