#!/bin/sh
# Whatever memory is given from the floor on, all that a run takes is in its plan: it does not end for want of
# memory after it began, and it does not go on without snapshots.
#
#   widths_test.sh NIGHTJAR FLEDGLING
fledgling=$2
set -- "$1" unused
. "$(dirname "$0")/../cli/lib.sh"

cat >job.yaml <<YAML
nightjar: 1
name: foxes
model: $fledgling
prompt: Tell a story about a fox.
repeat: 32
job_seed: 7
sampling: {temperature: 1, max_tokens: 4}
YAML

check "as much memory as there is" 0 "$nightjar" run job.yaml --out whole
for megabytes in 17 18 19 20 21 22 24 28 32 48; do
    check "$megabytes MB" 0 "$nightjar" run job.yaml --out part --memory "${megabytes}MB"
    cmp whole/results.jsonl part/results.jsonl || fail "results differ"
    rm -rf part
done

finish
