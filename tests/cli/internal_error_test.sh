#!/bin/sh
# A run that ends with a mistake of ours says so: 70.
#
#   internal_error_test.sh NIGHTJAR_INTERNAL_ERROR MAKE_TINY_MODEL
. "$(dirname "$0")/lib.sh"
make_pair

check "an internal error is 70" 70 "$nightjar" run job.yaml
has err "nightjar: a counter went below zero"
check "as JSON too" 70 "$nightjar" run job.yaml --json
has err '{"version":1,"code":"internal","exit_code":70,"message":"a counter went below zero"'
printf -- '---\nnightjar: 1\nname: b\nmodel: model\nids: [1]\n' >>job.yaml
check "it ends a file of several jobs" 70 "$nightjar" run job.yaml
lacks err "2 of 2"

finish
