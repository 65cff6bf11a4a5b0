#!/bin/sh
# A run under a limit of exactly what --memory says, set by a cgroup, lives through long prompts; and without
# --memory it finds the limit by itself. Skipped where no cgroup can be made.
#
#   cgroup_test.sh NIGHTJAR
set -- "$1" unused
. "$(dirname "$0")/../cli/lib.sh"

# make_group: a group below our own, with the names that its version of cgroups has.
make_group() {
    own=$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
    if [ -n "$own" ]; then
        group=/sys/fs/cgroup/memory$own/nightjar-test-$$
        limit_file=memory.limit_in_bytes
    else
        group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/nightjar-test-$$
        limit_file=memory.max
    fi
    mkdir "$group" 2>/dev/null && [ -e "$group/$limit_file" ]
}
if ! make_group; then
    rmdir "$group" 2>/dev/null
    echo "no cgroup with a limit of memory can be made here"
    exit 77
fi
trap 'rmdir "$group"; rm -rf "$folder"' EXIT

# limited BYTES COMMAND...: runs it as a member of the group.
limited() (
    echo "$1" >"$group/$limit_file" || exit 99
    shift
    sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@"
)

# 180 MB, of which a fraction is trunk.
"$nightjar" synth model --layers 4 --experts 48 --hidden 1024 --latent 512 --expert-width 1024 \
    --vocabulary 8192 --dense-width 2048 --heads 8 >/dev/null || exit 1
cat >job.yaml <<YAML
nightjar: 1
name: noise
model: model
sampling: {temperature: 0.8, max_tokens: 3, seed: 1}
prompts:
  - {id: a, ids: [$(seq -s, 1 400)]}
  - {id: b, ids: [$(seq -s, 2 301)]}
  - {id: c, ids: [7]}
YAML

check "everything in memory" 0 "$nightjar" run job.yaml --out whole --threads 1
check "a limit of exactly what is given is enough" 0 \
    limited 64000000 "$nightjar" run job.yaml --out given --threads 1 --memory 64MB
cmp whole/results.jsonl given/results.jsonl || fail "results differ"
check "the limit is found where nothing is given" 0 \
    limited 250000000 "$nightjar" run job.yaml --out found --threads 1
cmp whole/results.jsonl found/results.jsonl || fail "results differ"
if [ "$(wc -l </proc/swaps)" -le 1 ]; then # else the rest would go there
    check "a limit is a limit: twice what it allows is not survived" 137 \
        limited 32000000 "$nightjar" run job.yaml --out killed --threads 1 --memory 64MB
fi

finish
