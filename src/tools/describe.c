#include "tools/describe.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "model/model.h"
#include "model/state.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"
#include "tools/sheet.h"

/* Last layer of the run of layers with the same mixer that begins at `layer`. */
static uint32_t run_end(const struct nj_dims *dims, uint32_t layer)
{
    uint32_t last = layer;
    while (last + 1 < dims->n_layers && dims->mixers[last + 1] == dims->mixers[layer]) {
        last++;
    }
    return last;
}

/* The layers that one mixer has, one-based as in config.json: "1-3, 5-7, 9". */
static void print_layers(FILE *out, const struct nj_dims *dims, enum nj_mixer mixer)
{
    const char *separator = "";
    (void)fprintf(out, "  %-28s ", "layers");
    for (uint32_t layer = 0; layer < dims->n_layers; layer++) {
        if (dims->mixers[layer] != mixer) {
            continue;
        }
        uint32_t last = run_end(dims, layer);
        (void)fprintf(out, "%s%u", separator, layer + 1);
        if (last > layer) {
            (void)fprintf(out, "-%u", last + 1);
        }
        separator = ", ";
        layer = last;
    }
    (void)fprintf(out, "%s\n", separator[0] == '\0' ? "none" : "");
}

static void describe_layers(struct nj_sheet *sheet, const struct nj_dims *dims,
                            enum nj_mixer mixer)
{
    if (!sheet->is_json) {
        print_layers(sheet->out, dims, mixer);
        return;
    }
    nj_json_key(&sheet->json, "layers");
    nj_json_begin_array(&sheet->json);
    for (uint32_t layer = 0; layer < dims->n_layers; layer++) {
        if (dims->mixers[layer] == mixer) {
            nj_json_write_unsigned(&sheet->json, layer + 1);
        }
    }
    nj_json_end_array(&sheet->json);
}

static void describe_graph(struct nj_sheet *sheet, const struct nj_dims *dims)
{
    nj_sheet_begin_section(sheet, "graph", "Graph");
    nj_sheet_text(sheet, "config_layout", "config layout",
                  dims->is_nested ? "nested (text_config)" : "flat");
    nj_sheet_count(sheet, "layers", "layers", dims->n_layers);
    nj_sheet_count(sheet, "hidden_size", "hidden size", dims->n_hidden);
    nj_sheet_count(sheet, "vocabulary", "vocabulary", dims->n_vocabulary);
    nj_sheet_count(sheet, "context_length", "context length", dims->context_length);
    nj_sheet_number(sheet, "rms_norm_eps", "rms norm eps", dims->rms_norm_eps);
    if (dims->activation == NJ_ACTIVATION_SITU) {
        nj_sheet_text(sheet, "activation", "activation", "SiTU");
        nj_sheet_number(sheet, "situ_beta", "SiTU beta", dims->situ_beta);
        nj_sheet_number(sheet, "situ_linear_beta", "SiTU linear beta", dims->situ_linear_beta);
    } else {
        nj_sheet_text(sheet, "activation", "activation", "SwiGLU");
    }
    nj_sheet_switch(sheet, "attention_residuals", "attention residuals",
                    dims->attention_residual_block > 0);
    if (dims->attention_residual_block > 0) {
        nj_sheet_count(sheet, "residual_block_layers", "residual block (layers)",
                       dims->attention_residual_block);
        nj_sheet_count(sheet, "residual_blocks", "residual blocks",
                       nj_dims_n_residual_blocks(dims));
    }
    nj_sheet_id(sheet, "begin_token", "begin token", dims->bos_token);
    nj_sheet_id(sheet, "end_token", "end token", dims->eos_token);
    nj_sheet_id(sheet, "pad_token", "pad token", dims->pad_token);
    nj_sheet_end_section(sheet);
}

static void describe_latent_attention(struct nj_sheet *sheet, const struct nj_dims *dims)
{
    nj_sheet_begin_section(sheet, "latent_attention", "Latent attention (MLA)");
    describe_layers(sheet, dims, NJ_MIXER_LATENT);
    nj_sheet_count(sheet, "heads", "heads", dims->n_heads);
    nj_sheet_switch(sheet, "low_rank_query", "low-rank query", dims->q_rank > 0);
    nj_sheet_count(sheet, "query_rank", "query rank", dims->q_rank);
    nj_sheet_count(sheet, "kv_rank", "kv rank", dims->kv_rank);
    nj_sheet_count(sheet, "nope_size", "nope size", dims->n_nope);
    nj_sheet_count(sheet, "rope_size", "rope size (not rotated)", dims->n_rope);
    nj_sheet_count(sheet, "value_size", "value size", dims->n_value);
    nj_sheet_switch(sheet, "output_gate", "output gate", dims->has_mla_gate);
    nj_sheet_end_section(sheet);
}

static void describe_delta_attention(struct nj_sheet *sheet, const struct nj_dims *dims)
{
    nj_sheet_begin_section(sheet, "delta_attention", "Delta attention (KDA)");
    describe_layers(sheet, dims, NJ_MIXER_DELTA);
    nj_sheet_count(sheet, "heads", "heads", dims->n_delta_heads);
    nj_sheet_count(sheet, "head_size", "head size", dims->n_delta);
    nj_sheet_count(sheet, "convolution_taps", "convolution taps", dims->n_taps);
    if (dims->gate_lower_bound < 0.0f) {
        nj_sheet_text(sheet, "decay", "decay", "bounded sigmoid");
        nj_sheet_number(sheet, "decay_lower_bound", "decay lower bound",
                        dims->gate_lower_bound);
    } else {
        nj_sheet_text(sheet, "decay", "decay", "softplus");
    }
    nj_sheet_switch(sheet, "full_rank_gate", "full-rank gate", dims->has_full_rank_gate);
    nj_sheet_end_section(sheet);
}

static void describe_experts(struct nj_sheet *sheet, const struct nj_dims *dims)
{
    nj_sheet_count(sheet, "first_dense_layers", "first dense layers", dims->first_dense_layers);
    nj_sheet_count(sheet, "moe_layer_frequency", "MoE layer frequency", dims->moe_layer_freq);
    nj_sheet_count(sheet, "experts", "experts", dims->n_experts);
    nj_sheet_count(sheet, "experts_chosen", "experts chosen", dims->n_chosen);
    nj_sheet_count(sheet, "shared_experts", "shared experts", dims->n_shared);
    nj_sheet_count(sheet, "expert_size", "expert size", dims->n_expert);
    nj_sheet_switch(sheet, "latent_experts", "latent experts", dims->has_latent);
    nj_sheet_count(sheet, "latent_size", "latent size", dims->n_latent);
    nj_sheet_switch(sheet, "latent_norm", "latent norm", dims->has_latent_norm);
    nj_sheet_number(sheet, "latent_norm_eps", "latent norm eps", dims->latent_norm_eps);
    nj_sheet_switch(sheet, "weights_renormalized", "weights renormalized", dims->renormalizes);
    nj_sheet_number(sheet, "routed_scale", "routed scale", dims->routed_scale);
    nj_sheet_count(sheet, "expert_groups", "expert groups", dims->n_groups);
    nj_sheet_count(sheet, "groups_chosen", "groups chosen", dims->n_chosen_groups);
}

static void describe_feed_forward(struct nj_sheet *sheet, const struct nj_dims *dims)
{
    nj_sheet_begin_section(sheet, "feed_forward", "Feed-forward");
    nj_sheet_count(sheet, "dense_size", "dense size", dims->n_dense);
    nj_sheet_switch(sheet, "mixture_of_experts", "mixture of experts", dims->n_experts > 0);
    if (dims->n_experts > 0) {
        describe_experts(sheet, dims);
    }
    nj_sheet_end_section(sheet);
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

/* One element of the list that is open in JSON, one line for people. */
static void describe_type(struct nj_sheet *sheet, enum nj_value_type type, uint64_t n_tensors,
                          uint64_t n_bytes)
{
    if (!sheet->is_json) {
        (void)fprintf(sheet->out, "  %-36s %8" PRIu64 " tensors %16" PRIu64 " bytes\n",
                      type_name(type), n_tensors, n_bytes);
        return;
    }
    nj_json_begin_object(&sheet->json);
    nj_sheet_text(sheet, "type", "", type_name(type));
    nj_sheet_count(sheet, "tensors", "", n_tensors);
    nj_sheet_count(sheet, "bytes", "", n_bytes);
    nj_json_end_object(&sheet->json);
}

static void describe_types(struct nj_sheet *sheet, const struct nj_weight_index *index)
{
    uint64_t n_tensors[NJ_VALUE_OTHER + 1] = {0};
    uint64_t n_bytes[NJ_VALUE_OTHER + 1] = {0};
    for (size_t i = 0; i < nj_weight_index_count(index); i++) {
        const struct nj_weight *weight = nj_weight_index_at(index, i);
        n_tensors[weight->type]++;
        n_bytes[weight->type] += weight->length_bytes;
    }
    for (int type = 0; type <= NJ_VALUE_OTHER; type++) {
        if (n_tensors[type] > 0) {
            describe_type(sheet, (enum nj_value_type)type, n_tensors[type], n_bytes[type]);
        }
    }
}

static void describe_file(struct nj_sheet *sheet, const struct nj_weight_file *file)
{
    if (!sheet->is_json) {
        (void)fprintf(sheet->out, "  %-36s %24" PRIu64 " bytes\n", file->name,
                      file->length_bytes);
        return;
    }
    nj_json_begin_object(&sheet->json);
    nj_sheet_text(sheet, "name", "", file->name);
    nj_sheet_count(sheet, "bytes", "", file->length_bytes);
    nj_json_end_object(&sheet->json);
}

static void begin_list(struct nj_sheet *sheet, const char *key)
{
    if (sheet->is_json) {
        nj_json_key(&sheet->json, key);
        nj_json_begin_array(&sheet->json);
    }
}

static void end_list(struct nj_sheet *sheet)
{
    if (sheet->is_json) {
        nj_json_end_array(&sheet->json);
    }
}

static void describe_tensors(struct nj_sheet *sheet, const struct nj_weight_index *index)
{
    nj_sheet_begin_section(sheet, "tensors", "Tensors");
    begin_list(sheet, "types");
    describe_types(sheet, index);
    end_list(sheet);
    begin_list(sheet, "files");
    for (size_t i = 0; i < nj_weight_index_file_count(index); i++) {
        describe_file(sheet, nj_weight_index_file(index, i));
    }
    end_list(sheet);
    nj_sheet_end_section(sheet);
}

static void describe_state(struct nj_sheet *sheet, const struct nj_dims *dims)
{
    nj_sheet_begin_section(sheet, "state", "State of one sequence");
    nj_sheet_count(sheet, "recurrent_bytes", "recurrent bytes", nj_state_recurrent_bytes(dims));
    nj_sheet_count(sheet, "page_bytes", "bytes per 64 positions", nj_state_page_bytes(dims));
    nj_sheet_end_section(sheet);
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

static void describe_stop(struct nj_sheet *sheet, struct nj_tokenizer *tokenizer, nj_token stop,
                          const char *label)
{
    bool is_special = false;
    struct nj_bytes name = nj_tokenizer_bytes(tokenizer, stop, &is_special);
    struct nj_text text = {(const char *)name.data, name.length_bytes};
    if (!sheet->is_json) {
        (void)fprintf(sheet->out, "  %-28s %d %.*s\n", label, stop, (int)text.length_bytes,
                      text.data);
        return;
    }
    nj_json_begin_object(&sheet->json);
    nj_sheet_id(sheet, "id", "", stop);
    nj_json_key(&sheet->json, "token");
    nj_json_write_text(&sheet->json, text);
    nj_json_end_object(&sheet->json);
}

static void describe_open_tokenizer(struct nj_sheet *sheet, struct nj_tokenizer *tokenizer)
{
    char hex[NJ_DIGEST_HEX_BYTES];
    const nj_token *stops = NULL;
    size_t n_stops = nj_tokenizer_stops(tokenizer, &stops);
    nj_sheet_count(sheet, "ordinary_tokens", "ordinary tokens",
                   nj_tokenizer_n_ranks(tokenizer));
    nj_sheet_count(sheet, "special_tokens", "special tokens",
                   nj_tokenizer_n_specials(tokenizer));
    nj_sheet_text(sheet, "chat_format", "chat format", chat_name(nj_chat_format_of(tokenizer)));
    begin_list(sheet, "ends_a_generation");
    for (size_t i = 0; i < n_stops; i++) {
        describe_stop(sheet, tokenizer, stops[i], i == 0 ? "ends a generation" : "");
    }
    end_list(sheet);
    nj_digest_to_hex(nj_tokenizer_digest(tokenizer), hex);
    nj_sheet_text(sheet, "digest", "digest", hex);
}

static enum nj_status describe_tokenizer(struct nj_sheet *sheet,
                                         const struct nj_file_system *fs, const char *directory,
                                         const struct nj_dims *dims, struct nj_error *err)
{
    struct nj_tokenizer *tokenizer = NULL;
    struct nj_error absent;
    enum nj_status status =
        nj_tokenizer_open(fs, directory, dims->n_vocabulary, &tokenizer, &absent);
    if (status != NJ_OK && status != NJ_E_NOT_FOUND) {
        return nj_fail(err, status, "%s", absent.text);
    }
    nj_sheet_begin_section(sheet, "tokenizer", "Tokenizer");
    if (tokenizer != NULL) {
        describe_open_tokenizer(sheet, tokenizer);
    } else {
        nj_sheet_text(sheet, "files", "files", "none: prompts are given as ids");
    }
    nj_sheet_end_section(sheet);
    nj_tokenizer_close(tokenizer);
    return NJ_OK;
}

static void describe_identity(struct nj_sheet *sheet, const struct nj_digest *fingerprint)
{
    char hex[NJ_DIGEST_HEX_BYTES];
    nj_digest_to_hex(fingerprint, hex);
    nj_sheet_begin_section(sheet, "identity", "Identity");
    nj_sheet_text(sheet, "fingerprint", "fingerprint", hex);
    nj_sheet_count(sheet, "numerics_version", "numerics version", NJ_NUMERICS_VERSION);
    nj_sheet_end_section(sheet);
}

static enum nj_status describe(struct nj_sheet *sheet, const struct nj_file_system *fs,
                               const char *directory, const struct nj_model_info *info,
                               struct nj_error *err)
{
    if (sheet->is_json) {
        nj_sheet_text(sheet, "model", "", directory);
    } else {
        (void)fprintf(sheet->out, "%s\n", directory);
    }
    describe_graph(sheet, &info->dims);
    describe_latent_attention(sheet, &info->dims);
    describe_delta_attention(sheet, &info->dims);
    describe_feed_forward(sheet, &info->dims);
    describe_tensors(sheet, info->index);
    describe_state(sheet, &info->dims);
    enum nj_status status = describe_tokenizer(sheet, fs, directory, &info->dims, err);
    describe_identity(sheet, &info->fingerprint);
    return status;
}

enum nj_status nj_describe_model(const struct nj_file_system *fs, const char *directory,
                                 bool as_json, char **text, size_t *length_bytes,
                                 struct nj_error *err)
{
    struct nj_model_info info;
    struct nj_sheet sheet;
    enum nj_status status = nj_model_info_open(fs, directory, &info, err);
    if (status != NJ_OK) {
        return status;
    }
    status = nj_sheet_init(&sheet, as_json, err);
    if (status == NJ_OK) {
        status = describe(&sheet, fs, directory, &info, err);
    }
    if (status == NJ_OK) {
        status = nj_sheet_finish(&sheet, text, length_bytes, err);
    }
    nj_sheet_deinit(&sheet);
    nj_model_info_close(&info);
    return status;
}
