#!/bin/sh
# Long rows, prompts and results are part of what --memory says, by the kernel's count: a batch is as narrow as
# they make it, and what does not fit is refused before work, with both figures.
#
#   rows_test.sh NIGHTJAR FLEDGLING PEAK
fledgling=$2
peak=$3
set -- "$1" unused
. "$(dirname "$0")/../cli/lib.sh"

# 12 rows of 1 MB, each of which its result repeats.
awk 'BEGIN {
    for (i = 0; i < 12; i++) {
        printf "{\"n\":\"%d\",\"text\":\"", i
        for (k = 0; k < 100000; k++) printf "word %03d, ", i
        print "\"}"
    }
}' >rows.jsonl
cat >job.yaml <<YAML
nightjar: 1
name: long
model: $fledgling
rows: rows.jsonl
prompt: "Tell a story about {{n}}."
sampling: {temperature: 1, max_tokens: 3, seed: 1}
output: {formats: [jsonl, csv, markdown]}
YAML

check "as much memory as there is" 0 "$nightjar" run job.yaml --out whole --threads 1
check "32 MB are kept" 0 \
    "$peak" 33600000 "$nightjar" run job.yaml --out part --threads 1 --memory 32MB
cmp whole/results.jsonl part/results.jsonl || fail "results differ"

check "a batch that is given and does not fit is refused" 11 \
    "$peak" 24000000 "$nightjar" run job.yaml --out wide --threads 1 --memory 24MB --batch 12
has err "rows, prompts and results of 12 items of this job may take"
has err "bytes of memory"
has err "the ceiling is 24000000"
[ ! -e wide ] || fail "it has made a folder"
check "rows for which memory does not suffice are refused" 11 \
    "$peak" 20000000 "$nightjar" run job.yaml --out small --threads 1 --memory 20MB
has err "rows, prompts and results of 1 item of this job may take"

finish
