"""A model directory as the oracle sees it: settings and dense float matrices."""
import json
import os

import numpy as np

import safetensors

# kimi-k3.md 2.5: magnitude of the three low bits; the fourth is the sign.
FP4_VALUES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def decode_mxfp4(packed, scale):
    """[rows, n/2] packed bytes and [rows, n/32] E8M0 bytes to [rows, n] float64 (2.5)."""
    if np.any(scale == 255):
        raise ValueError("E8M0 byte 255 is not a number")
    nibbles = np.stack([packed & 15, packed >> 4], axis=-1).reshape(len(packed), -1)
    factors = np.exp2(scale.astype(np.float64) - 127.0)
    return FP4_VALUES[nibbles] * np.repeat(factors, 32, axis=1)


class Settings:
    """The fields of config.json that the graph depends on (1.1 to 1.6)."""

    def __init__(self, config):
        text = config.get("text_config", config)
        linear = text["linear_attn_config"]
        self.hidden, self.layers = text["hidden_size"], text["num_hidden_layers"]
        self.vocab, self.eps = text["vocab_size"], text.get("rms_norm_eps", 1e-6)
        self.block_size = text.get("attn_res_block_size") or 0
        self.read_attention(text, linear)
        self.read_feed_forward(text)

    def read_attention(self, text, linear):
        """Heads, widths and the layer pattern (1.2, 1.3)."""
        self.mla_heads, self.kda_heads = text["num_attention_heads"], linear["num_heads"]
        self.kda_dim, self.taps = linear["head_dim"], linear["short_conv_kernel_size"]
        self.q_lora, self.kv_lora = text.get("q_lora_rank"), text["kv_lora_rank"]
        self.nope, self.rope = text["qk_nope_head_dim"], text["qk_rope_head_dim"]
        self.v = text["v_head_dim"]
        self.decay_bound = linear.get("gate_lower_bound")
        self.full_rank_gate = bool(linear.get("use_full_rank_gate", False))
        self.mla_gate = bool(text.get("mla_use_output_gate", False))
        kda, full = set(linear["kda_layers"]), set(linear["full_attn_layers"])
        if kda & full or kda | full != set(range(1, self.layers + 1)):
            raise ValueError("layer lists are no partition of 1..%d" % self.layers)
        self.is_kda = [layer + 1 in kda for layer in range(self.layers)]

    def read_feed_forward(self, text):
        """Activation and expert settings (1.2)."""
        self.activation = text.get("hidden_act", "silu")
        if self.activation not in ("situ", "silu"):
            raise ValueError("hidden_act %s" % self.activation)
        self.situ_gate = text.get("activation_situ_beta") or 1.0
        self.situ_up = text.get("activation_situ_linear_beta") or 1.0
        self.experts, self.used = text["num_experts"], text["num_experts_per_token"]
        self.latent = text.get("routed_expert_hidden_size")
        self.renormalize = bool(text.get("moe_renormalize", True))
        self.routed_scale = text.get("routed_scaling_factor", 1.0)
        self.is_moe = [layer >= text["first_k_dense_replace"] and
                       layer % text.get("moe_layer_freq", 1) == 0
                       for layer in range(self.layers)]


class Checkpoint:
    """Weights by name after the optional prefix, converted once and kept."""

    def __init__(self, directory, dtype=np.float64):
        with open(os.path.join(directory, "config.json")) as source:
            self.settings = Settings(json.load(source))
        self.files, self.dtype, self.kept = safetensors.Directory(directory), dtype, {}
        has_prefix = "language_model.lm_head.weight" in self.files
        self.prefix = "language_model." if has_prefix else ""

    def load(self, name):
        """Values of one tensor from its bytes."""
        if self.prefix + name in self.files:
            return self.files.array(self.prefix + name)
        packed = self.files.array(self.prefix + name + "_packed")
        return decode_mxfp4(packed, self.files.array(self.prefix + name + "_scale"))

    def get(self, name):
        """A tensor in the working type; quantised ones by the suffix found (1.4)."""
        if name not in self.kept:
            self.kept[name] = np.asarray(self.load(name), self.dtype)
        return self.kept[name]

    def layer(self, layer, name):
        """A tensor of one layer."""
        return self.get("model.layers.%d.%s" % (layer, name))
