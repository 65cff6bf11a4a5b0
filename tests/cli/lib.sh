# For tests of the program that are scripts. Begin with `. lib.sh NIGHTJAR MAKE_TINY_MODEL`: it
# changes to an empty folder that is removed at the end.
set -u
nightjar=$1
make_tiny_model=$2
folder=$(mktemp -d) || exit 1
trap 'chmod -R u+rwx "$folder"; rm -rf "$folder"' EXIT
cd "$folder" || exit 1
n_failures=0
name=

fail() {
    echo "FAIL $name: $1"
    n_failures=$((n_failures + 1))
}

# check NAME WANTED_CODE COMMAND...: runs it, keeps out and err.
check() {
    name=$1
    wanted=$2
    shift 2
    "$@" >out 2>err
    code=$?
    if [ "$code" -ne "$wanted" ]; then
        fail "exit code $code, wanted $wanted"
        sed 's/^/    /' err
    else
        echo "ok   $name"
    fi
}

# has FILE TEXT: the last command's output contains the text.
has() {
    if ! grep -qF -- "$2" "$1"; then
        fail "$1 lacks \"$2\":"
        sed 's/^/    /' "$1"
    fi
}

# lacks FILE TEXT
lacks() {
    if grep -qF -- "$2" "$1"; then
        fail "$1 has \"$2\":"
        sed 's/^/    /' "$1"
    fi
}

# log_has_grown RUN_FOLDER: tokens have been drawn there.
log_has_grown() {
    [ -s "$1/tokens.log" ] && [ "$(wc -c <"$1/tokens.log")" -gt 1000 ]
}

# wait_for SECONDS COMMAND...: until the command succeeds.
wait_for() {
    tenths=$(($1 * 10))
    shift
    while [ "$tenths" -gt 0 ]; do
        "$@" && return 0
        sleep 0.1
        tenths=$((tenths - 1))
    done
    return 1
}

finish() {
    [ "$n_failures" -eq 0 ]
}

# A job of two items and the model for it.
make_pair() {
    "$make_tiny_model" t5 model || exit 1
    cat >job.yaml <<'YAML'
nightjar: 1
name: pair
model: model
sampling: {temperature: 0.9, max_tokens: 6, seed: 1}
prompts:
  - {id: a, ids: [1, 2, 3]}
  - {id: b, ids: [4, 5, 6]}
YAML
}
