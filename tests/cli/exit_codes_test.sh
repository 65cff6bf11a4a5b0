#!/bin/sh
# Every exit code of `run` that the world can bring about (70 is in internal_error_test.sh), for a
# person and for a program.
#
#   exit_codes_test.sh NIGHTJAR MAKE_TINY_MODEL
. "$(dirname "$0")/lib.sh"
make_pair

# both NAME CODE WORD ARGUMENTS...: the run ends so, and with --json says code and exit_code.
both() {
    label=$1
    wanted_code=$2
    word=$3
    shift 3
    check "$wanted_code: $label" "$wanted_code" "$nightjar" run "$@"
    check "$wanted_code as JSON: $label" "$wanted_code" "$nightjar" run "$@" --json
    has err "{\"version\":1,\"code\":\"$word\",\"exit_code\":$wanted_code,\"message\":\""
}

check "0: every item is done" 0 "$nightjar" run job.yaml --out done
check "0: every item was done" 0 "$nightjar" run job.yaml --out done

if [ -e /dev/full ]; then
    name="1: output that cannot be written"
    "$nightjar" run job.yaml --out done >/dev/full 2>err
    code=$?
    [ "$code" -eq 1 ] || fail "exit code $code"
fi

both "no job file" 2 usage
both "flags that exclude each other" 2 usage job.yaml --restart --fresh
both "a file in the place of the folder" 2 usage job.yaml --out job.yaml

printf 'nightjar: 1\nmodel: model\nids: [x]\n' >wrong.yaml
both "a mistake in the job" 3 input wrong.yaml
both "no such file" 3 input none.yaml
both "a folder in its place" 3 input model

both "a changed job" 6 state job.yaml --out done --set sampling.seed=2
has err '--restart'
both "another epsilon" 6 state job.yaml --out done --latent-norm-eps 1e-5
has err "latent_norm_eps"
"$make_tiny_model" t13 model13 || exit 1
both "another model" 6 state job.yaml --out done --model model13
has err "model (its fingerprint differs)"
sed 's/max_tokens: 6/max_tokens: 4000, n: 100/' job.yaml >long.yaml
"$nightjar" run long.yaml --out busy --threads 1 >held.out 2>held.err &
pid=$!
wait_for 20 log_has_grown busy || fail "it does not get going"
both "a folder in use" 6 state long.yaml --out busy
has err "another nightjar is working in this folder"
kill -TERM "$pid"
wait "$pid"
code=$?
name="75: stopped by a signal"
[ "$code" -eq 75 ] || fail "exit code $code"
name="the command that continues has no flag that begins anew"
"$nightjar" run long.yaml --threads 1 --fresh --out busy >held.out 2>held.err &
pid=$!
begun_anew() {
    [ -d busy.1 ] && log_has_grown busy
}
wait_for 20 begun_anew || fail "it does not get going"
kill -TERM "$pid"
wait "$pid"
has held.err "continue with: nightjar run long.yaml --threads 1 --out busy"

name="a run folder that is not called by its name is not moved"
for path in . ./ ../done/.; do
    (cd done && "$nightjar" run ../job.yaml --model ../model --out "$path" --fresh >../out 2>../err)
    code=$?
    [ "$code" -eq 2 ] || fail "$path: exit code $code"
    has err "does not say it. Nothing was moved"
done
[ -s done/results.jsonl ] || fail "it was moved"

# A folder of somebody else's is left as it is, whatever the flag; hidden files are in nobody's way.
ls -lA model >before
both "a folder with other files and no run" 6 state job.yaml --out model
has err "model is no run folder: it holds other files (such as config.json)"
both "and --fresh does not move it away" 6 state job.yaml --out model --fresh
both "nor does --restart go on in it" 6 state job.yaml --out model --restart
ls -lA model | cmp - before || fail "something was written into it"
[ ! -e model.1 ] || fail "it was moved"
mkdir kept && : >kept/.gitkeep
check "0: an empty folder" 0 "$nightjar" run job.yaml --out kept

# A token whose embedding is no number makes its items fail, and no other.
cp -r model sick
shard=$(grep -l embed_tokens sick/*.safetensors)
header=$(od -An -t u8 -N8 "$shard" | tr -d ' ')
printf '\300\177' | dd of="$shard" bs=1 seek=$((8 + header + 2 * 192)) conv=notrunc 2>/dev/null
check "7: an item failed" 7 "$nightjar" run job.yaml --out ill --model sick
has err "2 of 2 items done, 1 failed"
has err "failed items are in ill/errors.jsonl"
has ill/errors.jsonl '"code":"numbers","message":"values are not finite after layer 0 at position 1"'
[ "$(grep -c '"status":"ok"' ill/results.jsonl)" -eq 1 ] || fail "the other item is not ok"
check "7: it had failed before" 7 "$nightjar" run job.yaml --out ill --model sick --json
has out '"items_failed":1'
{
    cat job.yaml
    printf -- '---\nnightjar: 1\nname: good\nmodel: sick\nids: [7]\nsampling: {max_tokens: 2, seed: 3}\n'
} | sed 's/model: model/model: sick/' >two.yaml
check "7: an item of one of two jobs" 7 "$nightjar" run two.yaml --out ill2

# A limit that the job sets itself ends it, and a higher one goes on.
check "1: too many items failed" 1 "$nightjar" run two.yaml --out patience \
    --set stop_on_failures=1 --batch 1
has err "stop_on_failures"
has err "job good, 2 of 2"
check "1 as JSON: too many items failed" 1 "$nightjar" run two.yaml --out patience2 \
    --set stop_on_failures=1 --batch 1 --json
has err '"code":"limit","exit_code":1,'

if [ "$(id -u)" -ne 0 ]; then
    mkdir closed && chmod 500 closed
    both "a folder where nothing may be made" 9 permission job.yaml --out closed/below
else
    echo "skip 9: root may do everything; see mistakes_test.sh"
fi

both "memory below the floor" 11 budget job.yaml --out small --memory 1MB
both "no model there" 12 not_found job.yaml --out none --model nowhere/at/all
cp -r model torn
truncate -s -100 "$(ls torn/*.safetensors | sed -n 3p)"
both "a damaged model" 12 weights job.yaml --out none --model torn

sed 's/max_tokens: 6/max_tokens: 200/' job.yaml >large.yaml
limited() {
    (
        ulimit -f 1
        exec "$@"
    )
}
check "13: a log that cannot grow" 13 limited "$nightjar" run large.yaml --out limited
has err "File too large"
check "and without the limit it goes on" 0 "$nightjar" run large.yaml --out limited
check "as a run that had none" 0 "$nightjar" run large.yaml --out unlimited
cmp -s limited/results.jsonl unlimited/results.jsonl || fail "results differ"

finish
