# Prints question variables and answers of a results.jsonl and scores them.
#
#   awk -f score.awk results.jsonl
#
# Reads the flat lines that nightjar writes: the expected answer is the variable `capital` or `answer`.

function member(line, key,    at, rest, value, c, i)
{
    at = index(line, "\"" key "\":\"")
    if (at == 0) {
        return ""
    }
    rest = substr(line, at + length(key) + 4)
    value = ""
    for (i = 1; i <= length(rest); i++) {
        c = substr(rest, i, 1)
        if (c == "\\") {
            i++
            value = value substr(rest, i, 1)
        } else if (c == "\"") {
            break
        } else {
            value = value c
        }
    }
    return value
}

{
    question = member($0, "country")
    wanted = member($0, "capital")
    if (wanted == "") {
        question = member($0, "question")
        wanted = member($0, "answer")
    }
    said = member($0, "response")
    right = said == wanted
    n_right += right
    printf "%-28s %-24s %s\n", question, said, right ? "right" : "wrong, it is " wanted
}

END {
    printf "%d of %d right (%.1f %%)\n", n_right, NR, NR ? 100 * n_right / NR : 0
    exit NR == 0
}
