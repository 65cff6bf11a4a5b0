/* What a sequence remembers besides its ids and the model's state: where its text stands.
 *
 * Sampler, stop matcher, decoders and chat parser are functions of the ids, so a sequence that
 * accepts the ids again has them again. A snapshot stores them all the same: the loader
 * compares them, and a difference means that the stored state is not this sequence's.
 */
#ifndef NJ_SNAPSHOT_TEXT_STATE_H
#define NJ_SNAPSHOT_TEXT_STATE_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "generate/sequence.h"

enum {
    NJ_TEXT_STATE_FIXED_BYTES = 92, /* of SAMPLER; the held bytes of a stop string follow */
    NJ_OUTPUT_MARK_BYTES = 48
};

/* Length of the SAMPLER payload. */
size_t nj_text_state_bytes(const struct nj_sequence *sequence);

/* Writes that many. */
void nj_text_state_encode(const struct nj_sequence *sequence, uint8_t *bytes);

/* NJ_E_MEMORY, NJ_E_INTERNAL. */
enum nj_status nj_output_mark_encode(const struct nj_sequence *sequence,
                                     uint8_t bytes[NJ_OUTPUT_MARK_BYTES], struct nj_error *err);

#endif
