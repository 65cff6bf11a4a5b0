#include "tokenizer/split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "unit/tokenizer/golden.h"
#include "unit/tokenizer/scanner.h"

static struct nj_split *make_split(void)
{
    struct nj_split *split = NULL;
    struct nj_error error;
    if (nj_split_create(&split, &error) != NJ_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    return split;
}

/* The next piece's end, or a failure of the test and the end of the text. */
static size_t next_end(struct nj_split *split, struct nj_text text, size_t begin)
{
    size_t end;
    struct nj_error error;
    if (nj_split_next(split, text, begin, &end, &error) != NJ_OK) {
        test_fail(__FILE__, __LINE__, "%s", error.text);
        return text.length_bytes;
    }
    return end;
}

static void check_pieces(struct nj_split *split, struct nj_text text,
                         const struct nj_json_value *pieces)
{
    size_t begin = 0;
    size_t n = 0;
    while (begin < text.length_bytes) {
        size_t end = next_end(split, text, begin);
        struct nj_text piece = {text.data + begin, end - begin};
        struct nj_text wanted = {NULL, 0};
        (void)nj_json_as_text(nj_json_at(pieces, n), &wanted);
        if (!nj_text_equal(piece, wanted)) {
            test_fail(__FILE__, __LINE__, "piece %zu of \"%.*s\" is \"%.*s\", wanted \"%.*s\"",
                      n, (int)text.length_bytes, text.data, (int)piece.length_bytes, piece.data,
                      (int)wanted.length_bytes, wanted.data);
            return;
        }
        begin = end;
        n++;
    }
    CHECK_EQ(n, nj_json_count(pieces));
}

static void recorded_strings_split_as_other_engines_split_them(void)
{
    struct golden golden;
    const struct nj_json_value *cases =
        nj_json_get(golden_open(&golden, "tokenizer_split.json"), "cases");
    struct nj_split *split = make_split();

    CHECK(nj_json_count(cases) > 300);
    for (size_t i = 0; i < nj_json_count(cases); i++) {
        const struct nj_json_value *one = nj_json_at(cases, i);
        check_pieces(split, golden_text(one, "text"), nj_json_get(one, "pieces"));
    }

    nj_split_destroy(split);
    golden_close(&golden);
}

enum { N_STRINGS = 100000, N_CHARACTERS_LIMIT = 24 };

struct sample {
    struct character characters[N_CHARACTERS_LIMIT];
    size_t begins[N_CHARACTERS_LIMIT + 1]; /* of each character in the text, and its end */
    size_t n_characters;
    char text[4 * N_CHARACTERS_LIMIT];
};

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static size_t random_below(size_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)((random_state >> 33) % n);
}

/* One to three groups, so that runs of a class are common and all pairs of classes meet. */
static void draw(struct sample *sample)
{
    const struct character_group *groups[3];
    size_t n_groups = 1 + random_below(3);
    for (size_t i = 0; i < n_groups; i++) {
        groups[i] = &character_groups[random_below(n_character_groups)];
    }
    sample->n_characters = 1 + random_below(N_CHARACTERS_LIMIT);
    size_t length = 0;
    for (size_t i = 0; i < sample->n_characters; i++) {
        const struct character_group *group = groups[random_below(n_groups)];
        sample->characters[i] = group->characters[random_below(group->n_characters)];
        sample->begins[i] = length;
        length += nj_text_put(sample->characters[i].code_point, sample->text + length);
    }
    sample->begins[sample->n_characters] = length;
}

static void show(const struct sample *sample, size_t wanted, size_t got_bytes)
{
    char line[16 * N_CHARACTERS_LIMIT] = "";
    size_t n = 0;
    for (size_t i = 0; i < sample->n_characters; i++) {
        n += (size_t)snprintf(line + n, sizeof line - n, " %x",
                              sample->characters[i].code_point);
    }
    test_fail(__FILE__, __LINE__,
              "%s: the scanner ends at character %zu (byte %zu), the engine at byte %zu", line,
              wanted, sample->begins[wanted], got_bytes);
}

static void engine_and_scanner_agree_on_100000_random_strings(void)
{
    struct nj_split *split = make_split();
    size_t n_pieces = 0;
    size_t n_different = 0;

    for (size_t round = 0; round < N_STRINGS && n_different < 5; round++) {
        struct sample sample;
        draw(&sample);
        struct nj_text text = {sample.text, sample.begins[sample.n_characters]};
        for (size_t i = 0; i < sample.n_characters; n_pieces++) {
            size_t wanted = scanner_next(sample.characters, sample.n_characters, i);
            size_t end = next_end(split, text, sample.begins[i]);
            if (end != sample.begins[wanted]) {
                show(&sample, wanted, end);
                n_different++;
                break;
            }
            i = wanted;
        }
    }

    CHECK_EQ(n_different, 0);
    CHECK(n_pieces / 3 > N_STRINGS);
    nj_split_destroy(split);
}

/* Whether a character continues a Han run. */
static bool is_han(struct nj_split *split, uint32_t code_point)
{
    char bytes[8] = "\xe4\xb8\x80"; /* U+4E00 */
    struct nj_text text = {bytes, 3 + nj_text_put(code_point, bytes + 3)};
    return next_end(split, text, 0) == text.length_bytes;
}

static void han_begins_and_ends_exactly_where_unicode_says(void)
{
    /* Scripts.txt of Unicode 15.1, neighbouring ranges joined. */
    static const uint32_t ranges[][2] = {
        {0x2e80, 0x2e99},   {0x2e9b, 0x2ef3},   {0x2f00, 0x2fd5},   {0x3005, 0x3005},
        {0x3007, 0x3007},   {0x3021, 0x3029},   {0x3038, 0x303b},   {0x3400, 0x4dbf},
        {0x4e00, 0x9fff},   {0xf900, 0xfa6d},   {0xfa70, 0xfad9},   {0x16fe2, 0x16fe3},
        {0x16ff0, 0x16ff1}, {0x20000, 0x2a6df}, {0x2a700, 0x2b739}, {0x2b740, 0x2b81d},
        {0x2b820, 0x2cea1}, {0x2ceb0, 0x2ebe0}, {0x2ebf0, 0x2ee5d}, {0x2f800, 0x2fa1d},
        {0x30000, 0x3134a}, {0x31350, 0x323af},
    };
    struct nj_split *split = make_split();
    size_t i = 0;

    for (uint32_t c = 0x2000; c < 0x40000; c += c == 0xd7ff ? 0x801 : 1) {
        while (i < sizeof ranges / sizeof ranges[0] && c > ranges[i][1]) {
            i++;
        }
        bool wanted = i < sizeof ranges / sizeof ranges[0] && c >= ranges[i][0];
        if (is_han(split, c) != wanted) {
            test_fail(__FILE__, __LINE__, "U+%04X: Han should be %d", c, wanted);
        }
    }

    nj_split_destroy(split);
}

/* Each fills one slice, the longest that the engine is ever given in one class. */
static void the_longest_runs_are_split_without_hitting_a_limit(void)
{
    static const char *const characters[] = {
        "a", "A", "\xe3\x81\x82", "\xcc\x81", "!", "\xe4\xb8\x80", " ", "\n", "\t\n", "'s"};
    enum { N = 25000 };
    static char text[(size_t)4 * N + 1];
    struct nj_split *split = make_split();

    for (size_t i = 0; i < sizeof characters / sizeof characters[0]; i++) {
        size_t length = strlen(characters[i]);
        for (size_t k = 0; k < N; k++) {
            memcpy(text + k * length, characters[i], length);
        }
        text[N * length] = 'x';
        struct nj_text whole = {text, N * length + 1};
        size_t begin = 0;
        while (begin < whole.length_bytes) {
            begin = next_end(split, whole, begin);
        }
        CHECK_EQ(begin, whole.length_bytes);
    }

    nj_split_destroy(split);
}

int main(void)
{
    RUN(recorded_strings_split_as_other_engines_split_them);
    RUN(engine_and_scanner_agree_on_100000_random_strings);
    RUN(han_begins_and_ends_exactly_where_unicode_says);
    RUN(the_longest_runs_are_split_without_hitting_a_limit);
    return test_result();
}
