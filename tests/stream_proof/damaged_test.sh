#!/bin/sh
# A damaged model and the program as a person meets it: exit 12 with the file's name, what was done stays, and
# after the repair the same command ends with the bytes of a run that nothing disturbed.
#
#   damaged_test.sh NIGHTJAR
set -- "$1" unused
. "$(dirname "$0")/../cli/lib.sh"

"$nightjar" synth model --layers 4 --experts 16 >/dev/null || exit 1
cat >job.yaml <<'YAML'
nightjar: 1
name: noise
model: model
sampling: {temperature: 0.8, max_tokens: 40, seed: 1}
prompts:
  - {id: a, ids: [1, 2, 3]}
  - {id: b, ids: [4]}
  - {id: c, ids: [5, 6, 7, 8, 9, 10, 11, 12]}
  - {id: d, ids: [13, 14]}
YAML
shard=model-00003-of-000005.safetensors
cp "model/$shard" whole

# shellcheck disable=SC2086 # $little is several words
check "below the floor a run is refused with both figures" 11 "$nightjar" run job.yaml --out undisturbed --memory 1MB
has err "at least"
floor=$(sed -n 's/.*at least \([0-9]*\) bytes.*/\1/p' err | head -n 1)
[ -n "$floor" ] || fail "no figure in the refusal"
# One item at a time, and little more than its floor: every sweep reads the trunk anew.
little="--batch 1 --memory $((floor + floor / 8))B"

check "an undisturbed run" 0 "$nightjar" run job.yaml --out undisturbed
check "the same with little memory" 0 "$nightjar" run job.yaml --out little $little
name="little memory gives the same bytes"
cmp undisturbed/results.jsonl little/results.jsonl || fail "results differ"

small_stack() (
    ulimit -s 64 && exec "$@"
)
check "the same with a stack of 64 KiB" 0 small_stack "$nightjar" run job.yaml --out small $little
cmp undisturbed/results.jsonl small/results.jsonl || fail "results differ"

check "the same with reader threads" 0 "$nightjar" run job.yaml --out threads $little --reader threads
has err "weights are read by reader threads, as demanded"
cmp undisturbed/results.jsonl threads/results.jsonl || fail "results differ"
check "there are two readers" 2 "$nightjar" run job.yaml --out none $little --reader mmap
has err "none of auto, ring and threads"

# damaged WHAT: refused with 12, and after the repair as undisturbed.
damaged() {
    check "$1: refused" 12 "$nightjar" run job.yaml --out damaged $little
    has err "$shard"
    cp whole "model/$shard"
    check "$1: repaired" 0 "$nightjar" run job.yaml --out damaged $little
    cmp undisturbed/results.jsonl damaged/results.jsonl || fail "results differ"
    rm -rf damaged
}

length=$(wc -c <whole)
truncate -s $((length - 1)) "model/$shard"
damaged "a shard shorter by one byte"
truncate -s $((length / 2)) "model/$shard"
damaged "half a shard"
rm "model/$shard"
damaged "a shard that is not there"
sed '1s/"shape":\[192\]/"shape":[193]/' whole >"model/$shard"
damaged "a header that lies about a shape"
sed '1s/"dtype":"BF16"/"dtype":"F32 "/' whole >"model/$shard"
damaged "a header with a type that there is not"

# Cut while running: the run waits for nothing, ends, and keeps what it had.
sed 's/max_tokens: 40/max_tokens: 1000/' job.yaml >long.yaml
check "a long run, undisturbed" 0 "$nightjar" run long.yaml --out long-undisturbed
"$nightjar" run long.yaml --out cut $little >/dev/null 2>said &
pid=$!
grown() {
    [ -s cut/tokens.log ] && [ "$(wc -c <cut/tokens.log)" -gt 400 ]
}
wait_for 30 grown || fail "the run does not get going"
truncate -s $((length / 4)) "model/$shard"
check "a shard cut while running" 12 wait "$pid"
cp said err
has err "$shard"
has err "wanted"
cp whole "model/$shard"
check "the same command goes on after the repair" 0 "$nightjar" run long.yaml --out cut
name="a run that was cut gives the same bytes"
cmp long-undisturbed/results.jsonl cut/results.jsonl || fail "results differ"

# Overwritten while running, with its header and its length as they were: what a sweep gave meanwhile is nobody's.
"$nightjar" run long.yaml --out written $little >/dev/null 2>said &
pid=$!
grown() {
    [ -s written/tokens.log ] && [ "$(wc -c <written/tokens.log)" -gt 400 ]
}
wait_for 30 grown || fail "the run does not get going"
dd if=/dev/urandom of="model/$shard" bs=4096 seek=$((length / 8192)) count=8 conv=notrunc 2>/dev/null
check "a shard overwritten while running" 12 wait "$pid"
cp said err
has err "$shard"
has err "was written to"
check "other weights are another model" 6 "$nightjar" run long.yaml --out written
cp whole "model/$shard"
check "the same command goes on with the old bytes" 0 "$nightjar" run long.yaml --out written
name="a run that was disturbed by other weights gives the same bytes"
cmp long-undisturbed/results.jsonl written/results.jsonl || fail "results differ"

finish
