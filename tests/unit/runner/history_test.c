/* What the journal says is remembered, and no number in it is believed beyond what is there. */
#include "runner/history.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "support/check.h"

static void visit(struct nj_history *history, uint32_t type, const uint8_t *payload,
                  size_t n_bytes)
{
    struct nj_error err;
    const struct nj_record record = {.type = type, .payload = {payload, n_bytes}};
    REQUIRE_OK(nj_history_visit(history, &record, &err), &err);
}

static void say_done(struct nj_history *history, uint64_t item_index)
{
    uint8_t payload[16];
    struct nj_byte_writer writer;
    nj_byte_writer_init(&writer, payload, sizeof payload);
    nj_write_u64(&writer, item_index);
    nj_write_u32(&writer, 0);
    nj_write_u32(&writer, 1);
    visit(history, NJ_JOURNAL_DONE, payload, writer.offset);
}

static void the_items_that_the_journal_says_are_done_are_marked(void)
{
    uint8_t *is_marked = NULL;
    struct nj_history history = {0};
    const struct nj_run_identity identity = {.n_items = 4, .generation = 1};
    nj_history_identify(&history, NJ_LOG_JOURNAL, &identity);
    say_done(&history, 3);
    say_done(&history, 0);
    say_done(&history, 3);

    CHECK_EQ(nj_history_marks(&history, 4, &is_marked, NULL), NJ_OK);

    CHECK_BYTES(is_marked, "\1\0\0\1", 4);
    free(is_marked);
    nj_history_deinit(&history);
}

/* Whoever writes a journal can write any number into it, checksums and all. */
static void a_mark_far_out_takes_no_more_memory_than_others(void)
{
    uint8_t *is_marked = NULL;
    struct nj_history history = {0};
    const struct nj_run_identity identity = {.n_items = UINT64_MAX, .generation = 1};
    nj_history_identify(&history, NJ_LOG_JOURNAL, &identity);
    say_done(&history, UINT64_C(1) << 46);
    say_done(&history, UINT64_MAX - 1);
    say_done(&history, 1);

    CHECK_EQ(nj_history_marks(&history, 2, &is_marked, NULL), NJ_OK);

    CHECK_BYTES(is_marked, "\0\1", 2);
    free(is_marked);
    nj_history_deinit(&history);
}

static void marks_are_about_the_items_of_the_last_job(void)
{
    uint8_t *is_marked = NULL;
    struct nj_history history = {0};
    const struct nj_run_identity first = {.n_items = 2, .generation = 1};
    const struct nj_run_identity second = {.n_items = 2, .generation = 2};
    nj_history_identify(&history, NJ_LOG_JOURNAL, &first);
    say_done(&history, 0);
    nj_history_identify(&history, NJ_LOG_JOURNAL, &second);
    say_done(&history, 1);

    CHECK_EQ(nj_history_marks(&history, 2, &is_marked, NULL), NJ_OK);

    CHECK_BYTES(is_marked, "\0\1", 2);
    free(is_marked);
    nj_history_deinit(&history);
}

int main(void)
{
    RUN(the_items_that_the_journal_says_are_done_are_marked);
    RUN(a_mark_far_out_takes_no_more_memory_than_others);
    RUN(marks_are_about_the_items_of_the_last_job);
    return test_result();
}
