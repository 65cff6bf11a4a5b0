#include "runner/obeyed.h"

#include <stdbool.h>
#include <stdio.h>

struct key {
    const char *name;
    struct nj_place place;
    bool is_used;
};

static enum nj_status refuse_used(const struct key *keys, size_t n_keys, struct nj_error *err)
{
    for (size_t i = 0; i < n_keys; i++) {
        const struct nj_place *place = &keys[i].place;
        if (keys[i].is_used) {
            return nj_fail(err, NJ_E_INPUT,
                           "%s:%u:%u: '%s' is not yet obeyed by a run: leave it out",
                           place->file, place->line, place->column, keys[i].name);
        }
    }
    return NJ_OK;
}

enum nj_status nj_check_job_is_obeyed(const struct nj_job_spec *spec, struct nj_error *err)
{
    const struct nj_job_budget *budget = &spec->budget;
    const struct nj_job_failure_limit *failures = &spec->stop_on_failures;
    bool has_other_formats = (spec->output_formats & ~(unsigned)NJ_OUTPUT_JSONL) != 0;
    const struct key keys[] = {
        {"budget.max_output_tokens", budget->place, budget->max_output_tokens > 0},
        {"budget.max_runtime", budget->place, budget->max_runtime_ns > 0},
        {"budget.item_timeout", budget->place, budget->item_timeout_ns > 0},
        {"stop_on_failures", failures->place, failures->count > 0 || failures->percent > 0.0},
        {"output.formats", spec->formats_place, has_other_formats}};
    enum nj_status status = refuse_used(keys, sizeof keys / sizeof keys[0], err);
    if (status == NJ_OK && spec->n_models > 1) {
        const struct nj_place *second = &spec->models[1].place;
        status = nj_fail(err, NJ_E_INPUT,
                         "%s:%u:%u: a second model: a run has one, so split the job by model",
                         second->file, second->line, second->column);
    }
    return status;
}

static void say_ignored(const struct nj_log *log, const char *name, struct nj_place place)
{
    nj_log_write(log, NJ_LOG_WARNING,
                 "%s:%u:%u: '%s' is checked, and otherwise ignored by a run", place.file,
                 place.line, place.column, name);
}

void nj_tell_what_is_ignored(const struct nj_job_spec *spec, const struct nj_log *log)
{
    for (size_t i = 0; i < spec->n_daemon_keys; i++) {
        say_ignored(log, spec->daemon_keys[i].name, spec->daemon_keys[i].place);
    }
    if (spec->snapshot.place.line > 0) {
        say_ignored(log, "snapshot", spec->snapshot.place);
    }
    if (spec->resources.nice_place.line > 0) {
        say_ignored(log, "nice", spec->resources.nice_place);
    }
}
