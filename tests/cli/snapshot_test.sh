#!/bin/sh
# nightjar snapshot from outside: a run of the model that ships, stopped, looked into, and carried
# to a second root where the job's inputs and the model lie elsewhere.
#
#   snapshot_test.sh NIGHTJAR MAKE_TINY_MODEL
source=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/lib.sh"

mkdir -p first/jobs first/data second
cp "$source"/examples/fledgling/*.safetensors "$source"/examples/fledgling/*.json \
    "$source"/examples/fledgling/tiktoken.model first/ 2>/dev/null
mkdir first/model && mv first/*.safetensors first/*.json first/tiktoken.model first/model/
cat >first/data/heroes.csv <<'CSV'
hero
a fox
a crow
an old queen
CSV
echo "Tell {{tone}} story about {{hero}}." >first/data/story.txt
cat >first/jobs/tales.yaml <<'YAML'
nightjar: 1
name: tales
model: ../model
chat: false
vars: {tone: a}
rows: ../data/heroes.csv
prompts:
  - {id: "{{hero}}", file: ../data/story.txt}
sampling: {temperature: 1.0, top_k: 80, seed: 3, max_tokens: 120, repeat_penalty: 1.05, n: 2}
snapshot: {every: 5 sweeps}
YAML

check "a run that nothing disturbs" 0 \
    "$nightjar" run first/jobs/tales.yaml --var "tone=it's a" --out whole --batch 4

name="a run that is stopped in the middle"
"$nightjar" run first/jobs/tales.yaml --var "tone=it's a" --out first/run --batch 4 --threads 1 >out 2>err &
pid=$!
wait_for 60 test -e first/run/items/0/segment-000003.snap || fail "it takes no snapshots"
kill -TERM "$pid"
wait "$pid"
[ $? -eq 75 ] || fail "exit code"

check "ls tells of each segment" 0 "$nightjar" snapshot ls first/run
has out "ITEM  GENERATION"
has out "current"
has out "previous"
check "and as JSON" 0 "$nightjar" snapshot ls first/run --json
has out '{"version":1,"segments":[{"file":"items/0/segment-'
has out '"state":"current","is_in_journal":true'
segment=$(sed 's/.*"file":"\(items[^"]*\)","item_index":0,"sample":0,"generation":[0-9]*,"previous":[0-9]*,"state":"current".*/\1/' out)
check "show tells of one" 0 "$nightjar" snapshot show first/run 0
has out "RECURRENT"
has out "latent norm epsilon"
has out "$segment"
has out "seed"
check "also of a file, as JSON" 0 "$nightjar" snapshot show "first/run/$segment" --json
has out '"sections":[{"name":"SNAP_BEGIN"'
check "verify finds all sound" 0 "$nightjar" snapshot verify first/run --model first/model
has err "all is sound"
check "an item that is not there" 3 "$nightjar" snapshot show first/run 77
check "a folder that is not there" 3 "$nightjar" snapshot ls first/nothing
has err "there is no run folder first/nothing"
check "a folder of something else" 6 "$nightjar" snapshot ls first/model
check "a flag of another action" 2 "$nightjar" snapshot ls first/run --out x
check "no action" 2 "$nightjar" snapshot
check "help" 0 "$nightjar" snapshot --help
has out "nightjar snapshot export"

check "an export" 0 "$nightjar" snapshot export first/run tales.export
check "verifies" 0 "$nightjar" snapshot verify tales.export
check "an import" 0 "$nightjar" snapshot import tales.export --out second/run
has err "nightjar run second/run/inputs/jobs/tales.yaml --out second/run --model DIR '--var' 'tone=it'\\''s a'"
check "not twice into the same folder" 6 "$nightjar" snapshot import tales.export --out second/run
mv first/model second/other-model
rm -rf first
check "what was carried goes on" 0 "$nightjar" run second/run/inputs/jobs/tales.yaml \
    --out second/run --model second/other-model --var "tone=it's a" --threads 2 --cpu-level scalar
cmp -s second/run/results.jsonl whole/results.jsonl || fail "its results have other bytes"
name="from its states"
grep -q '"tokens_from_snapshot":[1-9]' second/run/manifest.json || fail "nothing was restored"
[ ! -e second/run/items ] || fail "states of finished items stay"

name="damage"
"$nightjar" snapshot import tales.export --out third >out 2>err || fail "import"
printf 'X' | dd of="third/$segment" bs=1 seek=3000 conv=notrunc 2>/dev/null
check "damage is named and has a code" 7 "$nightjar" snapshot verify third
has out "$segment, record "
has out "it is damaged"
check "as JSON too" 7 "$nightjar" snapshot verify third --json
has out "\"file\":\"$segment\",\"record\":"
check "ls says it too" 0 "$nightjar" snapshot ls third
has out "unusable: $segment"
dd if=tales.export of=cut.export bs=1000 count=9 2>/dev/null
check "a cut export is refused" 6 "$nightjar" snapshot import cut.export --out fourth
[ ! -e fourth ] || fail "something was written"
check "and is a complaint to verify" 7 "$nightjar" snapshot verify cut.export
finish
