#include "queue/heartbeat.h"

#include "support/check.h"

static void silence_longer_than_allowed_is_a_hang(void)
{
    struct nj_heartbeat heartbeat;
    nj_heartbeat_begin(&heartbeat, 100, 10, 1000);
    for (uint64_t now = 1010; now <= 1100; now += 10) {
        CHECK(!nj_heartbeat_tick(&heartbeat, now));
    }
    CHECK(nj_heartbeat_tick(&heartbeat, 1101));
}

static void a_sign_of_life_begins_the_allowance_anew(void)
{
    struct nj_heartbeat heartbeat;
    nj_heartbeat_begin(&heartbeat, 20, 10, 0);
    for (uint64_t now = 10; now < 1000; now += 10) {
        nj_heartbeat_hear(&heartbeat, now - 5);
        CHECK(!nj_heartbeat_tick(&heartbeat, now));
    }
}

/* Suspended or stopped, it has not listened. */
static void a_watcher_that_slept_judges_nobody(void)
{
    struct nj_heartbeat heartbeat;
    nj_heartbeat_begin(&heartbeat, 100, 10, 0);
    CHECK(!nj_heartbeat_tick(&heartbeat, 5000));
    for (uint64_t now = 5010; now <= 5100; now += 10) {
        CHECK(!nj_heartbeat_tick(&heartbeat, now));
    }
    CHECK(nj_heartbeat_tick(&heartbeat, 5110));
}

int main(void)
{
    RUN(silence_longer_than_allowed_is_a_hang);
    RUN(a_sign_of_life_begins_the_allowance_anew);
    RUN(a_watcher_that_slept_judges_nobody);
    return test_result();
}
