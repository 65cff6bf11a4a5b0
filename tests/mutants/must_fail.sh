#!/bin/sh
# Runs a mutant of the golden gate: `must_fail.sh difference|refusal GOLDEN_TEST ARGUMENTS...`
#
# difference: the gate must compare and fail. refusal: the model must not open. A crash or anything else is
# no notice, and neither is success.
wanted=$1
shift
output=$("$@" 2>&1)
code=$?
case $wanted in
difference) notice='^FAIL ' ;;
refusal) notice='^golden_test: open model: ' ;;
*)
    echo "usage: must_fail.sh difference|refusal GOLDEN_TEST ARGUMENTS..." >&2
    exit 2
    ;;
esac
if [ "$code" -eq 1 ] && echo "$output" | grep -q "$notice"; then
    echo "$output" | grep -e "$notice" -e 'largest difference' | head -n 5
    exit 0
fi
echo "$output" | tail -n 20
echo "exit $code, no $wanted: the gate did not notice this error"
exit 1
