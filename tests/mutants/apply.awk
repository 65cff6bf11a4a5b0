# Makes one file of a mutant: copies a source with passages replaced.
#
#   awk -v name=NAME -v file=SOURCE -f apply.awk mutants.txt SOURCE > MUTATED
#
# Where SOURCE is read from may differ from its name in the list (the second argument). The list holds
# blocks:
#
#   mutant NAME
#   file src/...                 a source that it changes, followed by what is changed there; may be repeated
#   - old line
#   + new line
#   shown-by MODEL [refusal]     the golden that must notice; by refusing to open the model, or by a difference
#
# A run of `-` lines is one passage. It must stand in SOURCE exactly once, line after line (blanks at the
# ends aside), and the `+` lines that follow take its place. Anything else is an error (exit 1): a source
# that has moved on must not leave a mutant that changes nothing.

function strip(text)
{
    sub(/^[ \t]+/, "", text)
    sub(/[ \t]+$/, "", text)
    return text
}

function stop(why)
{
    print "mutant " name ", " file ": " why >"/dev/stderr"
    has_failed = 1
    exit 1
}

# The line at which passage p begins; stops unless there is exactly one.
function place_of(p, i, j, n_found, at)
{
    for (i = 1; i + n_old[p] - 1 <= n_lines; i++) {
        for (j = 1; j <= n_old[p] && strip(line[i + j - 1]) == old[p, j]; j++) {
        }
        if (j > n_old[p]) {
            n_found++
            at = i
        }
    }
    if (n_found != 1) {
        stop("passage " p " (" old[p, 1] ") occurs " n_found + 0 " times, wanted 1")
    }
    return at
}

FNR == NR {
    if ($1 == "mutant" || $1 == "file") {
        in_mutant = $1 == "mutant" ? $2 == name : in_mutant
        in_file = $1 == "file" && in_mutant && $2 == file
        is_old = 0
    } else if (in_file && /^- /) {
        n_passages += !is_old
        is_old = 1
        old[n_passages, ++n_old[n_passages]] = strip(substr($0, 3))
    } else if (in_file && /^\+/) {
        is_old = 0
        new[n_passages, ++n_new[n_passages]] = substr($0, 3)
    }
    next
}

{
    line[FNR] = $0
    n_lines = FNR
}

END {
    if (has_failed) {
        exit 1
    }
    if (n_passages == 0) {
        stop("no such block, or no passage")
    }
    for (p = 1; p <= n_passages; p++) {
        passage[place_of(p)] = p
    }
    for (i = 1; i <= n_lines; i++) {
        if (!(i in passage)) {
            print line[i]
            continue
        }
        p = passage[i]
        for (j = 1; j <= n_new[p]; j++) {
            print new[p, j]
        }
        i += n_old[p] - 1
    }
}
