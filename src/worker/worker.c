#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "job/spec_yaml.h"
#include "runner/run.h"
#include "worker/pipe.h"
#include "worker/pipe_host.h"
#include "worker/pipe_watch.h"

enum { EXIT_STOPPED = 75 }; /* as nightjar(1) says: the same command continues */

/* What the daemon asked for. */
struct orders {
    uint64_t job_id;
    char run_folder[NJ_RUN_PATH_BYTES];
    char spec_path[NJ_RUN_PATH_BYTES];
    struct nj_run_options options;
};

/* Zeroed is empty. */
struct worker {
    struct orders orders;
    struct nj_pipe pipe;
    struct nj_pipe_host host;
    struct nj_arena arena;
    struct nj_diagnostics diagnostics;
    struct nj_bytes job_file;
    const struct nj_job_spec *spec;
};

/* --- the command line --- */

static bool read_number(const char *text, uint64_t most, uint64_t *number)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value > most) {
        return false;
    }
    *number = value;
    return true;
}

static bool name_within(const char *folder, const char *name, char path[NJ_RUN_PATH_BYTES])
{
    int length = snprintf(path, NJ_RUN_PATH_BYTES, "%s/%s", folder, name);
    return length >= 0 && length < NJ_RUN_PATH_BYTES;
}

static bool read_flag(const char *flag, const char *value, struct nj_run_options *options)
{
    uint64_t number = 0;
    if (strcmp(flag, "--model") == 0) {
        options->model_path = value;
        return true;
    }
    if (strcmp(flag, "--cpu-level") == 0) {
        options->cpu_level = value;
        return true;
    }
    if (strcmp(flag, "--memory") == 0) {
        return read_number(value, UINT64_MAX, &options->memory_bytes);
    }
    if (strcmp(flag, "--batch") == 0 && read_number(value, UINT32_MAX, &number)) {
        options->batch = (uint32_t)number;
        return true;
    }
    if (strcmp(flag, "--threads") == 0 && read_number(value, UINT32_MAX, &number)) {
        options->n_threads = (uint32_t)number;
        return true;
    }
    return false;
}

static enum nj_status read_orders(int argc, char **argv, struct orders *orders,
                                  struct nj_error *err)
{
    if (argc < 3 || argc % 2 == 0 || !read_number(argv[1], INT64_MAX, &orders->job_id)) {
        return nj_fail(err, NJ_E_USAGE,
                       "worker: is started by the daemon, with a job's number and folder");
    }
    if (!name_within(argv[2], "run", orders->run_folder) ||
        !name_within(argv[2], "spec.yaml", orders->spec_path)) {
        return nj_fail(err, NJ_E_USAGE, "worker: the folder's path is too long");
    }
    orders->options.output_directory = orders->run_folder;
    orders->options.job_path = orders->spec_path;
    for (int i = 3; i < argc; i += 2) {
        if (!read_flag(argv[i], argv[i + 1], &orders->options)) {
            return nj_fail(err, NJ_E_USAGE, "worker: %s %s makes no sense", argv[i],
                           argv[i + 1]);
        }
    }
    return NJ_OK;
}

/* --- the pipes --- */

/* The pipes get other numbers, so that nothing that uses the usual ones can meet them. */
static enum nj_status take_pipes(struct nj_pipe *pipe, struct nj_error *err)
{
    int from_daemon = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int to_daemon = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (from_daemon < 0 || to_daemon < 0 || nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 ||
        dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        return nj_fail(err, NJ_E_IO, "worker: take the pipes: %s", strerror(errno));
    }
    (void)close(nothing); /* it has its other number now */
    return nj_pipe_open(pipe, from_daemon, to_daemon, err);
}

/* --- the job --- */

static enum nj_status read_spec(struct worker *worker, struct nj_error *err)
{
    const char *path = worker->orders.spec_path;
    enum nj_status status =
        nj_file_read_whole(nj_file_system_real(), AT_FDCWD, path, NJ_JOB_FILE_LIMIT_BYTES,
                           &worker->arena, &worker->job_file, err);
    return status == NJ_OK ? nj_job_spec_read(path, worker->job_file, &worker->arena,
                                              &worker->diagnostics, &worker->spec, err)
                           : status;
}

static void print_line(void *context, enum nj_log_level level, const char *line)
{
    (void)context;
    (void)level;
    (void)fprintf(stderr, "worker: %s\n", line);
}

static enum nj_status run_job(struct worker *worker, struct nj_error *err)
{
    struct nj_run_report report;
    const struct nj_log log = {.level = NJ_LOG_INFO, .sink = print_line};
    const struct nj_run_patron patron = nj_pipe_host_patron(&worker->host);
    struct nj_run_environment environment = {.fs = nj_file_system_real(),
                                             .clock = nj_clock_system(),
                                             .log = &log,
                                             .patron = &patron};
    enum nj_status status = nj_run_entropy(&environment.entropy, err);
    return status == NJ_OK ? nj_run_job(&environment, worker->spec, worker->job_file,
                                        &worker->orders.options, &report, err)
                           : status;
}

static enum nj_status work(struct worker *worker, struct nj_error *err)
{
    enum nj_status status = nj_pipe_watch_begin(worker->pipe.from_daemon, EXIT_STOPPED, err);
    if (status == NJ_OK) {
        status = nj_pipe_host_greet(&worker->host, (uint64_t)getpid(), err);
    }
    if (status == NJ_OK) {
        status = read_spec(worker, err);
    }
    return status == NJ_OK ? run_job(worker, err) : status;
}

/* The last word; whether it arrives changes nothing. */
static void say_bye(struct worker *worker, enum nj_status status, const struct nj_error *err)
{
    struct nj_worker_message bye = {.type = NJ_WORKER_BYE,
                                    .number = (uint64_t)status,
                                    .text = nj_text_from(status == NJ_OK ? "" : err->text)};
    (void)nj_pipe_send(&worker->pipe, &bye, NULL);
}

enum nj_status nj_worker_main(int argc, char **argv)
{
    struct worker worker = {.job_file = {NULL, 0}};
    struct nj_error err = {0};
    nj_diagnostics_init(&worker.diagnostics, &worker.arena);
    enum nj_status status = read_orders(argc, argv, &worker.orders, &err);
    if (status == NJ_OK) {
        status = take_pipes(&worker.pipe, &err);
    }
    if (status == NJ_OK) {
        nj_pipe_host_init(&worker.host, &worker.pipe, nj_clock_system(), worker.orders.job_id);
        status = work(&worker, &err);
        say_bye(&worker, status, &err);
        nj_pipe_host_deinit(&worker.host);
        nj_pipe_close(&worker.pipe);
    }
    if (status != NJ_OK) {
        (void)fprintf(stderr, "worker: %s\n", err.text);
    }
    nj_diagnostics_deinit(&worker.diagnostics);
    nj_arena_deinit(&worker.arena);
    return status;
}
