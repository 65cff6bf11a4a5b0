#!/bin/sh
# The proofs of this folder on a model of released widths that no memory here holds: 20 GiB, made for it and
# removed again. Skipped without room on disk.
#
#   long.sh NIGHTJAR IDENTITY_TEST BYTES_TEST
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' INT TERM HUP

"$1" synth "$folder/model" --like k3 --bytes 20GiB --vocabulary 16384
code=$?
if [ "$code" -eq 11 ]; then
    echo "no room for a model of 20 GiB in $folder"
    exit 77
fi
[ "$code" -eq 0 ] || exit 1

failed=0
"$2" "$folder/model" large || failed=1
"$3" "$folder/model"
code=$?
[ "$code" -eq 0 ] || [ "$code" -eq 77 ] || failed=1
exit $failed
