#!/bin/sh
# Long suite only: run_llama_cpp.sh SCRATCH_DIR [--record GOLDEN_DIR] [--mxfp4]
# Installs node-llama-cpp 3.21.1 (about 732 MB, from npm) into SCRATCH_DIR unless it is there,
# and compares the oracle with llama.cpp. Exit 77 when node, npm or numpy is missing or the
# package cannot be fetched.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
scratch=$1
. "$here/find_python.sh"

for tool in node npm; do
    command -v "$tool" > /dev/null || { echo "no $tool"; exit 77; }
done
mkdir -p "$scratch"
if [ ! -d "$scratch/node_modules/node-llama-cpp" ]; then
    echo '{"private": true}' > "$scratch/package.json"
    (cd "$scratch" &&
        npm install --no-audit --no-fund --ignore-scripts node-llama-cpp@3.21.1) ||
        { echo "node-llama-cpp cannot be installed"; exit 77; }
fi
exec "$python" "$here/compare_llama.py" "$@"
