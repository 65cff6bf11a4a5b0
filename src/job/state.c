#include "job/state.h"

#define TO(STATE) (1U << (STATE))

enum {
    JOB_ENDS = TO(NJ_JOB_CANCELLED) | TO(NJ_JOB_EXPIRED),
    WORK_RESULTS = TO(NJ_WORK_DONE) | TO(NJ_WORK_FAILED)
};

bool nj_job_may_move(enum nj_job_state from, enum nj_job_state to)
{
    static const unsigned moves[NJ_JOB_STATES_END] = {
        [NJ_JOB_QUEUED] = TO(NJ_JOB_RUNNING) | TO(NJ_JOB_PAUSED) | TO(NJ_JOB_PARKED) |
                          TO(NJ_JOB_SKIPPED) | TO(NJ_JOB_DONE) | TO(NJ_JOB_FAILED) | JOB_ENDS,
        [NJ_JOB_RUNNING] = TO(NJ_JOB_QUEUED) | TO(NJ_JOB_PAUSED) | TO(NJ_JOB_PARKED) |
                           TO(NJ_JOB_DONE) | TO(NJ_JOB_FAILED) | JOB_ENDS,
        [NJ_JOB_PAUSED] = TO(NJ_JOB_QUEUED) | TO(NJ_JOB_RUNNING) | TO(NJ_JOB_PARKED) |
                          TO(NJ_JOB_DONE) | TO(NJ_JOB_FAILED) | JOB_ENDS,
        [NJ_JOB_PARKED] = TO(NJ_JOB_QUEUED) | TO(NJ_JOB_RUNNING) | TO(NJ_JOB_DONE) |
                          TO(NJ_JOB_FAILED) | JOB_ENDS,
        [NJ_JOB_SKIPPED] = TO(NJ_JOB_QUEUED) | JOB_ENDS,
        [NJ_JOB_DONE] = TO(NJ_JOB_QUEUED),
        [NJ_JOB_FAILED] = TO(NJ_JOB_QUEUED),
    };
    return (moves[from] & TO(to)) != 0;
}

bool nj_work_may_move(enum nj_work_state from, enum nj_work_state to)
{
    enum { OPEN_MOVES = WORK_RESULTS | TO(NJ_WORK_PARKED) | TO(NJ_WORK_CANCELLED) };
    static const unsigned moves[NJ_WORK_STATES_END] = {
        [NJ_WORK_QUEUED] = TO(NJ_WORK_RUNNING) | OPEN_MOVES,
        [NJ_WORK_RUNNING] = TO(NJ_WORK_INTERRUPTED) | TO(NJ_WORK_WAITING) | OPEN_MOVES,
        [NJ_WORK_INTERRUPTED] = TO(NJ_WORK_RUNNING) | OPEN_MOVES,
        [NJ_WORK_WAITING] = TO(NJ_WORK_QUEUED) | OPEN_MOVES,
        [NJ_WORK_DONE] = TO(NJ_WORK_QUEUED),
        [NJ_WORK_FAILED] = TO(NJ_WORK_QUEUED),
        [NJ_WORK_PARKED] = TO(NJ_WORK_QUEUED) | TO(NJ_WORK_CANCELLED),
        [NJ_WORK_CANCELLED] = WORK_RESULTS,
    };
    return (moves[from] & TO(to)) != 0;
}

bool nj_job_has_ended(enum nj_job_state state)
{
    return state >= NJ_JOB_SKIPPED;
}

bool nj_work_has_ended(enum nj_work_state state)
{
    return state >= NJ_WORK_DONE;
}

const char *nj_job_state_name(enum nj_job_state state)
{
    static const char *const names[NJ_JOB_STATES_END] = {
        [NJ_JOB_QUEUED] = "queued",   [NJ_JOB_RUNNING] = "running",
        [NJ_JOB_PAUSED] = "paused",   [NJ_JOB_PARKED] = "parked",
        [NJ_JOB_SKIPPED] = "skipped", [NJ_JOB_DONE] = "done",
        [NJ_JOB_FAILED] = "failed",   [NJ_JOB_CANCELLED] = "cancelled",
        [NJ_JOB_EXPIRED] = "expired"};
    return names[state];
}

const char *nj_work_state_name(enum nj_work_state state)
{
    static const char *const names[NJ_WORK_STATES_END] = {[NJ_WORK_QUEUED] = "queued",
                                                          [NJ_WORK_RUNNING] = "running",
                                                          [NJ_WORK_INTERRUPTED] = "interrupted",
                                                          [NJ_WORK_WAITING] = "waiting",
                                                          [NJ_WORK_DONE] = "done",
                                                          [NJ_WORK_FAILED] = "failed",
                                                          [NJ_WORK_PARKED] = "parked",
                                                          [NJ_WORK_CANCELLED] = "cancelled"};
    return names[state];
}
