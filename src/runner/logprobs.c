#include "runner/logprobs.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

void nj_logprobs_deinit(struct nj_logprobs *logprobs)
{
    free(logprobs->values);
    memset(logprobs, 0, sizeof *logprobs);
}

enum nj_status nj_logprobs_add(struct nj_logprobs *logprobs, struct nj_token_logprob chosen,
                               const struct nj_token_logprob *top, uint32_t n_top,
                               struct nj_error *err)
{
    assert(logprobs->n_ids == 0 || logprobs->n_top == n_top);
    enum nj_status status =
        nj_vector_reserve(&logprobs->values, &logprobs->values_capacity,
                          sizeof *logprobs->values, logprobs->n_values + 1 + n_top, err);
    if (status != NJ_OK) {
        return status;
    }
    logprobs->values[logprobs->n_values++] = chosen;
    for (uint32_t i = 0; i < n_top; i++) {
        logprobs->values[logprobs->n_values++] = top[i];
    }
    logprobs->n_top = n_top;
    logprobs->n_ids++;
    return NJ_OK;
}

enum nj_status nj_logprobs_copy(struct nj_logprobs *logprobs, const struct nj_logprobs *others,
                                struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    size_t stride = 1 + (size_t)others->n_top;
    for (size_t i = 0; i < others->n_ids && status == NJ_OK; i++) {
        const struct nj_token_logprob *values = others->values + i * stride;
        status = nj_logprobs_add(logprobs, values[0], values + 1, others->n_top, err);
    }
    return status;
}

/* The keys of one id; the object is the caller's to begin and end. */
static void write_token(const struct nj_token_logprob *value,
                        const struct nj_tokenizer *tokenizer, struct nj_json_writer *writer)
{
    nj_json_key(writer, "id");
    nj_json_write_integer(writer, value->token);
    nj_json_key(writer, "token");
    if (tokenizer != NULL) {
        bool is_special = false;
        struct nj_bytes bytes = nj_tokenizer_bytes(tokenizer, value->token, &is_special);
        nj_json_write_text(writer, (struct nj_text){.data = (const char *)bytes.data,
                                                    .length_bytes = bytes.length_bytes});
    } else {
        nj_json_write_null(writer);
    }
    nj_json_key(writer, "logprob");
    nj_json_write_number(writer, (double)value->logprob);
}

void nj_logprobs_write(const struct nj_logprobs *logprobs, size_t n_ids,
                       const struct nj_tokenizer *tokenizer, struct nj_json_writer *writer)
{
    const struct nj_token_logprob *value = logprobs->values;
    nj_json_begin_array(writer);
    for (size_t i = 0; i < n_ids && i < logprobs->n_ids; i++) {
        nj_json_begin_object(writer);
        write_token(value++, tokenizer, writer);
        nj_json_key(writer, "top");
        nj_json_begin_array(writer);
        for (uint32_t k = 0; k < logprobs->n_top; k++) {
            nj_json_begin_object(writer);
            write_token(value++, tokenizer, writer);
            nj_json_end_object(writer);
        }
        nj_json_end_array(writer);
        nj_json_end_object(writer);
    }
    nj_json_end_array(writer);
}
