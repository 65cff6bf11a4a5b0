#!/bin/sh
# A real disk that is full: one pause that says what it needs, a run that goes on by itself when there is room,
# and the same results.
#
#   full_disk_test.sh NIGHTJAR MAKE_TINY_MODEL
. "$(dirname "$0")/lib.sh"
mkdir disk || exit 1
if ! mount -t tmpfs -o size=1200k,mode=0700 tmpfs disk 2>/dev/null; then
    echo "SKIP: a small disk of its own needs the right to mount"
    exit 77
fi
trap 'umount "$folder/disk"; rm -rf "$folder"' EXIT
make_pair

count_lines() {
    grep -cF -- "$1" err
}

# has_said TEXT
has_said() {
    grep -qF -- "$1" err
}

# fill BYTES_LEFT: all but so much of the disk.
fill() {
    rm -rf disk/others
    left=$(df --output=avail -B1 disk | tail -n 1)
    head -c $((left - $1)) /dev/zero >disk/others
}

# run_on_full_disk OUT JOB BYTES_LEFT: a run that meets the full disk, is left alone for some of its looks at it,
# and then gets room.
run_on_full_disk() {
    rm -rf "disk/$1"
    fill "$3"
    "$nightjar" run "$2" --out "disk/$1" --threads 1 >out 2>err &
    pid=$!
    wait_for 20 has_said "paused: the disk of disk/$1 is full" || fail "it does not pause"
    sleep 2.5
    kill -0 "$pid" 2>/dev/null || fail "it has ended"
    lacks err "there is room again"
    rm disk/others
    wait "$pid"
    code=$?
    [ "$code" -eq 0 ] || fail "exit code $code"
    [ "$(count_lines 'paused: ')" -eq 1 ] || fail "it does not say once that it is paused"
    [ "$(count_lines 'there is room again')" -eq 1 ] || fail "it does not say once that it goes on"
    grep -Eq 'No space left on device\): [0-9]+ (bytes|[kM]B) more must be free' err ||
        fail "it does not say how much more must be free"
}

# 60 items of 40 ids, each of which asks for room before it begins.
sed 's/max_tokens: 6/max_tokens: 40, n: 30/' job.yaml >many.yaml
check "where there is room" 0 "$nightjar" run many.yaml --out disk/whole --threads 1
mv disk/whole/results.jsonl many.jsonl
rm -rf disk/whole

name="a disk without room for the next item"
run_on_full_disk next many.yaml 300000
cmp many.jsonl disk/next/results.jsonl || fail "results differ"
rm -rf disk/next

# One item whose ids are logged with all their alternatives: the write itself finds no room.
sed 's/max_tokens: 6/max_tokens: 40, logprobs: 20/' job.yaml >wide.yaml
check "where there is room for a wide log" 0 "$nightjar" run wide.yaml --out disk/wide --threads 1
mv disk/wide/results.jsonl wide.jsonl
rm -rf disk/wide
name="a disk without room for the first write"
run_on_full_disk write wide.yaml 4096
cmp wide.jsonl disk/write/results.jsonl || fail "results differ"

finish
