#include "runner/obeyed.h"

#include <stdbool.h>

struct key {
    const char *name;
    bool is_used;
};

static enum nj_status refuse_used(const struct key *keys, size_t n_keys, struct nj_error *err)
{
    for (size_t i = 0; i < n_keys; i++) {
        if (keys[i].is_used) {
            return nj_fail(err, NJ_E_INPUT, "`%s` is not yet obeyed by a run: leave it out",
                           keys[i].name);
        }
    }
    return NJ_OK;
}

enum nj_status nj_check_job_is_obeyed(const struct nj_job_spec *spec, struct nj_error *err)
{
    const struct nj_job_budget *budget = &spec->budget;
    const struct key keys[] = {
        {"budget.max_items", budget->max_items > 0},
        {"budget.max_output_tokens", budget->max_output_tokens > 0},
        {"budget.max_runtime", budget->max_runtime_ns > 0},
        {"budget.item_timeout", budget->item_timeout_ns > 0},
        {"stop_on_failures",
         spec->stop_on_failures.count > 0 || spec->stop_on_failures.percent > 0.0},
        {"output.formats", (spec->output_formats & ~(unsigned)NJ_OUTPUT_JSONL) != 0},
        {"model (more than one)", spec->n_models > 1}};
    enum nj_status status = refuse_used(keys, sizeof keys / sizeof keys[0], err);
    return status == NJ_OK ? NJ_OK : nj_prefix(err, status, "%s", spec->source_path);
}
