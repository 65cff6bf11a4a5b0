#include "runner/obeyed.h"

enum nj_status nj_check_job_is_obeyed(const struct nj_job_spec *spec, struct nj_error *err)
{
    if (spec->n_models <= 1) {
        return NJ_OK;
    }
    const struct nj_place *second = &spec->models[1].place;
    return nj_fail(err, NJ_E_INPUT,
                   "%s:%u:%u: a second model: a run has one, so split the job by model",
                   second->file, second->line, second->column);
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
    if (spec->resources.nice_place.line > 0) {
        say_ignored(log, "nice", spec->resources.nice_place);
    }
}
