#include "identity/subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "support/check.h"
#include "support/tiny_model.h"

/* Both models keep their special ids at the end of the vocabulary. */
enum { N_SPECIAL = 16, DIRECTORY_BYTES = 4096 };

void subject_die(const char *what, const char *why)
{
    (void)fprintf(stderr, "identity: %s: %s\n", what, why);
    exit(1);
}

const char *subject_directory(const char *name)
{
    static char directory[DIRECTORY_BYTES];
    if (strcmp(name, "fledgling") == 0) {
        (void)snprintf(directory, sizeof directory, "%s/examples/fledgling",
                       test_source_directory());
        return directory;
    }
    if (strcmp(name, tiny_model_name(TINY_MODEL_T13)) != 0) {
        subject_die(name, "neither t13 nor fledgling");
    }
    (void)snprintf(directory, sizeof directory, "%s/t13", test_folder());
    if (tiny_model_write(TINY_MODEL_T13, directory) != 0) {
        subject_die("write tiny model", directory);
    }
    return directory;
}

struct nj_model *subject_open(const char *directory, const char *level, uint32_t n_threads)
{
    struct nj_model_options options = {.path = directory,
                                       .cpu_level = level,
                                       .n_threads = n_threads,
                                       .max_rows = SUBJECT_MOST_ROWS};
    struct nj_model *model = NULL;
    struct nj_error error;
    if (nj_model_open(&options, &model, &error) != NJ_OK) {
        subject_die("open model", error.text);
    }
    return model;
}

nj_token subject_random_token(const struct nj_model *model, uint64_t seed, uint64_t n)
{
    uint32_t n_ordinary = nj_model_n_vocabulary(model) - N_SPECIAL;
    return (nj_token)(nj_draw_uniform(seed, 0, n, 0) * n_ordinary);
}

nj_token subject_best(const float *logits, uint32_t n_vocabulary, nj_token *second)
{
    uint32_t best = 0;
    uint32_t next = 1;
    for (uint32_t i = 1; i < n_vocabulary; i++) {
        if (logits[i] > logits[best]) {
            next = best;
            best = i;
        } else if (i == 1 || logits[i] > logits[next]) {
            next = i;
        }
    }
    *second = (nj_token)next;
    return (nj_token)best;
}
