#include "tokenizer/tokenizer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/failing_malloc.h"
#include "support/faulty_files.h"
#include "unit/tokenizer/golden.h"
#include "unit/tokenizer/small_tokenizer.h"

static const char *const words[] = {"he",     "ll", "hell", "hello", " w",       "or",
                                    " world", "<|", "|>",   "open",  "\xe4\xb8", NULL};

static enum nj_status open_directory(const char *directory, uint32_t n_vocabulary,
                                     struct nj_tokenizer **tokenizer, struct nj_error *error)
{
    return nj_tokenizer_open(nj_file_system_real(), directory, n_vocabulary, tokenizer, error);
}

static void text_becomes_whole_pieces_or_merged_bytes(void)
{
    struct nj_tokenizer *tokenizer = small_tokenizer_open(words, small_xtml_specials);
    struct nj_token_list list = {0};

    CHECK_EQ(nj_tokenizer_encode(tokenizer, nj_text_from("hello world"), &list, NULL), NJ_OK);
    /* " world" is one token only as a whole: "rld" cannot be reached by merging. */
    CHECK_EQ(list.n_ids, 2);
    CHECK_EQ(list.ids[0], 259);
    CHECK_EQ(list.ids[1], 262);

    CHECK_EQ(nj_tokenizer_encode(tokenizer, nj_text_from(" worlds"), &list, NULL), NJ_OK);
    CHECK_EQ(list.n_ids, 2 + 5);
    CHECK_EQ(list.ids[2], 260);
    CHECK_EQ(list.ids[3], 261);
    CHECK_EQ(list.ids[4], 'l');

    CHECK_EQ(nj_tokenizer_encode(tokenizer, nj_text_from(""), &list, NULL), NJ_OK);
    CHECK_EQ(list.n_ids, 7);
    nj_token_list_deinit(&list);
    nj_tokenizer_close(tokenizer);
}

static void check_ids(struct nj_tokenizer *tokenizer, const struct nj_json_value *one)
{
    const struct nj_json_value *ids = nj_json_get(one, "ids");
    struct nj_text text = golden_text(one, "text");
    struct nj_token_list list = {0};
    struct nj_error error;
    REQUIRE_OK(nj_tokenizer_encode(tokenizer, text, &list, &error), &error);
    bool equal = list.n_ids == nj_json_count(ids);
    for (size_t i = 0; equal && i < list.n_ids; i++) {
        int64_t wanted = -1;
        equal = nj_json_as_integer(nj_json_at(ids, i), &wanted) && list.ids[i] == wanted;
    }
    if (!equal) {
        test_fail(__FILE__, __LINE__, "\"%.*s\" has other ids", (int)text.length_bytes,
                  text.data);
    }
    nj_token_list_deinit(&list);
}

static void recorded_texts_have_the_ids_of_another_implementation(void)
{
    struct golden golden;
    const struct nj_json_value *root = golden_open(&golden, "tokenizer_ids.json");
    const struct nj_json_value *cases = nj_json_get(root, "cases");
    const char *directory = small_model_directory(golden_text(root, "rank_file").data, "{}");
    struct nj_tokenizer *tokenizer = NULL;
    struct nj_error error;
    REQUIRE_OK(open_directory(directory, 640, &tokenizer, &error), &error);

    CHECK(nj_json_count(cases) > 150);
    for (size_t i = 0; i < nj_json_count(cases); i++) {
        check_ids(tokenizer, nj_json_at(cases, i));
    }

    nj_tokenizer_close(tokenizer);
    golden_close(&golden);
}

static void special_tokens_are_found_by_name_and_shown_by_id(void)
{
    struct nj_tokenizer *tokenizer = small_tokenizer_open(words, small_xtml_specials);
    nj_token n_ranks = (nj_token)nj_tokenizer_n_ranks(tokenizer);
    bool is_special;

    CHECK_EQ(n_ranks, 256 + 11);
    CHECK_EQ(nj_tokenizer_n_specials(tokenizer), 7);
    CHECK_EQ(nj_tokenizer_special(tokenizer, "<|open|>"), n_ranks + 3);
    CHECK_EQ(nj_tokenizer_special(tokenizer, "<|im_end|>"), -1);

    /* The configuration says special: false for it. */
    struct nj_bytes bytes = nj_tokenizer_bytes(tokenizer, n_ranks + 3, &is_special);
    CHECK(is_special);
    CHECK_EQ(bytes.length_bytes, 8);

    bytes = nj_tokenizer_bytes(tokenizer, 'A', &is_special);
    CHECK(!is_special);
    CHECK_EQ(bytes.data[0], 'A');

    /* reserved, past the vocabulary, negative */
    static const nj_token nameless[] = {256 + 11 + 6, 1 << 20, -1};
    for (size_t i = 0; i < 3; i++) {
        bytes = nj_tokenizer_bytes(tokenizer, nameless[i], &is_special);
        CHECK(is_special);
        CHECK_EQ(bytes.length_bytes, 0);
    }
    nj_tokenizer_close(tokenizer);
}

static void check_stops(const char *const *specials, const char *const *wanted, size_t n_wanted)
{
    struct nj_tokenizer *tokenizer = small_tokenizer_open(NULL, specials);
    const nj_token *stops;
    REQUIRE(nj_tokenizer_stops(tokenizer, &stops) == n_wanted);
    for (size_t i = 0; i < n_wanted; i++) {
        CHECK_EQ(stops[i], nj_tokenizer_special(tokenizer, wanted[i]));
    }
    nj_tokenizer_close(tokenizer);
}

static void generation_stops_at_the_message_end_and_at_the_text_end(void)
{
    static const char *const xtml[] = {"<|end_of_msg|>", "[EOS]"};
    static const char *const im[] = {"<|im_end|>", "[EOS]"};
    static const char *const other[] = {"[UNK]", NULL};

    check_stops(small_xtml_specials, xtml, 2);
    check_stops(small_im_specials, im, 2);
    check_stops(other, NULL, 0);
}

static void another_end_token_counts_only_when_no_usual_one_exists(void)
{
    char *ranks = small_rank_file(NULL);
    struct nj_tokenizer *tokenizer = NULL;
    struct nj_error error;
    const nj_token *stops;

    REQUIRE_OK(open_directory(small_model_directory(
                                  ranks, "{\"eos_token\": \"</s>\", \"added_tokens_decoder\": "
                                         "{\"256\": {\"content\": \"</s>\"}}}"),
                              300, &tokenizer, &error),
               &error);
    CHECK_EQ(nj_tokenizer_stops(tokenizer, &stops), 1);
    CHECK_EQ(stops[0], 256);
    nj_tokenizer_close(tokenizer);

    REQUIRE_OK(open_directory(small_model_directory(
                                  ranks, "{\"eos_token\": \"</s>\", \"added_tokens_decoder\": "
                                         "{\"256\": {\"content\": \"</s>\"},"
                                         " \"257\": {\"content\": \"[EOS]\"}}}"),
                              300, &tokenizer, &error),
               &error);
    CHECK_EQ(nj_tokenizer_stops(tokenizer, &stops), 1);
    CHECK_EQ(stops[0], 257);
    nj_tokenizer_close(tokenizer);
    free(ranks);
}

static void text_that_is_not_utf8_is_refused_and_leaves_the_list_alone(void)
{
    struct nj_tokenizer *tokenizer = small_tokenizer_open(words, NULL);
    struct nj_token_list list = {0};
    struct nj_error error;
    CHECK_EQ(nj_tokenizer_encode(tokenizer, nj_text_from("hello"), &list, NULL), NJ_OK);

    CHECK_EQ(nj_tokenizer_encode(tokenizer, nj_text_from("good\xed\xa0\x80"), &list, &error),
             NJ_E_INPUT);

    CHECK_CONTAINS(error.text, "byte 4");
    CHECK_EQ(list.n_ids, 1);
    nj_token_list_deinit(&list);
    nj_tokenizer_close(tokenizer);
}

/* Where a slice ends shows: without the cut " xx..x" would be one piece. */
static void very_long_runs_are_cut_as_the_released_tokenizer_cuts_them(void)
{
    static const char *const pair[] = {"ab", NULL};
    struct nj_tokenizer *tokenizer = small_tokenizer_open(pair, NULL);
    struct nj_token_list list = {0};
    static char text[25001];
    memset(text, 'x', 24999);
    text[24999] = 'a';
    text[25000] = 'b';

    CHECK_EQ(nj_tokenizer_encode(tokenizer, (struct nj_text){text, 25001}, &list, NULL), NJ_OK);

    CHECK_EQ(list.n_ids, 25001);
    CHECK_EQ(list.ids[24999], 'a');
    CHECK_EQ(list.ids[25000], 'b');
    nj_token_list_deinit(&list);
    nj_tokenizer_close(tokenizer);
}

static uint32_t random_state = 2026;

static size_t random_below(size_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (size_t)(random_state >> 8) % n;
}

/* Literals of control tokens, whole and broken, between characters of all lengths. */
static size_t draw_hostile_text(char *out, size_t room)
{
    static const char *const parts[] = {
        "<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>", "[EOS]", "[BOS]",  "[PAD]", "<|",
        "|>",       "open",      "<|op",    "en|>",           "hello", " world", "\n",    "\t",
    };
    size_t n = 0;
    size_t n_parts = random_below(12);
    for (size_t i = 0; i < n_parts && n + 32 < room; i++) {
        size_t k = random_below(sizeof parts / sizeof parts[0] + 6);
        if (k < sizeof parts / sizeof parts[0]) {
            size_t length = strlen(parts[k]);
            memcpy(out + n, parts[k], length);
            n += length;
        } else {
            static const uint32_t limits[] = {0x80, 0x800, 0xd800, 0x110000 - 0xe000};
            size_t which = random_below(4);
            uint32_t c = (uint32_t)random_below(limits[which]) + (which == 3 ? 0xe000 : 0);
            n += nj_text_put(c, out + n);
        }
    }
    return n;
}

static void no_text_gives_a_control_id_and_all_text_comes_back(void)
{
    struct nj_tokenizer *tokenizer = small_tokenizer_open(words, small_xtml_specials);
    nj_token n_ranks = (nj_token)nj_tokenizer_n_ranks(tokenizer);
    struct nj_token_list list = {0};
    size_t n_control = 0;
    size_t n_different = 0;

    for (int round = 0; round < 10000; round++) {
        char text[512];
        size_t n = draw_hostile_text(text, sizeof text);
        list.n_ids = 0;
        CHECK_EQ(nj_tokenizer_encode(tokenizer, (struct nj_text){text, n}, &list, NULL), NJ_OK);
        for (size_t i = 0; i < list.n_ids; i++) {
            n_control += list.ids[i] < 0 || list.ids[i] >= n_ranks;
        }
        char *shown = small_tokenizer_show(tokenizer, &list);
        n_different += memcmp(shown, text, n) != 0 || shown[n] != '\0';
        free(shown);
    }

    CHECK_EQ(n_control, 0);
    CHECK_EQ(n_different, 0);
    nj_token_list_deinit(&list);
    nj_tokenizer_close(tokenizer);
}

static void a_directory_without_tokenizer_files_is_told_from_half_a_tokenizer(void)
{
    char *ranks = small_rank_file(NULL);
    struct nj_tokenizer *tokenizer = NULL;
    struct nj_error error;

    CHECK_EQ(open_directory(small_model_directory(NULL, NULL), 300, &tokenizer, &error),
             NJ_E_NOT_FOUND);
    CHECK_EQ(open_directory(small_model_directory(ranks, NULL), 300, &tokenizer, &error),
             NJ_E_WEIGHTS);
    CHECK_CONTAINS(error.text, "tiktoken.model is there without tokenizer_config.json");
    CHECK_EQ(open_directory(small_model_directory(NULL, "{}"), 300, &tokenizer, &error),
             NJ_E_WEIGHTS);
    CHECK_CONTAINS(error.text, "tokenizer_config.json is there without tiktoken.model");
    CHECK_EQ(open_directory("/nonexistent/model", 300, &tokenizer, &error), NJ_E_NOT_FOUND);
    CHECK(tokenizer == NULL);
    free(ranks);
}

static void a_vocabulary_larger_than_the_model_is_refused(void)
{
    char *ranks = small_rank_file(words);
    struct nj_tokenizer *tokenizer = NULL;
    struct nj_error error;
    const char *directory = small_model_directory(ranks, "{}");

    CHECK_EQ(open_directory(directory, 266, &tokenizer, &error), NJ_E_WEIGHTS);

    CHECK_CONTAINS(error.text, "267 ranks for a model of 266 tokens");
    CHECK_CONTAINS(error.text, directory);
    REQUIRE_OK(open_directory(directory, 267, &tokenizer, &error), &error);
    nj_tokenizer_close(tokenizer);
    free(ranks);
}

static void digest_of(const char *rank_file, const char *config, struct nj_digest *digest)
{
    struct nj_tokenizer *tokenizer = NULL;
    struct nj_error error;
    REQUIRE_OK(
        open_directory(small_model_directory(rank_file, config), 300, &tokenizer, &error),
        &error);
    *digest = *nj_tokenizer_digest(tokenizer);
    nj_tokenizer_close(tokenizer);
}

static void the_digest_changes_with_either_file(void)
{
    char *ranks = small_rank_file(NULL);
    char *more_ranks = small_rank_file(words);
    struct nj_digest first;
    struct nj_digest again;
    struct nj_digest other_ranks;
    struct nj_digest other_config;

    digest_of(ranks, "{}", &first);
    digest_of(ranks, "{}", &again);
    digest_of(more_ranks, "{}", &other_ranks);
    digest_of(ranks, "{ }", &other_config);

    CHECK(memcmp(&first, &again, sizeof first) == 0);
    CHECK(memcmp(&first, &other_ranks, sizeof first) != 0);
    CHECK(memcmp(&first, &other_config, sizeof first) != 0);
    free(ranks);
    free(more_ranks);
}

static void every_failing_read_fails_the_opening(void)
{
    static const enum faulty_call calls[] = {FAULTY_OPEN, FAULTY_READ, FAULTY_STATUS};
    char *ranks = small_rank_file(words);
    const char *directory = small_model_directory(ranks, "{}");
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        unsigned long n = 0;
        bool fired = true;
        while (fired) {
            struct faulty_files faulty;
            struct nj_tokenizer *tokenizer = NULL;
            struct nj_error error = {0};
            faulty_files_init(&faulty, nj_file_system_real());
            faulty_files_fail(&faulty, calls[i], ++n, EIO);

            enum nj_status status =
                nj_tokenizer_open(&faulty.table, directory, 300, &tokenizer, &error);

            fired = faulty_files_fired(&faulty);
            CHECK_EQ(status != NJ_OK, fired);
            CHECK_EQ(tokenizer == NULL, fired);
            CHECK_EQ(error.text[0] != '\0', fired);
            CHECK_EQ(faulty.n_calls[FAULTY_OPEN] - (fired && calls[i] == FAULTY_OPEN),
                     faulty.n_calls[FAULTY_CLOSE]);
            nj_tokenizer_close(tokenizer);
        }
        CHECK(n > 1);
    }
    free(ranks);
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void)
{
    char *ranks = small_rank_file(words);
    char directory[256];
    (void)snprintf(directory, sizeof directory, "%s", small_model_directory(ranks, "{}"));
    unsigned long n = 0;
    bool failed = true;
    while (failed) {
        struct nj_tokenizer *tokenizer = NULL;
        struct nj_token_list list = {0};
        struct nj_error error = {0};
        failing_malloc_arm(++n);

        enum nj_status status =
            nj_tokenizer_open(nj_file_system_real(), directory, 300, &tokenizer, &error);
        if (status == NJ_OK) {
            status =
                nj_tokenizer_encode(tokenizer, nj_text_from("hello worlds"), &list, &error);
        }

        failed = failing_malloc_disarm();
        CHECK_EQ(status, failed ? NJ_E_MEMORY : NJ_OK);
        CHECK_EQ(list.n_ids, failed ? 0 : 1 + 5);
        nj_token_list_deinit(&list);
        nj_tokenizer_close(tokenizer);
    }
    CHECK(n > 8);
    free(ranks);
}

int main(void)
{
    RUN(text_becomes_whole_pieces_or_merged_bytes);
    RUN(recorded_texts_have_the_ids_of_another_implementation);
    RUN(special_tokens_are_found_by_name_and_shown_by_id);
    RUN(generation_stops_at_the_message_end_and_at_the_text_end);
    RUN(another_end_token_counts_only_when_no_usual_one_exists);
    RUN(text_that_is_not_utf8_is_refused_and_leaves_the_list_alone);
    RUN(very_long_runs_are_cut_as_the_released_tokenizer_cuts_them);
    RUN(no_text_gives_a_control_id_and_all_text_comes_back);
    RUN(a_directory_without_tokenizer_files_is_told_from_half_a_tokenizer);
    RUN(a_vocabulary_larger_than_the_model_is_refused);
    RUN(the_digest_changes_with_either_file);
    RUN(every_failing_read_fails_the_opening);
    RUN(every_failing_allocation_is_reported_and_leaks_nothing);
    return test_result();
}
