#!/bin/sh
# The test suite: `sh tests/run.sh`; longer campaigns with `sh tests/run.sh --long`.
#
# Installs missing Debian packages, builds with gcc and clang, and runs everything that must hold.
# Prints a line a step with its time, and ends with "N passed, N failed, N skipped".
set -u
cd "$(dirname "$0")/.." || exit 1
long=
case "${1:-}" in
"") ;;
--long) long=1 ;;
*)
    echo "usage: sh tests/run.sh [--long]" >&2
    exit 2
    ;;
esac

sh .ci/packages test || exit 1

jobs=$(nproc)
# Many tests wait for the drive.
test_jobs=$((jobs + 1))
logs=build/logs
mkdir -p "$logs"
passed=0
failed=0
skipped=0

# step NAME COMMAND...: runs it, keeps its output in a log, shows the log if it failed.
step()
{
    name=$1
    shift
    log=$logs/$(echo "$name" | tr ' /' '--').log
    begin=$(date +%s)
    if "$@" >"$log" 2>&1; then
        outcome=ok
    else
        outcome=FAIL
    fi
    seconds=$(($(date +%s) - begin))
    echo "$outcome  $name (${seconds} s)"
    count_tests "$log"
    if [ "$outcome" = FAIL ]; then
        tail -n 80 "$log"
        [ "$ctest_total" -gt 0 ] || failed=$((failed + 1))
        return 1
    fi
    [ "$ctest_total" -gt 0 ] || passed=$((passed + 1))
}

# Adds what ctest counted in a log, and shows each test with its time.
count_tests()
{
    ctest_total=$(grep -c -E '^ *[0-9]+/[0-9]+ Test +#' "$1")
    [ "$ctest_total" -gt 0 ] || return 0
    grep -E '^ *[0-9]+/[0-9]+ Test +#' "$1"
    ctest_skipped=$(grep -c -E '^ *[0-9]+/[0-9]+ Test .*\*\*\*Skipped' "$1")
    ctest_passed=$(grep -c -E '^ *[0-9]+/[0-9]+ Test .* Passed ' "$1")
    skipped=$((skipped + ctest_skipped))
    passed=$((passed + ctest_passed))
    failed=$((failed + ctest_total - ctest_passed - ctest_skipped))
}

# configure_and_build PRESET TARGET...
configure_and_build()
{
    preset=$1
    shift
    cmake --preset "$preset" && cmake --build --preset "$preset" -j "$jobs" --target "$@"
}

sources()
{
    git ls-files -co --exclude-standard -- '*.c' '*.h' 2>/dev/null || find src include tests examples -name '*.[ch]'
}

check_format()
{
    sources | xargs clang-format-14 --dry-run -Werror
}

# The analyzer follows at most so many states of a function: a third of its own limit takes a quarter of the
# time, and the long form goes the whole way.
analyzer_states=75000
[ -z "$long" ] || analyzer_states=225000

check_tidy()
{
    sources | grep -E '^src/.*\.c$' |
        xargs -P "$jobs" -n 1 clang-tidy-14 --quiet -p build/debug \
            --extra-arg=-Xclang --extra-arg=-analyzer-config \
            --extra-arg=-Xclang --extra-arg=max-nodes=$analyzer_states
}

step "format" check_format
step "build release (gcc)" configure_and_build release all &&
    step "tests release (gcc)" ctest --preset release -j "$test_jobs"

# The second compiler builds the sanitized tree, so that each source passes both and bits are compared across them.
CC=clang-14 && export CC
step "build debug (clang; address, undefined)" configure_and_build debug all && {
    step "tests debug (clang; address, undefined)" ctest --preset debug -LE slow -j "$test_jobs"
    step "clang-tidy" check_tidy
}
# What runs on more than one thread: the engine, its reads and snapshots, and the runner above them.
threaded='base\.pool|stream\.(frames|readers)|model\.(sweep|streamed)|generate\.generator|oracle\.t5'
threaded="$threaded"'|identity\.hashes_t13|snapshot\.handover|runner\.run|crash\.bits'
step "build thread (clang)" configure_and_build thread \
    test_base_pool test_stream_frames test_stream_readers test_model_sweep test_model_streamed \
    test_generate_generator golden_test hashes_test test_snapshot_handover test_runner_run test_crash_bits &&
    step "tests thread (clang)" ctest --preset thread -R "^($threaded)\$"
unset CC
if [ -n "$long" ]; then
    step "fuzz, long" sh tests/fuzz/run.sh 300
    step "campaigns" ctest --preset release -C long -L long
    step "crashes under sanitizers" ctest --preset debug -R '^crash\.(storage|kill_steps|folder)$|^snapshot\.damage$'
    step "coverage" sh tests/coverage.sh && cat "$logs/coverage.log"
else
    step "fuzz, short" sh tests/fuzz/run.sh 5
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
