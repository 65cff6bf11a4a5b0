/* What `nightjar snapshot` prints, for people or as JSON. */
#ifndef NJ_CLI_SNAPSHOT_PRINT_H
#define NJ_CLI_SNAPSHOT_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/json.h"
#include "nightjar/snapshot.h"

/* Rows of `ls`, gathered so that columns are as wide as they need to be. */
struct nj_snapshot_table {
    bool as_json;
    struct nj_json_writer json;
    int64_t now_unix_ms;
    struct nj_snapshot_info *rows;
    size_t n_rows;
    size_t capacity;
};

void nj_snapshot_table_init(struct nj_snapshot_table *table, bool as_json);
void nj_snapshot_table_deinit(struct nj_snapshot_table *table);
/* A nj_snapshot_visit; the context is the table. */
enum nj_status nj_snapshot_table_add(void *context, const struct nj_snapshot_info *info,
                                     struct nj_error *err);
/* Returns the exit code. */
int nj_snapshot_table_print(struct nj_snapshot_table *table, FILE *file);

enum nj_status nj_snapshot_details_print(const struct nj_snapshot_details *details,
                                         bool as_json, FILE *file, struct nj_error *err);

/* Findings of `verify`, printed as they come. */
struct nj_snapshot_findings {
    bool as_json;
    FILE *file;
    struct nj_json_writer json;
};

void nj_snapshot_findings_init(struct nj_snapshot_findings *findings, bool as_json, FILE *file);
void nj_snapshot_findings_deinit(struct nj_snapshot_findings *findings);
/* A nj_snapshot_finding_visit; the context is the findings. */
enum nj_status nj_snapshot_findings_add(void *context,
                                        const struct nj_snapshot_finding *finding,
                                        struct nj_error *err);
/* Returns the exit code. */
int nj_snapshot_findings_end(struct nj_snapshot_findings *findings,
                             const struct nj_snapshot_verification *sum);

/* Of an export to `file`, or with `run_folder` of an import from it. Returns the exit code. */
int nj_snapshot_carried_print(const struct nj_snapshot_carried *carried, const char *file,
                              const char *run_folder, bool as_json);

#endif
