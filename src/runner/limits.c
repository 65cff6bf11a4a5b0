#include "runner/limits.h"

#include "base/bytes.h"

/* The smallest number of failed items that is `percent` of all, and one at least. */
static uint64_t count_of_percent(double percent, uint64_t n_items)
{
    double wanted = percent * (double)n_items / 100.0;
    uint64_t count = (uint64_t)wanted;
    count += (double)count < wanted ? 1 : 0;
    return count > 0 ? count : 1;
}

struct nj_run_limits nj_run_limits_of(const struct nj_job_spec *spec, uint64_t n_items,
                                      uint64_t used_ns)
{
    const struct nj_job_failure_limit *failures = &spec->stop_on_failures;
    struct nj_run_limits limits = {.max_runtime_ns = spec->budget.max_runtime_ns,
                                   .used_ns = used_ns,
                                   .item_timeout_ns = spec->budget.item_timeout_ns,
                                   .n_failures = failures->count};
    if (failures->percent > 0.0) {
        limits.n_failures = count_of_percent(failures->percent, n_items);
    }
    return limits;
}

enum nj_run_limit nj_run_limits_reached(const struct nj_run_limits *limits, uint64_t n_failed,
                                        uint64_t run_ns)
{
    if (limits->n_failures > 0 && n_failed >= limits->n_failures) {
        return NJ_RUN_LIMIT_FAILURES;
    }
    if (limits->max_runtime_ns > 0 && limits->used_ns + run_ns >= limits->max_runtime_ns) {
        return NJ_RUN_LIMIT_RUNTIME;
    }
    return NJ_RUN_LIMIT_NONE;
}

const char *nj_run_limit_name(enum nj_run_limit limit)
{
    return limit == NJ_RUN_LIMIT_RUNTIME ? "max_runtime" : "stop_on_failures";
}

static double seconds(uint64_t duration_ns)
{
    return (double)duration_ns * 1e-9;
}

/* Milliseconds are shown of a limit that has some. */
static int decimals_of(uint64_t limit_ns)
{
    return limit_ns % UINT64_C(1000000000) != 0 ? 3 : 0;
}

enum nj_status nj_run_limits_fail(const struct nj_run_limits *limits, enum nj_run_limit limit,
                                  uint64_t n_failed, uint64_t run_ns, struct nj_error *err)
{
    int decimals = decimals_of(limits->max_runtime_ns);
    if (limit == NJ_RUN_LIMIT_RUNTIME) {
        return nj_fail(
            err, NJ_E_LIMIT,
            "`budget.max_runtime` is used up: %.*f of %.*f seconds, those of earlier "
            "runs in this folder included. Raise it, and the same command goes on",
            decimals, seconds(limits->used_ns + run_ns), decimals,
            seconds(limits->max_runtime_ns));
    }
    return nj_fail(err, NJ_E_LIMIT,
                   "%llu items failed, and `stop_on_failures` ends the run at %llu. Raise it, "
                   "and the same command goes on with the items that are left",
                   (unsigned long long)n_failed, (unsigned long long)limits->n_failures);
}

enum nj_status nj_timeout_digest(const struct nj_digest *item, uint64_t item_timeout_ns,
                                 struct nj_digest *digest, struct nj_error *err)
{
    uint8_t value[8];
    struct nj_byte_writer writer;
    struct nj_digest_stream *stream = NULL;
    enum nj_status status = nj_digest_stream_create(&stream, err);
    if (status != NJ_OK) {
        return status;
    }
    nj_byte_writer_init(&writer, value, sizeof value);
    nj_write_u64(&writer, item_timeout_ns);
    nj_digest_stream_add_field(stream, "item", item->bytes, NJ_DIGEST_BYTES);
    nj_digest_stream_add_field(stream, "item_timeout_ns", value, sizeof value);
    status = nj_digest_stream_finish(stream, digest, err);
    nj_digest_stream_destroy(stream);
    return status;
}
