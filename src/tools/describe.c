#include "tools/describe.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/model.h"
#include "model/state.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

static const char *on_off(bool is_on)
{
    return is_on ? "on" : "off";
}

static void line(FILE *out, const char *name, uint64_t value)
{
    (void)fprintf(out, "  %-28s %" PRIu64 "\n", name, value);
}

static void text_line(FILE *out, const char *name, const char *value)
{
    (void)fprintf(out, "  %-28s %s\n", name, value);
}

static void number_line(FILE *out, const char *name, double value)
{
    (void)fprintf(out, "  %-28s %.9g\n", name, value);
}

static void id_line(FILE *out, const char *name, int64_t id)
{
    if (id < 0) {
        text_line(out, name, "not said");
    } else {
        line(out, name, (uint64_t)id);
    }
}

/* The layers that one mixer has, one-based as in config.json: "1-3, 5-7, 9". */
static void layer_line(FILE *out, const char *name, const struct nj_dims *dims,
                       enum nj_mixer mixer)
{
    const char *separator = "";
    (void)fprintf(out, "  %-28s ", name);
    for (uint32_t layer = 0; layer < dims->n_layers; layer++) {
        if (dims->mixers[layer] != mixer) {
            continue;
        }
        uint32_t last = layer;
        while (last + 1 < dims->n_layers && dims->mixers[last + 1] == mixer) {
            last++;
        }
        if (last > layer) {
            (void)fprintf(out, "%s%u-%u", separator, layer + 1, last + 1);
        } else {
            (void)fprintf(out, "%s%u", separator, layer + 1);
        }
        separator = ", ";
        layer = last;
    }
    (void)fprintf(out, "%s\n", separator[0] == '\0' ? "none" : "");
}

static void describe_graph(FILE *out, const struct nj_dims *dims)
{
    (void)fprintf(out, "Graph\n");
    text_line(out, "config layout", dims->is_nested ? "nested (text_config)" : "flat");
    line(out, "layers", dims->n_layers);
    line(out, "hidden size", dims->n_hidden);
    line(out, "vocabulary", dims->n_vocabulary);
    line(out, "context length", dims->context_length);
    number_line(out, "rms norm eps", (double)dims->rms_norm_eps);
    if (dims->activation == NJ_ACTIVATION_SITU) {
        text_line(out, "activation", "SiTU");
        number_line(out, "SiTU beta", (double)dims->situ_beta);
        number_line(out, "SiTU linear beta", (double)dims->situ_linear_beta);
    } else {
        text_line(out, "activation", "SwiGLU");
    }
    text_line(out, "attention residuals", on_off(dims->attention_residual_block > 0));
    if (dims->attention_residual_block > 0) {
        line(out, "residual block (layers)", dims->attention_residual_block);
        line(out, "residual blocks", nj_dims_n_residual_blocks(dims));
    }
    id_line(out, "begin token", dims->bos_token);
    id_line(out, "end token", dims->eos_token);
    id_line(out, "pad token", dims->pad_token);
}

static void describe_attention(FILE *out, const struct nj_dims *dims)
{
    (void)fprintf(out, "\nLatent attention (MLA)\n");
    layer_line(out, "layers", dims, NJ_MIXER_LATENT);
    line(out, "heads", dims->n_heads);
    text_line(out, "low-rank query", on_off(dims->q_rank > 0));
    line(out, "query rank", dims->q_rank);
    line(out, "kv rank", dims->kv_rank);
    line(out, "nope size", dims->n_nope);
    line(out, "rope size (not rotated)", dims->n_rope);
    line(out, "value size", dims->n_value);
    text_line(out, "output gate", on_off(dims->has_mla_gate));
    (void)fprintf(out, "\nDelta attention (KDA)\n");
    layer_line(out, "layers", dims, NJ_MIXER_DELTA);
    line(out, "heads", dims->n_delta_heads);
    line(out, "head size", dims->n_delta);
    line(out, "convolution taps", dims->n_taps);
    if (dims->gate_lower_bound < 0.0f) {
        text_line(out, "decay", "bounded sigmoid");
        number_line(out, "decay lower bound", (double)dims->gate_lower_bound);
    } else {
        text_line(out, "decay", "softplus");
    }
    text_line(out, "full-rank gate", on_off(dims->has_full_rank_gate));
}

static void describe_feed_forward(FILE *out, const struct nj_dims *dims)
{
    (void)fprintf(out, "\nFeed-forward\n");
    line(out, "dense size", dims->n_dense);
    text_line(out, "mixture of experts", on_off(dims->n_experts > 0));
    if (dims->n_experts == 0) {
        return;
    }
    line(out, "first dense layers", dims->first_dense_layers);
    line(out, "MoE layer frequency", dims->moe_layer_freq);
    line(out, "experts", dims->n_experts);
    line(out, "experts chosen", dims->n_chosen);
    line(out, "shared experts", dims->n_shared);
    line(out, "expert size", dims->n_expert);
    text_line(out, "latent experts", on_off(dims->has_latent));
    line(out, "latent size", dims->n_latent);
    text_line(out, "latent norm", on_off(dims->has_latent_norm));
    number_line(out, "latent norm eps", (double)dims->latent_norm_eps);
    text_line(out, "weights renormalized", on_off(dims->renormalizes));
    number_line(out, "routed scale", (double)dims->routed_scale);
    line(out, "expert groups", dims->n_groups);
    line(out, "groups chosen", dims->n_chosen_groups);
}

static const char *type_name(enum nj_value_type type)
{
    switch (type) {
    case NJ_VALUE_F32:
        return "F32";
    case NJ_VALUE_BF16:
        return "BF16";
    case NJ_VALUE_U8:
        return "packed (MXFP4 nibbles and scales)";
    case NJ_VALUE_OTHER:
        break;
    }
    return "other (not computed with)";
}

static void describe_tensors(FILE *out, const struct nj_weight_index *index)
{
    uint64_t n_tensors[NJ_VALUE_OTHER + 1] = {0};
    uint64_t n_bytes[NJ_VALUE_OTHER + 1] = {0};
    for (size_t i = 0; i < nj_weight_index_count(index); i++) {
        const struct nj_weight *weight = nj_weight_index_at(index, i);
        n_tensors[weight->type]++;
        n_bytes[weight->type] += weight->length_bytes;
    }
    (void)fprintf(out, "\nTensors\n");
    for (int type = 0; type <= NJ_VALUE_OTHER; type++) {
        if (n_tensors[type] > 0) {
            (void)fprintf(out, "  %-36s %8" PRIu64 " tensors %16" PRIu64 " bytes\n",
                          type_name((enum nj_value_type)type), n_tensors[type], n_bytes[type]);
        }
    }
    for (size_t i = 0; i < nj_weight_index_file_count(index); i++) {
        const struct nj_weight_file *file = nj_weight_index_file(index, i);
        (void)fprintf(out, "  %-36s %24" PRIu64 " bytes\n", file->name, file->length_bytes);
    }
}

static void describe_state(FILE *out, const struct nj_dims *dims)
{
    (void)fprintf(out, "\nState of one sequence\n");
    line(out, "recurrent bytes", nj_state_recurrent_bytes(dims));
    line(out, "bytes per 64 positions", nj_state_page_bytes(dims));
}

static const char *chat_name(enum nj_chat_format format)
{
    switch (format) {
    case NJ_CHAT_XTML:
        return "XTML (Kimi K3)";
    case NJ_CHAT_IM:
        return "im (Kimi-Linear, K2)";
    case NJ_CHAT_NONE:
        break;
    }
    return "none";
}

static enum nj_status describe_tokenizer(FILE *out, const struct nj_file_system *fs,
                                         const char *directory, const struct nj_dims *dims,
                                         struct nj_error *err)
{
    struct nj_tokenizer *tokenizer = NULL;
    struct nj_error absent;
    (void)fprintf(out, "\nTokenizer\n");
    enum nj_status status =
        nj_tokenizer_open(fs, directory, dims->n_vocabulary, &tokenizer, &absent);
    if (status == NJ_E_NOT_FOUND) {
        text_line(out, "files", "none: prompts are given as ids");
        return NJ_OK;
    }
    if (status != NJ_OK) {
        return nj_fail(err, status, "%s", absent.text);
    }
    char hex[NJ_DIGEST_HEX_BYTES];
    const nj_token *stops = NULL;
    size_t n_stops = nj_tokenizer_stops(tokenizer, &stops);
    line(out, "ordinary tokens", nj_tokenizer_n_ranks(tokenizer));
    line(out, "special tokens", nj_tokenizer_n_specials(tokenizer));
    text_line(out, "chat format", chat_name(nj_chat_format_of(tokenizer)));
    for (size_t i = 0; i < n_stops; i++) {
        bool is_special = false;
        struct nj_bytes name = nj_tokenizer_bytes(tokenizer, stops[i], &is_special);
        (void)fprintf(out, "  %-28s %d %.*s\n", i == 0 ? "ends a generation" : "", stops[i],
                      (int)name.length_bytes, (const char *)name.data);
    }
    nj_digest_to_hex(nj_tokenizer_digest(tokenizer), hex);
    text_line(out, "digest", hex);
    nj_tokenizer_close(tokenizer);
    return NJ_OK;
}

static enum nj_status describe(FILE *out, const struct nj_file_system *fs,
                               const char *directory, const struct nj_model_info *info,
                               struct nj_error *err)
{
    char hex[NJ_DIGEST_HEX_BYTES];
    nj_digest_to_hex(&info->fingerprint, hex);
    (void)fprintf(out, "%s\n\n", directory);
    describe_graph(out, &info->dims);
    describe_attention(out, &info->dims);
    describe_feed_forward(out, &info->dims);
    describe_tensors(out, info->index);
    describe_state(out, &info->dims);
    enum nj_status status = describe_tokenizer(out, fs, directory, &info->dims, err);
    (void)fprintf(out, "\nIdentity\n");
    text_line(out, "fingerprint", hex);
    line(out, "numerics version", NJ_NUMERICS_VERSION);
    return status;
}

enum nj_status nj_describe_model(const struct nj_file_system *fs, const char *directory,
                                 char **text, size_t *length_bytes, struct nj_error *err)
{
    struct nj_model_info info;
    char *written = NULL;
    size_t n_written = 0;
    enum nj_status status = nj_model_info_open(fs, directory, &info, err);
    if (status != NJ_OK) {
        return status;
    }
    FILE *out = open_memstream(&written, &n_written);
    if (out == NULL) {
        status = nj_fail(err, NJ_E_MEMORY, "describe %s: out of memory", directory);
        goto out;
    }
    status = describe(out, fs, directory, &info, err);
    bool is_whole = ferror(out) == 0;
    is_whole = fclose(out) == 0 && is_whole;
    if (status == NJ_OK && !is_whole) {
        status = nj_fail(err, NJ_E_MEMORY, "describe %s: out of memory", directory);
    }
    if (status == NJ_OK) {
        *text = written;
        *length_bytes = n_written;
        written = NULL;
    }
out:
    free(written);
    nj_model_info_close(&info);
    return status;
}
