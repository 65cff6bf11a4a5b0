#!/bin/sh
# Searches near ties and records them: `record_near_ties.sh BUILD_DIR MODEL N_SWEEPS`, from the repository's root.
#
# The smallest gaps among 256 random prompts a sweep; of those, the ones after which the build with the swapped
# fold chooses another token. T13: 9000 sweeps, fledgling: 12000, some minutes each.
set -eu
programs=$1/tests/identity
model=$2
scratch=$(mktemp)
trap 'rm -f "$scratch"' EXIT
"$programs/near_ties" find "$model" "$3" >"$scratch"
{
    echo "# Prompts of $model after which a sum in another order chooses another token:"
    echo "#     BEST REORDERED GAP : ID ID ..."
    echo "# Made by tests/identity/record_near_ties.sh from $3 sweeps."
    "$programs/near_ties_swapped" differing "$model" "$scratch"
} >"tests/golden/identity_near_ties_$model.txt"
