#!/bin/sh
# Models made up from the command line: described, run, refused.
#
#   synth_test.sh NIGHTJAR MAKE_TINY_MODEL
. "$(dirname "$0")/lib.sh"

small="--layers 4 --experts 6 --chosen 2 --hidden 64 --latent 32 --expert-width 32"

# shellcheck disable=SC2086 # several words each
check "a model is made" 0 "$nightjar" synth made $small
has out "4 layers, 6 experts,"
has out "sizes that were not given are those of small"
check "it can be described" 0 "$nightjar" describe made
has out "config layout                nested (text_config)"
has out "end token                    not said"
has out "none: prompts are given as ids"

cat >job.yaml <<'YAML'
nightjar: 1
name: noise
model: made
sampling: {temperature: 0, max_tokens: 40}
prompts:
  - {id: a, ids: [1, 2, 3]}
  - {id: b, ids: [4]}
YAML
check "it runs a job of ids, each item to its end" 0 "$nightjar" run job.yaml
has err "2 of 2 items done, 0 failed; 80 tokens generated"

check "a folder with something in it is refused" 6 "$nightjar" synth made
has err "is not empty"
check "sizes that are no model are refused" 2 "$nightjar" synth wrong --experts 2 --chosen 3
has err "num_experts_per_token 3 exceeds num_experts 2"
check "no model is that small" 2 "$nightjar" synth wrong --bytes 10kB
has err "10000 bytes hold no model"
has err "Give more, or smaller sizes"
check "a size wants a unit" 2 "$nightjar" synth wrong --bytes 20
check "routing has two names" 2 "$nightjar" synth wrong --routing round
has err "flat or skewed"
check "one folder is made at a time" 2 "$nightjar" synth
check "more than the disk has is refused with both figures" 11 "$nightjar" synth wrong --like k3 --experts 16384
has err "needs "
has err "are free there"
name="refusals make nothing"
[ ! -e wrong ] || fail "wrong was made"

finish
