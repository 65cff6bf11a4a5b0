/* Writes small models with the released file layout, so that tests need no downloads.
 *
 * Every dimension differs from the others where the graph allows it, and the weights are
 * drawn so that each branch of the graph shows in the logits. A value is a pure function of
 * (seed, tensor name, element index) and is made by integer arithmetic and one product, so
 * the bytes are the same everywhere; tests/golden/tiny_models.sha256 lists their digests, and
 * tests/oracle/tiny_models.py is the same recipe in another language.
 *
 * There are no tokenizer files: these models are driven by token ids.
 *
 * Threads: no shared state; two calls may run at once in different directories.
 */
#ifndef NJ_TESTS_SUPPORT_TINY_MODEL_H
#define NJ_TESTS_SUPPORT_TINY_MODEL_H

enum tiny_model_kind {
    /* 5 layers K K K M M, block size 2, MXFP4 experts: for unit tests. */
    TINY_MODEL_T5,
    /* 13 layers, block size 3, experts out of id order in their shards: for system tests. */
    TINY_MODEL_T13,
    /* 5 layers K M K K M, rms_norm_eps 1e-3, routed scale 2.0, tiny q and k, MXFP4 scales
     * below 2^-24, tensors in reversed order: for mistakes that T5 cannot show. */
    TINY_MODEL_T5E,
    /* 5 layers K M K K M of the Kimi-Linear graph: flat config, BF16 experts, softplus decay,
     * low-rank gate, SwiGLU, no latent, plain residuals. */
    TINY_MODEL_KL5,
    TINY_MODEL_COUNT
};

/* "t5", "t13", "t5e", "kl5": also the names of the golden files. */
const char *tiny_model_name(enum tiny_model_kind kind);

/* Writes config.json, the shards (layer l in shard l + 1, the last one without a layer) and
 * the index into `directory`, which is made when it is missing. 0, or -1 with errno set. */
int tiny_model_write(enum tiny_model_kind kind, const char *directory);

#endif
