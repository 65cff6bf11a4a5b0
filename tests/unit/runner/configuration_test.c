#include "runner/configuration.h"

#include <stdio.h>
#include <string.h>

#include "job/spec_yaml.h"
#include "support/check.h"

enum { JSON_BYTES = 4096 };

/* What `text` is after defaults and flags, as JSON; empty when it is refused. */
static void configure(const char *text, const struct nj_job_overrides *overrides,
                      char json[JSON_BYTES])
{
    struct nj_arena arena = {0};
    struct nj_diagnostics diagnostics;
    struct nj_job_specs specs = {0};
    struct nj_json_writer writer;
    struct nj_text written = {0};
    struct nj_error err = {0};
    json[0] = '\0';
    nj_diagnostics_init(&diagnostics, &arena);
    nj_json_writer_init(&writer);
    const struct nj_bytes content = {(const uint8_t *)text, strlen(text)};
    if (CHECK_EQ(
            nj_job_specs_read("a.yaml", content, overrides, &arena, &diagnostics, &specs, &err),
            NJ_OK)) {
        nj_configuration_write(specs.items[0], &writer);
        CHECK_EQ(nj_json_finish(&writer, &written, &err), NJ_OK);
        (void)snprintf(json, JSON_BYTES, "%.*s", (int)written.length_bytes, written.data);
    }
    nj_json_writer_deinit(&writer);
    nj_diagnostics_deinit(&diagnostics);
    nj_arena_deinit(&arena);
}

static void defaults_are_written_out(void)
{
    char json[JSON_BYTES];
    configure("nightjar: 1\nmodel: m\nids: [1]\n", NULL, json);
    CHECK_CONTAINS(json, "{\"prompts\":1,\"sampling\":[{\"first_prompt\":0,\"temperature\":");
    CHECK_CONTAINS(json, "\"top_p\":1.0,");
    CHECK_CONTAINS(json, "\"seed\":null,\"logprobs\":false,\"top_logprobs\":0,\"stop\":[],"
                         "\"stop_token_ids\":[],\"logit_bias\":[]}]");
    CHECK_CONTAINS(json, "\"vars\":[],\"rows\":null,\"matrix\":null,\"repeat\":1,\"id\":null,"
                         "\"limit\":null,\"thinking\":\"off\",\"context\":null,\"budget\":{"
                         "\"max_items\":null,\"max_output_tokens\":null,\"item_timeout\":null},"
                         "\"formats\":[\"jsonl\"],\"filename\":null}");
}

/* The command line needs no record of its own: the same job by other means is the same. */
static void flags_are_in_it_as_if_the_file_said_so(void)
{
    const char *const sets[] = {"sampling.temperature=0.5", "repeat=2"};
    const char *const vars[] = {"place=Norway"};
    const struct nj_job_overrides overrides = {
        .sets = sets, .n_sets = 2, .vars = vars, .n_vars = 1, .limit = 3};
    char by_flags[JSON_BYTES];
    configure("nightjar: 1\nmodel: m\nprompt: \"{{place}}\"\n", &overrides, by_flags);
    char by_file[JSON_BYTES];
    configure("nightjar: 1\nmodel: m\nprompt: \"{{place}}\"\nrepeat: 2\n"
              "sampling: {temperature: 0.5}\nvars: {place: Norway}\n",
              &(struct nj_job_overrides){.limit = 3}, by_file);
    CHECK_TEXT(by_flags, by_file);
    CHECK_CONTAINS(by_flags, "\"temperature\":0.5,");
    CHECK_CONTAINS(by_flags, "\"vars\":[[\"place\",\"Norway\"]]");
    CHECK_CONTAINS(by_flags, "\"repeat\":2,");
    CHECK_CONTAINS(by_flags, "\"limit\":3,");
}

static void sampling_is_written_where_it_changes(void)
{
    char json[JSON_BYTES];
    configure("nightjar: 1\nmodel: m\nsampling: {stop: [\"\\n\"], seed: 4}\n"
              "prompts:\n- {ids: [1]}\n- {ids: [2]}\n"
              "- {ids: [3], sampling: {logit_bias: {7: -2.5}}}\n"
              "- {ids: [4], sampling: {stop: [\"\\t\"]}}\n",
              NULL, json);
    CHECK_CONTAINS(json, "\"prompts\":4,\"sampling\":[{\"first_prompt\":0,");
    CHECK(strstr(json, "\"first_prompt\":1,") == NULL);
    CHECK_CONTAINS(json, "\"stop\":[\"\\n\"],\"stop_token_ids\":[],\"logit_bias\":[[7,-2.5]]},{"
                         "\"first_prompt\":3,");
    CHECK_CONTAINS(json, "\"seed\":4,");
}

/* A key of the manifest that stands in the job must not be found in its place. */
static void names_of_the_job_are_never_keys(void)
{
    char json[JSON_BYTES];
    configure("nightjar: 1\nmodel: m\nprompt: \"{{items_ok}} {{engine}}\"\n"
              "vars: {items_ok: x}\n"
              "matrix: {engine: [a, b], sampling.logit_bias: [{5: 1}, {6: 2}]}\n",
              NULL, json);
    CHECK(strstr(json, "\"items_ok\":") == NULL);
    CHECK(strstr(json, "\"engine\":") == NULL);
    CHECK_CONTAINS(json, "\"vars\":[[\"items_ok\",\"x\"]]");
    CHECK_CONTAINS(json, "\"matrix\":{\"axes\":[[\"engine\",[\"a\",\"b\"]],"
                         "[\"sampling.logit_bias\",[[[\"5\",\"1\"]],[[\"6\",\"2\"]]]]],"
                         "\"cells\":4}");
}

static void rows_are_described_without_their_path(void)
{
    char json[JSON_BYTES];
    configure("nightjar: 1\nmodel: m\nprompt: \"{{a}}\"\n"
              "rows: {file: secret/x.csv, delimiter: \";\", offset: 2, limit: 9}\n",
              NULL, json);
    CHECK_CONTAINS(json, "\"rows\":{\"format\":\"csv\",\"delimiter\":\";\",\"offset\":2,"
                         "\"limit\":9,\"shuffle_seed\":null}");
    CHECK(strstr(json, "secret") == NULL);
}

int main(void)
{
    RUN(defaults_are_written_out);
    RUN(flags_are_in_it_as_if_the_file_said_so);
    RUN(sampling_is_written_where_it_changes);
    RUN(names_of_the_job_are_never_keys);
    RUN(rows_are_described_without_their_path);
    return test_result();
}
