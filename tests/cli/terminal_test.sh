#!/bin/sh
# What a terminal gets and what a file or pipe gets: progress, colours, control characters.
#
#   terminal_test.sh NIGHTJAR MAKE_TINY_MODEL
. "$(dirname "$0")/lib.sh"
make_pair
command -v script >out 2>&1 || {
    echo "skip: there is no script(1) to make a terminal"
    exit 77
}
escape=$(printf '\033')
return=$(printf '\r')

# on_terminal TERM COMMAND...: all that a terminal of this kind is sent, in out.
on_terminal() {
    (
        TERM=$1
        export TERM
        shift
        exec script -qec "$*" /dev/null </dev/null >out 2>err
    )
}

check "a run on a terminal" 0 on_terminal xterm "$nightjar" run job.yaml --out shown
has out "${return}${escape}[K"
has out "nightjar: 0/2 items, "
has out "shown/results.jsonl"
if grep -q "${escape}\[[0-9;]*m" out; then
    fail "there are colours, and we have none"
fi
check "NO_COLOR changes nothing that is seen" 0 on_terminal xterm NO_COLOR=1 "$nightjar" describe model
lacks out "$escape"
check "nor is describe coloured without it" 0 on_terminal xterm "$nightjar" describe model
lacks out "$escape"
check "a terminal that cannot go back gets plain lines" 0 \
    on_terminal dumb "$nightjar" run job.yaml --out dumb
lacks out "$escape"
has out "2 of 2 items done"
check "so does one without a name" 0 on_terminal "" env -u TERM "$nightjar" run job.yaml --out none
lacks out "$escape"

"$nightjar" run job.yaml --out piped >out 2>err
name="a file gets plain lines"
lacks err "$escape"
lacks err "$return"
has err "2 of 2 items done"
name="and nothing but the path on standard output"
[ "$(cat out)" = piped/results.jsonl ] || fail "$(cat out)"
check "--json is the same on a terminal" 0 on_terminal xterm "$nightjar" run job.yaml --out json --json
lacks out "$escape"
has out '{"version":1,"type":"run_started"'
lacks out "items done"

# Names can hold what a terminal obeys.
odd=$(printf 'a\033[31mb')
check "a control character in a path is shown as what it is" 0 \
    on_terminal xterm "$nightjar" run job.yaml --out "'$odd'"
has out 'a\x1B[31mb/results.jsonl'
turned=$(printf 'a\342\200\256b')
check "--json on a terminal, of a name that turns the direction" 0 \
    on_terminal xterm "$nightjar" run job.yaml --json --out "$turned"
has out 'a\u202eb'
lacks out "$turned"
printf 'nightjar: 1\nname: "%s"\nmodel: model\nids: [1]\nid: "%s"\nsampling: {n: 0}\n' "$turned" "$turned" >turned.yaml
check "a mistake in a job of such a name" 3 "$nightjar" validate turned.yaml
lacks err "$turned"
check "and a program gets the path itself" 0 "$nightjar" run job.yaml --out "$odd"
has out "$odd/results.jsonl"
cp job.yaml "$odd.yaml"
check "a control character in a file's name" 0 on_terminal xterm "$nightjar" validate "'$odd.yaml'"
has out 'ok: a\x1B[31mb.yaml, 2 items'
lacks out "$escape"
broken=$(printf 'c\nd')
cp job.yaml "$broken.yaml"
check "a file's name of two lines is printed in one" 0 "$nightjar" validate "$broken.yaml"
has out 'ok: c\x0Ad.yaml, 2 items'
echo 'prompt: a' >"$broken.yaml"
check "also where it is complained of" 3 "$nightjar" validate "$broken.yaml"
has err 'c\x0Ad.yaml:1:1: '
check "or not found" 3 "$nightjar" run "$broken"
has err 'c\x0Ad'
printf 'nightjar: 1\nids: [1]\n"a\\e[31mb": 1\nname: "x\\e[31my"\n' >keys.yaml
check "control characters in a job are shown" 3 on_terminal xterm "$nightjar" validate keys.yaml
has out "keys.yaml:3:1: unknown key 'a\\x1b[31mb'"
lacks out "$escape"
check "also in a pipe" 3 "$nightjar" validate keys.yaml
lacks err "$escape"
check "and in flags" 3 on_terminal xterm "$nightjar" validate job.yaml --set "'$odd=1'"
has out "unknown key 'a\\x1b[31mb'"
lacks out "$escape"
ln -s model "$odd.model"
check "and in a model's name" 0 on_terminal xterm "$nightjar" describe "'$odd.model'"
has out 'a\x1B[31mb.model'
lacks out "$escape"
ln -s model "$broken.model"
check "a model's name of two lines is printed in one" 0 "$nightjar" describe "$broken.model"
has out 'c\x0Ad.model'
check "and in a verb" 2 on_terminal xterm "$nightjar" "'$odd'"
lacks out "$escape"

finish
