"""Deliberate errors, one class per trap of kimi-k3.md 8.2, and how far each one shows.

    python3 traps.py DIRECTORY

DIRECTORY receives the tiny models; the table goes to standard output (see TRAPS.md).
A trap replaces one method of the model, so it makes exactly one error.
"""
import json
import os
import sys

import numpy as np

import checkpoint
import safetensors
import tiny_models
from model import Model, rms, sigmoid, silu, softmax

TRAPS = []


def trap(number, text):
    """Register a subclass of Model (or a function checkpoint -> model) as a trap."""
    def register(maker):
        TRAPS.append((number, text, maker))
        return maker
    return register


# ---- 1 to 3: decay

@trap("1a", "A_log read per channel")
class DecayPerChannel(Model):
    def decay_rate(self, layer):
        stored = self.weights.layer(layer, "self_attn.A_log").reshape(-1)
        return np.exp(np.resize(stored, self.settings.kda_dim))[None, :]


@trap("1b", "all entries of A_log taken as heads")
class DecayManyHeads(Model):
    def decay_rate(self, layer):
        stored = self.weights.layer(layer, "self_attn.A_log").reshape(-1)
        width = self.settings.kda_heads * self.settings.kda_dim
        channels = np.exp(stored[np.arange(width) * len(stored) // width])
        return channels.reshape(self.settings.kda_heads, -1)


@trap("3a", "K3 decay as softplus")
class DecaySoftplus(Model):
    def decay(self, layer, z):
        return -self.decay_rate(layer) * np.logaddexp(0, z)


@trap("3b", "K3 decay as softplus clamped at -5")
class DecayClamped(Model):
    def decay(self, layer, z):
        return np.maximum(-self.decay_rate(layer) * np.logaddexp(0, z), -5.0)


@trap("3c", "decay bounded at -5 where the file has no bound")
class DecayBounded(Model):
    def decay(self, layer, z):
        return -5.0 * sigmoid(self.decay_rate(layer) * z)


# ---- 4 and 5: MLA

@trap("4a", "rope dims dropped from the score")
class RopeDropped(Model):
    def mla_scores(self, q, k):
        nope = self.settings.nope
        return super().mla_scores(q[..., :nope], k[..., :nope])


@trap("4b", "rope dims rotated")
class RopeRotated(Model):
    def forward(self, ids, state):
        self.start = state.length
        return super().forward(ids, state)

    def rotate(self, x, first):
        nope, rope = self.settings.nope, self.settings.rope
        position = np.arange(first, first + len(x))[:, None, None]
        angle = position * 10000.0 ** (-np.arange(0, rope, 2) / rope)
        even, odd = x[..., nope::2], x[..., nope + 1::2]
        y = x.copy()
        y[..., nope::2] = even * np.cos(angle) - odd * np.sin(angle)
        y[..., nope + 1::2] = even * np.sin(angle) + odd * np.cos(angle)
        return y

    def mla_scores(self, q, k):
        return super().mla_scores(self.rotate(q, self.start), self.rotate(k, 0))


@trap("4c", "score scale nope^-0.5")
class ScaleOfNope(Model):
    def mla_scale(self):
        return self.settings.nope ** -0.5


@trap("5a", "shared key part normed together with the latent")
class SharedKeyNormed(Model):
    def mla_latent(self, layer, x):
        c = self.linear(layer, "self_attn.kv_a_proj_with_mqa", x)
        norm = self.weights.layer(layer, "self_attn.kv_a_layernorm.weight")
        c, r = rms(c, None, self.latent_eps), self.settings.kv_lora
        return c[:, :r] * norm, c[:, r:]


@trap("5b", "kv_b split as all keys, then all values")
class KeysThenValues(Model):
    def mla_expand(self, layer, latent):
        kv, s = self.linear(layer, "self_attn.kv_b_proj", latent), self.settings
        cut = s.mla_heads * s.nope
        return (kv[:, :cut].reshape(len(kv), s.mla_heads, s.nope),
                kv[:, cut:].reshape(len(kv), s.mla_heads, s.v))


# ---- 6 to 8: experts

def bf16(x):
    """Round to bf16 and back."""
    return safetensors.bf16_to_float(safetensors.bf16_from_float(x)).astype(np.float64)


@trap("6a", "correction bias in the mixing weights")
class BiasInWeights(Model):
    def mixing_weights(self, s, biased, ids):
        return super().mixing_weights(biased, biased, ids)


@trap("6b", "router in bf16")
class RouterInBf16(Model):
    def router_logits(self, layer, x):
        return bf16(super().router_logits(layer, bf16(x)))


@trap("6c", "correction bias forgotten in the choice")
class BiasForgotten(Model):
    def bias(self, layer):
        return 0.0 * super().bias(layer)


@trap("6d", "mixing weights not renormalised")
class NotRenormalised(Model):
    def mixing_weights(self, s, biased, ids):
        return np.take_along_axis(s, ids, axis=-1) * self.settings.routed_scale


@trap("6e", "routed_scaling_factor ignored")
class ScaleIgnored(Model):
    def mixing_weights(self, s, biased, ids):
        return super().mixing_weights(s, biased, ids) / self.settings.routed_scale


@trap("7a", "router fed with the latent (as far as it reaches)")
class RouterOnLatent(Model):
    def router_logits(self, layer, x):
        z, gate = self.latent_input(layer, x), self.weights.layer(
            layer, "block_sparse_moe.gate.weight")
        return z @ gate[:, :z.shape[1]].T


@trap("7b", "shared experts fed with the latent (as far as it reaches)")
class SharedOnLatent(Model):
    def shared(self, layer, x, z):
        padded = np.zeros_like(x)
        padded[:, :z.shape[1]] = z
        return super().shared(layer, padded, z)


@trap("7c", "shared experts averaged")
class SharedAveraged(Model):
    def shared(self, layer, x, z):
        return super().shared(layer, x, z) / 2


@trap("7d", "shared experts counted twice")
class SharedTwice(Model):
    def shared(self, layer, x, z):
        return super().shared(layer, x, z) * 2


@trap("7e", "shared output scaled by routed_scaling_factor")
class SharedScaled(Model):
    def shared(self, layer, x, z):
        return super().shared(layer, x, z) * self.settings.routed_scale


@trap("8a", "routed norm on each weighted expert")
class NormPerExpert(Model):
    def combine(self, layer, z, ids, weights):
        self.current = layer
        return super().combine(layer, z, ids, weights)

    def weighted(self, y, weight):
        return super().routed_norm(self.current, y * weight)

    def routed_norm(self, layer, y):
        return y


@trap("8b", "routed norm on each expert before its weight")
class NormBeforeWeights(NormPerExpert):
    def weighted(self, y, weight):
        return Model.routed_norm(self, self.current, y) * weight


@trap("8c", "routed norm missing")
class NormMissing(Model):
    def routed_norm(self, layer, y):
        return y


# ---- 9: activation

@trap("9a", "SiTU sigmoid on the capped gate")
class CappedSigmoid(Model):
    def activate(self, g, u):
        b, c = self.settings.situ_gate, self.settings.situ_up
        capped = b * np.tanh(g / b)
        return capped * sigmoid(capped) * c * np.tanh(u / c)


@trap("9b", "SiTU gate cap 1.0 (field missing)")
class GateCapOne(Model):
    def activate(self, g, u):
        c = self.settings.situ_up
        return np.tanh(g) * sigmoid(g) * c * np.tanh(u / c)


@trap("9c", "SiTU up cap 1.0 (field missing)")
class UpCapOne(Model):
    def activate(self, g, u):
        b = self.settings.situ_gate
        return b * np.tanh(g / b) * sigmoid(g) * np.tanh(u)


@trap("9d", "gate and up swapped everywhere")
class GateUpSwapped(Model):
    def activate(self, g, u):
        return super().activate(u, g)


@trap("9e", "w1 and w3 swapped in routed experts")
class ExpertSwapped(Model):
    def expert(self, layer, number, z):
        name = "block_sparse_moe.experts.%d." % number
        return self.linear(layer, name + "w2", self.activate(
            self.linear(layer, name + "w3", z), self.linear(layer, name + "w1", z)))


@trap("9f", "SwiGLU instead of SiTU, or SiTU (4, 25) instead of SwiGLU")
class OtherActivation(Model):
    def activate(self, g, u):
        if self.settings.activation == "situ":
            return silu(g) * u
        return 4.0 * np.tanh(g / 4.0) * sigmoid(g) * 25.0 * np.tanh(u / 25.0)


# ---- 10: attention residuals

@trap("10a", "prefix not restarted at a boundary")
class PrefixKept(Model):
    def boundary(self, layer, blocks, prefix):
        super().boundary(layer, blocks, prefix)
        return prefix


class ResidualLayer(Model):
    """Base of traps that change the order inside a layer."""

    def decoder_layer(self, layer, h, blocks, state):
        if not self.settings.block_size:
            return super().decoder_layer(layer, h, blocks, state)
        return self.residual_layer(layer, h, blocks, state.layer[layer])

    def finish(self, layer, prefix, blocks):
        y = self.mix(blocks + [prefix], "model.layers.%d.mlp_res" % layer)
        return prefix + self.feed_forward(layer, y)


@trap("10b", "snapshot taken after the layer's attention instead of before")
class SnapshotLate(ResidualLayer):
    def residual_layer(self, layer, h, blocks, state):
        a = self.attention(layer, self.attention_mix(layer, blocks, h), state)
        if layer % self.settings.block_size == 0:
            blocks.append(h + a)
            return self.finish(layer, a, blocks)
        return self.finish(layer, h + a, blocks)


@trap("10c", "snapshot taken before the mix, which then sees it twice")
class SnapshotEarly(ResidualLayer):
    def residual_layer(self, layer, h, blocks, state):
        prefix = self.boundary(layer, blocks, h)
        x = self.attention_mix(layer, blocks, h)
        a = self.attention(layer, x, state)
        return self.finish(layer, a if prefix is None else prefix + a, blocks)


@trap("10d", "mixed x leaks into the accumulator")
class MixLeaks(ResidualLayer):
    def residual_layer(self, layer, h, blocks, state):
        x = self.attention_mix(layer, blocks, h)
        prefix = self.boundary(layer, blocks, h)
        a = self.attention(layer, x, state)
        return self.finish(layer, a if prefix is None else x + a, blocks)


@trap("10e", "pre-attention mix skipped at boundary layers")
class BoundaryMixSkipped(Model):
    def attention_mix(self, layer, blocks, h):
        if layer % self.settings.block_size == 0:
            return h
        return super().attention_mix(layer, blocks, h)


@trap("10f", "mix of normalised sources")
class NormalisedMixed(Model):
    def mix(self, sources, name):
        return super().mix([rms(v, None, self.settings.eps) for v in sources], name)


@trap("10g", "final mix missing")
class FinalMixMissing(Model):
    def final_mix(self, blocks, prefix):
        return prefix


@trap("10h", "snapshot aliases a buffer that is cleared")
class SnapshotCleared(Model):
    def boundary(self, layer, blocks, prefix):
        if layer % self.settings.block_size:
            return prefix
        blocks.append(np.zeros_like(prefix))
        return None


@trap("10i", "mix scores scaled by hidden^-0.5")
class MixScaled(Model):
    def mix(self, sources, name):
        w = self.weights.get(name + "_norm.weight") * self.weights.get(name + "_proj.weight")[0]
        v = np.stack(sources)
        scores = (rms(v, None, self.settings.eps) * w).sum(axis=-1) * len(w) ** -0.5
        return (softmax(scores, axis=0)[..., None] * v).sum(axis=0)


# ---- 11 and 12: KDA

@trap("11a", "L2 norm with the mean instead of the sum")
class L2Mean(Model):
    def l2(self, x):
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6)


@trap("11b", "L2 eps outside the root")
class L2EpsOutside(Model):
    def l2(self, x):
        return x / (np.sqrt((x * x).sum(axis=-1, keepdims=True)) + 1e-6)


@trap("11c", "L2 eps on the mean (q and k still of unit length)")
class L2EpsOnMean(Model):
    def l2(self, x):
        d = x.shape[-1]
        return x / np.sqrt((x * x).sum(axis=-1, keepdims=True) + d * 1e-6)


@trap("11d", "L2 as x / max(norm, 1e-5)")
class L2Max(Model):
    def l2(self, x):
        return x / np.maximum(np.sqrt((x * x).sum(axis=-1, keepdims=True)), 1e-5)


@trap("12a", "u read before the decay")
class ReadBeforeDecay(Model):
    def recur(self, s, q, k, v, alpha, beta):
        u = np.einsum("hij,hi->hj", s, k)
        s = s * alpha[:, :, None] + k[:, :, None] * (beta[:, None] * (v - u))[:, None, :]
        return s, np.einsum("hij,hi->hj", s, q)


@trap("12b", "output read before the write")
class ReadBeforeWrite(Model):
    def recur(self, s, q, k, v, alpha, beta):
        o = np.einsum("hij,hi->hj", s * alpha[:, :, None], q)
        return super().recur(s, q, k, v, alpha, beta)[0], o


@trap("12c", "alpha on the value axis")
class AlphaOnValues(Model):
    def recur(self, s, q, k, v, alpha, beta):
        return super().recur(s * alpha[:, None, :], q, k, v, np.ones_like(alpha), beta)


@trap("12d", "q scale forgotten")
class QueryUnscaled(Model):
    def scale_query(self, q):
        return q


@trap("12e", "q scale applied twice")
class QueryScaledTwice(Model):
    def scale_query(self, q):
        return q * self.settings.kda_dim ** -1.0


@trap("12f", "beta without sigmoid")
class BetaRaw(Model):
    def beta(self, layer, x):
        return self.linear(layer, "self_attn.b_proj", x)


@trap("12g", "dt_bias forgotten")
class NoTimeBias(Model):
    def kda(self, layer, x, state):
        kept = self.weights.kept
        name = "model.layers.%d.self_attn.dt_bias" % layer
        kept[name] = 0.0 * self.weights.get(name)
        return super().kda(layer, x, state)


# ---- 13 and 14: state between calls of five tokens

class Handover(Model):
    """Base of traps that damage the state between two calls."""
    chunk = 5

    def forward(self, ids, state):
        if state.length:
            for layer in state.layer:
                self.damage(layer)
        return super().forward(ids, state)


@trap("13", "state handed over as [value][key]")
class StateTransposed(Handover):
    def damage(self, layer):
        if "s" in layer:
            layer["s"] = layer["s"].transpose(0, 2, 1)


@trap("14a", "conv taps reversed")
class TapsReversed(Model):
    def short_conv(self, layer, channel, x, state):
        name = "model.layers.%d.self_attn.%s_conv1d.weight" % (layer, channel)
        self.weights.kept[name + " forward"] = forward = self.weights.kept.get(
            name + " forward", self.weights.get(name))
        self.weights.kept[name] = forward[..., ::-1]
        return super().short_conv(layer, channel, x, state)


@trap("14b", "conv history not carried over")
class HistoryLost(Handover):
    def damage(self, layer):
        if "s" in layer:  # MLA layers keep keys and values under the same names
            for channel in "qkv":
                layer.pop(channel, None)


@trap("14c", "conv history stored after SiLU")
class HistoryActivated(Handover):
    def damage(self, layer):
        if "s" in layer:
            for channel in "qkv":
                layer[channel] = silu(layer[channel])


# ---- 15 and 16: gates and norms

@trap("15a", "KDA gate before the norm")
class GateBeforeNorm(Model):
    def kda_output(self, layer, o, gate):
        return super().kda_output(layer, o * sigmoid(gate), np.full_like(gate, np.inf))


@trap("15b", "MLA output normed per head before the gate")
class NormInMla(Model):
    def mla_gate(self, layer, x, o):
        split = o.reshape(len(o), self.settings.mla_heads, -1)
        return super().mla_gate(layer, x, rms(split, None, self.settings.eps).reshape(o.shape))


@trap("15c", "KDA without its norm")
class KdaWithoutNorm(Model):
    def kda_output(self, layer, o, gate):
        return o * sigmoid(gate)


@trap("15d", "MLA output gate forgotten")
class MlaUngated(Model):
    def mla_gate(self, layer, x, o):
        return o


@trap("15e", "output gates computed from the un-normed residual")
class GateFromResidual(Model):
    def attention(self, layer, x, state):
        self.residual = x
        return super().attention(layer, x, state)

    def kda_gate(self, layer, x):
        return super().kda_gate(layer, self.residual)

    def mla_gate(self, layer, x, o):
        return super().mla_gate(layer, self.residual, o)


@trap("15f", "o_norm over all heads at once")
class NormOverHeads(Model):
    def kda_output(self, layer, o, gate):
        weight = self.weights.layer(layer, "self_attn.o_norm.weight")
        square = (o * o).mean(axis=(1, 2), keepdims=True)
        return o / np.sqrt(square + self.settings.eps) * weight * sigmoid(gate)


@trap("16a", "latent norm eps 1e-5")
def latent_eps_large(weights):
    return Model(weights, latent_eps=1e-5)


@trap("16b", "latent norm with rms_norm_eps")
def latent_eps_of_model(weights):
    return Model(weights, latent_eps=weights.settings.eps)


@trap("16c", "rms_norm_eps taken as 1e-5")
def model_eps_fixed(weights):
    weights.settings.eps = 1e-5
    return Model(weights)


@trap("16d", "rms_norm_eps taken as 1e-6")
def model_eps_small(weights):
    weights.settings.eps = 1e-6
    return Model(weights)


# ---- 18 to 22: weights

class Damaged(checkpoint.Checkpoint):
    """Base of traps in the reading of tensors."""

    def load(self, name):
        if self.prefix + name in self.files:
            return self.plain(self.prefix + name)
        return self.packed(self.files.array(self.prefix + name + "_packed"),
                           self.files.array(self.prefix + name + "_scale"))

    def plain(self, name):
        return self.files.array(name)

    def packed(self, codes, scale):
        return checkpoint.decode_mxfp4(codes, scale)


@trap("18a", "nibbles of a byte exchanged")
class NibblesSwapped(Damaged):
    def packed(self, codes, scale):
        return super().packed((codes >> 4) | (codes << 4), scale)


@trap("18b", "split-half nibble order of GGUF")
class NibblesSplit(Damaged):
    def packed(self, codes, scale):
        blocks = codes.reshape(len(codes), -1, 16)
        nibbles = np.concatenate([blocks & 15, blocks >> 4], axis=2).reshape(len(codes), -1)
        return super().packed(nibbles[:, 0::2] | (nibbles[:, 1::2] << 4), scale)


@trap("19a", "E8M0 as a signed byte")
class ScaleSigned(Damaged):
    def packed(self, codes, scale):
        exponent = scale.astype(np.int8).astype(np.float64) - 127.0
        ones = super().packed(codes, np.full_like(scale, 127))
        return ones * np.repeat(np.exp2(exponent), 32, axis=1)


@trap("19b", "scales held as fp16, small ones flushed to zero")
class ScaleHalf(Damaged):
    def packed(self, codes, scale):
        factor = np.exp2(scale.astype(np.float64) - 127.0)
        factor = np.minimum(factor, 65504.0)
        factor[factor < 2.0 ** -24] = 0.0
        ones = super().packed(codes, np.full_like(scale, 127))
        return ones * np.repeat(factor, 32, axis=1)


@trap("20", "F32 tensors read as BF16")
class FloatsAsBf16(Damaged):
    def plain(self, name):
        entry = self.files.entry(name)
        if entry["dtype"] != "F32" or name.endswith("A_log"):
            return super().plain(name)
        half = np.frombuffer(self.files.raw(name), "<u2")[:tiny_models.count(entry["shape"])]
        return safetensors.bf16_to_float(half).reshape(entry["shape"])


@trap("21", "a failed read of one expert dropped in silence")
class ExpertDropped(Model):
    def mixing_weights(self, s, biased, ids):
        w = np.take_along_axis(s, ids, axis=-1) * (ids != 1)
        return w / (w.sum(axis=-1, keepdims=True) + 1e-20) * self.settings.routed_scale


@trap("22", "expert offsets by stride instead of from the header")
class ExpertsByStride(Damaged):
    def load(self, name):
        head, mark, tail = name.partition(".experts.")
        if not mark:
            return super().load(name)
        number, tail = tail.split(".", 1)
        return super().load(head + mark + self.stored(head, int(number)) + "." + tail)

    def stored(self, head, slot):
        """The id that really lies at this place of the shard."""
        suffix = ".w1.weight_packed"
        head = self.prefix + head + ".experts."
        names = [n for n in self.files.names() if n.startswith(head) and n.endswith(suffix)]
        names = names or [n for n in self.files.names()
                          if n.startswith(head) and n.endswith(".w1.weight")]
        names.sort(key=lambda n: self.files.entry(n)["data_offsets"][0])
        return names[slot][len(head):].split(".", 1)[0]


# ---- measurement on the recorded sequences

def make(maker, directory):
    """The model with this trap."""
    if isinstance(maker, type) and issubclass(maker, checkpoint.Checkpoint):
        return Model(maker(directory))
    return maker(checkpoint.Checkpoint(directory))


def run(graph, ids):
    """Logits of every position; traps in the hand-over are run in several calls."""
    state, out = graph.new_state(), []
    step = getattr(graph, "chunk", len(ids))
    for begin in range(0, len(ids), step):
        out.append(graph.forward(ids[begin:begin + step], state))
    return np.concatenate(out)


def distances(graph, golden):
    """Differences at the recorded logits, and how many argmax moved."""
    far, moved, total = [], 0, 0
    for sequence in golden["sequences"]:
        logits = run(graph, sequence["ids"])
        if not np.all(np.isfinite(logits)):
            return None
        for position, right in sequence["logits"].items():
            difference = np.abs(logits[int(position)] - np.array(right)).max()
            far.append(difference / sequence["logit_range"])
        moved += np.sum(logits.argmax(axis=1) != np.array(sequence["argmax"]))
        total += len(logits)
    return max(far), np.median(far), moved / total


def measure(directory, maker, golden):
    """Table cell of one trap on one model."""
    try:
        with np.errstate(all="ignore"):
            found = distances(make(maker, directory), golden)
    except (KeyError, AttributeError, TypeError):
        return "no such part"
    if found is None:
        return "not finite"
    if found[0] < 1e-8:
        return "-"
    return "%.0e / %.0e / %d %%" % (found[0], found[1], round(100 * found[2]))


def main():
    """Print the table."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    here, cases = os.path.dirname(os.path.abspath(__file__)), []
    for kind in tiny_models.KINDS:
        directory = os.path.join(sys.argv[1], kind)
        tiny_models.write(kind, directory)
        with open(os.path.join(here, "..", "golden", kind + ".json")) as source:
            cases.append((directory, json.load(source)))
    print("| trap | error | " + " | ".join(k.upper() for k in tiny_models.KINDS) + " |")
    print("|---|---|" + "---|" * len(cases))
    for number, text, maker in [("0", "none", Model)] + TRAPS:
        cells = [measure(directory, maker, golden) for directory, golden in cases]
        print("| %s | %s | %s |" % (number, text, " | ".join(cells)), flush=True)


if __name__ == "__main__":
    main()
