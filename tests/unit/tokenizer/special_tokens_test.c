#include "tokenizer/special_tokens.h"

#include "support/check.h"

enum { N_RANKS = 300, N_VOCABULARY = 320 };

static enum nj_status parse(const char *json, struct nj_arena *arena,
                            struct nj_special_tokens *tokens, struct nj_error *error)
{
    return nj_special_tokens_parse(nj_text_from(json), N_RANKS, N_VOCABULARY, arena, tokens,
                                   error);
}

static void names_and_ids_find_each_other_whatever_the_flag(void)
{
    struct nj_arena arena = {0};
    struct nj_special_tokens tokens;
    struct nj_error error;

    REQUIRE_OK(parse("{\"added_tokens_decoder\": {"
                     "\"319\": {\"content\": \"<|open|>\", \"special\": false},"
                     "\"300\": {\"content\": \"[EOS]\", \"special\": true},"
                     "\"305\": {\"content\": \"<|\"}}, \"model_max_length\": 1}",
                     &arena, &tokens, &error),
               &error);

    CHECK_EQ(tokens.n_tokens, 3);
    CHECK_EQ(nj_special_tokens_id(&tokens, nj_text_from("<|open|>")), 319);
    CHECK_EQ(nj_special_tokens_id(&tokens, nj_text_from("[EOS]")), 300);
    CHECK_EQ(nj_special_tokens_id(&tokens, nj_text_from("<|")), 305);
    CHECK_EQ(nj_special_tokens_id(&tokens, nj_text_from("<|open")), -1);
    CHECK_EQ(nj_special_tokens_id(&tokens, nj_text_from("")), -1);
    CHECK_TEXT(nj_special_tokens_name(&tokens, 300).data, "[EOS]");
    CHECK_EQ(nj_special_tokens_name(&tokens, 301).length_bytes, 0);
    CHECK_EQ(tokens.end_id, -1);
    nj_arena_deinit(&arena);
}

static void the_end_token_is_read_as_text_or_object(void)
{
    static const char *const forms[] = {
        "{\"eos_token\": \"[END]\", \"added_tokens_decoder\": {\"310\": {\"content\": "
        "\"[END]\"}}}",
        "{\"eos_token\": {\"content\": \"[END]\"},"
        " \"added_tokens_decoder\": {\"310\": {\"content\": \"[END]\"}}}",
    };
    for (size_t i = 0; i < 2; i++) {
        struct nj_arena arena = {0};
        struct nj_special_tokens tokens;
        struct nj_error error;

        REQUIRE_OK(parse(forms[i], &arena, &tokens, &error), &error);

        CHECK_EQ(tokens.end_id, 310);
        nj_arena_deinit(&arena);
    }
}

static void a_file_that_names_none_has_none(void)
{
    struct nj_arena arena = {0};
    struct nj_special_tokens tokens;
    struct nj_error error;

    REQUIRE_OK(parse("{\"eos_token\": null}", &arena, &tokens, &error), &error);

    CHECK_EQ(tokens.n_tokens, 0);
    CHECK_EQ(tokens.end_id, -1);
    CHECK_EQ(nj_special_tokens_id(&tokens, nj_text_from("x")), -1);
    nj_arena_deinit(&arena);
}

static void contradictions_are_refused_with_their_reason(void)
{
    static const char *const wrong[][2] = {
        {"", "tokenizer_config.json"},
        {"[]", "not an object"},
        {"{\"added_tokens_decoder\": []}", "added_tokens_decoder is not an object"},
        {"{\"added_tokens_decoder\": {\"x\": {\"content\": \"a\"}}}", "\"x\" is not an id"},
        {"{\"added_tokens_decoder\": {\"\": {\"content\": \"a\"}}}", "\"\" is not an id"},
        {"{\"added_tokens_decoder\": {\"0310\": {\"content\": \"a\"}}}", "is not an id"},
        {"{\"added_tokens_decoder\": {\"-1\": {\"content\": \"a\"}}}", "is not an id"},
        {"{\"added_tokens_decoder\": {\"4294967606\": {\"content\": \"a\"}}}", "is not an id"},
        {"{\"added_tokens_decoder\": {\"310\": {}}}", "310 has no content"},
        {"{\"added_tokens_decoder\": {\"310\": {\"content\": \"\"}}}", "310 has no content"},
        {"{\"added_tokens_decoder\": {\"310\": \"a\"}}", "310 has no content"},
        {"{\"added_tokens_decoder\": {\"299\": {\"content\": \"a\"}}}", "299 is also a rank"},
        {"{\"added_tokens_decoder\": {\"320\": {\"content\": \"a\"}}}",
         "320 in a model of 320 tokens"},
        {"{\"added_tokens_decoder\": {\"310\": {\"content\": \"a\"},"
         " \"311\": {\"content\": \"a\"}}}",
         "have the same content"},
        {"{\"eos_token\": \"[END]\"}", "eos_token is not in added_tokens_decoder"},
        {"{\"eos_token\": 3}", "eos_token is not a name"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct nj_arena arena = {0};
        struct nj_special_tokens tokens;
        struct nj_error error = {0};

        CHECK_EQ(parse(wrong[i][0], &arena, &tokens, &error), NJ_E_WEIGHTS);

        CHECK_CONTAINS(error.text, wrong[i][1]);
        nj_arena_deinit(&arena);
    }
}

int main(void)
{
    RUN(names_and_ids_find_each_other_whatever_the_flag);
    RUN(the_end_token_is_read_as_text_or_object);
    RUN(a_file_that_names_none_has_none);
    RUN(contradictions_are_refused_with_their_reason);
    return test_result();
}
