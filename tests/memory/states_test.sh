#!/bin/sh
# A batch that does not fit into memory with its states runs with them on disk: the same results, a smaller
# floor, and a line that says what was written. What the disk or the write budget does not hold makes it
# narrower, and never another text.
#
#   states_test.sh NIGHTJAR SOURCE_FOLDER
set -u
nightjar=$1
source=$2
model=$source/examples/fledgling
[ -f "$model/model.safetensors.index.json" ] || {
    echo "skipped: no model in $model"
    exit 77
}
folder=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

die() {
    echo "$1" >&2
    exit 1
}

cat >job.yaml <<YAML
nightjar: 1
model: $model
chat: true
prompt: "Tell me of {{n}}."
rows: rows.csv
job_seed: 1
sampling: {temperature: 1, max_tokens: 16}
YAML
{
    echo n
    seq 1 48
} >rows.csv
"$nightjar" run job.yaml --out base --states memory 2>base.err || die "in memory: $(cat base.err)"

# The floor of 48 items at once, as a refusal tells it.
floor() {
    "$nightjar" run job.yaml --out "floor-$1" --states "$1" --batch 48 --memory 1MB 2>"floor-$1.err"
    [ $? -eq 11 ] || die "1 MB is not refused: $(cat "floor-$1.err")"
    sed -n 's/.* at least \([0-9]*\) bytes of memory.*/\1/p' "floor-$1.err"
}
in_memory=$(floor memory)
on_disk=$(floor disk)
echo "floors of 48 items: $in_memory bytes with states in memory, $on_disk with states on disk"
[ "$on_disk" -lt "$in_memory" ] || die "states on disk save nothing"
[ "$(floor auto)" -lt "$in_memory" ] || die "auto is refused with the floor of memory"

# Between the two: memory is refused, auto goes to disk.
between=$(((in_memory + on_disk) / 2))
"$nightjar" run job.yaml --out refused --states memory --batch 48 --memory "${between}B" 2>refused.err
[ $? -eq 11 ] || die "$between bytes hold 48 states after all: $(cat refused.err)"
"$nightjar" run job.yaml --out auto --batch 48 --memory "${between}B" 2>auto.err || die "auto: $(cat auto.err)"
cmp base/results.jsonl auto/results.jsonl || die "other results"
grep -q 'states on disk: room for 48 items' auto.err || die "not said to be on disk: $(cat auto.err)"
grep 'GB an hour' auto.err || die "what was written is not said: $(cat auto.err)"
ls auto | grep slots && die "a file of states is left"

# Without a batch the write budget says how many: here never more than one.
printf 'snapshot: {write_budget: 1kB}\n' >>job.yaml
"$nightjar" run job.yaml --out narrow --states disk --limit 4 --json >narrow.json 2>narrow.err ||
    die "narrow: $(cat narrow.err)"
grep -o '"running":[0-9]*' narrow.json | sort -u >widths
grep -v ':[01]$' widths && die "more than one item under way: $(cat widths)"
head -n 4 base/results.jsonl | cmp - narrow/results.jsonl || die "other results when narrow"
