/* One sequence: the ids so far (prompt, then chosen), the model's state for those that were
 * fed, and everything that turns chosen ids into text and ends the generation.
 *
 * Ids that an earlier run chose are accepted in the same way as fresh ones, so a continued
 * sequence has the same text, stop matcher and parser as one that never stopped; feeding them
 * to the model as one chunk gives the same state.
 *
 * Threads: the generator's.
 */
#ifndef NJ_GENERATE_SEQUENCE_H
#define NJ_GENERATE_SEQUENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/value_types.h"
#include "generate/stop.h"
#include "model/model.h"
#include "model/state.h"
#include "nightjar/generate.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/decode.h"
#include "tokenizer/tokenizer.h"

/* Growing bytes; zeroed is valid and empty. */
struct nj_text_buffer {
    char *data;
    size_t length_bytes;
    size_t capacity_bytes;
};

struct nj_sequence {
    struct nj_tokenizer *tokenizer; /* borrowed; NULL: ids only */
    struct nj_state *state;         /* holds the first nj_state_length of `tokens` */
    nj_token *tokens;               /* prompt, then chosen */
    size_t n_tokens;
    size_t tokens_capacity;
    size_t n_prompt;
    uint32_t max_tokens;
    struct nj_sampling_options sampling;
    struct nj_token_bias *logit_biases; /* what `sampling` points to */
    const nj_token *stop_ids;           /* the model's; borrowed */
    size_t n_stop_ids;
    nj_token *own_stop_ids; /* its own besides */
    size_t n_own_stop_ids;

    struct nj_chat_parser parser;
    struct nj_stop_matcher matcher; /* of the response */
    struct nj_utf8_decoder response_decoder;
    struct nj_utf8_decoder reasoning_decoder;
    struct nj_text_buffer response;
    struct nj_text_buffer reasoning;
    size_t n_reasoning; /* ids */

    /* Of the prefix that it shares (generate/prefix_sharing). */
    uint32_t fork_at;       /* it stops reading there for one sweep, for others; 0: nowhere */
    bool waits;             /* another reads for it */
    bool has_asked_storage; /* for the state of a longer prefix */
    uint64_t prefill_ns;    /* what reading its ids took, or took another */

    enum nj_finish finish;
    int stop_string; /* -1: none */
    nj_token stop_id;
    char error[96];
    void *owner;
};

/* What all sequences of a generator share. */
struct nj_sequence_setting {
    struct nj_model *model;
    struct nj_tokenizer *tokenizer;
    const nj_token *stop_ids;
    size_t n_stop_ids;
};

/* The options have been checked by the caller. Caller owns `*sequence`. */
enum nj_status nj_sequence_create(const struct nj_sequence_setting *setting,
                                  const struct nj_sequence_options *options,
                                  struct nj_sequence **sequence, struct nj_error *err);
void nj_sequence_destroy(struct nj_sequence *sequence);

/* Takes one chosen id: text, stop strings, stop ids and limits. Not after it is finished. */
enum nj_status nj_sequence_accept(struct nj_sequence *sequence, nj_token token,
                                  struct nj_error *err);

/* Ends the sequence: the sweep's values at `position` were not finite after `layer`. */
void nj_sequence_fail(struct nj_sequence *sequence, uint32_t position, uint32_t layer,
                      uint32_t n_layers);

/* Ids that the model has not read yet; at least one while the sequence is not finished. */
size_t nj_sequence_n_pending(const struct nj_sequence *sequence);

#endif
