"""Tiny models with the released layout and adversarial random weights (kimi-k3.md 8.1).

    python3 tiny_models.py t5|t13|t5e|kl5 DIRECTORY

`tests/support/tiny_model.c` writes the same bytes.  A value is

    round_to_type( (draw + offset) * scale )

where `draw` is an integer made from Philox words and `scale` a double, so no rounding
happens before the last step but that of one product, and no libm is involved.
"""
import os
import sys
import zlib
from collections import namedtuple
from math import isqrt

import numpy as np

import philox
import safetensors

# A sum of eight 16-bit halves has mean 262140 and standard deviation 53509.97.
HALVES_MEAN = 262140
HALVES_SIGMA = 53510.0
NORM_OFFSET = 178367        # (offset + draw) * 0.3 / 53510 is 1 + N(0, 0.3^2)
U16_RANGE = 65536.0

Dims = namedtuple("Dims", """
    family seed layers full_attention block_size hidden vocab dense
    kda_heads kda_dim a_log_entries mla_heads q_lora kv_lora nope rope v
    experts used shared moe latent rms_eps routed_scale
    embed_sigma mix_sigma qk_gain latent_gain a_log_low a_log_high gate_gain up_gain
    scale_w1 scale_w2 scale_w3 order""")

# Order of tensors inside a shard: as released, experts out of id order, or all reversed.
NATURAL, SHUFFLED_EXPERTS, REVERSED = "natural", "shuffled experts", "reversed"

KINDS = {
    "t5": Dims(
        "k3", 5, 5, (4, 5), 2, 96, 256, 160, 4, 32, 32, 4, 48, 40, 24, 8, 20,
        8, 2, 2, 64, 64, "1e-05", "1.0",
        3.0, 0.1, 1.0, 0.004, 0.0, 2.75, 3.0, 10.0, 121, 121, 122, NATURAL),
    "t13": Dims(
        "k3", 13, 13, (4, 8, 12, 13), 3, 160, 512, 224, 4, 32, 32, 4, 48, 40, 24, 8, 20,
        8, 3, 2, 64, 96, "1e-05", "1.0",
        4.0, 0.06, 1.0, 0.004, 0.0, 2.75, 3.0, 10.0, 121, 121, 122, SHUFFLED_EXPERTS),
    "t5e": Dims(
        "k3", 29, 5, (2, 5), 3, 88, 200, 120, 3, 40, 7, 5, 44, 36, 20, 12, 28,
        10, 3, 1, 96, 32, "0.001", "2.0",
        3.0, 0.1, 0.003, 0.004, 0.0, 2.75, 3.0, 10.0, 121, 133, 97, REVERSED),
    "kl5": Dims(
        "linear", 48, 5, (2, 5), 0, 80, 224, 144, 3, 32, 3, 3, 0, 40, 24, 8, 20,
        12, 4, 1, 56, 0, "1e-05", "2.446",
        1.0, 0.0, 1.0, 0.004, -2.0, 1.0, 2.0, 3.0, 0, 0, 0, NATURAL),
}

# source: "halves" (normal), "u16" (uniform), "codes" (MXFP4 bytes), "scales" (E8M0 bytes).
# Elements from `head` on use the second pair of offset and scale.
Tensor = namedtuple("Tensor", "name dtype shape source offset scale head offset2 scale2")


def tensor(name, dtype, shape, source, offset, scale):
    """A tensor whose elements all follow one recipe."""
    return Tensor(name, dtype, shape, source, offset, scale, count(shape), 0, 0.0)


def count(shape):
    """Number of elements."""
    total = 1
    for size in shape:
        total *= size
    return total


def spread(gain, fan_in):
    """Scale of a matrix whose outputs have about `gain` times the spread of its inputs."""
    return gain * 16.0 / float(isqrt(256 * fan_in)) / HALVES_SIGMA


def matrix(name, rows, columns, gain):
    """BF16 [rows, columns], N(0, gain^2 / columns)."""
    return tensor(name, "BF16", (rows, columns), "halves", 0, spread(gain, columns))


def vector(name, shape, dtype, sigma):
    """N(0, sigma^2)."""
    return tensor(name, dtype, shape, "halves", 0, sigma / HALVES_SIGMA)


def norm(name, size, dtype="BF16"):
    """1 + N(0, 0.3^2)."""
    return tensor(name, dtype, (size,), "halves", NORM_OFFSET, 0.3 / HALVES_SIGMA)


def residual_mix(prefix, dims):
    """Norm and projection of one attention-residual mix (3.3)."""
    return [norm(prefix + "_norm.weight", dims.hidden),
            vector(prefix + "_proj.weight", (1, dims.hidden), "BF16", dims.mix_sigma)]


def decay_log(name, dims):
    """A_log: one value per head, then zeros (2.4); Kimi-Linear stores [1,1,heads,1]."""
    entries = dims.a_log_entries
    shape = (entries,) if dims.family == "k3" else (1, 1, entries, 1)
    scale = (dims.a_log_high - dims.a_log_low) / U16_RANGE
    offset = int(dims.a_log_low / scale) if dims.a_log_low else 0
    return Tensor(name, "F32", shape, "u16", offset, scale, dims.kda_heads, 0, 0.0)


def delta_attention(prefix, dims):
    """KDA tensors of one layer (2.2, 2.6)."""
    hidden, dim = dims.hidden, dims.kda_dim
    width = dims.kda_heads * dim
    out = [matrix(prefix + "q_proj.weight", width, hidden, dims.qk_gain),
           matrix(prefix + "k_proj.weight", width, hidden, dims.qk_gain),
           matrix(prefix + "v_proj.weight", width, hidden, 1.5)]
    out += [vector(prefix + "%s_conv1d.weight" % c, (width, 1, 4), "F32", 0.6) for c in "qkv"]
    out += [matrix(prefix + "f_a_proj.weight", dim, hidden, 1.0),
            matrix(prefix + "f_b_proj.weight", width, dim, 1.0)]
    if dims.family == "k3":
        out += [matrix(prefix + "g_proj.weight", width, hidden, 1.0)]
    else:
        out += [matrix(prefix + "g_a_proj.weight", dim, hidden, 1.0),
                matrix(prefix + "g_b_proj.weight", width, dim, 1.0)]
    return out + [matrix(prefix + "b_proj.weight", dims.kda_heads, hidden, 1.5),
                  decay_log(prefix + "A_log", dims),
                  vector(prefix + "dt_bias", (width,), "F32", 1.0),
                  norm(prefix + "o_norm.weight", dim, "F32"),
                  matrix(prefix + "o_proj.weight", hidden, width, 1.0)]


def latent_projection(name, dims):
    """kv_a: tiny rows for the normed latent, ordinary ones for the shared key part."""
    shape = (dims.kv_lora + dims.rope, dims.hidden)
    return Tensor(name, "BF16", shape, "halves", 0, spread(dims.latent_gain, 1),
                  dims.kv_lora * dims.hidden, 0, spread(1.0, dims.hidden))


def latent_attention(prefix, dims):
    """MLA tensors of one layer (2.2, 2.6)."""
    heads, hidden = dims.mla_heads, dims.hidden
    key, wide = dims.nope + dims.rope, heads * dims.v
    if dims.q_lora:
        out = [tensor(prefix + "q_a_proj.weight", "BF16", (dims.q_lora, hidden), "halves", 0,
                      spread(dims.latent_gain, 1)),
               norm(prefix + "q_a_layernorm.weight", dims.q_lora),
               matrix(prefix + "q_b_proj.weight", heads * key, dims.q_lora, 1.0)]
    else:
        out = [matrix(prefix + "q_proj.weight", heads * key, hidden, 1.5)]
    out += [latent_projection(prefix + "kv_a_proj_with_mqa.weight", dims),
            norm(prefix + "kv_a_layernorm.weight", dims.kv_lora),
            matrix(prefix + "kv_b_proj.weight", heads * (dims.nope + dims.v), dims.kv_lora,
                   1.5)]
    if dims.family == "k3":
        out += [matrix(prefix + "g_proj.weight", wide, hidden, 1.0)]
    return out + [matrix(prefix + "o_proj.weight", hidden, wide, 1.5)]


def feed_forward(prefix, dims, width):
    """Dense or shared FFN (2.2)."""
    down = 0.05 if dims.family == "k3" else 0.15
    return [matrix(prefix + "gate_proj.weight", width, dims.hidden, dims.gate_gain),
            matrix(prefix + "up_proj.weight", width, dims.hidden, dims.up_gain),
            matrix(prefix + "down_proj.weight", dims.hidden, width, down)]


def packed(name, rows, columns, scale_base):
    """MXFP4 pair: random bytes over all 16 codes, scale bytes base..base+6 (2.5)."""
    return [tensor(name + ".weight_packed", "U8", (rows, columns // 2), "codes", 0, 1.0),
            tensor(name + ".weight_scale", "U8", (rows, columns // 32), "scales",
                   scale_base, 1.0)]


def expert(prefix, dims):
    """The tensors of one routed expert, w1, w2, w3 (2.1)."""
    if dims.family == "linear":
        return [matrix(prefix + "w1.weight", dims.moe, dims.hidden, dims.gate_gain),
                matrix(prefix + "w2.weight", dims.hidden, dims.moe, 0.15),
                matrix(prefix + "w3.weight", dims.moe, dims.hidden, dims.up_gain)]
    return (packed(prefix + "w1", dims.moe, dims.latent, dims.scale_w1) +
            packed(prefix + "w2", dims.latent, dims.moe, dims.scale_w2) +
            packed(prefix + "w3", dims.moe, dims.latent, dims.scale_w3))


def expert_order(dims, layer):
    """Ids in storage order; shuffled ones differ from layer to layer."""
    if dims.order == SHUFFLED_EXPERTS:
        return [(5 * slot + layer) % dims.experts for slot in range(dims.experts)]
    return list(range(dims.experts))


def experts(prefix, dims, layer):
    """MoE tensors of one layer (2.2, 2.6)."""
    hidden = dims.hidden
    out = [matrix(prefix + "gate.weight", dims.experts, hidden, 1.5),
           vector(prefix + "gate.e_score_correction_bias", (dims.experts,), "F32", 0.5)]
    if dims.latent:
        out += [matrix(prefix + "routed_expert_down_proj.weight", dims.latent, hidden, 0.5),
                norm(prefix + "routed_expert_norm.weight", dims.latent),
                matrix(prefix + "routed_expert_up_proj.weight", hidden, dims.latent, 0.8)]
    out += feed_forward(prefix + "shared_experts.", dims, dims.shared * dims.moe)
    for number in expert_order(dims, layer):
        out += expert(prefix + "experts.%d." % number, dims)
    return out


def name_prefix(dims):
    """K3 text tensors carry a prefix, Kimi-Linear's do not (2.2, 2.6)."""
    return "language_model." if dims.family == "k3" else ""


def layer_tensors(dims, layer):
    """All tensors of one zero-based layer, in the order of the shard."""
    prefix = "%smodel.layers.%d." % (name_prefix(dims), layer)
    out = [norm(prefix + "input_layernorm.weight", dims.hidden),
           norm(prefix + "post_attention_layernorm.weight", dims.hidden)]
    if dims.block_size:
        out += residual_mix(prefix + "self_attention_res", dims)
        out += residual_mix(prefix + "mlp_res", dims)
    mixer = latent_attention if layer + 1 in dims.full_attention else delta_attention
    out += mixer(prefix + "self_attn.", dims)
    if layer == 0:
        out += feed_forward(prefix + "mlp.", dims, dims.dense)
    else:
        out += experts(prefix + "block_sparse_moe.", dims, layer)
    return out[::-1] if dims.order == REVERSED else out


def global_tensors(dims):
    """The last shard: embedding, head, final norm and mix."""
    prefix = name_prefix(dims)
    out = [vector(prefix + "model.embed_tokens.weight", (dims.vocab, dims.hidden), "BF16",
                  dims.embed_sigma),
           matrix(prefix + "lm_head.weight", dims.vocab, dims.hidden, 2.5),
           norm(prefix + "model.norm.weight", dims.hidden)]
    if dims.block_size:
        out += residual_mix(prefix + "model.output_attn_res", dims)
    return out[::-1] if dims.order == REVERSED else out


def draws(source, words):
    """The integer of each element before offset and scale."""
    if source == "u16":
        return (words[:, 0] >> 16).astype(np.int64)
    halves = (words & 0xFFFF).astype(np.int64) + (words >> 16).astype(np.int64)
    return halves.sum(axis=1) - HALVES_MEAN


def tensor_bytes(seed, item):
    """The stored bytes of one tensor."""
    stream, total = zlib.crc32(item.name.encode("ascii")), count(item.shape)
    if item.source == "codes":
        return philox.words(seed, stream, -(-total // 16)).astype("<u4").tobytes()[:total]
    words = philox.words(seed, stream, total)
    if item.source == "scales":
        return (item.offset + words[:, 0] % 7).astype(np.uint8).tobytes()
    index = np.arange(total)
    offset = np.where(index < item.head, item.offset, item.offset2)
    scale = np.where(index < item.head, item.scale, item.scale2)
    whole = draws(item.source, words) + offset
    values = (whole.astype(np.float64) * scale).astype(np.float32)
    if item.dtype == "F32":
        return values.astype("<f4").tobytes()
    return safetensors.bf16_from_float(values).astype("<u2").tobytes()


def integers(values):
    """JSON list."""
    return "[" + ",".join(map(str, values)) + "]"


def block(pairs, indent=""):
    """A JSON object, one field a line; values are JSON text already."""
    lines = ['%s "%s": %s' % (indent, key, value) for key, value in pairs]
    return "{\n" + ",\n".join(lines) + "\n" + indent + "}"


def linear_attention_config(dims):
    """kimi-k3.md 1.3; the two layer lists are one-based."""
    kda = [n for n in range(1, dims.layers + 1) if n not in dims.full_attention]
    pairs = [("head_dim", dims.kda_dim), ("num_heads", dims.kda_heads),
             ("short_conv_kernel_size", 4)]
    if dims.family == "k3":
        pairs += [("gate_lower_bound", "-5.0"), ("use_full_rank_gate", "true")]
    return pairs + [("full_attn_layers", integers(dims.full_attention)),
                    ("kda_layers", integers(kda))]


QUANTIZATION = (
    '{"quant_method": "compressed-tensors", "format": "mxfp4-pack-quantized", '
    '"quantization_status": "compressed", "config_groups": {"group_0": {'
    '"format": "mxfp4-pack-quantized", "targets": ["Linear"], "input_activations": null, '
    '"output_activations": null, "weights": {"num_bits": 4, "type": "float", '
    '"group_size": 32, "strategy": "group", "symmetric": true, "dynamic": false, '
    '"observer": "minmax", "scale_dtype": "torch.uint8"}}}, '
    '"ignore": ["re:.*self_attn.*", "re:.*shared_experts.*", '
    '"re:.*mlp\\\\.(gate|up|gate_up|down)_proj.*", "re:.*lm_head.*", '
    '"re:.*vision_tower.*", "re:.*mm_projector.*"]}')


def common_config(dims):
    """Fields that both families have (1.2, 1.6)."""
    return [("hidden_size", dims.hidden), ("num_hidden_layers", dims.layers),
            ("num_attention_heads", dims.mla_heads), ("num_key_value_heads", dims.mla_heads),
            ("vocab_size", dims.vocab), ("intermediate_size", dims.dense),
            ("rms_norm_eps", dims.rms_eps), ("max_position_embeddings", 4096),
            ("first_k_dense_replace", 1), ("moe_layer_freq", 1),
            ("moe_intermediate_size", dims.moe), ("num_experts", dims.experts),
            ("num_experts_per_token", dims.used), ("num_shared_experts", dims.shared),
            ("num_expert_group", 1), ("topk_group", 1), ("use_grouped_topk", "true"),
            ("moe_renormalize", "true"), ("moe_router_activation_func", '"sigmoid"'),
            ("routed_scaling_factor", dims.routed_scale),
            ("q_lora_rank", dims.q_lora or "null"), ("kv_lora_rank", dims.kv_lora),
            ("qk_nope_head_dim", dims.nope), ("qk_rope_head_dim", dims.rope),
            ("v_head_dim", dims.v), ("mla_use_nope", "true"),
            ("num_nextn_predict_layers", 0), ("tie_word_embeddings", "false")]


def token_ids(dims):
    """Ids of the three special tokens, the last of the vocabulary."""
    return [("bos_token_id", dims.vocab - 3), ("eos_token_id", dims.vocab - 2),
            ("pad_token_id", dims.vocab - 1)]


def k3_config(dims):
    """config.json with a text_config (1.1, 1.2)."""
    text = [("model_type", '"kimi_linear"'), ("architectures", '["KimiLinearForCausalLM"]'),
            ("hidden_act", '"situ"'), ("activation_situ_beta", "4.0"),
            ("activation_situ_linear_beta", "25.0")] + common_config(dims)
    text += [("topk_method", '"noaux_tc"'), ("attn_res_block_size", dims.block_size),
             ("routed_expert_hidden_size", dims.latent), ("latent_moe_use_norm", "true"),
             ("mla_use_output_gate", "true"),
             ("linear_attn_config", block(linear_attention_config(dims), "  ")),
             ("quantization_config", QUANTIZATION)]
    return [("architectures", '["KimiK3ForConditionalGeneration"]'),
            ("model_type", '"kimi_k3"'), ("dtype", '"bfloat16"')] + token_ids(dims) + [
                ("tie_word_embeddings", "false"), ("text_config", block(text, " "))]


def linear_config(dims):
    """Flat config.json of the Kimi-Linear layout (1.6)."""
    return [("architectures", '["KimiLinearForCausalLM"]'), ("model_type", '"kimi_linear"'),
            ("dtype", '"bfloat16"'), ("hidden_act", '"silu"')] + token_ids(dims) + \
        common_config(dims) + [
            ("linear_attn_config", block(linear_attention_config(dims), " "))]


def write(kind, directory):
    """Write config, shards (layer l in shard l + 1, globals last) and index."""
    dims = KINDS[kind]
    os.makedirs(directory, exist_ok=True)
    config = k3_config(dims) if dims.family == "k3" else linear_config(dims)
    with open(os.path.join(directory, "config.json"), "w") as out:
        out.write(block(config) + "\n")
    shards = [layer_tensors(dims, layer) for layer in range(dims.layers)]
    shards.append(global_tensors(dims))
    index = []
    for number, items in enumerate(shards, 1):
        file = safetensors.shard_name(number, len(shards))
        stored = [(i.name, i.dtype, i.shape, tensor_bytes(dims.seed, i)) for i in items]
        safetensors.write_shard(os.path.join(directory, file), stored)
        index += [(name, file, len(data)) for name, _, _, data in stored]
    safetensors.write_index(directory, index)


def main():
    """Command line."""
    if len(sys.argv) != 3 or sys.argv[1] not in KINDS:
        sys.exit(__doc__)
    write(sys.argv[1], sys.argv[2])


if __name__ == "__main__":
    main()
