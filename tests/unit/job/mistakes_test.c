/* What a person does wrong in a job file, and every word of the answer: it must name the place,
 * what is wrong there, and what to write instead. */
#include "unit/job/reading.h"

struct mistake {
    const char *text, *complaints;
};

static void check(const struct mistake *mistakes, size_t n_mistakes)
{
    for (size_t i = 0; i < n_mistakes; i++) {
        CHECK_COMPLAINTS(mistakes[i].text, mistakes[i].complaints);
    }
}

static void yaml_that_is_not_what_it_looks_like(void)
{
    static const struct mistake mistakes[] = {
        {"nightjar:1\nprompt: hello\n",
         "job.yaml:1:9: no space behind the ':' of a key, write 'key: value'"},
        {"nightjar: 1\nprompt:hello\n",
         "job.yaml:2:7: no space behind the ':' of a key, write 'key: value'"},
        {"nightjar: 1\nprompts:\n  - a\n  - id:b\n    prompt: c\n",
         "job.yaml:4:7: no space behind the ':' of a key, write 'key: value'"},
        {"nightjar: 1\nprompt: *bold is* here\n",
         "job.yaml:2:9: a value that begins with '*' or '&' must be quoted, write \"*...\""},
        {"nightjar: 1\nprompt: **bold** here\n",
         "job.yaml:2:9: a value that begins with '*' or '&' must be quoted, write \"*...\""},
        {"nightjar: 1\nprompt: *bold*\n",
         "job.yaml:2:9: a value that begins with '*' or '&' must be quoted, write \"*...\""},
        {"nightjar: 1\nprompt: *bold\n",
         "job.yaml:2:9: alias '*bold' has no anchor '&bold', define it above, or quote a text "
         "that begins with '*'"},
        {"nightjar: 1\nprompts:\n  - *note: this\n  - b\n",
         "job.yaml:3:5: alias '*note' has no anchor '&note', define it above, or quote a text "
         "that begins with '*'"},
        {"nightjar: 1\nprompt: &bold is here\n",
         "job.yaml:2:9: warning: '&bold' is an anchor that nothing uses, and no part of the "
         "text, quote the text if it begins with '&'"},
        {"nightjar: 1\nprompt: & so on\n",
         "job.yaml:2:9: a value that begins with '*' or '&' must be quoted, write \"*...\""},
        {"nightjar: 1\nprompt: !important be brief\n",
         "job.yaml:2:9: tags (!) have no use here, remove it, or quote a text that begins with "
         "'!'"},
        {"nightjar: 1\nprompt: %d things\n",
         "job.yaml:2:9: a value cannot begin with '%', quote the value"},
        {"nightjar: 1\nprompt: @bob says\n",
         "job.yaml:2:9: a value cannot begin with '@', quote the value"},
        {"nightjar: 1\nprompt: ? what\n",
         "job.yaml:2:9: a value cannot begin with '? ', quote the value"},
        {"nightjar: 1\nprompt: | hello there\n",
         "job.yaml:2:11: text on the line of a | or >, begin it on the next line, indented; "
         "quote a text that begins with | or >"},
        {"nightjar: 1\nprompt: > hello there\n",
         "job.yaml:2:11: text on the line of a | or >, begin it on the next line, indented; "
         "quote a text that begins with | or >"},
        {"nightjar: 1\nprompt: - hello\n",
         "job.yaml:2:9: a list cannot begin here, put '- ' on the next line"},
        {"nightjar: 1\nprompt: [INST] hello [/INST]\n",
         "job.yaml:2:16: text behind a closing ']', quote a text that begins with ["},
        {"nightjar: 1\nprompt: {name} hello\n",
         "job.yaml:2:16: text behind a closing '}', quote a text that begins with {"},
        {"nightjar: 1\nprompt: {name}\n",
         "job.yaml:2:9: 'prompt' must be text, not a map, quote it if it is a text"},
        {"nightjar: 1\nprompt: [\"a, b]\n",
         "job.yaml:2:10: the quote that opens here is never closed, close it; inside single "
         "quotes write ' as ''"},
        {"nightjar: 1\nprompt: \"He said\" and left\n",
         "job.yaml:2:19: text behind a closing quote, write a quote inside double quotes as "
         "\\\""},
        {"nightjar: 1\nprompt: 'it's me'\n", "job.yaml:2:13: text behind a closing quote, "
                                             "write a quote inside single quotes as ''"},
        {"nightjar: 1\nprompt: 'open\n",
         "job.yaml:2:9: the quote that opens here is never closed, close it; inside single "
         "quotes write ' as ''"},
        {"nightjar: 1\nprompt: \"C:\\Users\"\n",
         "job.yaml:2:14: unknown escape in double quotes, write \\\\ for a backslash, or use "
         "single quotes"},
        {"nightjar: 1\nprompt: ]\n", "job.yaml:2:9: a value is missing before this, write \"\" "
                                     "for an empty text, or quote the text"},
        {"nightjar: 1\nprompt: [a,, b]\n", "job.yaml:2:12: a value is missing before this, "
                                           "write \"\" for an empty text, or quote the text"},
        {"hello\nprompt: x\n", "job.yaml:2:7: this key is indented as if it belonged to the "
                               "line above, begin all keys of a map in the same column"},
        {"\"hello\"\nworld\n", "job.yaml:2:1: this does not belong to what stands above it, a "
                               "job is a map: write 'key: value' in every line"},
    };
    check(mistakes, sizeof mistakes / sizeof mistakes[0]);
}

static void lines_in_the_wrong_column(void)
{
    static const struct mistake mistakes[] = {
        {"nightjar: 1\nsampling:\n\ttemperature: 0\nprompt: a\n",
         "job.yaml:3:1: tab used for indentation, use spaces"},
        {"nightjar: 1\nsampling:\n  temperature: 0\n   top_p: 0.5\nprompt: a\n",
         "job.yaml:4:9: this key is indented as if it belonged to the line above, begin all "
         "keys of a map in the same column"},
        {"nightjar: 1\nsampling:\n  temperature: 0\n top_p: 0.5\nprompt: a\n",
         "job.yaml:4:2: this does not belong to the map of line 1, check indentation and "
         "quotes"},
        {"nightjar: 1\nsampling:\ntemperature: 0\nprompt: a\n",
         "job.yaml:2:10: 'sampling' has no value, write {key: value}, or such lines below it, "
         "indented\njob.yaml:3:1: unknown key 'temperature', it belongs under 'sampling'"},
        {"nightjar: 1\nprompts:\n  - id: a\n prompt: b\n",
         "job.yaml:4:2: this does not belong to the map of line 1, check indentation and "
         "quotes"},
    };
    check(mistakes, sizeof mistakes / sizeof mistakes[0]);
}

static void keys_that_are_not_there(void)
{
    static const struct mistake mistakes[] = {
        {"nightjar: 1\npromt: a\n",
         "job.yaml:2:1: unknown key 'promt', did you mean 'prompt'?"},
        {"model: m\nprompt: a\n",
         "job.yaml:1:1: the format version is missing, begin the file with 'nightjar: 1'"},
        {"nightjar: 1\nprompt: a\ntemperature: 0\nlimit: 5\nwindow: 22:00-07:00\nmax_runtime: "
         "3h\ndir: out\nevery: 3m\n",
         "job.yaml:3:1: unknown key 'temperature', it belongs under 'sampling'\njob.yaml:4:1: "
         "unknown key 'limit', it belongs under 'rows'\njob.yaml:5:1: unknown key 'window', it "
         "belongs under 'schedule'\njob.yaml:6:1: unknown key 'max_runtime', it belongs under "
         "'budget'\njob.yaml:7:1: unknown key 'dir', it belongs under 'output'\njob.yaml:8:1: "
         "unknown key 'every', it belongs under 'snapshot'"},
        {"nightjar: 1\nprompt: a\nsampling: {rows: a.csv, memory: 8GB}\n",
         "job.yaml:3:12: unknown key 'rows' in sampling, it is a key of the job: do not indent "
         "it\njob.yaml:3:25: unknown key 'memory' in sampling, it is a key of the job: do not "
         "indent it"},
        {"nightjar: 1\nprompt: a\nresponse_format: json\n",
         "job.yaml:3:1: 'response_format' is not supported: nothing would hold the answer to "
         "it, remove it, and ask for the form in the prompt"},
        {"nightjar: 1\nprompt: a\nfle: x\nsampling: {temp: 0, topp: 1, max_tokns: 3}\n",
         "job.yaml:3:1: unknown key 'fle'\njob.yaml:4:12: unknown key 'temp' in sampling, did "
         "you mean 'temperature'?\njob.yaml:4:21: unknown key 'topp' in sampling, did you mean "
         "'top_p'?\njob.yaml:4:30: unknown key 'max_tokns' in sampling, did you mean "
         "'max_tokens'?"},
        {"nightjar: 1\nprompt: a\nsampling: {temperature: 0,5}\n",
         "job.yaml:3:27: unknown key '5' in sampling, the decimal sign is a point"},
        {"nightjar: 1\nprompt: a\nrows: {path: a.csv}\n",
         "job.yaml:3:7: 'rows' names no 'file'\njob.yaml:3:8: unknown key 'path' in rows, "
         "known: file, format, delimiter, limit, offset, shuffle_seed"},
    };
    check(mistakes, sizeof mistakes / sizeof mistakes[0]);
}

static void values_of_the_wrong_kind(void)
{
    static const struct mistake mistakes[] = {
        {"nightjar: 1\nprompts: hello\n", "job.yaml:2:10: 'prompts' must be a list, not text, "
                                          "a single one stands under 'prompt'"},
        {"nightjar: 1\nprompt: [a, b]\n", "job.yaml:2:9: 'prompt' must be text, not a list, "
                                          "several prompts stand under 'prompts'"},
        {"nightjar: 1\nprompt: a\nsampling:\n",
         "job.yaml:3:10: 'sampling' has no value, write {key: value}, or such lines below it, "
         "indented"},
        {"nightjar: 1\nprompt: a\noutput: {formats: csv}\n",
         "job.yaml:3:19: 'formats' must be a list, not text, write [one, two], or lines that "
         "begin with '- '"},
        {"nightjar: 1\nmessages: hello\n", "job.yaml:2:11: 'messages' must be a list, not "
                                           "text, write [{role: user, content: ...}]"},
        {"nightjar: 1\nprompt: a\nsampling: {temperature: \"hot\", top_k: 1e3, n: 0, stop: "
         "\"\", top_p: 1.5}\n",
         "job.yaml:3:25: 'temperature' must be a number, not 'hot', numbers are written as in "
         "JSON, such as 0.7 or 200\njob.yaml:3:39: 'top_k' must be a whole number, not 1e3, "
         "write its digits, without point and exponent\njob.yaml:3:47: 'n' must be from 1 to "
         "128, not 0\njob.yaml:3:56: 'stop' is empty, leave it out, or name a text that ends "
         "the answer\njob.yaml:3:67: 'top_p' must be above 0 and at most 1, not 1.5"},
        {"nightjar: 1\nprompt: a\nsampling: {temperature: \"0.5\", seed: 0x10, max_tokens: "
         "-1}\n",
         "job.yaml:3:25: 'temperature' must be a number, not quoted text, remove the "
         "quotes\njob.yaml:3:38: 'seed' must be a number, not '0x10', numbers are written as "
         "in JSON, such as 0.7 or 200\njob.yaml:3:56: 'max_tokens' must be from 1 to "
         "2147483647, not -1"},
        {"nightjar: 1\nprompt: a\nsampling: {logprobs: yes}\n",
         "job.yaml:3:22: 'logprobs' must be true, false or a number, not 'yes', true records "
         "them, 5 also the 5 likeliest"},
        {"nightjar: 1\nprompt: a\nsampling: {logit_bias: {hello: 5, -1: 2}}\n",
         "job.yaml:3:25: the keys of 'logit_bias' are token ids, 'hello' is none, 'nightjar "
         "describe MODEL' tells how many there are\njob.yaml:3:35: the keys of 'logit_bias' "
         "are token ids, '-1' is none, 'nightjar describe MODEL' tells how many there are"},
        {"nightjar: 1\nprompt: a\nrepeat: 2026-12-01\n",
         "job.yaml:3:9: 'repeat' must be a number, not '2026-12-01', numbers are written as in "
         "JSON, such as 0.7 or 200"},
        {"nightjar: 1\nprompt: a\nbudget: {max_items: 0, max_runtime: 3 hours}\n",
         "job.yaml:3:21: 'max_items' must be at least 1, not 0\njob.yaml:3:37: 'max_runtime' "
         "must be a duration, not '3 hours', write a number and a unit, such as 30s, 15m, 20h "
         "or 1h30m"},
        {"nightjar: 1\nprompt: a\nsnapshot: {every: 5}\n",
         "job.yaml:3:19: 'every' must be auto, a duration or a number of sweeps, not '5', such "
         "as 10m or 500 sweeps"},
        {"nightjar: 1\nmodel: ~/models/x\nprompt: a\noutput: {dir: $HOME/out}\n",
         "job.yaml:2:8: 'model' begins with ~/, which only a shell knows, write the whole "
         "path\njob.yaml:4:15: 'dir' begins with $HOME/, which only a shell knows, write the "
         "whole path"},
        {"nightjar: 1\nprompt: \"{{a}}\"\nvars: *nope\n",
         "job.yaml:3:7: alias '*nope' has no anchor '&nope', define it above, or quote a text "
         "that begins with '*'"},
        {"nightjar: 1\nprompt: \"{{a}}\"\nvars: {a: *nope}\n",
         "job.yaml:3:11: alias '*nope' has no anchor '&nope', define it above, or quote a text "
         "that begins with '*'"},
        {"nightjar: 1\nprompts: [{prompt: &t \"{{x}} {{\"}, {prompt: *t}]\n",
         "job.yaml:2:24: unknown variable 'x', known: _index, _id\njob.yaml:2:30: '{{' without "
         "'}}', write {{name}}, or {{{{ for literal braces"},
        {"nightjar: 1\nprompt: \"{{#if x}} {{x|upper}}\"\n",
         "job.yaml:2:10: unknown variable '#if x', only a name stands between the braces, "
         "there are no filters or conditions\njob.yaml:2:20: unknown variable 'x|upper', only "
         "a name stands between the braces, there are no filters or conditions"},
        {"nightjar: 1\nprompt: \"{{Name}}\"\nvars: {name: a}\n",
         "job.yaml:2:10: unknown variable 'Name', did you mean 'name'? known: name, _index, "
         "_id"},
    };
    check(mistakes, sizeof mistakes / sizeof mistakes[0]);
}

static void the_matrix_tells_all_that_is_wrong_in_it(void)
{
    static const struct mistake mistakes[] = {
        {"nightjar: 1\nprompt: \"{{a}}\"\nmatrix:\n  a: [1, 2]\n  sampling.temp: [0, 1]\n  b: "
         "[]\n  exclude: [{c: 3}, {b: 1}]\n",
         "job.yaml:5:3: 'sampling.temp' names no sampling setting, did you mean "
         "'sampling.temperature'?\njob.yaml:6:6: 'b' must have from 1 to 1000 "
         "values\njob.yaml:7:14: 'c' is no name of the matrix, write a list for it above, or "
         "remove it"},
        {"nightjar: 1\nprompt: \"{{a}}\"\nmatrix: {a: 1, exclude: [3, {}]}\n",
         "job.yaml:3:13: 'a' must be a list, not text, write [one, two], or lines that begin "
         "with '- '\njob.yaml:3:26: 'exclude' must be a map, not text, write {key: value}, or "
         "such lines below it, indented\njob.yaml:3:29: an entry of 'exclude' names nothing"},
    };
    check(mistakes, sizeof mistakes / sizeof mistakes[0]);
}

int main(void)
{
    RUN(yaml_that_is_not_what_it_looks_like);
    RUN(lines_in_the_wrong_column);
    RUN(keys_that_are_not_there);
    RUN(values_of_the_wrong_kind);
    RUN(the_matrix_tells_all_that_is_wrong_in_it);
    return test_result();
}
