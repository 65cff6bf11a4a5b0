#!/bin/sh
# Builds the fuzz targets with clang's libFuzzer and runs each for so many seconds, two at a time.
#
#   sh tests/fuzz/run.sh SECONDS [TARGET...]      e.g. sh tests/fuzz/run.sh 30 safetensors json
#
# A target is a file NAME_fuzz.c here. It is linked with the files of src/ that its lines " * Links: FILE..."
# name, else with the folders whose headers it includes; always with base. It first gets the large inputs
# of large_inputs.sh, which must be dealt with in a minute of processor time and 1 GiB. What it finds interesting is kept in
# build/fuzz/corpus/NAME for the next run; what breaks it in build/fuzz/found/NAME-*. Exit 0 when nothing broke.
set -eu

if [ $# -lt 1 ]; then
    sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi

root=$(cd "$(dirname "$0")/../.." && pwd)
work=${NJ_FUZZ_DIRECTORY:-$root/build/fuzz}
compiler=${CC:-clang-14}
flags="-std=c11 -D_GNU_SOURCE -g -O1 -ffp-contract=off -fno-math-errno -fno-omit-frame-pointer
       -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
       -I$root/src -I$root/include -I$root/tests"
libraries="-lpcre2-8 -lyaml -ljansson -lcrypto -lz -lpthread -lm"
limits="-rss_limit_mb=2048 -malloc_limit_mb=1024"
large_processor_seconds=60 # for all large inputs of a target; instrumented code is ten times slower
cd "$root"

# The sources of src/ that a target needs.
sources_of() {
    {
        ls src/base/*.c
        links=$(sed -n 's/^ \* Links: //p' "tests/fuzz/$1_fuzz.c")
        if [ -n "$links" ]; then
            for file in $links; do ls src/$file; done
        else
            sed -n 's/^#include "\([a-z]*\)\/.*/\1/p' "tests/fuzz/$1_fuzz.c" | sort -u |
                while read -r folder; do
                    if [ -d "src/$folder" ]; then ls "src/$folder"/*.c; fi
                done
        fi
    } | sort -u
}

object_of() {
    echo "$work/objects/$(echo "${1#src/}" | tr / - | sed 's/c$/o/')"
}

# Says which of these sources are newer than their objects, or have an older object than any header.
stale() {
    while read -r source; do
        object=$(object_of "$source")
        if [ ! -e "$object" ] || [ -n "$(find src include "$source" \
                -newer "$object" \( -name '*.h' -o -path "$source" \) -print -quit)" ]; then
            echo "$source $object"
        fi
    done
}

build() {
    for target in $targets; do sources_of "$target"; done | sort -u | stale |
        xargs -r -P 2 -L 1 sh -c "$compiler $(echo $flags) -c \$0 -o \$1"
    for target in $targets; do
        objects=$(sources_of "$target" | while read -r source; do object_of "$source"; done)
        # Word splitting is meant: flags, objects and libraries are lists.
        $compiler $flags -fsanitize=fuzzer "tests/fuzz/${target}_fuzz.c" $objects $libraries \
            -o "$work/$target"
    done
}

# Processor time is limited, not time: other targets run beside it.
run_large() {
    [ -n "$large" ] || return 0
    (
        ulimit -t "$large_processor_seconds"
        "$work/$target" $limits -artifact_prefix="$work/found/$target-" $large
    )
}

# Prints one line; the log and exit 1 when something broke.
run_target() {
    target=$1
    seconds=$2
    corpus="$work/corpus/$target"
    log="$work/$target.log"
    mkdir -p "$corpus"
    seeds=""
    if [ -d "tests/fuzz/seeds/$target" ]; then
        seeds="tests/fuzz/seeds/$target"
    fi
    large=$(find "$work/large/$target" -type f 2>/dev/null || true)
    if run_large >"$log" 2>&1 &&
        "$work/$target" $limits -timeout=10 -max_total_time="$seconds" -max_len=4096 \
            -print_final_stats=1 -verbosity=0 -artifact_prefix="$work/found/$target-" \
            "$corpus" $seeds >>"$log" 2>&1; then
        echo "$target: $seconds s, $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs," \
            "$(echo $large | wc -w) large ones"
    else
        { echo "broken: $target (inputs in $work/found)"; tail -n 40 "$log"; } >&2
        exit 1
    fi
}

if [ "$1" = --target ]; then
    run_target "$2" "$3"
    exit 0
fi
seconds=$1
shift
targets=$*
if [ -z "$targets" ]; then
    targets=$(ls tests/fuzz | sed -n 's/_fuzz\.c$//p')
fi
mkdir -p "$work/objects" "$work/found"
build
rm -rf "$work/large"
sh tests/fuzz/large_inputs.sh "$work/large"
printf '%s\n' $targets | xargs -P 2 -I '{}' sh "$root/tests/fuzz/run.sh" --target '{}' "$seconds"
rm -rf "$work/large"
