#!/bin/sh
# Every #include of src/ keeps to layers.txt; every header compiles alone (.inc files are included after a
# header that gives their words a meaning); and the checker itself is
# shown to catch each kind of violation.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cd "$root"

check()
{
    awk -f "$here/check_includes.awk" "$here/layers.txt" "$@"
}

check $(find src -name "*.[ch]" -o -name "*.inc" | sort)

for header in $(find src include -name '*.h' | sort); do
    echo "#include \"${header#*/}\"" |
        "${CC:-cc}" -std=c11 -D_GNU_SOURCE -fsyntax-only -Wall -Wextra -Wno-psabi -mavx2 -mfma -mavx512f \
            -mavx512bw -mavx512dq -mavx512vl -Werror -Isrc -Iinclude -x c -
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
must_refuse()
{
    mkdir -p "$scratch/src/$1"
    echo "$2" >"$scratch/src/$1/bad.c"
    if check "$scratch/src/$1/bad.c" >"$scratch/said"; then
        echo "the checker accepts $2 in $1" >&2
        exit 1
    fi
    rm "$scratch/src/$1/bad.c"
}
must_refuse stream '#include "model/model.h"'
must_refuse base '#include "nightjar/model.h"'
must_refuse model '#include "model.h"'
must_refuse runner '#include <yaml.h>'
must_refuse nowhere '#include "base/status.h"'

echo "includes keep to the layer table"
