#include "crash/tiny_run.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "job/spec_yaml.h"
#include "runner/run.h"
#include "support/check.h"
#include "support/tiny_model.h"

const char tiny_run_job[] = "nightjar: 1\n"
                            "name: tiny\n"
                            "sampling: {temperature: 0.8, top_p: 0.95, max_tokens: 12}\n"
                            "prompts:\n"
                            "  - id: short\n"
                            "    ids: [1, 2, 3]\n"
                            "    sampling: {max_tokens: 3}\n"
                            "  - id: one\n"
                            "    ids: [9]\n"
                            "  - id: greedy\n"
                            "    ids: [7, 8, 9, 10]\n"
                            "    sampling: {temperature: 0, max_tokens: 9}\n"
                            "  - id: long prompt\n"
                            "    ids: [11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23]\n"
                            "  - id: top k\n"
                            "    ids: [30, 31]\n"
                            "    sampling: {top_k: 5, seed: 77}\n"
                            "  - id: single\n"
                            "    ids: [40, 41, 42]\n"
                            "    sampling: {max_tokens: 1}\n"
                            "  - id: last\n"
                            "    ids: [50, 60, 70]\n";

static int sync_nothing(void *context, int fd)
{
    (void)context;
    (void)fd;
    return 0;
}

const struct nj_file_system *tiny_run_files(void)
{
    static struct nj_file_system files;
    files = *nj_file_system_real();
    files.sync = sync_nothing;
    files.data_sync = sync_nothing;
    return &files;
}

const char *tiny_run_path(const char *folder, const char *name)
{
    static char path[512];
    (void)snprintf(path, sizeof path, "%s/%s%s%s", test_folder(), folder,
                   name[0] != '\0' ? "/" : "", name);
    return path;
}

void tiny_run_model(const char *name)
{
    const char *path = tiny_run_path(name, "");
    if (access(path, F_OK) != 0 && tiny_model_write(TINY_MODEL_T5, path) != 0) {
        perror(path);
        exit(1);
    }
}

struct sweeps {
    uint32_t n_left;
    bool is_killed;
};

static enum nj_run_control count_down(void *context)
{
    struct sweeps *sweeps = context;
    if (sweeps->n_left-- > 0) {
        return NJ_RUN_GO_ON;
    }
    if (sweeps->is_killed) {
        (void)raise(SIGKILL);
    }
    return NJ_RUN_DRAIN;
}

static enum nj_status run_spec(const struct tiny_run *run, struct nj_arena *arena,
                               struct nj_run_report *report, struct nj_error *err)
{
    char model_path[512];
    char folder_path[512];
    char cache_path[512];
    struct sweeps sweeps = {.n_left = run->stop_after_sweeps, .is_killed = run->is_killed};
    struct nj_run_observer observer = {.context = &sweeps,
                                       .poll = run->stop_after_sweeps > 0 ? count_down : NULL,
                                       .event = run->hear,
                                       .free_bytes = run->free_bytes,
                                       .wait = run->wait};
    struct nj_run_environment environment = {.fs = run->fs != NULL ? run->fs : tiny_run_files(),
                                             .clock = nj_clock_system(),
                                             .entropy =
                                                 run->entropy != 0 ? run->entropy : 1 << 20,
                                             .observer = &observer,
                                             .log = run->log,
                                             .prefix_store_ns = 1};
    const char *model = run->model != NULL ? run->model : "model";
    (void)snprintf(model_path, sizeof model_path, "%s",
                   run->model_path != NULL ? run->model_path : tiny_run_path(model, ""));
    (void)snprintf(folder_path, sizeof folder_path, "%s", tiny_run_path(run->folder, ""));
    (void)snprintf(cache_path, sizeof cache_path, "%s",
                   tiny_run_path(run->prefix_cache != NULL ? run->prefix_cache : "", ""));
    struct nj_run_options options = {.job_path = "tiny.yaml",
                                     .model_path = model_path,
                                     .output_directory = folder_path,
                                     .mode = run->mode,
                                     .cpu_level = run->cpu_level,
                                     .n_threads = run->n_threads != 0 ? run->n_threads : 1,
                                     .batch = run->batch,
                                     .memory_bytes = run->memory_bytes,
                                     .prefill_chunk = run->prefill_chunk,
                                     .states = run->states,
                                     .share_prefixes = run->share_prefixes,
                                     .prefix_cache_directory =
                                         run->prefix_cache != NULL ? cache_path : NULL,
                                     .prefix_cache_bytes = run->prefix_cache_bytes,
                                     .latent_norm_eps = run->latent_norm_eps};
    const char *job = run->job != NULL ? run->job : tiny_run_job;
    struct nj_bytes content = {.data = (const uint8_t *)job, .length_bytes = strlen(job)};
    const struct nj_job_spec *spec = NULL;
    struct nj_diagnostics diagnostics;
    nj_diagnostics_init(&diagnostics, arena);
    enum nj_status status =
        nj_job_spec_read(options.job_path, content, arena, &diagnostics, &spec, err);
    if (status == NJ_OK) {
        status = nj_run_job(&environment, spec, content, &options, report, err);
    }
    nj_diagnostics_deinit(&diagnostics);
    return status;
}

enum nj_status tiny_run(const struct tiny_run *run, struct nj_run_report *report,
                        struct nj_error *err)
{
    struct nj_arena arena = {0};
    tiny_run_model("model");
    enum nj_status status = run_spec(run, &arena, report, err);
    nj_arena_deinit(&arena);
    return status;
}

int tiny_run_in_child(const struct tiny_run *run)
{
    int status = 0;
    tiny_run_model("model");
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct nj_run_report report;
        struct nj_error err = {0};
        enum nj_status result = tiny_run(run, &report, &err);
        if (result != NJ_OK) {
            (void)fprintf(stderr, "child: %s\n", err.text);
        }
        _exit(result == NJ_OK ? 0 : 1); /* the test's folder belongs to the parent */
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("fork");
        exit(1);
    }
    return status;
}

char *tiny_run_read(const char *folder, const char *name, size_t *length_bytes)
{
    FILE *file = fopen(tiny_run_path(folder, name), "rb");
    if (file == NULL) {
        return NULL;
    }
    struct stat status;
    char *content = NULL;
    if (fstat(fileno(file), &status) == 0) {
        size_t length = (size_t)status.st_size;
        content = calloc(length + 1, 1);
        if (content != NULL && fread(content, 1, length, file) != length) {
            free(content);
            content = NULL;
        }
        if (length_bytes != NULL) {
            *length_bytes = length;
        }
    }
    (void)fclose(file); /* only read from */
    return content;
}

bool tiny_run_has(const char *folder, const char *name)
{
    return access(tiny_run_path(folder, name), F_OK) == 0;
}

static int remove_entry(const char *path, const struct stat *status, int type,
                        struct FTW *position)
{
    (void)status;
    (void)type;
    (void)position;
    return remove(path);
}

void tiny_run_remove(const char *folder)
{
    (void)nftw(tiny_run_path(folder, ""), remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
