#!/bin/sh
# Inputs that are too large to keep: 100,000 nested brackets, aliases that grow by powers of ten, texts
# of 16 MiB. Each must be taken or refused in bounded time and memory.
#
#   large_inputs.sh FOLDER        writes FOLDER/TARGET/NAME
set -eu
folder=$1

# repeat TEXT N
repeat() {
    awk -v text="$1" -v n="$2" 'BEGIN { for (i = 0; i < n; i++) printf "%s", text }'
}

n_brackets=100000
scalar_bytes=16777216

# nested TARGET PREFIX SUFFIX: brackets and braces, closed and not.
nested() {
    mkdir -p "$folder/$1"
    { printf '%b' "$2"; repeat "[" $n_brackets; repeat "]" $n_brackets; printf '%b' "$3"; } >"$folder/$1/brackets"
    { printf '%b' "$2"; repeat "[" $n_brackets; } >"$folder/$1/brackets_open"
    { printf '%b' "$2"; repeat '{"a":' $n_brackets; } >"$folder/$1/braces_open"
}

# scalar TARGET PREFIX SUFFIX: one text of 16 MiB.
scalar() {
    mkdir -p "$folder/$1"
    { printf '%b' "$2"; head -c $scalar_bytes /dev/zero | tr '\0' 'x'; printf '%b' "$3"; } >"$folder/$1/scalar"
}

nested json "" ""
nested config "" ""
nested weight_index_json "" ""
nested jsonl '\017{"a":' '}\n'
nested safetensors '\0\0' ""
nested tokenizer 's' ""
nested import '\0' "\n"
nested yaml 'nightjar: 1\nvars: {a: ' '}\n'

scalar json '"' '"'
scalar config '{"model_type":"' '"}'
scalar weight_index_json '{"weight_map":{"' '":"b"}}'
scalar jsonl '\017{"a":"' '"}\n'
scalar csv '\017a,b\n1,' '\n'
scalar safetensors '\0\0{"' '":{}}'
scalar tokenizer 's{"eos_token":"' '"}'
scalar import '\0{"custom_id":"' '"}\n'
scalar yaml 'nightjar: 1\nprompt: "' '"\n'

# Nine levels of nine aliases each: written out they are 387 million values.
{
    printf 'nightjar: 1\nvars:\n  a: &a [x, x, x, x, x, x, x, x, x]\n'
    previous=a
    for name in b c d e f g h i; do
        printf '  %s: &%s [' "$name" "$name"
        repeat "*$previous, " 8
        printf '*%s]\n' "$previous"
        previous=$name
    done
    printf 'prompt: "{{i}}"\n'
} >"$folder/yaml/aliases"
{ printf 'nightjar: 1\nprompt: a\nvars:\n'; awk 'BEGIN { for (i = 0; i < 200000; i++) printf "  k%d: v\n", i }'; } >"$folder/yaml/keys"
