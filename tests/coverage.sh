#!/bin/sh
# Line coverage of src/ by the tests that take no minutes: builds an instrumented tree, runs it, and prints
# a line a folder, then all of it, then the files that are covered least.
#
#   sh tests/coverage.sh [-j JOBS]
#
# What only slow or long tests reach (label slow), and what only runs in a killed process, counts as not covered.
set -eu
cd "$(dirname "$0")/.."
jobs=$(nproc)
if [ "${1:-}" = -j ]; then
    jobs=$2
fi
build=build/coverage

cmake --preset coverage >/dev/null
cmake --build --preset coverage -j "$jobs" >/dev/null
find "$build" -name '*.gcda' -delete
# A program outside the tree is linked without the instruments' library.
ctest --preset coverage -LE slow -E '^install\.' -j "$jobs" >"$build/ctest.log" 2>&1 || {
    tail -n 40 "$build/ctest.log"
    echo "tests failed: the figures below are too low" >&2
}

# One "FILE COVERED LINES" a source file: gcov says which lines of an object's sources have code and how often they
# ran; a header's are counted once.
find "$build/src" -name '*.gcno' | sort | while read -r notes; do
    gcov --stdout --preserve-paths "$notes" 2>/dev/null
done | awk -v root="$PWD/" '
    / 0:Source:/ {
        file = $0
        sub(/^.* 0:Source:/, "", file)
        sub(root, "", file)
        next
    }
    file !~ /^src\// { next }
    {
        split($0, part, ":")
        count = part[1]
        line = part[2] + 0
        gsub(/[ *]/, "", count)
        if (line == 0 || count == "-") next
        key = file SUBSEP line
        if (!(key in lines)) { lines[key] = 1; n_lines[file]++ }
        if (count !~ /^[#=]/ && !(key in covered)) { covered[key] = 1; n_covered[file]++ }
    }
    END { for (file in n_lines) print file, n_covered[file] + 0, n_lines[file] }' |
    sort >"$build/lines.txt"

awk '
    {
        split($1, part, "/")
        covered[part[2]] += $2
        lines[part[2]] += $3
        all_covered += $2
        all_lines += $3
    }
    END {
        for (folder in lines)
            printf "%-12s %5.1f %%  %6d of %6d lines\n", folder, 100 * covered[folder] / lines[folder], covered[folder], lines[folder]
        printf "%-12s %5.1f %%  %6d of %6d lines\n", "~src", 100 * all_covered / all_lines, all_covered, all_lines
    }' "$build/lines.txt" | sort | sed 's/^~//'
echo "least covered:"
awk '$3 >= 20 { printf "%5.1f %%  %s (%d lines not)\n", 100 * $2 / $3, $1, $3 - $2 }' "$build/lines.txt" |
    sort -n | head -n 12
