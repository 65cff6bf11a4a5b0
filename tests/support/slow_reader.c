#include "support/slow_reader.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct slow_reader_result {
    struct nj_read_result result;
    uint64_t due_ns;
};

static uint64_t now_ns(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t due_ns)
{
    struct timespec due = {(time_t)(due_ns / 1000000000u), (long)(due_ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) != 0) {
    }
}

static uint64_t draw(struct slow_reader *slow)
{
    slow->random = slow->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return slow->random >> 33;
}

static enum nj_status slow_open(void *context, const struct nj_reader_options *options,
                                void **reader, struct nj_error *err)
{
    struct slow_reader *slow = context;
    slow->limit = options->limit;
    slow->requests = calloc(options->limit, sizeof *slow->requests);
    slow->held = calloc(options->limit, sizeof *slow->held);
    enum nj_status status =
        slow->requests == NULL || slow->held == NULL
            ? nj_fail(err, NJ_E_MEMORY, "make a slow reader: no memory")
            : slow->below->open(slow->below->context, options, &slow->reader, err);
    if (status != NJ_OK) {
        free(slow->held);
        free(slow->requests);
        return status;
    }
    slow->n_held = 0;
    slow->n_below = 0;
    slow->free_at_ns = 0;
    *reader = slow;
    return NJ_OK;
}

static void slow_submit(void *reader, const struct nj_read_request *requests,
                        uint32_t n_requests)
{
    struct slow_reader *slow = reader;
    for (uint32_t i = 0; i < n_requests; i++) {
        slow->requests[requests[i].tag] = requests[i];
    }
    slow->n_below += n_requests;
    slow->below->submit(slow->reader, requests, n_requests);
}

static bool is_spoilt(struct slow_reader *slow, const struct nj_read_request *request)
{
    struct slow_reader_fault *fault = &slow->fault;
    if (fault->n_times == 0 || request->file != fault->file ||
        request->offset_bytes >= fault->to_bytes ||
        request->offset_bytes + request->length_bytes <= fault->from_bytes) {
        return false;
    }
    fault->n_times -= fault->n_times == UINT32_MAX ? 0 : 1;
    slow->n_spoilt++;
    return true;
}

/* When a result may be seen: after its delay, and after what the slowed drive did before. */
static uint64_t due_of(struct slow_reader *slow, const struct nj_read_result *result)
{
    uint64_t now = now_ns();
    uint64_t due = now + (slow->delay_ns == 0 ? 0 : draw(slow) % slow->delay_ns);
    if (slow->bytes_per_second != 0 && result->result > 0) {
        uint64_t begin = slow->free_at_ns > now ? slow->free_at_ns : now;
        uint64_t took =
            (uint64_t)result->result * UINT64_C(1000000000) / slow->bytes_per_second;
        slow->free_at_ns = begin + took;
        due = slow->free_at_ns > due ? slow->free_at_ns : due;
    }
    return due;
}

static void hold(struct slow_reader *slow, struct nj_read_result result)
{
    if (is_spoilt(slow, &slow->requests[result.tag])) {
        result.result =
            slow->fault.error_number != 0 ? -slow->fault.error_number : result.result / 2;
    }
    slow->held[slow->n_held++] = (struct slow_reader_result){result, due_of(slow, &result)};
    slow->n_below--;
}

/* Takes what the reader below has; waits for it only when nothing is held. */
static void gather(struct slow_reader *slow, bool waits)
{
    struct nj_read_result result;
    bool must_wait = waits && slow->n_held == 0;
    while (slow->n_below > 0 && slow->below->reap(slow->reader, must_wait, &result, 1) == 1) {
        hold(slow, result);
        must_wait = false;
    }
}

static uint32_t earliest(const struct slow_reader *slow)
{
    uint32_t found = 0;
    for (uint32_t i = 1; i < slow->n_held; i++) {
        if (slow->held[i].due_ns < slow->held[found].due_ns) {
            found = i;
        }
    }
    return found;
}

static struct nj_read_result let_go(struct slow_reader *slow, uint32_t i)
{
    struct nj_read_result result = slow->held[i].result;
    slow->held[i] = slow->held[--slow->n_held];
    return result;
}

/* Shuffling lets go of one result at a time, any of those held, and of none now and then. */
static uint32_t reap_shuffled(struct slow_reader *slow, bool waits,
                              struct nj_read_result *results)
{
    if (slow->n_held == 0 || (!waits && draw(slow) % 2 == 0)) {
        return 0;
    }
    uint32_t i = (uint32_t)(draw(slow) % slow->n_held);
    if (slow->held[i].due_ns > now_ns()) {
        if (!waits) {
            return 0;
        }
        sleep_until(slow->held[i].due_ns);
    }
    results[0] = let_go(slow, i);
    return 1;
}

static uint32_t slow_reap(void *reader, bool waits, struct nj_read_result *results,
                          uint32_t limit)
{
    struct slow_reader *slow = reader;
    gather(slow, waits);
    if (slow->shuffles) {
        return reap_shuffled(slow, waits, results);
    }
    if (waits) {
        sleep_until(slow->held[earliest(slow)].due_ns);
    }
    uint32_t n = 0;
    while (slow->n_held > 0 && n < limit) {
        uint32_t first = earliest(slow);
        if (slow->held[first].due_ns > now_ns()) {
            break;
        }
        results[n++] = let_go(slow, first);
    }
    return n;
}

static void slow_close(void *reader)
{
    struct slow_reader *slow = reader;
    slow->below->close(slow->reader);
    free(slow->held);
    free(slow->requests);
}

void slow_reader_init(struct slow_reader *slow, const struct nj_reader_table *below,
                      uint64_t seed)
{
    *slow = (struct slow_reader){.below = below, .random = seed};
    slow->table = (struct nj_reader_table){
        .name = below->name,
        .context = slow,
        .open = slow_open,
        .submit = slow_submit,
        .reap = slow_reap,
        .close = slow_close,
    };
}
