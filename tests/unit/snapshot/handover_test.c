#include "snapshot/handover.h"

#include <pthread.h>
#include <string.h>

#include "support/check.h"

enum { N_MESSAGES = 3000, CAPACITY_BYTES = 1000, LONGEST_BYTES = 900 };

static size_t length_of(uint32_t index)
{
    return index % 7 == 0 ? LONGEST_BYTES : 1 + index * 31 % 200;
}

struct taken {
    struct nj_handover *handover;
    uint32_t n;
    uint32_t n_wrong;
};

static void *take_all(void *context)
{
    struct taken *taken = context;
    size_t n_bytes = 0;
    const uint8_t *message = NULL;
    while ((message = nj_handover_take(taken->handover, &n_bytes)) != NULL) {
        bool is_right = n_bytes == length_of(taken->n);
        for (size_t i = 0; i < n_bytes && is_right; i++) {
            is_right = message[i] == (uint8_t)(taken->n + i);
        }
        taken->n_wrong += !is_right;
        taken->n += 1;
        nj_handover_release(taken->handover);
    }
    return NULL;
}

static void give(struct nj_handover *handover, uint32_t index)
{
    bool waited = false;
    size_t n_bytes = length_of(index);
    uint8_t *place = nj_handover_reserve(handover, n_bytes, &waited);
    for (size_t i = 0; i < n_bytes; i++) {
        place[i] = (uint8_t)(index + i);
    }
    nj_handover_publish(handover);
}

static void messages_of_any_length_arrive_whole_and_in_order(void)
{
    struct taken taken = {.n = 0};
    struct nj_error error;
    pthread_t thread;
    REQUIRE_OK(nj_handover_create(CAPACITY_BYTES, &taken.handover, &error), &error);
    REQUIRE(pthread_create(&thread, NULL, take_all, &taken) == 0);

    for (uint32_t i = 0; i < N_MESSAGES; i++) {
        give(taken.handover, i);
        if (i % 500 == 0) {
            nj_handover_wait_until_empty(taken.handover);
            CHECK(nj_handover_is_empty(taken.handover));
        }
    }
    nj_handover_close(taken.handover);
    REQUIRE(pthread_join(thread, NULL) == 0);

    CHECK_EQ(taken.n, N_MESSAGES);
    CHECK_EQ(taken.n_wrong, 0);
    nj_handover_destroy(taken.handover);
}

static void what_was_published_before_closing_is_still_taken(void)
{
    struct taken taken = {.n = 0};
    struct nj_error error;
    REQUIRE_OK(nj_handover_create(CAPACITY_BYTES, &taken.handover, &error), &error);
    give(taken.handover, 1);
    give(taken.handover, 2);
    CHECK(!nj_handover_is_empty(taken.handover));
    nj_handover_close(taken.handover);
    taken.n = 1;
    (void)take_all(&taken);
    CHECK_EQ(taken.n, 3);
    CHECK_EQ(taken.n_wrong, 0);
    nj_handover_destroy(taken.handover);
}

int main(void)
{
    RUN(messages_of_any_length_arrive_whole_and_in_order);
    RUN(what_was_published_before_closing_is_still_taken);
    return test_result();
}
