#!/bin/sh
# The process around the program: descriptors, signals, limits, output that does not arrive.
#
#   process_test.sh NIGHTJAR MAKE_TINY_MODEL
. "$(dirname "$0")/lib.sh"
make_pair

# Descriptors that are closed at the start belong to no file of ours.
name="a run without standard files ends with 1: what it prints is lost"
"$nightjar" run job.yaml --out closed <&- >&- 2>&-
[ $? -eq 1 ] || fail "exit code"
"$nightjar" run job.yaml --out open >out 2>err
name="and has the same results"
cmp -s closed/results.jsonl open/results.jsonl || fail "results differ"
name="nothing printed lands in a file of the run"
for file in closed/*; do
    if grep -aq "items done" "$file"; then
        fail "$file holds printed text"
    fi
done

# Output that does not arrive is not silent, and a reader who has seen enough is no error.
if [ -e /dev/full ]; then
    name="a full device"
    for words in "run job.yaml --out open" "describe model" "validate job.yaml" --help "help run" --version; do
        # shellcheck disable=SC2086 # the words are meant to be split
        "$nightjar" $words >/dev/full 2>err
        [ $? -eq 1 ] || fail "$words does not say 1"
        has err "write to standard output: No space left on device"
    done
fi
name="a closed standard output"
for words in "run job.yaml --out open" "describe model" "validate job.yaml" --help "help run" --version; do
    # shellcheck disable=SC2086
    "$nightjar" $words >&- 2>err
    [ $? -eq 1 ] || fail "$words does not say 1"
    has err "write to standard output: it is closed"
done
"$nightjar" run job.yaml --out open --json >&- 2>err
[ $? -eq 1 ] || fail "--json does not say 1"
has err '{"version":1,"warning":"write to standard output: it is closed"}'
name="with nothing to print, a closed standard output is none of our business"
"$nightjar" run absent.yaml >&- 2>err
[ $? -eq 3 ] || fail "exit code"
lacks err "standard output"
for words in "describe model" "validate job.yaml" --help; do
    name="a closed pipe after $words"
    # shellcheck disable=SC2086
    { "$nightjar" $words 2>err; echo $? >code; } | true
    wait_for 5 test -s code
    [ "$(cat code)" -eq 0 ] || fail "exit code $(cat code)"
    [ ! -s err ] || fail "it complains"
    rm -f code
done

name="a reader of events that goes away does not end the run"
{ "$nightjar" run job.yaml --out unread --json 2>err; echo $? >code; } | head -n 1 >out
wait_for 10 test -s code
[ "$(cat code)" -eq 0 ] || fail "exit code $(cat code)"
[ ! -s err ] || fail "it complains"
cmp -s unread/results.jsonl open/results.jsonl || fail "results differ"

# A file over its limit is a failed write, not a death.
(
    ulimit -f 1
    sed 's/max_tokens: 6/max_tokens: 3000/' job.yaml >large.yaml
    "$nightjar" run large.yaml --out limited >out 2>err
)
code=$?
name="a limit on file sizes is failed storage"
[ "$code" -eq 13 ] || fail "exit code $code"
has err "File too large"

# Signals.
sed 's/max_tokens: 6/max_tokens: 4000, n: 100/' job.yaml >long.yaml
name="a hang-up ends a run like a signal to stop"
"$nightjar" run long.yaml --out hungup --threads 1 >out 2>err &
pid=$!
wait_for 20 log_has_grown hungup || fail "it does not get going"
kill -HUP "$pid"
wait "$pid"
code=$?
[ "$code" -eq 75 ] || fail "exit code $code"
has err "continue with: nightjar run long.yaml --out hungup --threads 1"

name="a hang-up that was ignored at the start stays ignored"
(
    trap '' HUP
    exec "$nightjar" run long.yaml --out kept --threads 1
) >out 2>err &
pid=$!
wait_for 20 log_has_grown kept || fail "it does not get going"
kill -HUP "$pid"
sleep 0.3
kill -0 "$pid" 2>/dev/null || fail "it has ended"
kill -TERM "$pid"
wait "$pid"
code=$?
[ "$code" -eq 75 ] || fail "exit code $code"

# Shells start what runs in the background with interrupts ignored; env undoes that.
name="an interrupt ends a run at the end of a sweep"
env --default-signal=INT "$nightjar" run long.yaml --out interrupted --threads 1 >out 2>err &
pid=$!
wait_for 20 log_has_grown interrupted || fail "it does not get going"
kill -INT "$pid"
wait "$pid"
code=$?
[ "$code" -eq 75 ] || fail "exit code $code"
has err "continue with: nightjar run long.yaml --out interrupted --threads 1"

name="an interrupt that was ignored at the start stays ignored"
(
    trap '' INT
    exec "$nightjar" run long.yaml --out uninterrupted --threads 1
) >out 2>err &
pid=$!
wait_for 20 log_has_grown uninterrupted || fail "it does not get going"
kill -INT "$pid"
sleep 0.3
kill -0 "$pid" 2>/dev/null || fail "it has ended"
kill -TERM "$pid"
wait "$pid"

# Before the first sweep nothing is under way: rows that never come must not hold a signal up.
name="a signal before the first sweep takes effect at once"
awk 'BEGIN { print "n"; for (i = 0; i < 300000; i++) print i }' >many.csv
printf 'nightjar: 1\nmodel: model\nrows: many.csv\nvars: {k: v}\nids: [1]\nid: "{{n}}"\n' >many.yaml
"$nightjar" run many.yaml --out early >out 2>err &
pid=$!
sleep 0.3
kill -TERM "$pid"
wait "$pid"
code=$?
[ "$code" -eq 75 ] || fail "exit code $code"
has err "stopped at once; the same command continues"
[ ! -e early/tokens.log ] || fail "it had begun"

finish
