#!/bin/sh
# Two readers of segments, written in two languages from one document, agree on every file that
# the tests make and on those of every format version that are kept in tests/golden/segments.
#
#   two_readers.sh MAKE_SEGMENTS DESCRIBE_SEGMENTS
set -eu
make_segments=$1
describe_segments=$2
root=$(cd "$(dirname "$0")/../.." && pwd)

command -v python3 >/dev/null || { echo "no python3"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/segments"

# Said on both sides of the same files, in the same words.
agree() {
    find "$1" -name '*.snap' | LC_ALL=C sort >"$work/list"
    xargs "$describe_segments" <"$work/list" >"$work/ours"
    PYTHONDONTWRITEBYTECODE=1 xargs python3 "$root/tests/snapshot/read_segment.py" \
        <"$work/list" >"$work/theirs"
    if ! cmp -s "$work/ours" "$work/theirs"; then
        diff "$work/ours" "$work/theirs" | head -n 20
        echo "FAIL two readers disagree on a segment in $1"
        exit 1
    fi
}

"$make_segments" "$work/segments"
agree "$work/segments"
for verdict in whole torn damaged empty "without a header" "followed by other bytes"; do
    grep -qx "$verdict" "$work/ours" || { echo "FAIL no segment is $verdict"; exit 1; }
done
grep -q '^record .* packed ' "$work/ours" || { echo "FAIL nothing is packed"; exit 1; }
if grep -q 'not joined' "$work/ours"; then
    echo "FAIL a committed segment has gaps"
    exit 1
fi
echo "ok   two readers agree on $(wc -l <"$work/list") segments"

agree "$root/tests/golden/segments"
cmp "$work/ours" "$root/tests/golden/segments/described.txt"
echo "ok   segments of every format version are read as they were written"
