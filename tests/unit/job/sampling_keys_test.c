#include "job/sampling_keys.h"

#include "unit/job/reading.h"

#define HEAD "nightjar: 1\nprompt: x\n"

static void what_is_not_said_is_off(void)
{
    struct reading reading;
    read_text(&reading, HEAD);
    REQUIRE_OK(reading.status, &reading.error);
    const struct nj_sampling *sampling = &reading.spec->prompts[0].sampling;
    CHECK_NEAR(sampling->min_p, 0, 0);
    CHECK_NEAR(sampling->presence_penalty, 0, 0);
    CHECK_NEAR(sampling->frequency_penalty, 0, 0);
    CHECK_NEAR(sampling->repeat_penalty, 1, 0);
    CHECK_EQ(sampling->n, 1);
    CHECK(!sampling->wants_logprobs);
    CHECK_EQ(sampling->n_stop_tokens, 0);
    CHECK_EQ(sampling->n_logit_biases, 0);
    close_reading(&reading);
}

static void every_setting_arrives_as_it_is_written(void)
{
    struct reading reading;
    read_text(&reading, HEAD "sampling:\n  min_p: 0.05\n  presence_penalty: -2\n"
                             "  frequency_penalty: 0.5\n  repeat_penalty: 1.05\n  n: 128\n"
                             "  stop_token_ids: [7, 3, 7]\n  logprobs: 5\n"
                             "  logit_bias: {\"50256\": -100, 11: 2.5}\n");
    REQUIRE_OK(reading.status, &reading.error);
    const struct nj_sampling *sampling = &reading.spec->prompts[0].sampling;
    CHECK_NEAR(sampling->min_p, 0.05, 0);
    CHECK_NEAR(sampling->presence_penalty, -2, 0);
    CHECK_NEAR(sampling->frequency_penalty, 0.5, 0);
    CHECK_NEAR(sampling->repeat_penalty, 1.05, 0);
    CHECK_EQ(sampling->n, 128);
    REQUIRE(sampling->n_stop_tokens == 2);
    CHECK_EQ(sampling->stop_tokens[0], 3);
    CHECK_EQ(sampling->stop_tokens[1], 7);
    CHECK(sampling->wants_logprobs);
    CHECK_EQ(sampling->n_top_logprobs, 5);
    REQUIRE(sampling->n_logit_biases == 2);
    CHECK_EQ(sampling->logit_biases[0].token, 11);
    CHECK_NEAR(sampling->logit_biases[0].bias, 2.5, 0);
    CHECK_EQ(sampling->logit_biases[1].token, 50256);
    CHECK_NEAR(sampling->logit_biases[1].bias, -100, 0);
    close_reading(&reading);
}

static void logprobs_are_a_switch_or_a_number(void)
{
    static const struct {
        const char *written;
        bool wanted;
        uint32_t n_top;
    } cases[] = {{"true", true, 0}, {"false", false, 0}, {"0", true, 0}, {"20", true, 20}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[128];
        struct reading reading;
        (void)snprintf(text, sizeof text, HEAD "sampling: {logprobs: %s}\n", cases[i].written);
        read_text(&reading, text);
        REQUIRE_OK(reading.status, &reading.error);
        CHECK_EQ(reading.spec->prompts[0].sampling.wants_logprobs, cases[i].wanted);
        CHECK_EQ(reading.spec->prompts[0].sampling.n_top_logprobs, cases[i].n_top);
        close_reading(&reading);
    }
}

static void a_prompt_can_switch_the_jobs_logprobs_off(void)
{
    struct reading reading;
    read_text(&reading, "nightjar: 1\nsampling: {logprobs: 3, stop_token_ids: 4}\n"
                        "prompts: [{prompt: x, sampling: {logprobs: false, "
                        "stop_token_ids: []}}]\n");
    REQUIRE_OK(reading.status, &reading.error);
    CHECK(!reading.spec->prompts[0].sampling.wants_logprobs);
    CHECK_EQ(reading.spec->prompts[0].sampling.n_top_logprobs, 0);
    CHECK_EQ(reading.spec->prompts[0].sampling.n_stop_tokens, 0);
    close_reading(&reading);
}

static void settings_out_of_range_are_refused(void)
{
    static const struct {
        const char *setting, *complaint;
    } cases[] = {
        {"min_p: 1.1", "19: 'min_p' must be from 0 to 1, not 1.1"},
        {"presence_penalty: 2.5", "30: 'presence_penalty' must be from -2 to 2, not 2.5"},
        {"frequency_penalty: -3", "31: 'frequency_penalty' must be from -2 to 2, not -3"},
        {"repeat_penalty: 0", "28: 'repeat_penalty' must be above 0 and at most 10, not 0"},
        {"n: 0", "15: 'n' must be from 1 to 128, not 0"},
        {"n: 129", "15: 'n' must be from 1 to 128, not 129"},
        {"logprobs: 21", "22: 'logprobs' must be from 0 to 20, not 21"},
        {"logprobs: yes", "22: 'logprobs' must be true, false or a number, not 'yes', true "
                          "records them, 5 also the 5 likeliest"},
        {"logprobs: truely", "22: 'logprobs' must be true or false, not 'truely'"},
        {"stop_token_ids: [-1]", "29: 'stop_token_ids' must be from 0 to 2147483647, not -1"},
        {"logit_bias: [1]", "24: 'logit_bias' must be a map, not a list, write {key: value}, "
                            "or such lines below it, indented"},
        {"logit_bias: {1: 101}", "28: 'logit_bias' must be from -100 to 100, not 101"},
        {"logit_bias: {the: 1}", "25: the keys of 'logit_bias' are token ids, 'the' is none, "
                                 "'nightjar describe MODEL' tells how many there are"},
        {"response_format: {type: json_object}",
         "12: 'response_format' is not supported: nothing would hold the answer to it, remove "
         "it, and ask for the form in the prompt"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        char wanted[256];
        (void)snprintf(text, sizeof text, HEAD "sampling: {%s}\n", cases[i].setting);
        (void)snprintf(wanted, sizeof wanted, "job.yaml:3:%s", cases[i].complaint);
        CHECK_COMPLAINTS(text, wanted);
    }
}

static void lists_of_settings_have_limits(void)
{
    static char text[NJ_LOGIT_BIASES_LIMIT * 12 + 256];
    size_t length = (size_t)sprintf(text, HEAD "sampling:\n  stop_token_ids: [");
    for (unsigned i = 0; i <= NJ_STOP_TOKENS_LIMIT; i++) {
        length += (size_t)sprintf(text + length, "%s%u", i == 0 ? "" : ",", i);
    }
    length += (size_t)sprintf(text + length, "]\n  logit_bias: {");
    for (unsigned i = 0; i <= NJ_LOGIT_BIASES_LIMIT; i++) {
        length += (size_t)sprintf(text + length, "%s%u: 1", i == 0 ? "" : ", ", i);
    }
    (void)sprintf(text + length, "}\n");
    CHECK_COMPLAINTS(text,
                     "job.yaml:4:19: 'stop_token_ids' has 65 ids, at most 64 are allowed\n"
                     "job.yaml:5:15: 'logit_bias' has 1025 tokens, at most 1024 are allowed");
}

static void a_row_cannot_set_what_is_no_single_text(void)
{
    CHECK_COMPLAINTS(
        HEAD "rows: [{sampling.logit_bias: 1, sampling.n: 2}]\n",
        "job.yaml:3:9: column 'sampling.logit_bias' cannot be set by a row, remove "
        "it");
}

int main(void)
{
    RUN(what_is_not_said_is_off);
    RUN(every_setting_arrives_as_it_is_written);
    RUN(logprobs_are_a_switch_or_a_number);
    RUN(a_prompt_can_switch_the_jobs_logprobs_off);
    RUN(settings_out_of_range_are_refused);
    RUN(lists_of_settings_have_limits);
    RUN(a_row_cannot_set_what_is_no_single_text);
    return test_result();
}
