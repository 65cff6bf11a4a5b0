#include "job/orders.h"

#include <assert.h>

static const uint64_t second_ns = 1000000000;
static const uint64_t minute_ns = 60000000000;

struct nj_job_orders nj_job_orders_default(void)
{
    return (struct nj_job_orders){
        .hours = {.days = NJ_EVERY_DAY, .on_window_end = NJ_WINDOW_END_PAUSE},
        .priority = NJ_PRIORITY_NORMAL,
        .retry = {.max_attempts = 3,
                  .backoff_ns = 30 * second_ns,
                  .factor = 2,
                  .most_ns = 15 * minute_ns},
    };
}

struct nj_schedule nj_job_hours_in(const struct nj_job_hours *hours, const struct nj_zone *zone)
{
    return (struct nj_schedule){.windows = hours->windows,
                                .n_windows = hours->n_windows,
                                .days = hours->days,
                                .zone = zone};
}

uint64_t nj_job_retry_pause_ns(const struct nj_job_retry *retry, uint32_t n_attempts,
                               double draw)
{
    assert(n_attempts >= 1 && draw >= 0 && draw < 1);
    double pause = (double)retry->backoff_ns;
    double most = (double)retry->most_ns;
    for (uint32_t i = 1; i < n_attempts && pause < most; i++) {
        pause *= retry->factor;
    }
    return (uint64_t)((pause < most ? pause : most) * (0.8 + 0.4 * draw));
}
