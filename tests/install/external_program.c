/* A program of somebody else's: runs a job, and generates the same ids by hand. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <nightjar/generate.h>
#include <nightjar/model.h>
#include <nightjar/run.h>

static int give_up(const struct nj_error *error)
{
    fprintf(stderr, "%s\n", error->text);
    return 1;
}

static int generate(const char *model_path)
{
    static const int32_t prompt[] = {1, 2, 3};
    struct nj_error error;
    struct nj_model *model = NULL;
    struct nj_generator *generator = NULL;
    struct nj_sequence *sequence = NULL;
    struct nj_model_options model_options = {.path = model_path};
    struct nj_sequence_options options = {.prompt = prompt, .n_prompt = 3, .max_tokens = 6};
    if (nj_model_open(&model_options, &model, &error) != NJ_OK ||
        nj_generator_create(model, NULL, NULL, &generator, &error) != NJ_OK ||
        nj_generator_add(generator, &options, &sequence, &error) != NJ_OK) {
        return give_up(&error);
    }
    while (nj_sequence_finish(sequence) == NJ_FINISH_NONE) {
        if (nj_generator_step(generator, NULL, NULL, &error) != NJ_OK) {
            return give_up(&error);
        }
    }
    size_t n_chosen = 0;
    const int32_t *chosen = nj_sequence_chosen(sequence, &n_chosen);
    char wanted[256] = "\"ids\":[";
    for (size_t i = 0; i < n_chosen; i++) {
        size_t length = strlen(wanted);
        snprintf(wanted + length, sizeof wanted - length, "%s%" PRId32, i > 0 ? "," : "",
                 chosen[i]);
    }
    nj_generator_destroy(generator);
    nj_model_close(model);

    char line[4096] = "";
    FILE *results = fopen("out/results.jsonl", "r");
    if (results == NULL || fgets(line, sizeof line, results) == NULL ||
        strstr(line, wanted) == NULL) {
        fprintf(stderr, "%s does not contain %s\n", line, wanted);
        return 1;
    }
    return fclose(results);
}

int main(int argc, char **argv)
{
    struct nj_error error;
    struct nj_run_report report;
    if (argc != 3) {
        return 2;
    }
    struct nj_run_options options = {
        .job_path = argv[2], .model_path = argv[1], .output_directory = "out"};
    if (nj_run_file(&options, &report, &error) != NJ_OK) {
        return give_up(&error);
    }
    if (report.n_items_ok != 1 || report.n_tokens_generated != 6) {
        fprintf(stderr, "%" PRIu64 " items, %" PRIu64 " tokens\n", report.n_items_ok,
                report.n_tokens_generated);
        return 1;
    }
    return generate(argv[1]);
}
