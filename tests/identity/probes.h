/* Sequences whose every id and log probability must come out the same in any company.
 *
 * Prompts are those of the model's golden file and its near ties; some are sampled, three of
 * them as samples of one prompt. The transcript that counts is that of a run alone.
 */
#ifndef NJ_TESTS_IDENTITY_PROBES_H
#define NJ_TESTS_IDENTITY_PROBES_H

#include <stdint.h>

#include "base/value_types.h"
#include "nightjar/generate.h"

enum {
    TRANSCRIPT_MOST_TOKENS = 24,
    PROBE_MOST_IDS = 160,
    PROBES_LIMIT = 24,
    PROBES_MOST_NEAR_TIES = 12
};

/* What a sequence chose. Zero behind its end, and without padding: compared as bytes. */
struct transcript {
    uint32_t n_tokens;
    nj_token tokens[TRANSCRIPT_MOST_TOKENS];
    float logprobs[TRANSCRIPT_MOST_TOKENS];
};

struct probe {
    nj_token prompt[PROBE_MOST_IDS];
    uint32_t n_prompt;
    uint32_t max_tokens;
    struct nj_sampling_options sampling;
    struct transcript alone;
};

struct probe_list {
    uint32_t n;
    uint32_t n_near_ties; /* the last ones */
    struct probe probes[PROBES_LIMIT];
};

/* Those of "t13" or "fledgling"; `alone` is left empty. Ends the program when a golden is
 * missing. */
void probes_read(struct probe_list *list, const char *model_name);

#endif
