#!/bin/sh
# Long suite only: record_check.sh SCRATCH_DIR
# Writes the tiny models anew, lets the oracle check itself, and compares it with the second program over GGUF
# where that can be had. Exit 77 when numpy is missing.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
scratch=$1
. "$here/find_python.sh"
mkdir -p "$scratch"

for kind in t5 t13 t5e kl5; do
    rm -rf "${scratch:?}/$kind"
    "$python" "$here/tiny_models.py" "$kind" "$scratch/$kind"
done
(cd "$scratch" && sha256sum -c "$here/../golden/tiny_models.sha256")
"$python" "$here/selfcheck.py" "$scratch"
"$python" "$here/compare_reference.py" "$scratch" || [ $? -eq 77 ]
