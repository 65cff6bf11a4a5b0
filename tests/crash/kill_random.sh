#!/bin/sh
# The real program on the model that ships: a sampled job, killed by SIGKILL at twenty random times,
# ends with the bytes of a run that nothing disturbed, and nothing is sampled twice.
#
#   kill_random.sh NIGHTJAR SOURCE_FOLDER [SEED]
set -u
nightjar=$1
source=$2
seed=${3:-1}
n_kills_wanted=20
model=$source/examples/fledgling
stories=$source/jobs/stories
[ -f "$model/model.safetensors.index.json" ] && [ -f "$stories.yaml" ] || {
    echo "skipped: no model in $model, or no $stories.yaml"
    exit 77
}
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

# The shipped job over its first rows: long enough to be killed often, short enough to wait for.
job=$folder/stories.yaml
cp "$stories.yaml" "$job"
head -n 31 "$stories.csv" >"$folder/stories.csv"

milliseconds() {
    echo $(($(date +%s%N) / 1000000))
}

run() {
    "$nightjar" run "$job" --model "$model" --batch 4 --out "$1" 2>"$folder/err" >/dev/null
}

began=$(milliseconds)
run "$folder/undisturbed" || {
    cat "$folder/err"
    exit 1
}
length_ms=$(($(milliseconds) - began))
wanted=$(sha256sum <"$folder/undisturbed/results.jsonl")
tokens=$(sed -n 's/.*; \([0-9]*\) tokens generated.*/\1/p' "$folder/err")
echo "undisturbed: $length_ms ms, $tokens tokens"

# A life lasts up to an eighth of the whole, so that a run dies several times before it is done.
lifetimes=$(awk -v seed="$seed" -v n=200 -v most="$((length_ms / 8 + 50))" \
    'BEGIN { srand(seed); for (i = 0; i < n; i++) printf "%.3f ", rand() * most / 1000 }')
n_kills=0
n_runs=1
n_restored=0
n_under_way=0

count_restored() {
    restored=$(sed -n 's/.*restored \([0-9]*\) tokens of.*/\1/p' "$folder/err" | head -n 1)
    n_restored=$((n_restored + ${restored:-0}))
    [ "${restored:-0}" -gt 0 ] && n_under_way=$((n_under_way + 1))
}

finish() {
    [ "$(sha256sum <"$folder/killed-$n_runs/results.jsonl")" = "$wanted" ] || {
        echo "FAIL run $n_runs, after $n_kills kills: results differ"
        exit 1
    }
    n_runs=$((n_runs + 1))
}

for lifetime in $lifetimes; do
    [ "$n_kills" -lt "$n_kills_wanted" ] || break
    "$nightjar" run "$job" --model "$model" --batch 4 --out "$folder/killed-$n_runs" \
        2>"$folder/err" >/dev/null &
    pid=$!
    sleep "$lifetime"
    kill -KILL "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    code=$?
    count_restored
    if [ "$code" -eq 0 ]; then
        finish
    else
        n_kills=$((n_kills + 1))
    fi
done
run "$folder/killed-$n_runs" || {
    cat "$folder/err"
    exit 1
}
count_restored
finish
echo "$n_kills kills over $((n_runs - 1)) runs, $n_restored tokens restored, $n_under_way times of items under way"
[ "$n_kills" -eq "$n_kills_wanted" ] || exit 1
[ "$n_restored" -gt 0 ] || {
    echo "FAIL nothing was ever restored"
    exit 1
}
