#include "cli/job_flags.h"

#include <string.h>

static enum nj_status check_list(const struct nj_flag_list *list, const char *flag,
                                 const char *form, struct nj_error *err)
{
    for (size_t i = 0; i < list->n_items; i++) {
        const char *equals = strchr(list->items[i], '=');
        if (equals == NULL || equals == list->items[i]) {
            return nj_fail(err, NJ_E_USAGE,
                           "%s %s: write %s %s, without a space around =", flag, list->items[i],
                           flag, form);
        }
    }
    return NJ_OK;
}

enum nj_status nj_job_flags_check(const struct nj_job_flags *flags, struct nj_error *err)
{
    enum nj_status status = check_list(&flags->sets, "--set", "PATH=VALUE", err);
    return status == NJ_OK ? check_list(&flags->vars, "--var", "NAME=TEXT", err) : status;
}

struct nj_job_overrides nj_job_flags_overrides(const struct nj_job_flags *flags)
{
    return (struct nj_job_overrides){.sets = flags->sets.items,
                                     .n_sets = flags->sets.n_items,
                                     .vars = flags->vars.items,
                                     .n_vars = flags->vars.n_items,
                                     .limit = flags->limit};
}
