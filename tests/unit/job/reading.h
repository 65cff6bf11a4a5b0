/* What the tests of job files share: read a text as a job file, and see every complaint. */
#ifndef NJ_TESTS_UNIT_JOB_READING_H
#define NJ_TESTS_UNIT_JOB_READING_H

#include <stdio.h>
#include <string.h>

#include "job/spec_yaml.h"
#include "support/check.h"

enum { COMPLAINTS_BYTES = 32768 };

struct reading {
    struct nj_arena arena;
    struct nj_diagnostics diagnostics;
    struct nj_error error;
    enum nj_status status;
    const struct nj_job_spec *spec; /* NULL unless the status is NJ_OK */
    char complaints[COMPLAINTS_BYTES];
};

/* All complaints so far, one a line, into `reading->complaints`. */
static inline void list_complaints(struct reading *reading)
{
    size_t used = 0;
    reading->complaints[0] = '\0';
    for (size_t i = 0; i < reading->diagnostics.n_items; i++) {
        char text[2048];
        (void)nj_diagnostic_format(&reading->diagnostics.items[i], text, sizeof text);
        int length = snprintf(reading->complaints + used, COMPLAINTS_BYTES - used, "%s%s",
                              i == 0 ? "" : "\n", text);
        used += (size_t)length;
        if (used >= COMPLAINTS_BYTES) {
            break;
        }
    }
}

/* Files are called job.yaml unless told otherwise. Close it afterwards. */
static inline void read_bytes_as(struct reading *reading, const char *path, const char *content,
                                 size_t length_bytes)
{
    *reading = (struct reading){.spec = NULL};
    nj_diagnostics_init(&reading->diagnostics, &reading->arena);
    struct nj_bytes bytes = {(const uint8_t *)content, length_bytes};
    reading->status = nj_job_spec_read(path, bytes, &reading->arena, &reading->diagnostics,
                                       &reading->spec, &reading->error);
    list_complaints(reading);
}

/* All jobs of a file, and what the command line changes in them. */
struct readings {
    struct reading reading; /* its spec is the first job */
    struct nj_job_specs specs;
};

static inline void read_jobs_of(const char *path, struct readings *readings, const char *text,
                                const struct nj_job_overrides *overrides)
{
    struct reading *reading = &readings->reading;
    *readings = (struct readings){.specs = {NULL, 0}};
    nj_diagnostics_init(&reading->diagnostics, &reading->arena);
    struct nj_bytes bytes = {(const uint8_t *)text, strlen(text)};
    reading->status =
        nj_job_specs_read(path, bytes, overrides, &reading->arena, &reading->diagnostics,
                          &readings->specs, &reading->error);
    reading->spec = reading->status == NJ_OK ? readings->specs.items[0] : NULL;
    list_complaints(reading);
}

static inline void read_jobs(struct readings *readings, const char *text,
                             const struct nj_job_overrides *overrides)
{
    read_jobs_of("job.yaml", readings, text, overrides);
}

static inline void read_text(struct reading *reading, const char *text)
{
    read_bytes_as(reading, "job.yaml", text, strlen(text));
}

static inline void close_reading(struct reading *reading)
{
    nj_diagnostics_deinit(&reading->diagnostics);
    nj_arena_deinit(&reading->arena);
}

/* A terminated copy of a span, for CHECK_TEXT; valid until the fourth call from now. */
static inline const char *shown(struct nj_text text)
{
    static char copies[4][4096];
    static unsigned next;
    char *copy = copies[next++ % 4];
    size_t length =
        text.length_bytes < sizeof copies[0] ? text.length_bytes : sizeof copies[0] - 1;
    if (length > 0) {
        memcpy(copy, text.data, length);
    }
    copy[length] = '\0';
    return copy;
}

/* Complaints about a text, all of them, must be exactly these. */
#define CHECK_COMPLAINTS(text, wanted)                                                         \
    do {                                                                                       \
        struct reading reading_;                                                               \
        read_text(&reading_, (text));                                                          \
        CHECK_TEXT(reading_.complaints, (wanted));                                             \
        close_reading(&reading_);                                                              \
    } while (0)

#endif
