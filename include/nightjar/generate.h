/* Sequences over one model: ids in, one sweep at a time, ids and text out.
 *
 *     struct nj_generator *generator = NULL;
 *     nj_generator_create(model, NULL, NULL, &generator, &error);
 *     struct nj_sequence_options options = {
 *         .prompt = ids, .n_prompt = n_ids, .max_tokens = 16};
 *     struct nj_sequence *sequence = NULL;
 *     nj_generator_add(generator, &options, &sequence, &error);
 *     while (nj_sequence_finish(sequence) == NJ_FINISH_NONE) {
 *         nj_generator_step(generator, NULL, NULL, &error);
 *     }
 *
 * What a sequence chooses depends on the model, its prompt, options and seed only: not on what
 * else is in the batch, on threads, or on having been stopped and continued. To continue one,
 * add it again with the ids that it had chosen.
 *
 * Threads: a generator and its sequences belong to the thread that owns the model.
 */
#ifndef NIGHTJAR_GENERATE_H
#define NIGHTJAR_GENERATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nightjar/model.h"
#include "nightjar/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct nj_tokenizer; /* ids to text; without one everything is ids */
struct nj_generator;
struct nj_sequence;

/* Zero means the default everywhere. Neither changes a bit. */
struct nj_generator_options {
    uint32_t max_sequences; /* that may run at once; 0: 16. At most the model's max_rows */
    uint32_t prefill_chunk; /* prompt rows of one sequence in one sweep; 0: as many as fit */
};

/* Added to the logit of one id. */
struct nj_token_bias {
    int32_t token;
    double bias;
};

/* How a token is chosen from logits; the exact steps are in docs/formats/sampling.md. Zeroed is
 * greedy with everything else off. */
struct nj_sampling_options {
    double temperature;       /* 0: greedy, the lowest id of the largest logits */
    double top_p;             /* 0 or >= 1: off */
    double min_p;             /* 0: off; at most 1 */
    double presence_penalty;  /* of ids chosen before; 0: off */
    double frequency_penalty; /* the same, for each time; 0: off */
    double repeat_penalty;    /* of ids in the prompt or chosen before; 0 or 1: off */
    const struct nj_token_bias *logit_biases;
    size_t n_logit_biases;
    uint32_t top_k;          /* 0: off */
    uint32_t n_top_logprobs; /* alternatives to report; at most NJ_MAX_TOP_LOGPROBS */
    uint32_t sample;         /* which of several samples of one prompt */
    uint64_t seed;
};

enum { NJ_MAX_TOP_LOGPROBS = 20 };

/* Natural logarithm of an id's probability as the model gave it: before biases, penalties,
 * temperature and cuts. */
struct nj_token_logprob {
    int32_t token;
    float logprob;
};

/* Bytes, not characters: a stop string may begin and end inside tokens. */
struct nj_stop_string {
    const char *bytes;
    size_t length_bytes; /* at least 1 */
};

struct nj_sequence_options {
    const int32_t *prompt; /* at least one id; copied, as everything here is */
    size_t n_prompt;
    const int32_t *chosen; /* chosen before, when the sequence is continued */
    size_t n_chosen;
    uint32_t max_tokens; /* at least 1; earlier ones count */
    struct nj_sampling_options sampling;
    const struct nj_stop_string *stop; /* looked for in the response only */
    size_t n_stop;
    const int32_t *stop_ids; /* besides those of the model */
    size_t n_stop_ids;
    bool is_chat;     /* the prompt is a chat, rendered by the tokenizer's template */
    uint8_t thinking; /* of a chat prompt: 0 off, 1 low, 2 high, 3 max */
    void *owner;      /* handed back by nj_sequence_owner */
};

enum nj_finish {
    NJ_FINISH_NONE,   /* goes on */
    NJ_FINISH_STOP,   /* a stop id or stop string */
    NJ_FINISH_LENGTH, /* max_tokens */
    NJ_FINISH_ERROR   /* a value was not finite; nj_sequence_error says where */
};

enum nj_step_event_type {
    NJ_STEP_FED,   /* prompt rows were read, more are to come */
    NJ_STEP_TOKEN, /* `token` was chosen; the sequence may be finished with it */
    NJ_STEP_FAILED /* the sequence is finished with NJ_FINISH_ERROR */
};

struct nj_step_event {
    enum nj_step_event_type type;
    struct nj_sequence *sequence;
    uint32_t n_rows;   /* that this sequence had in the sweep */
    uint32_t position; /* of the token chosen, counted from the prompt's first */
    int32_t token;
    float logprob; /* of the token; as in nj_token_logprob */
    uint32_t n_top;
    struct nj_token_logprob top[NJ_MAX_TOP_LOGPROBS]; /* the likeliest ids first */
};

/* Borrows model and tokenizer (NULL: none) for its life. Options may be NULL. Caller owns
 * `*generator`. NJ_E_USAGE more sequences than rows; NJ_E_BUDGET no room for logits;
 * NJ_E_MEMORY. */
enum nj_status nj_generator_create(struct nj_model *model, struct nj_tokenizer *tokenizer,
                                   const struct nj_generator_options *options,
                                   struct nj_generator **generator, struct nj_error *err);

/* Removes the sequences that are left. NULL is allowed. */
void nj_generator_destroy(struct nj_generator *generator);

/* Adds a sequence that joins the next sweep. It belongs to the generator; the pointer is valid
 * until it is removed. With earlier ids it may be finished already. NJ_E_USAGE no prompt, an
 * id outside the vocabulary, an option that makes no sense or too many sequences; NJ_E_BUDGET
 * no room for its state; NJ_E_MEMORY. */
enum nj_status nj_generator_add(struct nj_generator *generator,
                                const struct nj_sequence_options *options,
                                struct nj_sequence **sequence, struct nj_error *err);
void nj_generator_remove(struct nj_generator *generator, struct nj_sequence *sequence);
uint32_t nj_generator_count(const struct nj_generator *generator);

/* One sweep over all sequences that are not finished, one event for each that had a row.
 * `events` has room for nj_generator_count entries, or is NULL. Without work it does nothing
 * and reports no event. After a failure (of a read, of memory) the
 * states it left half-changed are rebuilt by the next step. */
enum nj_status nj_generator_step(struct nj_generator *generator, struct nj_step_event *events,
                                 uint32_t *n_events, struct nj_error *err);

void *nj_sequence_owner(const struct nj_sequence *sequence);
enum nj_finish nj_sequence_finish(const struct nj_sequence *sequence);
/* What is wrong with a sequence that ended with NJ_FINISH_ERROR; empty otherwise. */
const char *nj_sequence_error(const struct nj_sequence *sequence);
size_t nj_sequence_n_prompt(const struct nj_sequence *sequence);
/* The ids chosen so far, a final stop id included; valid until the next step. */
const int32_t *nj_sequence_chosen(const struct nj_sequence *sequence, size_t *n_chosen);

/* Text so far, whole UTF-8 characters, without what might still become a stop string; all of
 * it once finished, without the stop string. Empty without a tokenizer. Valid until the next
 * step. */
const char *nj_sequence_response(const struct nj_sequence *sequence, size_t *length_bytes);
const char *nj_sequence_reasoning(const struct nj_sequence *sequence, size_t *length_bytes);
/* How many of the chosen ids belong to the reasoning. */
size_t nj_sequence_n_reasoning(const struct nj_sequence *sequence);

/* What ended a sequence with NJ_FINISH_STOP: the number of the stop string in its options, or
 * -1 and the stop id. */
int nj_sequence_stop_string(const struct nj_sequence *sequence);
int32_t nj_sequence_stop_id(const struct nj_sequence *sequence);

#ifdef __cplusplus
}
#endif

#endif
