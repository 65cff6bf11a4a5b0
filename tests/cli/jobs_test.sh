#!/bin/sh
# What the command line makes of job files: changes on it, several jobs in a file, files of other
# tools.
#
#   jobs_test.sh NIGHTJAR MAKE_TINY_MODEL

# The model that ships: it has a tokenizer, which tiny ones have not.
fledgling=$(cd "$(dirname "$0")/../../examples/fledgling" && pwd) || exit 1
. "$(dirname "$0")/lib.sh"
make_pair

# Changes. A run with them is another job than one without, and the same as one with them again.
check "a setting changes the job" 0 "$nightjar" run job.yaml --out set --set sampling.max_tokens=3 \
    --set prompts.1.id=z --var who=me --set description=x
has err "6 tokens generated"
has set/results.jsonl '"id":"z"'
has set/results.jsonl '"vars":{"who":"me"}'
check "the same settings continue it" 0 "$nightjar" run job.yaml --out set --var who=me \
    --set prompts.1.id=z --set sampling.max_tokens=3
has err "nothing to do: all 2 items finished before"
check "other settings are a changed job" 6 "$nightjar" run job.yaml --out set \
    --set sampling.max_tokens=4 --set prompts.1.id=z --var who=me
has err "prompts, ids, variables or sampling differ"
check "no settings are one too" 6 "$nightjar" run job.yaml --out set
check "a limit takes the first items" 0 "$nightjar" run job.yaml --out few --limit 1
has err "1 of 1 item done"
check "without it the others follow" 0 "$nightjar" run job.yaml --out few
has err "2 of 2 items done, 0 failed; 6 tokens generated"
check "an item less is a changed job" 6 "$nightjar" run job.yaml --out few --limit 1
has err "it had more items"
check "a whole run for comparison" 0 "$nightjar" run job.yaml --out whole
cmp -s few/results.jsonl whole/results.jsonl || fail "a run that began with a limit differs"

check "validate takes the same" 0 "$nightjar" validate job.yaml --limit 1 --set 'prompts.0.ids=[1]'
has out "ok: job.yaml, 1 item, 1 prompt token"
check "a setting's mistake names it" 3 "$nightjar" run job.yaml --set sampling.temprature=1
has err "--set sampling.temprature: unknown key 'temprature' in sampling, did you mean 'temperature'?"
check "as JSON as well" 3 "$nightjar" run job.yaml --set sampling.top_k=x --json
has err '"code":"input","exit_code":3,'
has err '{"severity":"error","file":"--set sampling.top_k","line":0,"column":0,"message":"'
check "and validate" 3 "$nightjar" validate job.yaml --set sampling.top_k=x --json
has out '"file":"--set sampling.top_k"'
check "a setting without a value" 2 "$nightjar" run job.yaml --set sampling.top_k 3
has err "--set sampling.top_k: write --set PATH=VALUE, without a space around ="
check "a variable without a name" 2 "$nightjar" validate job.yaml --var =x
has err "--var =x: write --var NAME=TEXT, without a space around ="
check "a setting as a flag" 2 "$nightjar" run job.yaml --temperature 0.5
has err "no flag --temperature; --help lists them, and --set PATH=VALUE changes what the job says"
check "nothing behind a flag" 2 "$nightjar" run job.yaml --set
has err "--set needs a value"
check "a limit of nothing" 2 "$nightjar" validate job.yaml --limit 0
has err "--limit 0: a whole number from 1"

# The floor is told before any weight is read.
check "memory below the floor does not fit" 11 "$nightjar" run job.yaml --out small --memory 1MB
has err "needs at least "
has err "the ceiling is 1000000"
[ ! -e small ] || fail "a run folder was made"
check "the job may say so as well" 11 "$nightjar" run job.yaml --out small --set memory=1MB
has err "the ceiling is 1000000"
check "the flag wins over the job" 0 "$nightjar" run job.yaml --out small --set memory=1MB --memory 1GiB
cmp -s small/results.jsonl whole/results.jsonl || fail "memory changed the results"
check "memory without a unit" 2 "$nightjar" run job.yaml --memory 8
has err "--memory 8: a size is wanted, write a number and a unit, such as 8GiB or 500MB; B are bytes"

# Several jobs.
{
    cat job.yaml
    printf -- '---\nnightjar: 1\nname: second one\nmodel: model\nids: [7]\nsampling: {max_tokens: 2, seed: 3}\n'
} >two.yaml
check "each job of a file is counted" 0 "$nightjar" validate two.yaml
has out "ok: two.yaml, job pair, 2 items, 6 prompt tokens"
has out "ok: two.yaml, job second one, 1 item, 1 prompt token"
check "and for programs" 0 "$nightjar" validate two.yaml --json
has out '"items":3,"model":"model","prompt_tokens":7,"code":"ok"'
has out '"jobs":[{"name":"pair","items":2,"model":"model","prompt_tokens":6,"no_model":null},{"name":"second one","items":1,"model":"model","prompt_tokens":1,"no_model":null}]'
check "they are run one after another" 0 "$nightjar" run two.yaml --out both
has out "both/pair/results.jsonl"
has out "both/second-one/results.jsonl"
has err "job pair, 1 of 2"
has err "job second one, 2 of 2"
cmp -s both/pair/results.jsonl whole/results.jsonl || fail "a job differs from itself alone"
check "and continued" 0 "$nightjar" run two.yaml --out both --json
[ "$(grep -c '"type":"run_done"' out)" -eq 2 ] || fail "not two jobs have ended"
has out '"job":"second one","folder":"both/second-one"'
cat >changed.yaml <<'YAML'
nightjar: 1
name: pair
model: model
ids: [3]
sampling: {max_tokens: 2, seed: 3}
---
nightjar: 1
name: third
model: model
ids: [7]
sampling: {max_tokens: 2, seed: 3}
YAML
check "a changed job does not keep the next from its work" 6 "$nightjar" run changed.yaml --out both
has err "both/pair holds a run with another job"
has out "both/third/results.jsonl"
check "a mistake in one keeps all from being run" 3 "$nightjar" run two.yaml --out none \
    --set 'sampling.stop_token_ids=[1, x]'
sed 's/ids: \[7\]/ids: [99999999]/' two.yaml >wrong.yaml
check "so does what its model says" 3 "$nightjar" run wrong.yaml --out none
has err "id 0 is 99999999"
[ ! -e none ] || fail "a job was run"
cp -r model other
sed '8,$s/model: model/model: other/' two.yaml >models.yaml
check "a second model is refused by run" 3 "$nightjar" run models.yaml --out none
has err "models.yaml:11:8: a second model: 'run' uses one for all jobs of a file, and line 3 names another"
check "and fine to validate" 0 "$nightjar" validate models.yaml
has out "job second one, 1 item, 1 prompt token"
check "a flag decides for all" 0 "$nightjar" run models.yaml --out both --model model
has err "nothing to do"
check "damage ends it" 12 "$nightjar" run two.yaml --out none --model nowhere
check "jobs of one name are a mistake" 3 "$nightjar" run two.yaml --set name=x
has err "two.yaml:10:7: a second job is called 'x'"

# Files of other tools. They name no model of ours.
cat >batch.jsonl <<'JSONL'
{"custom_id":"r1","method":"POST","url":"/v1/chat/completions","body":{"model":"gpt-4o","messages":[{"role":"user","content":"Say {{x}}."}],"max_tokens":2,"temperature":0}}
{"custom_id":"r2","method":"POST","url":"/v1/completions","body":{"model":"x","prompt":[5,6],"max_tokens":2,"temperature":0}}
JSONL
cat >capital.prompt.yml <<'YAML'
name: capital
model: openai/gpt-4o
modelParameters: {temperature: 0, maxTokens: 9}
messages:
  - {role: user, content: "Capital of {{country}}?"}
testData:
  - {country: Norway}
  - {country: Chile}
YAML
cat >promptfooconfig.yaml <<'YAML'
prompts: ["Capital of {{country}}?"]
providers: ["openai:gpt-4o"]
tests:
  - vars: {country: Norway}
    assert: [{type: contains, value: Oslo}]
YAML
cat >ask.yaml <<'YAML'
system: You are $mood.
prompt: "Capital of $country?"
defaults: {mood: kind}
YAML
check "a batch of the OpenAI API is read" 0 "$nightjar" validate batch.jsonl
has out "ok: batch.jsonl, 2 items (no model here"
check "and run" 0 "$nightjar" run batch.jsonl --model "$fledgling"
has results/batch/results.jsonl '"id":"r1"'
has results/batch/results.jsonl '"ids":['
check "a prompt file of GitHub is run" 0 "$nightjar" run capital.prompt.yml --model "$fledgling" \
    --set sampling.max_tokens=2
has results/capital/results.jsonl '"vars":{"country":"Chile"}'
has results/capital/results.jsonl '"completion_tokens":2'
check "so is a configuration of promptfoo" 0 "$nightjar" run promptfooconfig.yaml \
    --model "$fledgling" --set sampling.max_tokens=2
has err "promptfooconfig.yaml:2:12: warning: the providers of an imported file are not used"
check "and a template of llm" 0 "$nightjar" run ask.yaml --model "$fledgling" \
    --set sampling.max_tokens=2 --var country=Chile
has results/ask/results.jsonl '"vars":{"country":"Chile","mood":"kind"}'
check "a template's variable must be given" 3 "$nightjar" validate ask.yaml
has err "unknown variable 'country', give it with --var country=TEXT, known: mood, _index, _id"
check "a model must be given" 3 "$nightjar" run batch.jsonl
has err 'batch.jsonl: which model? give --model DIR, or `model: DIR` in a job of nightjar'

# Somebody worked in the results: each file is named, and kept.
make_pair
cat >>job.yaml <<'YAML'
output: {formats: [jsonl, markdown]}
YAML
check "results to work in" 0 "$nightjar" run job.yaml --out worked
echo edited >worked/results.jsonl
rm worked/items/0000-a.md
check "what was changed is written again and named" 0 "$nightjar" run job.yaml --out worked
has err "results.jsonl (kept as results.jsonl.kept-1)"
has err "items/0000-a.md (missing)"
[ "$(cat worked/results.jsonl.kept-1)" = edited ] || fail "it is not kept"
for i in 1 2 3 4 5 6 7; do echo mine >"worked/items/note$i.md"; done
check "as is what does not belong there" 0 "$nightjar" run job.yaml --out worked
has err ".md.kept-1), "
has err ", and 2 more"
[ "$(cat worked/items/note7.md.kept-1)" = mine ] || fail "it is not kept"
check "and that is all" 0 "$nightjar" run job.yaml --out worked
lacks err "kept"
rm worked/results.jsonl
check "a result that is gone is named" 0 "$nightjar" run job.yaml --out worked --set 'output.formats=[jsonl]'
has err "results.jsonl (missing)"

# Nobody worked in these: other files are written, and nothing is said.
make_pair
for flags in "--limit 2" "" "--set output.formats=[jsonl,csv,markdown]" "--set output.formats=[jsonl,csv]" ""; do
    check "nobody's work is not kept: $flags" 0 "$nightjar" run job.yaml --out turned $flags
    lacks err "results.log"
    [ -z "$(find turned -name '*.kept-*')" ] || fail "$(find turned -name '*.kept-*') is there"
done
[ ! -e turned/results.csv ] || fail "a format that is not asked for is there"

finish
