/* What texts take is counted from above, by the longest item, and never wraps. */
#include "runner/item_memory.h"

#include "base/text.h"
#include "support/check.h"

static struct nj_item item_with(struct nj_variable *var, const struct nj_sampling *sampling)
{
    return (struct nj_item){.id = nj_text_from("a"),
                            .vars = var,
                            .n_vars = var != NULL ? 1 : 0,
                            .sampling = sampling};
}

static void a_result_is_counted_as_json_writes_it(void)
{
    const struct nj_sampling sampling = {.max_tokens = 1};
    struct nj_variable plain = {.name = nj_text_from("v"), .value = nj_text_from("aaaa")};
    struct nj_variable quotes = {.name = nj_text_from("v"),
                                 .value = nj_text_from("\"\n\x01\\")};
    struct nj_item item = item_with(&plain, &sampling);
    struct nj_item_memory first = {0};
    struct nj_item_memory second = {0};

    nj_item_memory_note(&first, &item, 0, 0);
    item = item_with(&quotes, &sampling);
    nj_item_memory_note(&second, &item, 0, 0);

    CHECK_EQ(second.line_bytes - first.line_bytes, 2 + 2 + 6 + 2 - 4);
}

static void the_longest_item_counts(void)
{
    const struct nj_sampling shorter = {.max_tokens = 1};
    const struct nj_sampling longer = {.max_tokens = 1000, .wants_logprobs = true};
    struct nj_item_memory memory = {0};
    struct nj_item item = item_with(NULL, &longer);
    nj_item_memory_note(&memory, &item, 10, 0);
    uint64_t line_bytes = memory.line_bytes;
    item = item_with(NULL, &shorter);

    nj_item_memory_note(&memory, &item, 5000, 100);
    nj_item_memory_note(&memory, &item, 100, 1);

    CHECK_EQ(memory.line_bytes, line_bytes);
    CHECK(line_bytes > 100000);
    CHECK_EQ(memory.text_bytes, 5800);
    CHECK_EQ(nj_item_memory_of_one(&memory), line_bytes + 5800);
    CHECK(nj_item_memory_of_all(&memory, 2) >= 2 * nj_item_memory_of_one(&memory));
}

static void a_batch_is_as_narrow_as_texts_make_it_and_never_empty(void)
{
    const struct nj_item_memory memory = {.text_bytes = 600, .line_bytes = 400};
    CHECK_EQ(nj_item_memory_width(&memory, 4000000, 256), 256);
    CHECK_EQ(nj_item_memory_width(&memory, 40000, 256), 10);
    CHECK_EQ(nj_item_memory_width(&memory, 100, 256), 1);
}

static void sums_stop_where_they_would_wrap(void)
{
    const struct nj_item_memory memory = {.text_bytes = UINT64_MAX - 1, .line_bytes = 400};
    CHECK(nj_item_memory_of_all(&memory, 3) == UINT64_MAX);
    CHECK_EQ(nj_item_memory_width(&memory, UINT64_MAX, 256), 1);
}

int main(void)
{
    RUN(a_result_is_counted_as_json_writes_it);
    RUN(the_longest_item_counts);
    RUN(a_batch_is_as_narrow_as_texts_make_it_and_never_empty);
    RUN(sums_stop_where_they_would_wrap);
    return test_result();
}
