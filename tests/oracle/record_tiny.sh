#!/bin/sh
# Records everything about the tiny models again: record_tiny.sh SCRATCH_DIR
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
golden=$here/../golden
scratch=$1
. "$here/find_python.sh"
mkdir -p "$scratch"

for kind in t5 t13 t5e kl5; do
    rm -rf "${scratch:?}/$kind"
    "$python" "$here/tiny_models.py" "$kind" "$scratch/$kind"
done
(cd "$scratch" && sha256sum t5/* t13/* t5e/* kl5/* | LC_ALL=C sort -k2) \
    > "$golden/tiny_models.sha256"
for kind in t5 t5e kl5; do
    "$python" "$here/record.py" "$scratch/$kind" "$golden/$kind.json" --dense
done
"$python" "$here/record.py" "$scratch/t13" "$golden/t13.json"
"$python" "$here/record_mxfp4.py" "$golden/mxfp4.json"
"$python" "$here/selfcheck.py" "$scratch"
"$python" "$here/compare_reference.py" "$scratch" --record "$golden" || [ $? -eq 77 ]
