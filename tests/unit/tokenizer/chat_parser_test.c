#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "tokenizer/chat_template.h"
#include "unit/tokenizer/small_tokenizer.h"

static const char *const words[] = {"message", "think", "response", "resp", "Two", NULL};

/* What a model's output was sorted into, as text. */
struct sorted {
    char response[256];
    char reasoning[256];
};

static void add(char *text, struct nj_bytes bytes)
{
    size_t n = strlen(text);
    if (n + bytes.length_bytes < 256) {
        memcpy(text + n, bytes.data, bytes.length_bytes);
        text[n + bytes.length_bytes] = '\0';
    }
}

static void sort_ids(struct nj_tokenizer *tokenizer, enum nj_thinking thinking,
                     const struct nj_token_list *list, struct sorted *sorted)
{
    struct nj_chat_parser parser;
    nj_chat_parser_init(&parser, nj_chat_format_of(tokenizer), thinking);
    *sorted = (struct sorted){"", ""};
    for (size_t i = 0; i < list->n_ids; i++) {
        bool is_special;
        struct nj_bytes bytes = nj_tokenizer_bytes(tokenizer, list->ids[i], &is_special);
        /* A copy goes on as the parser itself would. */
        struct nj_chat_parser copy = parser;
        enum nj_chat_part part = nj_chat_parser_next(&copy, tokenizer, list->ids[i]);
        parser = copy;
        if (part == NJ_PART_RESPONSE) {
            add(sorted->response, bytes);
        } else if (part == NJ_PART_REASONING) {
            add(sorted->reasoning, bytes);
        }
    }
}

static void check_output(const char *const *specials, enum nj_thinking thinking,
                         const char *output, const char *reasoning, const char *response)
{
    struct nj_tokenizer *tokenizer = small_tokenizer_open(words, specials);
    struct nj_token_list list = {0};
    struct sorted sorted;
    small_tokenizer_spell(tokenizer, output, &list);

    sort_ids(tokenizer, thinking, &list, &sorted);

    CHECK_TEXT(sorted.reasoning, reasoning);
    CHECK_TEXT(sorted.response, response);
    nj_token_list_deinit(&list);
    nj_tokenizer_close(tokenizer);
}

#define TAIL "<|close|>response<|sep|><|close|>message<|sep|><|end_of_msg|>"

static void reasoning_and_response_are_told_apart(void)
{
    check_output(small_xtml_specials, NJ_THINKING_MAX,
                 "Two plus two.<|close|>think<|sep|><|open|>response<|sep|>Four." TAIL,
                 "Two plus two.", "Four.");
    check_output(small_xtml_specials, NJ_THINKING_OFF, "Four." TAIL, "", "Four.");
    check_output(small_xtml_specials, NJ_THINKING_OFF, "Four.[EOS]", "", "Four.");
    check_output(small_xtml_specials, NJ_THINKING_LOW,
                 "<|close|>think<|sep|><|open|>response<|sep|>" TAIL, "", "");
}

static void a_tail_that_the_length_limit_cut_off_costs_nothing(void)
{
    static const char output[] = "ab<|close|>think<|sep|><|open|>response<|sep|>cd" TAIL;
    struct nj_tokenizer *tokenizer = small_tokenizer_open(words, small_xtml_specials);
    struct nj_token_list list = {0};
    small_tokenizer_spell(tokenizer, output, &list);
    size_t n_all = list.n_ids;

    for (size_t n = 0; n <= n_all; n++) {
        struct sorted sorted;
        list.n_ids = n;
        sort_ids(tokenizer, NJ_THINKING_MAX, &list, &sorted);
        CHECK_EQ(strlen(sorted.reasoning), n < 2 ? n : 2);
        CHECK_EQ(strlen(sorted.response), n < 8 ? 0 : n < 10 ? n - 8 : 2);
    }

    nj_token_list_deinit(&list);
    nj_tokenizer_close(tokenizer);
}

static void only_control_tokens_close_an_element(void)
{
    /* The model writes about its own format: ordinary tokens for the same words. */
    struct nj_tokenizer *tokenizer = small_tokenizer_open(words, small_xtml_specials);
    struct nj_token_list list = {0};
    struct sorted sorted;
    static const char quoted[] = "A turn ends with <|close|>message<|sep|> and [EOS].";
    CHECK_EQ(nj_tokenizer_encode(tokenizer, nj_text_from(quoted), &list, NULL), NJ_OK);

    sort_ids(tokenizer, NJ_THINKING_OFF, &list, &sorted);

    CHECK_TEXT(sorted.response, quoted);
    nj_token_list_deinit(&list);
    nj_tokenizer_close(tokenizer);
}

static void what_stands_in_other_elements_or_between_them_is_shown_to_nobody(void)
{
    check_output(small_xtml_specials, NJ_THINKING_MAX,
                 "why<|close|>think<|sep|>between<|open|>response<|sep|>this"
                 "<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool=\"x\" "
                 "index=\"1\"<|sep|>args<|close|>call<|sep|><|close|>tools<|sep|>"
                 "<|close|>message<|sep|><|end_of_msg|>after",
                 "why", "this");
    check_output(
        small_xtml_specials, NJ_THINKING_OFF,
        "this<|close|>response<|sep|><|open|>responses<|sep|>no<|close|>responses<|sep|>"
        "<|open|>response x<|sep|>no<|close|>response<|sep|><|open|><|sep|>no"
        "<|open|>resp<|sep|>no",
        "", "this");
}

static void a_tag_is_known_by_its_letters_however_it_is_cut_into_tokens(void)
{
    struct nj_tokenizer *tokenizer = small_tokenizer_open(words, small_xtml_specials);
    struct nj_token_list list = {0};
    struct sorted sorted;
    small_tokenizer_spell(tokenizer, "a<|close|>think<|sep|><|open|>", &list);
    static const nj_token single_bytes[] = {'r', 'e', 's', 'p', 'o', 'n', 's', 'e'};
    CHECK_EQ(nj_token_list_append(&list, single_bytes, 8, NULL), NJ_OK);
    small_tokenizer_spell(tokenizer, "<|sep|>b", &list);

    sort_ids(tokenizer, NJ_THINKING_MAX, &list, &sorted);

    CHECK_TEXT(sorted.reasoning, "a");
    CHECK_TEXT(sorted.response, "b");
    nj_token_list_deinit(&list);
    nj_tokenizer_close(tokenizer);
}

static void stray_control_tokens_are_structure_and_change_nothing(void)
{
    check_output(small_xtml_specials, NJ_THINKING_OFF, "a<|sep|>b[PAD]c[BOS]d", "", "abcd");
    /* No tag is spelled with a control token in it. */
    check_output(small_xtml_specials, NJ_THINKING_MAX, "a<|open|>resp[PAD]onse<|sep|>b", "a",
                 "");
    static const char *const with_word[] = {"<|open|>",       "<|close|>", "<|sep|>",
                                            "<|end_of_msg|>", "onse",      NULL};
    check_output(with_word, NJ_THINKING_MAX, "a<|open|>response<|sep|>b", "a", "");
    /* A second opening replaces the first. */
    check_output(small_xtml_specials, NJ_THINKING_MAX, "a<|open|>x<|open|>response<|sep|>b",
                 "a", "b");
}

static void in_the_older_format_everything_before_the_end_is_response(void)
{
    check_output(small_im_specials, NJ_THINKING_OFF, "think<|im_middle|>Two<|im_end|>no", "",
                 "thinkTwo");
    check_output(small_im_specials, NJ_THINKING_OFF, "Two[EOS]no", "", "Two");
}

static void without_a_chat_format_all_text_is_response(void)
{
    static const char *const end_only[] = {"[EOS]", NULL};

    check_output(end_only, NJ_THINKING_OFF, "think Two[EOS]more", "", "think Twomore");
}

int main(void)
{
    RUN(reasoning_and_response_are_told_apart);
    RUN(a_tail_that_the_length_limit_cut_off_costs_nothing);
    RUN(only_control_tokens_close_an_element);
    RUN(what_stands_in_other_elements_or_between_them_is_shown_to_nobody);
    RUN(a_tag_is_known_by_its_letters_however_it_is_cut_into_tokens);
    RUN(stray_control_tokens_are_structure_and_change_nothing);
    RUN(in_the_older_format_everything_before_the_end_is_response);
    RUN(without_a_chat_format_all_text_is_response);
    return test_result();
}
