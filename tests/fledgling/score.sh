#!/bin/sh
# The real program answers every question of the model that ships, in words it was never trained on;
# score.awk holds the answers against what was asked for.
#
#   score.sh NIGHTJAR SOURCE_FOLDER
set -u
nightjar=$1
source=$2
questions=$source/examples/fledgling/questions.csv
scorer=$source/tests/fledgling/score.awk
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
results=$folder/run/results.jsonl

# A wide batch changes no byte and spares syncs.
"$nightjar" run "$source/jobs/questions.yaml" --batch 64 --out "$folder/run" \
    >/dev/null 2>"$folder/err" || {
    tail -n 3 "$folder/err"
    exit 1
}
tail -n 1 "$folder/err"
n_questions=$(($(wc -l <"$questions") - 1))

score() {
    awk -f "$scorer" -v n_questions="$n_questions" "$1"
}

score "$results" || exit 1

# What judges is judged: each of these must be refused, for the reason given.
must_refuse() {
    if score "$folder/spoilt" >"$folder/verdict"; then
        echo "FAIL the scorer accepts $1"
        exit 1
    fi
    grep -q "^FAIL $2" "$folder/verdict" || {
        echo "FAIL the scorer refuses $1 for another reason:"
        grep '^FAIL' "$folder/verdict"
        exit 1
    }
}

sed '/"format":"plain"/s/"response":"[^"]*"/"response":"10"/' "$results" >"$folder/spoilt"
must_refuse "a constant answer" "plain: fewer than"
sed '/"format":"chat"/s/"finish_reason":"stop"/"finish_reason":"length"/' "$results" >"$folder/spoilt"
must_refuse "answers that were cut off" "chat: fewer than"
sed '$d' "$results" >"$folder/spoilt"
must_refuse "a missing answer" "plain: $((n_questions - 1)) answers"
sed 's/"\(answer\|response\)":"[^"]*"/"\1":"yes"/g' "$results" >"$folder/spoilt"
must_refuse "questions with one answer" "plain: a constant answer"
