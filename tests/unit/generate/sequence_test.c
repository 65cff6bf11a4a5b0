#include "generate/sequence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/tiny_model.h"
#include "unit/tokenizer/small_tokenizer.h"

static struct nj_model *model;
static const char *const words[] = {"st", "sto", "stop", "in", "ing", "ca", "caf", NULL};

/* A sequence that takes the ids of `output` one by one, in two lives: the second begins with
 * the first `n_before` of them as an earlier run's. */
struct spoken {
    struct nj_tokenizer *tokenizer;
    struct nj_token_list ids;
    struct nj_sequence *sequence;
    char response[128];
    char reasoning[128];
};

static void copy_text(char *copy, const char *text, size_t length_bytes)
{
    REQUIRE(length_bytes < 128);
    if (length_bytes > 0) {
        memcpy(copy, text, length_bytes);
    }
    copy[length_bytes] = '\0';
}

static void speak(struct spoken *spoken, const char *const *specials, const char *output,
                  struct nj_sequence_options options, size_t n_before)
{
    static const int32_t prompt[] = {1, 2};
    struct nj_error err;
    memset(spoken, 0, sizeof *spoken);
    spoken->tokenizer = small_tokenizer_open(words, specials);
    small_tokenizer_spell(spoken->tokenizer, output, &spoken->ids);
    struct nj_sequence_setting setting = {.model = model, .tokenizer = spoken->tokenizer};
    setting.n_stop_ids = nj_tokenizer_stops(spoken->tokenizer, &setting.stop_ids);
    options.prompt = prompt;
    options.n_prompt = 2;
    options.max_tokens = options.max_tokens > 0 ? options.max_tokens : 100;
    options.chosen = spoken->ids.ids;
    options.n_chosen = n_before;
    REQUIRE_OK(nj_sequence_create(&setting, &options, &spoken->sequence, &err), &err);
    for (size_t i = n_before;
         i < spoken->ids.n_ids && spoken->sequence->finish == NJ_FINISH_NONE; i++) {
        REQUIRE_OK(nj_sequence_accept(spoken->sequence, spoken->ids.ids[i], &err), &err);
    }
    size_t length = 0;
    const char *text = nj_sequence_response(spoken->sequence, &length);
    copy_text(spoken->response, text, length);
    text = nj_sequence_reasoning(spoken->sequence, &length);
    copy_text(spoken->reasoning, text, length);
}

static void release(struct spoken *spoken)
{
    nj_sequence_destroy(spoken->sequence);
    nj_token_list_deinit(&spoken->ids);
    nj_tokenizer_close(spoken->tokenizer);
}

static const struct nj_stop_string ping[] = {{"ping", 4}, {"\n", 1}};

static void a_stop_string_over_tokens_ends_the_text_before_it_after_any_restart(void)
{
    for (size_t n_before = 0; n_before < 8; n_before++) {
        struct spoken spoken;
        struct nj_sequence_options options = {.stop = ping, .n_stop = 2};
        speak(&spoken, NULL, "never stopping now", options, n_before);
        CHECK_TEXT(spoken.response, "never stop");
        CHECK_EQ(nj_sequence_finish(spoken.sequence), NJ_FINISH_STOP);
        CHECK_EQ(nj_sequence_stop_string(spoken.sequence), 0);
        release(&spoken);
    }
}

static void text_that_may_become_a_stop_string_waits(void)
{
    struct spoken spoken;
    struct nj_sequence_options options = {.stop = ping, .n_stop = 2};
    speak(&spoken, NULL, "stoppin", options, 0);
    CHECK_TEXT(spoken.response, "stop");
    release(&spoken);
    options.max_tokens = 3; /* "stop", "p", "in": what waited is text after all */
    speak(&spoken, NULL, "stoppin", options, 0);
    CHECK_TEXT(spoken.response, "stoppin");
    CHECK_EQ(nj_sequence_finish(spoken.sequence), NJ_FINISH_LENGTH);
    release(&spoken);
}

static void characters_split_over_tokens_come_whole(void)
{
    struct spoken spoken;
    struct nj_sequence_options options = {.max_tokens = 3};
    speak(&spoken, NULL, "caf\xC3\xA9", (struct nj_sequence_options){0}, 1);
    CHECK_TEXT(spoken.response, "caf\xC3\xA9");
    release(&spoken);
    options.max_tokens = 2; /* cut inside the character */
    speak(&spoken, NULL, "caf\xC3\xA9", options, 1);
    CHECK_TEXT(spoken.response, "caf\xEF\xBF\xBD");
    release(&spoken);
}

static void reasoning_stands_apart_and_stop_strings_leave_it_alone(void)
{
    struct spoken spoken;
    struct nj_sequence_options options = {
        .stop = ping, .n_stop = 2, .is_chat = true, .thinking = NJ_THINKING_MAX};
    speak(&spoken, small_xtml_specials,
          "a\nping<|close|>think<|sep|><|open|>response<|sep|>b ping c", options, 3);
    CHECK_TEXT(spoken.reasoning, "a\nping");
    CHECK_TEXT(spoken.response, "b ");
    CHECK_EQ(nj_sequence_n_reasoning(spoken.sequence), 4);
    CHECK_EQ(nj_sequence_stop_string(spoken.sequence), 0);
    release(&spoken);
}

static void a_stop_id_ends_the_sequence_and_is_no_text(void)
{
    struct spoken spoken;
    struct nj_sequence_options options = {.is_chat = true};
    speak(&spoken, small_xtml_specials,
          "yes<|close|>response<|sep|><|close|>message<|sep|><|end_of_msg|>more", options, 0);
    size_t n_chosen = 0;
    (void)nj_sequence_chosen(spoken.sequence, &n_chosen);
    CHECK_TEXT(spoken.response, "yes");
    CHECK_EQ(nj_sequence_finish(spoken.sequence), NJ_FINISH_STOP);
    CHECK_EQ(nj_sequence_stop_id(spoken.sequence),
             nj_tokenizer_special(spoken.tokenizer, "<|end_of_msg|>"));
    CHECK_EQ(nj_sequence_chosen(spoken.sequence, &n_chosen)[n_chosen - 1],
             nj_sequence_stop_id(spoken.sequence));
    release(&spoken);
}

/* "stop" is a token of its own; as a stop id it is as little text as the model's are. */
static void a_stop_id_of_the_job_is_no_text_either(void)
{
    for (size_t n_before = 0; n_before < 4; n_before++) {
        struct spoken spoken;
        struct nj_token_list word = {0};
        struct nj_tokenizer *tokenizer = small_tokenizer_open(words, NULL);
        small_tokenizer_spell(tokenizer, "stop", &word);
        REQUIRE(word.n_ids == 1);
        struct nj_sequence_options options = {.stop_ids = word.ids, .n_stop_ids = 1};
        speak(&spoken, NULL, "a stop b", options, n_before);
        CHECK_TEXT(spoken.response, "a ");
        CHECK_EQ(nj_sequence_finish(spoken.sequence), NJ_FINISH_STOP);
        CHECK_EQ(nj_sequence_stop_id(spoken.sequence), word.ids[0]);
        release(&spoken);
        nj_token_list_deinit(&word);
        nj_tokenizer_close(tokenizer);
    }
}

static void special_tokens_in_plain_output_are_no_text(void)
{
    struct spoken spoken;
    speak(&spoken, small_xtml_specials, "a<|open|>b", (struct nj_sequence_options){0}, 0);
    CHECK_TEXT(spoken.response, "ab");
    release(&spoken);
}

int main(void)
{
    char path[256];
    struct nj_error err;
    (void)snprintf(path, sizeof path, "%s/t5", test_folder());
    struct nj_model_options options = {.path = path, .n_threads = 1, .max_rows = 4};
    if (tiny_model_write(TINY_MODEL_T5, path) != 0 ||
        nj_model_open(&options, &model, &err) != NJ_OK) {
        test_fail(__FILE__, __LINE__, "%s", err.text);
        return 1;
    }
    RUN(a_stop_string_over_tokens_ends_the_text_before_it_after_any_restart);
    RUN(text_that_may_become_a_stop_string_waits);
    RUN(characters_split_over_tokens_come_whole);
    RUN(reasoning_stands_apart_and_stop_strings_leave_it_alone);
    RUN(a_stop_id_ends_the_sequence_and_is_no_text);
    RUN(a_stop_id_of_the_job_is_no_text_either);
    RUN(special_tokens_in_plain_output_are_no_text);
    nj_model_close(model);
    return test_result();
}
