#!/bin/sh
# Builds the fuzz targets with clang's libFuzzer and runs each for so many seconds.
#
#   sh tests/fuzz/run.sh SECONDS [TARGET...]      e.g. sh tests/fuzz/run.sh 30 safetensors json
#
# A target is a file NAME_fuzz.c here. It is linked with the folders of src/ whose headers it
# includes. What it finds interesting is kept in build/fuzz/corpus/NAME for the next run; what
# breaks it in build/fuzz/found/NAME-*. Exit 0 when nothing broke.
set -eu

if [ $# -lt 1 ]; then
    sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
seconds=$1
shift

root=$(cd "$(dirname "$0")/../.." && pwd)
work=${NJ_FUZZ_DIRECTORY:-$root/build/fuzz}
compiler=${CC:-clang-14}
flags="-std=c11 -D_GNU_SOURCE -g -O1 -ffp-contract=off -fno-math-errno -fno-omit-frame-pointer
       -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
       -I$root/src -I$root/include -I$root/tests"
libraries="-lpcre2-8 -lyaml -ljansson -lcrypto -lz -lpthread -lm"
cd "$root"
mkdir -p "$work/objects" "$work/found"

targets=$*
if [ -z "$targets" ]; then
    targets=$(ls tests/fuzz | sed -n 's/_fuzz\.c$//p')
fi

# The folders of src/ that a target needs: those it includes, and base below them all.
folders_of() {
    { echo base; sed -n 's/^#include "\([a-z]*\)\/.*/\1/p' "tests/fuzz/$1_fuzz.c"; } |
        sort -u | while read -r folder; do
            if [ -d "src/$folder" ]; then echo "$folder"; fi
        done
}

# Compiles what is older than its source or than any header, two at a time.
compile_folder() {
    for source in "src/$1"/*.c; do
        object="$work/objects/$1-$(basename "$source" .c).o"
        if [ -e "$object" ] && [ -z "$(find src include "$source" \
                -newer "$object" \( -name '*.h' -o -path "$source" \) -print -quit)" ]; then
            continue
        fi
        echo "$source $object"
    done | xargs -r -P 2 -L 1 sh -c "$compiler $(echo $flags) -c \$0 -o \$1"
}

failed=""
for target in $targets; do
    objects=""
    for folder in $(folders_of "$target"); do
        compile_folder "$folder"
        objects="$objects $work/objects/$folder-*.o"
    done
    # Word splitting is meant: flags, objects and libraries are lists.
    $compiler $flags -fsanitize=fuzzer "tests/fuzz/${target}_fuzz.c" $objects $libraries \
        -o "$work/$target"
    corpus="$work/corpus/$target"
    mkdir -p "$corpus"
    seeds=""
    if [ -d "tests/fuzz/seeds/$target" ]; then
        seeds="tests/fuzz/seeds/$target"
    fi
    log="$work/$target.log"
    if "$work/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
            -max_len=4096 -print_final_stats=1 -verbosity=0 \
            -artifact_prefix="$work/found/$target-" "$corpus" $seeds >"$log" 2>&1; then
        echo "$target: $seconds s, $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs"
    else
        tail -n 40 "$log" >&2
        failed="$failed $target"
    fi
done

if [ -n "$failed" ]; then
    echo "broken:$failed (inputs in $work/found)" >&2
    exit 1
fi
