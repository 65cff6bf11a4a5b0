#include "job/running_keys.h"

#include "unit/job/reading.h"

#define HEAD "nightjar: 1\nprompt: x\n"

static void what_is_not_said_limits_nothing(void)
{
    struct reading reading;
    read_text(&reading, HEAD);
    REQUIRE_OK(reading.status, &reading.error);
    const struct nj_job_spec *spec = reading.spec;
    CHECK_EQ(spec->context, 0);
    CHECK_EQ(spec->budget.max_items, 0);
    CHECK_EQ(spec->budget.max_output_tokens, 0);
    CHECK_EQ(spec->budget.max_runtime_ns, 0);
    CHECK_EQ(spec->budget.item_timeout_ns, 0);
    CHECK_EQ(spec->stop_on_failures.count, 0);
    CHECK_NEAR(spec->stop_on_failures.percent, 0, 0);
    CHECK_EQ(spec->resources.memory_bytes, 0);
    CHECK_EQ(spec->output_formats, NJ_OUTPUT_JSONL);
    CHECK_EQ(spec->filename_template.length_bytes, 0);
    CHECK_EQ(spec->n_daemon_keys, 0);
    close_reading(&reading);
}

static void limits_and_resources_arrive_as_written(void)
{
    struct reading reading;
    read_text(&reading,
              HEAD "context: 8192\nstop_on_failures: 20\nmemory: 8GiB\nbatch: 4\n"
                   "threads: 2\nnice: 10\n"
                   "budget: {max_items: 3, max_output_tokens: 40000,\n"
                   "         max_runtime: 20h, item_timeout: \"10m\"}\n"
                   "snapshot: {every: 15m, compress: off, write_budget: 20GB}\n"
                   "output: {formats: [csv, markdown], filename: \"{{_index}}-a\"}\n");
    REQUIRE_OK(reading.status, &reading.error);
    const struct nj_job_spec *spec = reading.spec;
    static const uint64_t minute_ns = UINT64_C(60000000000);
    CHECK_EQ(spec->context, 8192);
    CHECK_EQ(spec->stop_on_failures.count, 20);
    CHECK_EQ(spec->resources.memory_bytes, UINT64_C(8) << 30);
    CHECK_EQ(spec->resources.batch, 4);
    CHECK_EQ(spec->resources.threads, 2);
    CHECK_EQ(spec->resources.nice, 10);
    CHECK_EQ(spec->budget.max_items, 3);
    CHECK_EQ(spec->budget.max_output_tokens, 40000);
    CHECK_EQ(spec->budget.max_runtime_ns, 1200 * minute_ns);
    CHECK_EQ(spec->budget.item_timeout_ns, 10 * minute_ns);
    CHECK_EQ(spec->snapshot.every_ns, 15 * minute_ns);
    CHECK_EQ(spec->snapshot.every_sweeps, 0);
    CHECK_EQ(spec->snapshot.compress, NJ_COMPRESS_OFF);
    CHECK_EQ(spec->snapshot.write_budget_bytes, UINT64_C(20000000000));
    CHECK_EQ(spec->output_formats, NJ_OUTPUT_JSONL | NJ_OUTPUT_MARKDOWN | NJ_OUTPUT_CSV);
    CHECK_TEXT(shown(spec->filename_template), "{{_index}}-a");
    close_reading(&reading);
}

static void snapshots_come_by_themselves_by_time_or_by_sweeps(void)
{
    static const struct {
        const char *text;
        uint64_t every_ns;
        uint32_t every_sweeps;
        int compress;
    } cases[] = {
        {HEAD "snapshot: {every: auto, compress: auto}\n", 0, 0, NJ_COMPRESS_AUTO},
        {HEAD "snapshot: {every: 2 sweeps, compress: 9}\n", 0, 2, 9},
        {HEAD "snapshot: {every: 1 sweep, compress: false}\n", 0, 1, NJ_COMPRESS_OFF},
        {HEAD "snapshot: {every: 90s, compress: true}\n", UINT64_C(90000000000), 0,
         NJ_COMPRESS_AUTO},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct reading reading;
        read_text(&reading, cases[i].text);
        REQUIRE_OK(reading.status, &reading.error);
        CHECK_EQ(reading.spec->snapshot.every_ns, cases[i].every_ns);
        CHECK_EQ(reading.spec->snapshot.every_sweeps, cases[i].every_sweeps);
        CHECK_EQ(reading.spec->snapshot.compress, cases[i].compress);
        close_reading(&reading);
    }
}

static void failures_are_counted_or_a_share_of_the_items(void)
{
    static const char *const texts[] = {HEAD "stop_on_failures: 5%\n",
                                        HEAD "stop_on_failures: \"5%\"\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct reading reading;
        read_text(&reading, texts[i]);
        REQUIRE_OK(reading.status, &reading.error);
        CHECK_EQ(reading.spec->stop_on_failures.count, 0);
        CHECK_NEAR(reading.spec->stop_on_failures.percent, 5, 0);
        close_reading(&reading);
    }
}

static void what_makes_no_sense_is_refused(void)
{
    static const struct {
        const char *line, *complaint;
    } cases[] = {
        {"context: 0", "10: 'context' must be from 1 to 2147483647, not 0"},
        {"stop_on_failures: 0", "19: 'stop_on_failures' must be at least 1, not 0"},
        {"stop_on_failures: 101%",
         "19: 'stop_on_failures' must be above 0 and at most 100, not "
         "101"},
        {"stop_on_failures: 5 %",
         "19: 'stop_on_failures' must be a number or a percentage, not '5 %', write it without "
         "the space, such as 5%"},
        {"stop_on_failures: x%",
         "19: 'stop_on_failures' must be a number, not 'x', numbers are "
         "written as in JSON, such as 0.7 or 200"},
        {"memory: 8", "9: 'memory' must be a size, not '8', write a number and a unit, such as "
                      "8GiB or 500MB"},
        {"memory: 8g", "9: 'memory' must be a size, not '8g', did you mean 8GB?"},
        {"memory: [8g]", "9: 'memory' must be text, not a list, quote it if it is a text"},
        {"memory: 0GiB", "9: 'memory' must be a size, not '0GiB', write a number and a unit, "
                         "such as 8GiB or 500MB"},
        {"batch: 0", "8: 'batch' must be from 1 to 65536, not 0"},
        {"threads: 2000", "10: 'threads' must be from 1 to 1024, not 2000"},
        {"nice: -5", "7: 'nice' must be from 0 to 19, not -5"},
        {"budget: 5", "9: 'budget' must be a map, not text, write {key: value}, or such lines "
                      "below it, indented"},
        {"budget: {max_runtime: 20}", "23: 'max_runtime' must be a duration, not '20', write a "
                                      "number and a unit, such as 30s, 15m, 20h or 1h30m"},
        {"budget: {max_token: 5}", "10: unknown key 'max_token' in budget, known: max_items, "
                                   "max_output_tokens, max_runtime, item_timeout"},
        {"snapshot: {evry: 5s}", "12: unknown key 'evry' in snapshot, did you mean 'every'?"},
        {"snapshot: {every: 0 sweeps}", "19: 'every' must be auto, a duration or a number of "
                                        "sweeps, not '0 sweeps', such as 10m or 500 sweeps"},
        {"snapshot: {compress: 10}", "22: 'compress' must be auto, off or a level from 1 to 9, "
                                     "not '10'"},
        {"output: {formats: [json]}", "20: 'formats' must be jsonl, markdown or csv, not "
                                      "'json'"},
        {"output: {filename: \"{{place}}\"}",
         "21: unknown variable 'place', known: _index, _id"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        char wanted[256];
        (void)snprintf(text, sizeof text, HEAD "%s\n", cases[i].line);
        (void)snprintf(wanted, sizeof wanted, "job.yaml:3:%s", cases[i].complaint);
        CHECK_COMPLAINTS(text, wanted);
    }
}

int main(void)
{
    RUN(what_is_not_said_limits_nothing);
    RUN(limits_and_resources_arrive_as_written);
    RUN(snapshots_come_by_themselves_by_time_or_by_sweeps);
    RUN(failures_are_counted_or_a_share_of_the_items);
    RUN(what_makes_no_sense_is_refused);
    return test_result();
}
