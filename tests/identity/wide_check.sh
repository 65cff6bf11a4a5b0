#!/bin/sh
# Every logit at the released widths against the oracle: `wide_check.sh WIDE_TEST SOURCE_DIR`
set -eu
. "$2/tests/oracle/find_python.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$1" --dump "$scratch/logits"
cd "$2/tests/oracle"
"$python" wide_model.py compare "$scratch/logits"
