#include "job/event.h"

#include <string.h>

#include "support/check.h"

static struct nj_event sample(enum nj_event_type type)
{
    return (struct nj_event){.type = type,
                             .unix_ms = INT64_C(1796119200125),
                             .item_index = 7,
                             .sample = 1,
                             .item_id = nj_text_from("he\"ron\n"),
                             .job_name = nj_text_from("night"),
                             .folder = nj_text_from("results/night"),
                             .n_items = 60,
                             .n_items_done = 5,
                             .n_items_failed = 1,
                             .n_items_kept = 3,
                             .n_tokens_restored = 40,
                             .n_prompt_tokens = 12,
                             .n_output_tokens = 34,
                             .n_from_snapshot = 48,
                             .n_fed_again = 4,
                             .n_snapshot_bytes = 8192,
                             .restore_ns = 2500000,
                             .n_prefill = 600,
                             .n_prefill_read = 20,
                             .n_rows = 9,
                             .n_prefill_rows = 7,
                             .n_running = 4,
                             .sweep_ns = 1500000000,
                             .token = 163,
                             .text = nj_text_from("stop")};
}

static void check_event(enum nj_event_type type, const char *wanted)
{
    struct nj_json_writer writer;
    struct nj_event event = sample(type);
    struct nj_text text = {0};
    char line[1024];
    nj_json_writer_init(&writer);
    nj_event_write(&writer, &event);
    CHECK_EQ(nj_json_finish(&writer, &text, NULL), NJ_OK);
    REQUIRE(text.length_bytes < sizeof line);
    memcpy(line, text.data, text.length_bytes);
    line[text.length_bytes] = '\0';
    CHECK_TEXT(line, wanted);
    nj_json_writer_deinit(&writer);
}

#define HEAD(TYPE)                                                                             \
    "{\"version\":1,\"type\":\"" TYPE "\",\"time\":\"2026-12-01T10:00:00.125Z\","              \
    "\"time_unix\":1796119200.125,"
#define ITEM     "\"item_index\":7,\"sample\":1,\"item_id\":\"he\\\"ron\\n\","
#define PROGRESS "\"items\":60,\"items_done\":5,\"items_failed\":1"

static void every_type_has_exactly_the_documented_fields(void)
{
    check_event(NJ_EVENT_RUN_STARTED,
                HEAD("run_started") "\"job\":\"night\",\"folder\":\"results/night\"," PROGRESS
                                    ",\"items_kept\":3,\"items_under_way\":4,"
                                    "\"tokens_restored\":40}");
    check_event(NJ_EVENT_ITEM_STARTED, HEAD("item_started") ITEM "\"prompt_tokens\":12}");
    check_event(NJ_EVENT_ITEM_RESUMED, HEAD("item_resumed") ITEM
                "\"prompt_tokens\":12,\"tokens_restored\":40,\"tokens_from_snapshot\":48,"
                "\"tokens_fed_again\":4,\"snapshot_bytes\":8192,\"restore_seconds\":0.0025}");
    check_event(NJ_EVENT_TOKEN, HEAD("token") ITEM "\"token\":163}");
    check_event(NJ_EVENT_ITEM_DONE,
                HEAD("item_done") ITEM "\"finish_reason\":\"stop\",\"prompt_tokens\":12,"
                                       "\"output_tokens\":34," PROGRESS "}");
    check_event(
        NJ_EVENT_SWEEP_DONE,
        HEAD("sweep_done") "\"rows\":9,\"running\":4,\"prefill_tokens\":600,"
                           "\"prefill_tokens_read\":20,\"prefill_rows\":7,\"prompt_tokens\":12,"
                           "\"output_tokens\":34,\"tokens_restored\":40,"
                           "\"seconds\":1.5," PROGRESS "}");
    check_event(NJ_EVENT_RUN_PAUSED,
                HEAD("run_paused") "\"job\":\"night\",\"folder\":\"results/"
                                   "night\",\"reason\":\"stop\"," PROGRESS "}");
    check_event(NJ_EVENT_RUN_DONE,
                HEAD("run_done") "\"job\":\"night\",\"folder\":\"results/night\"," PROGRESS
                                 ",\"items_kept\":3,\"tokens_restored\":40,"
                                 "\"output_tokens\":34}");
}

int main(void)
{
    RUN(every_type_has_exactly_the_documented_fields);
    return test_result();
}
