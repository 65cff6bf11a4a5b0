#!/bin/sh
# Records the goldens of a trained model: record_trained.sh MODEL_DIR
# Writes tests/golden/<name of the directory>.json and tests/golden/tokens.json.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
golden=$here/../golden
model=$(CDPATH='' cd -- "$1" && pwd)
. "$here/find_python.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$python" "$here/prompts.py" "$model" "$scratch/prompts.json" "$golden/tokens.json"
"$python" "$here/record.py" "$model" "$golden/$(basename "$model").json" \
    --prompts "$scratch/prompts.json"
