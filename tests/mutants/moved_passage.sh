#!/bin/sh
# apply.awk must refuse a passage that its source does not hold exactly once, and replace one that it does.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
printf '%s\n' 'int one;' 'int two;' 'int two;' >"$scratch/source.c"

# apply OLD_LINE [MUTANT [FILE]]: a list of one block that replaces this line, applied.
apply()
{
    printf '%s\n' 'mutant m' 'file source.c' "- $1" '+ int other;' >"$scratch/list"
    awk -v name="${2:-m}" -v file="${3:-source.c}" -f "$here/apply.awk" "$scratch/list" "$scratch/source.c"
}

must_refuse()
{
    if apply "$@" >"$scratch/out" 2>"$scratch/said"; then
        echo "accepted: $*" >&2
        exit 1
    fi
    if [ -s "$scratch/out" ]; then
        echo "refused, but wrote a source: $*" >&2
        exit 1
    fi
    grep -q '^mutant ' "$scratch/said"
}

must_refuse 'int three;'
must_refuse 'int two;'
must_refuse 'int one;' another
must_refuse 'int one;' m another.c

[ "$(apply 'int one;' | head -n 1)" = 'int other;' ]
[ "$(apply 'int one;' | wc -l)" -eq 3 ]
