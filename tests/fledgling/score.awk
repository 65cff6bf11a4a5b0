# Scores the results of jobs/questions.yaml: a table of relation by format, and a verdict.
#
#   awk -f score.awk -v n_questions=1011 results.jsonl
#
# An answer is right when it is exactly the expected one and ended by itself. Both texts are compared as
# they stand in the line: one writer escaped them alike. Exit 1 if a format is below the share wanted, if
# the best constant answer is not far below it, or if a question is missing.

BEGIN {
    wanted_percent = 97
    constant_percent_limit = 10
    n_questions_least = 900
    n_relations_least = 12
    n_formats = split("plain chat", formats, " ")
}

# A string member, without its quotes.
function member(key)
{
    if (!match($0, "\"" key "\":\"([^\"\\\\]|\\\\.)*\"")) {
        complain("line " NR " has no text `" key "`")
        return ""
    }
    return substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 5)
}

function complain(text)
{
    print "FAIL " text
    n_complaints++
}

function percent(part, whole)
{
    return whole > 0 ? 100 * part / whole : 0
}

# "147 / 147  100.0 %"
function score(right, total)
{
    return sprintf("%4d / %4d %6.1f %%", right, total, percent(right, total))
}

{
    relation = member("relation")
    format = member("format")
    answer = member("answer")
    is_right = member("response") == answer && member("finish_reason") == "stop"
    if (!(relation in is_known)) {
        is_known[relation] = 1
        relations[++n_relations] = relation
    }
    n_asked[relation, format]++
    n_asked_in[format]++
    n_right[relation, format] += is_right
    n_right_in[format] += is_right
    n_wanted[format, answer]++
    if (n_wanted[format, answer] > n_constant[format]) {
        n_constant[format] = n_wanted[format, answer]
        constant[format] = answer
    }
    if (!is_right) {
        wrong[++n_wrong] = sprintf("%-6s %s  said: %s, it is: %s", format, member("question"),
                                   member("response"), answer)
    }
}

END {
    row = "%-14s %22s %22s\n"
    printf row, "relation", formats[1], formats[2]
    for (i = 1; i <= n_relations; i++) {
        relation = relations[i]
        printf row, relation, score(n_right[relation, "plain"], n_asked[relation, "plain"]),
            score(n_right[relation, "chat"], n_asked[relation, "chat"])
    }
    printf row, "all", score(n_right_in["plain"], n_asked_in["plain"]),
        score(n_right_in["chat"], n_asked_in["chat"])
    for (i = 1; i <= n_wrong; i++) {
        print "wrong: " wrong[i]
    }
    for (i = 1; i <= n_formats; i++) {
        judge(formats[i])
    }
    if (n_questions < n_questions_least || n_relations < n_relations_least) {
        complain(n_questions + 0 " questions of " n_relations + 0 " relations are too few")
    }
    exit n_complaints > 0
}

function judge(format,    of_constant)
{
    of_constant = percent(n_constant[format], n_asked_in[format])
    printf "%s: always saying \"%s\" would score %.1f %%\n", format, constant[format], of_constant
    if (n_asked_in[format] != n_questions) {
        complain(format ": " n_asked_in[format] + 0 " answers to " n_questions + 0 " questions")
    }
    if (percent(n_right_in[format], n_asked_in[format]) < wanted_percent) {
        complain(format ": fewer than " wanted_percent " % are right")
    }
    if (of_constant >= constant_percent_limit) {
        complain(format ": a constant answer reaches " constant_percent_limit " %")
    }
}
