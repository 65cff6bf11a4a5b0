"""Write a model directory as one GGUF file, the layout of llama.cpp (kimi-k3.md 5).

    python3 gguf.py MODEL_DIR OUT.gguf [--experts f32]

The trunk is written as F32 (BF16 widened, so exact); experts stay MXFP4 with their nibbles
rearranged, or are expanded to F32, so that an engine which quantises activations for MXFP4
can be compared more closely.
"""
import argparse
import struct

import numpy as np

from checkpoint import Checkpoint

U32, I32, F32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
TYPE_F32, TYPE_MXFP4 = 0, 39
ALIGNMENT = 32
FILE_TYPE_MXFP4 = 38


def text(value):
    """GGUF string."""
    data = value.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def value_bytes(kind, value):
    """A metadata value after its type word."""
    if kind == STRING:
        return text(value)
    if kind == ARRAY:
        element, items = value
        return struct.pack("<IQ", element, len(items)) + b"".join(
            value_bytes(element, item) for item in items)
    return struct.pack({U32: "<I", I32: "<i", F32: "<f", BOOL: "<B"}[kind], value)


def padded(size):
    """Size rounded up to the alignment."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def repack(packed, scale):
    """Interleaved nibbles and separate scales to 17-byte split-half blocks (5.1)."""
    nibbles = np.stack([packed & 15, packed >> 4], axis=-1).reshape(len(packed), -1, 32)
    low, high = nibbles[..., :16], nibbles[..., 16:]
    return np.concatenate([scale[..., None], low | (high << 4)], axis=-1)


class Writer:
    """Metadata and tensors of one file."""

    def __init__(self):
        self.meta, self.tensors = [], []

    def put(self, key, kind, value):
        """Add a metadata entry."""
        self.meta.append(text(key) + struct.pack("<I", kind) + value_bytes(kind, value))

    def add(self, name, array):
        """Add an F32 tensor; numpy shape, so the GGUF dimensions are its reverse."""
        array = np.ascontiguousarray(array, "<f4")
        self.tensors.append((name, array.shape[::-1], TYPE_F32, array.tobytes()))

    def add_mxfp4(self, name, blocks):
        """Add [experts, rows, blocks, 17] bytes."""
        shape = (blocks.shape[2] * 32, blocks.shape[1], blocks.shape[0])
        self.tensors.append((name, shape, TYPE_MXFP4, blocks.astype(np.uint8).tobytes()))

    def save(self, path):
        """Write header, metadata, tensor list and data."""
        infos, offset = [], 0
        for name, shape, kind, data in self.tensors:
            infos.append(text(name) + struct.pack("<I%dQIQ" % len(shape), len(shape), *shape,
                                                  kind, offset))
            offset += padded(len(data))
        head = b"GGUF" + struct.pack("<IQQ", 3, len(self.tensors), len(self.meta))
        head += b"".join(self.meta) + b"".join(infos)
        with open(path, "wb") as out:
            out.write(head.ljust(padded(len(head)), b"\0"))
            for _, _, _, data in self.tensors:
                out.write(data.ljust(padded(len(data)), b"\0"))


class Converter:
    """One checkpoint on its way into a Writer."""

    def __init__(self, checkpoint, expand_experts):
        self.weights, self.settings = checkpoint, checkpoint.settings
        self.is_k3 = bool(self.settings.block_size)
        self.arch = "kimi-k3" if self.is_k3 else "kimi-linear"
        self.expand, self.out = expand_experts, Writer()

    def key(self, name, kind, value):
        """Metadata under the architecture's prefix."""
        self.out.put(self.arch + "." + name, kind, value)

    # ---- metadata (5.1, 5.2)

    def general(self):
        """Keys without a prefix."""
        self.out.put("general.architecture", STRING, self.arch)
        self.out.put("general.name", STRING, "tiny " + self.arch)
        self.out.put("general.file_type", U32, FILE_TYPE_MXFP4)
        self.out.put("general.quantization_version", U32, 2)

    def sizes(self):
        """Keys of both architectures; head_count_kv is 0 for KDA and 1 for MLA."""
        s = self.settings
        if s.mla_heads != s.kda_heads:
            raise ValueError("GGUF has one head count for both mixers")
        for name, value in (("block_count", s.layers), ("context_length", 4096),
                            ("embedding_length", s.hidden), ("vocab_size", s.vocab),
                            ("feed_forward_length", self.width(0, "mlp")),
                            ("attention.head_count", s.mla_heads),
                            ("attention.kv_lora_rank", s.kv_lora),
                            ("attention.key_length", s.kv_lora + s.rope),
                            ("attention.value_length", s.kv_lora),
                            ("attention.key_length_mla", s.nope + s.rope),
                            ("attention.value_length_mla", s.v),
                            ("rope.dimension_count", s.rope), ("ssm.conv_kernel", s.taps),
                            ("kda.head_dim", s.kda_dim), ("expert_count", s.experts),
                            ("expert_used_count", s.used),
                            ("leading_dense_block_count", s.is_moe.index(True)),
                            ("expert_gating_func", 2)):
            self.key(name, U32, value)
        self.key("attention.head_count_kv", ARRAY, (I32, [int(not k) for k in s.is_kda]))
        self.key("attention.layer_norm_rms_epsilon", F32, s.eps)
        self.key("rope.freq_base", F32, 10000.0)
        self.key("expert_weights_scale", F32, s.routed_scale)

    def expert_sizes(self):
        """Widths of routed and shared experts."""
        first = self.settings.is_moe.index(True)
        wide = self.expert_matrix(first, 0, "w1").shape[0]
        shared = self.width(first, "block_sparse_moe.shared_experts")
        self.key("expert_feed_forward_length", U32, wide)
        self.key("expert_shared_count", U32, shared // wide)

    def k3_keys(self):
        """Keys only K3 has."""
        s = self.settings
        self.key("attention.q_lora_rank", U32, s.q_lora)
        self.key("expert_weights_norm", BOOL, int(s.renormalize))
        self.key("expert_latent_length", U32, s.latent)
        self.key("kda.gate_lower_bound", F32, s.decay_bound)
        self.key("attn_res.block_size", U32, s.block_size)
        self.key("activation.situ_beta", F32, s.situ_gate)
        self.key("activation.situ_linear_beta", F32, s.situ_up)

    def tokenizer(self):
        """Single bytes, a few merges and fillers: enough to load, ids are given as numbers."""
        printable = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
        rest = [b for b in range(256) if b not in printable]
        tokens = [chr(b) for b in printable] + [chr(256 + i) for i in range(len(rest))]
        tokens = tokens[:self.settings.vocab - 3]
        merges = [] if len(tokens) < 256 else ["t h", "i n"]
        tokens += [m.replace(" ", "") for m in merges][:self.settings.vocab - 3 - len(tokens)]
        while len(tokens) < self.settings.vocab - 3:
            tokens.append("<unused%d>" % len(tokens))
        tokens += ["[BOS]", "[EOS]", "[PAD]"]
        kinds = [5 if t.startswith("<unused") else 1 for t in tokens[:-3]] + [3, 3, 3]
        self.out.put("tokenizer.ggml.model", STRING, "gpt2")
        self.out.put("tokenizer.ggml.pre", STRING, "kimi-k2")
        self.out.put("tokenizer.ggml.tokens", ARRAY, (STRING, tokens))
        self.out.put("tokenizer.ggml.token_type", ARRAY, (I32, kinds))
        self.out.put("tokenizer.ggml.merges", ARRAY, (STRING, merges))
        for name, back in (("bos", 3), ("eos", 2), ("padding", 1)):
            self.out.put("tokenizer.ggml.%s_token_id" % name, U32, self.settings.vocab - back)
        self.out.put("tokenizer.ggml.add_bos_token", BOOL, 0)

    # ---- tensors (5.1)

    def width(self, layer, name):
        """Inner width of a gated FFN."""
        return self.weights.layer(layer, name + ".gate_proj.weight").shape[0]

    def copy(self, layer, pairs):
        """Tensors that only change their name."""
        for theirs, ours in pairs:
            self.out.add("blk.%d.%s" % (layer, theirs), self.weights.layer(layer, ours))

    def score(self, name, ours):
        """Norm and projection of a residual mix, multiplied."""
        norm, projection = (self.weights.get(ours + "_norm.weight"),
                            self.weights.get(ours + "_proj.weight")[0])
        self.out.add(name + ".weight", norm * projection)

    def globals(self):
        """Embedding, head and final norm."""
        self.out.add("token_embd.weight", self.weights.get("model.embed_tokens.weight"))
        self.out.add("output_norm.weight", self.weights.get("model.norm.weight"))
        self.out.add("output.weight", self.weights.get("lm_head.weight"))
        if self.is_k3:
            self.score("output_res_score", "model.output_attn_res")

    def kda(self, layer):
        """KDA layer; ssm_a holds -exp(A_log) of the heads in use."""
        heads = self.settings.kda_heads
        self.copy(layer, [("attn_%s.weight" % c, "self_attn.%s_proj.weight" % c)
                          for c in "qkv"])
        for c in "qkv":
            taps = self.weights.layer(layer, "self_attn.%s_conv1d.weight" % c)
            self.out.add("blk.%d.ssm_conv1d_%s.weight" % (layer, c),
                         taps.reshape(-1, 1, self.settings.taps))
        self.copy(layer, [("ssm_f_a.weight", "self_attn.f_a_proj.weight"),
                          ("ssm_f_b.weight", "self_attn.f_b_proj.weight"),
                          ("ssm_beta.weight", "self_attn.b_proj.weight"),
                          ("ssm_dt.bias", "self_attn.dt_bias"),
                          ("ssm_norm.weight", "self_attn.o_norm.weight"),
                          ("attn_output.weight", "self_attn.o_proj.weight")])
        gates = ["g"] if self.settings.full_rank_gate else ["g_a", "g_b"]
        self.copy(layer, [("ssm_%s.weight" % g, "self_attn.%s_proj.weight" % g) for g in gates])
        rate = -np.exp(self.weights.layer(layer, "self_attn.A_log").reshape(-1)[:heads])
        self.out.add("blk.%d.ssm_a" % layer, rate if self.is_k3 else rate.reshape(heads, 1))

    def mla(self, layer):
        """MLA layer; kv_b is split, its key half transposed per head."""
        s = self.settings
        names = [("attn_kv_a_mqa.weight", "self_attn.kv_a_proj_with_mqa.weight"),
                 ("attn_kv_a_norm.weight", "self_attn.kv_a_layernorm.weight"),
                 ("attn_output.weight", "self_attn.o_proj.weight")]
        if s.q_lora:
            names += [("attn_q_a.weight", "self_attn.q_a_proj.weight"),
                      ("attn_q_a_norm.weight", "self_attn.q_a_layernorm.weight"),
                      ("attn_q_b.weight", "self_attn.q_b_proj.weight")]
        else:
            names += [("attn_q.weight", "self_attn.q_proj.weight")]
        if s.mla_gate:
            names += [("attn_gate.weight", "self_attn.g_proj.weight")]
        self.copy(layer, names)
        kv = self.weights.layer(layer, "self_attn.kv_b_proj.weight")
        kv = kv.reshape(s.mla_heads, s.nope + s.v, s.kv_lora)
        self.out.add("blk.%d.attn_k_b.weight" % layer, kv[:, :s.nope].transpose(0, 2, 1))
        self.out.add("blk.%d.attn_v_b.weight" % layer, kv[:, s.nope:])

    def expert_matrix(self, layer, number, name):
        """One expert matrix as floats."""
        return self.weights.layer(layer,
                                  "block_sparse_moe.experts.%d.%s.weight" % (number, name))

    def expert_blocks(self, layer, number, name):
        """One expert matrix as MXFP4 blocks."""
        stem = "%smodel.layers.%d.block_sparse_moe.experts.%d.%s.weight" % (
            self.weights.prefix, layer, number, name)
        return repack(self.weights.files.array(stem + "_packed"),
                      self.weights.files.array(stem + "_scale"))

    def experts(self, layer):
        """Stacked experts, router, latent and shared parts."""
        numbers = range(self.settings.experts)
        for theirs, ours in (("gate", "w1"), ("up", "w3"), ("down", "w2")):
            name = "blk.%d.ffn_%s_exps.weight" % (layer, theirs)
            if self.is_k3 and not self.expand:
                self.out.add_mxfp4(name, np.stack([self.expert_blocks(layer, n, ours)
                                                   for n in numbers]))
            else:
                self.out.add(name, np.stack([self.expert_matrix(layer, n, ours)
                                             for n in numbers]))
        moe = "block_sparse_moe."
        names = [("ffn_gate_inp.weight", moe + "gate.weight"),
                 ("exp_probs_b.bias", moe + "gate.e_score_correction_bias")]
        if self.settings.latent:
            names += [("ffn_routed_%s.weight" % t, moe + "routed_expert_%s.weight" % o)
                      for t, o in (("down", "down_proj"), ("norm", "norm"), ("up", "up_proj"))]
        names += [("ffn_%s_shexp.weight" % n, moe + "shared_experts.%s_proj.weight" % n)
                  for n in ("gate", "up", "down")]
        self.copy(layer, names)

    def layer(self, layer):
        """All tensors of one layer."""
        self.copy(layer, [("attn_norm.weight", "input_layernorm.weight"),
                          ("ffn_norm.weight", "post_attention_layernorm.weight")])
        if self.is_k3:
            for theirs, ours in (("attn_res_score", "self_attention_res"),
                                 ("ffn_res_score", "mlp_res")):
                self.score("blk.%d.%s" % (layer, theirs), "model.layers.%d.%s" % (layer, ours))
        (self.kda if self.settings.is_kda[layer] else self.mla)(layer)
        if self.settings.is_moe[layer]:
            self.experts(layer)
        else:
            self.copy(layer, [("ffn_%s.weight" % n, "mlp.%s_proj.weight" % n)
                              for n in ("gate", "up", "down")])

    def convert(self, path):
        """Write the file."""
        self.general()
        self.sizes()
        self.expert_sizes()
        if self.is_k3:
            self.k3_keys()
        self.tokenizer()
        self.globals()
        for layer in range(self.settings.layers):
            self.layer(layer)
        self.out.save(path)


def convert(directory, path, expand_experts=False):
    """Write MODEL_DIR as a GGUF file."""
    Converter(Checkpoint(directory), expand_experts).convert(path)


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--experts", choices=["mxfp4", "f32"], default="mxfp4")
    options = parser.parse_args()
    convert(options.model, options.out, options.experts == "f32")


if __name__ == "__main__":
    main()
