/* The matrix of a job: names with several values, and which of their combinations are run.
 *
 * A combination is a cell. Cells are kept as choices of values and turned into variables and
 * sampling settings for each item, so that many cells cost little.
 */
#ifndef NJ_JOB_MATRIX_H
#define NJ_JOB_MATRIX_H

#include "job/schema.h"
#include "job/spec.h"
#include "job/variables.h"

/* A key reader; the target is a `struct nj_matrix`. */
void nj_matrix_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target);

/* What the cell's names stand for as variables, sorted. False when memory ran out. */
bool nj_matrix_variables(const struct nj_matrix *matrix, size_t cell, struct nj_arena *arena,
                         struct nj_variable_list *variables);

/* Whether cells set anything in `sampling`. */
bool nj_matrix_has_settings(const struct nj_matrix *matrix);

/* Sets what the cell says about sampling. */
void nj_matrix_set_sampling(const struct nj_matrix *matrix, size_t cell,
                            struct nj_schema *schema, struct nj_sampling *sampling);

/* The cell's model; without data when cells do not choose one. */
struct nj_text nj_matrix_model(const struct nj_matrix *matrix, size_t cell);

#endif
