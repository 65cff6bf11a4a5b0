#!/bin/sh
# First light in a few minutes: builds nightjar, answers questions with the model that ships, kills the
# run half-way with SIGKILL, continues it, and proves that nothing changed.
#
#   sh examples/quickstart.sh
#
# Exit 0 only if the killed and continued run gave the same bytes as an undisturbed one, and at least
# one item had been broken off between its first and its last token.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build

say()
{
    printf '\n== %s\n' "$*"
}

quietly()
{
    "$@" >>build/quickstart.log 2>&1 || {
        tail -n 60 build/quickstart.log >&2
        exit 1
    }
}

say "Packages and build"
sh .ci/packages build
: >build/quickstart.log
quietly cmake -S . -B build/quickstart -G Ninja -DCMAKE_BUILD_TYPE=Release -DNJ_BUILD_TESTS=OFF
quietly cmake --build build/quickstart
nightjar=build/quickstart/nightjar
"$nightjar" --version

job=jobs/capitals.yaml
out=build/quickstart-runs
rm -rf "$out"
n_items=$(($(wc -l <jobs/capitals.csv) - 1))

say "An undisturbed run of $job ($n_items questions)"
"$nightjar" run "$job" --out "$out/undisturbed"

# Done marks in the journal: 64 bytes of file header, then records of 32 bytes of header (type, payload length,
# ...) and the payload, padded to 8 (docs/formats/record-log.md); type 4 is "done".
n_done()
{
    [ -s "$1/journal.log" ] || { echo 0; return; }
    od -A n -v -t u4 "$1/journal.log" | awk '
        { for (i = 1; i <= NF; i++) word[n++] = $i }
        END {
            for (at = 16; at + 8 <= n; at += 8 + 2 * int((word[at + 1] + 7) / 8)) {
                n_done += word[at] == 4
            }
            print n_done + 0
        }'
}

# Runs the job four items at a time and kills it between a third and two thirds.
run_and_kill()
{
    "$nightjar" run "$job" --out "$1" --batch 4 2>"$out/killed.log" &
    pid=$!
    while [ "$(n_done "$1")" -lt $((n_items * 2 / 5)) ] && kill -0 "$pid" 2>/dev/null; do
        sleep 0.01
    done
    kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
    done_items=$(n_done "$1")
    [ "$done_items" -ge $((n_items / 3)) ] && [ "$done_items" -le $((n_items * 2 / 3)) ]
}

# What the continued run says of itself: "kept N finished items, restored M tokens of K items under way".
restored()
{
    sed -n 's/.*restored \([0-9]*\) tokens of \([0-9]*\) items.*/\1 \2/p' "$1" | head -n 1
}

say "The same job, killed with SIGKILL half-way, then continued by the same command"
attempt=1
while :; do
    killed=$out/killed-$attempt
    if run_and_kill "$killed"; then
        echo "killed when the journal had $done_items of $n_items items as done"
        "$nightjar" run "$job" --out "$killed" --batch 4 2>"$out/resumed.log" || {
            cat "$out/resumed.log" >&2
            exit 1
        }
        cat "$out/resumed.log"
        set -- $(restored "$out/resumed.log")
        [ "${1:-0}" -gt 0 ] && [ "${2:-0}" -gt 0 ] && break
        echo "no item was between its first and last token at that instant: once more"
    else
        echo "the kill came at $done_items of $n_items items: once more"
    fi
    attempt=$((attempt + 1))
    if [ "$attempt" -gt 20 ]; then
        echo "could not break an item off in 20 attempts" >&2
        exit 1
    fi
done

say "Questions and answers"
awk -f examples/score.awk "$killed/results.jsonl"

say "Proof"
sha256sum "$out/undisturbed/results.jsonl" "$killed/results.jsonl"
cmp "$out/undisturbed/results.jsonl" "$killed/results.jsonl"
echo "byte-identical: the killed and continued run gave what the undisturbed one gave"
