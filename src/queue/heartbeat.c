#include "queue/heartbeat.h"

void nj_heartbeat_begin(struct nj_heartbeat *heartbeat, uint64_t allowance_ns,
                        uint64_t tick_gap_ns, uint64_t now_ns)
{
    *heartbeat = (struct nj_heartbeat){.allowance_ns = allowance_ns,
                                       .tick_gap_ns = tick_gap_ns,
                                       .heard_ns = now_ns,
                                       .ticked_ns = now_ns};
}

void nj_heartbeat_hear(struct nj_heartbeat *heartbeat, uint64_t now_ns)
{
    heartbeat->heard_ns = now_ns;
}

bool nj_heartbeat_tick(struct nj_heartbeat *heartbeat, uint64_t now_ns)
{
    bool had_gap = now_ns - heartbeat->ticked_ns > heartbeat->tick_gap_ns;
    heartbeat->ticked_ns = now_ns;
    if (had_gap) {
        heartbeat->heard_ns = now_ns;
        return false;
    }
    return now_ns - heartbeat->heard_ns > heartbeat->allowance_ns;
}
