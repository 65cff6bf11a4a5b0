#include "tokenizer/slices.h"

#include <string.h>

#include "support/check.h"

/* `n` copies of one character. */
static size_t fill(char *out, const char *character, size_t n)
{
    size_t length = strlen(character);
    for (size_t i = 0; i < n * length; i++) {
        out[i] = character[i % length];
    }
    return n * length;
}

/* The slices of `text` in bytes; they must cover it. */
static size_t cut(struct nj_text text, size_t *lengths, size_t room)
{
    struct nj_slices slices;
    struct nj_text slice;
    size_t n = 0;
    size_t n_bytes = 0;
    nj_slices_init(&slices, text);
    while (nj_slices_next(&slices, &slice)) {
        CHECK(slice.data == text.data + n_bytes);
        n_bytes += slice.length_bytes;
        if (n < room) {
            lengths[n] = slice.length_bytes;
        }
        n++;
    }
    CHECK_EQ(n_bytes, text.length_bytes);
    return n;
}

static void ordinary_text_is_one_slice_and_empty_text_is_none(void)
{
    size_t lengths[4];

    CHECK_EQ(cut(nj_text_from("a b\nc"), lengths, 4), 1);
    CHECK_EQ(cut((struct nj_text){NULL, 0}, lengths, 4), 0);
}

static void a_run_is_cut_before_its_25001st_character(void)
{
    static char text[200000];
    size_t lengths[4];

    size_t n = fill(text, "x", 25000);
    CHECK_EQ(cut((struct nj_text){text, n}, lengths, 4), 1);

    /* characters, not bytes */
    n = fill(text, "\xc3\xa9", 50001);
    CHECK_EQ(cut((struct nj_text){text, n}, lengths, 4), 3);
    CHECK_EQ(lengths[0], 50000);
    CHECK_EQ(lengths[1], 50000);
    CHECK_EQ(lengths[2], 2);

    /* the run began after a word and a space */
    n = fill(text, "ab ", 1);
    n += fill(text + n, "x", 25001);
    CHECK_EQ(cut((struct nj_text){text, n}, lengths, 4), 2);
    CHECK_EQ(lengths[0], 25003);

    n = fill(text, "\xe3\x80\x80", 25001); /* U+3000 is white space */
    CHECK_EQ(cut((struct nj_text){text, n}, lengths, 4), 2);
    CHECK_EQ(lengths[0], 75000);
}

static void separators_that_python_calls_space_end_a_run(void)
{
    static char text[40000];
    size_t lengths[4];
    size_t n = fill(text, "x", 30000);

    text[15000] = 0x1c;

    CHECK_EQ(cut((struct nj_text){text, n}, lengths, 4), 1);
}

static void blocks_of_400000_characters_are_cut_whatever_they_hold(void)
{
    enum { N_CHARACTERS = 850000 };
    static char text[N_CHARACTERS];
    size_t lengths[8] = {0};

    size_t n = fill(text, "a ", N_CHARACTERS / 2);
    CHECK_EQ(cut((struct nj_text){text, n}, lengths, 8), 3);
    CHECK_EQ(lengths[0], 400000);
    CHECK_EQ(lengths[1], 400000);
    CHECK_EQ(lengths[2], 50000);

    /* A run's count begins anew with a block: 15,000 before the border, 25,000 behind it. */
    memset(text + 385000, 'x', 40000);
    text[425000] = ' ';
    CHECK_EQ(cut((struct nj_text){text, n}, lengths, 8), 3);
    CHECK_EQ(lengths[0], 400000);

    /* A cut inside a block does not move the block's end. */
    n = fill(text, "a ", N_CHARACTERS / 2);
    memset(text + 100000, 'x', 25001);
    text[99999] = ' ';
    CHECK_EQ(cut((struct nj_text){text, n}, lengths, 8), 4);
    CHECK_EQ(lengths[0], 125000);
    CHECK_EQ(lengths[1], 275000);
    CHECK_EQ(lengths[2], 400000);
}

int main(void)
{
    RUN(ordinary_text_is_one_slice_and_empty_text_is_none);
    RUN(a_run_is_cut_before_its_25001st_character);
    RUN(separators_that_python_calls_space_end_a_run);
    RUN(blocks_of_400000_characters_are_cut_whatever_they_hold);
    return test_result();
}
