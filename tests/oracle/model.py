"""The Kimi K3 and Kimi-Linear graphs in plain numpy, straight from kimi-k3.md section 3.

Written for reading, not for speed: MLA keeps expanded keys and values, KDA steps token by
token, experts are dense matrices.  A call takes any number of tokens and the state left by
the calls before it, so one call for all tokens is the full recompute and one call per token
the incremental run.  float64 unless a checkpoint was opened with another type.
"""
import numpy as np

L2_EPS = 1e-6
LATENT_EPS = 1e-6


def sigmoid(x):
    """1 / (1 + e^-x), without overflow."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e)).astype(x.dtype)


def silu(x):
    """x * sig(x)."""
    return x * sigmoid(x)


def softmax(scores, axis=-1):
    """Softmax over one axis."""
    e = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def rms(x, weight, eps):
    """RMS(x; w, eps) over the last axis (0.2, 3.2)."""
    y = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + x.dtype.type(eps))
    return y if weight is None else y * weight


class State:
    """What a sequence carries from call to call (4)."""

    def __init__(self, layers):
        self.length = 0
        self.layer = [{} for _ in range(layers)]


class Model:
    """One checkpoint, ready to run.  Methods are small so that a trap can replace one."""

    def __init__(self, checkpoint, latent_eps=LATENT_EPS):
        self.weights, self.settings = checkpoint, checkpoint.settings
        self.latent_eps = latent_eps
        self.probe = None       # when set to a list: one dict of activations per layer

    def new_state(self):
        """The state of an empty sequence."""
        return State(self.settings.layers)

    # ---- skeleton (3.1)

    def forward(self, ids, state):
        """Logits [T, vocab] of the next tokens; `state` advances by T.

        Also sets self.router_margin[T]: the smallest gap between the last chosen and the
        first rejected expert over all layers.
        """
        self.router_margin = np.full(len(ids), np.inf)
        h = self.weights.get("model.embed_tokens.weight")[np.asarray(ids)]
        blocks = []
        for layer in range(self.settings.layers):
            h = self.decoder_layer(layer, h, blocks, state)
        if self.settings.block_size:
            h = self.final_mix(blocks, h)
        h = rms(h, self.weights.get("model.norm.weight"), self.settings.eps)
        state.length += len(ids)
        return h @ self.weights.get("lm_head.weight").T

    def decoder_layer(self, layer, h, blocks, state):
        """One layer with or without attention residuals (3.1, 3.3)."""
        if not self.settings.block_size:
            a = self.attention(layer, h, state.layer[layer])
            x = h + a
            f = self.feed_forward(layer, x)
            self.record(h, a, x, f, x + f)
            return x + f
        x = self.attention_mix(layer, blocks, h)
        prefix = self.boundary(layer, blocks, h)
        a = self.attention(layer, x, state.layer[layer])
        prefix = a if prefix is None else prefix + a
        y = self.mix(blocks + [prefix], "model.layers.%d.mlp_res" % layer)
        f = self.feed_forward(layer, y)
        self.record(x, a, y, f, prefix + f)
        return prefix + f

    def record(self, x, a, y, f, prefix):
        """Keep what a person needs to find the first wrong layer."""
        if self.probe is not None:
            self.probe.append({"attention_input": x, "attention": a, "feed_forward_input": y,
                               "feed_forward": f, "prefix": prefix})

    # ---- attention residuals (3.3)

    def mix(self, sources, name):
        """Softmax-weighted sum of the raw sources, per token."""
        w = self.weights.get(name + "_norm.weight") * self.weights.get(name + "_proj.weight")[0]
        v = np.stack(sources)
        scores = (rms(v, None, self.settings.eps) * w).sum(axis=-1)
        return (softmax(scores, axis=0)[..., None] * v).sum(axis=0)

    def attention_mix(self, layer, blocks, h):
        """The mix before attention; without snapshots there is nothing to mix."""
        if not blocks:
            return h
        return self.mix(blocks + [h], "model.layers.%d.self_attention_res" % layer)

    def boundary(self, layer, blocks, prefix):
        """At a block boundary the prefix becomes a snapshot and restarts."""
        if layer % self.settings.block_size:
            return prefix
        blocks.append(prefix)
        return None

    def final_mix(self, blocks, prefix):
        """The mix before the final norm."""
        return self.mix(blocks + [prefix], "model.output_attn_res")

    # ---- KDA (3.4, 3.5)

    def attention(self, layer, x, state):
        """Input norm and the layer's mixer."""
        x = rms(x, self.weights.layer(layer, "input_layernorm.weight"), self.settings.eps)
        return (self.kda if self.settings.is_kda[layer] else self.mla)(layer, x, state)

    def linear(self, layer, name, x):
        """y = W x for every token."""
        return x @ self.weights.layer(layer, name + ".weight").T

    def heads(self, x):
        """[T, heads*d] to [T, heads, d], head-major (3.5)."""
        return x.reshape(len(x), self.settings.kda_heads, self.settings.kda_dim)

    def short_conv(self, layer, channel, x, state):
        """Causal depthwise convolution with SiLU; the history holds its raw inputs (3.4)."""
        taps = self.weights.layer(layer, "self_attn.%s_conv1d.weight" % channel)
        taps = taps.reshape(x.shape[1], self.settings.taps)
        depth = self.settings.taps - 1
        history = state.get(channel, np.zeros((depth, x.shape[1]), x.dtype))
        window = np.concatenate([history, x])
        state[channel] = window[len(window) - depth:]
        return silu(sum(window[j:j + len(x)] * taps[:, j] for j in range(depth + 1)))

    def l2(self, x):
        """Unit length per head, eps under the root and on the sum (3.5)."""
        return x / np.sqrt((x * x).sum(axis=-1, keepdims=True) + x.dtype.type(L2_EPS))

    def scale_query(self, q):
        """d^-0.5, on q only."""
        return q * q.dtype.type(self.settings.kda_dim ** -0.5)

    def decay_rate(self, layer):
        """exp(A_log), one value per head, broadcast over its channels (2.4)."""
        stored = self.weights.layer(layer, "self_attn.A_log").reshape(-1)
        if np.any(stored[self.settings.kda_heads:]):
            raise ValueError("A_log has a tail that is not zero")
        return np.exp(stored[:self.settings.kda_heads])[:, None]

    def decay(self, layer, z):
        """log alpha per head and key channel."""
        rate, bound = self.decay_rate(layer), self.settings.decay_bound
        if bound is None:
            return -rate * np.logaddexp(z.dtype.type(0), z)
        return z.dtype.type(bound) * sigmoid(rate * z)

    def beta(self, layer, x):
        """Write strength, one per head."""
        return sigmoid(self.linear(layer, "self_attn.b_proj", x))

    def recur(self, s, q, k, v, alpha, beta):
        """One token for all heads: s[h, i, j], i key channel, j value channel."""
        s = s * alpha[:, :, None]
        u = np.einsum("hij,hi->hj", s, k)
        s = s + k[:, :, None] * (beta[:, None] * (v - u))[:, None, :]
        return s, np.einsum("hij,hi->hj", s, q)

    def scan(self, q, k, v, alpha, beta, state):
        """The recurrence over the tokens of this call."""
        dim = self.settings.kda_dim
        s = state.get("s", np.zeros((self.settings.kda_heads, dim, dim), q.dtype))
        out = np.empty_like(v)
        for t in range(len(q)):
            s, out[t] = self.recur(s, q[t], k[t], v[t], alpha[t], beta[t])
        state["s"] = s
        return out

    def kda_gate(self, layer, x):
        """Output gate before its sigmoid."""
        if self.settings.full_rank_gate:
            return self.linear(layer, "self_attn.g_proj", x)
        low = self.linear(layer, "self_attn.g_a_proj", x)
        return self.linear(layer, "self_attn.g_b_proj", low)

    def kda_output(self, layer, o, gate):
        """Norm over each head, then the gate."""
        n = rms(o, self.weights.layer(layer, "self_attn.o_norm.weight"), self.settings.eps)
        return n * sigmoid(gate)

    def kda(self, layer, x, state):
        """Kimi Delta Attention."""
        q, k, v = (self.heads(self.short_conv(
            layer, c, self.linear(layer, "self_attn.%s_proj" % c, x), state)) for c in "qkv")
        low = self.linear(layer, "self_attn.f_a_proj", x)
        z = self.linear(layer, "self_attn.f_b_proj", low)
        z = self.heads(z + self.weights.layer(layer, "self_attn.dt_bias"))
        alpha = np.exp(self.decay(layer, z))
        o = self.scan(self.scale_query(self.l2(q)), self.l2(k), v, alpha,
                      self.beta(layer, x), state)
        out = self.kda_output(layer, o, self.heads(self.kda_gate(layer, x)))
        return self.linear(layer, "self_attn.o_proj", out.reshape(len(x), -1))

    # ---- MLA (3.6)

    def mla_query(self, layer, x):
        """[T, heads, nope + rope]."""
        if self.settings.q_lora:
            low = self.linear(layer, "self_attn.q_a_proj", x)
            norm = self.weights.layer(layer, "self_attn.q_a_layernorm.weight")
            q = self.linear(layer, "self_attn.q_b_proj", rms(low, norm, self.latent_eps))
        else:
            q = self.linear(layer, "self_attn.q_proj", x)
        return q.reshape(len(x), self.settings.mla_heads, -1)

    def mla_latent(self, layer, x):
        """Normed latent [T, r] and the shared key part [T, rope], which has no norm."""
        c = self.linear(layer, "self_attn.kv_a_proj_with_mqa", x)
        norm = self.weights.layer(layer, "self_attn.kv_a_layernorm.weight")
        r = self.settings.kv_lora
        return rms(c[:, :r], norm, self.latent_eps), c[:, r:]

    def mla_expand(self, layer, latent):
        """kv_b: per head the key part, then the value."""
        kv = self.linear(layer, "self_attn.kv_b_proj", latent)
        kv = kv.reshape(len(latent), self.settings.mla_heads, -1)
        return kv[..., :self.settings.nope], kv[..., self.settings.nope:]

    def mla_scale(self):
        """(nope + rope)^-0.5."""
        return (self.settings.nope + self.settings.rope) ** -0.5

    def mla_scores(self, q, k):
        """[heads, T, positions], before the mask."""
        return np.einsum("thd,phd->htp", q, k) * q.dtype.type(self.mla_scale())

    def mla_gate(self, layer, x, o):
        """Element-wise output gate without a norm (K3)."""
        if not self.settings.mla_gate:
            return o
        return o * sigmoid(self.linear(layer, "self_attn.g_proj", x))

    def mla(self, layer, x, state):
        """Latent attention with expanded keys and values, no positions."""
        q, (latent, shared) = self.mla_query(layer, x), self.mla_latent(layer, x)
        nope, v = self.mla_expand(layer, latent)
        tail = np.repeat(shared[:, None, :], self.settings.mla_heads, axis=1)
        k = np.concatenate([nope, tail], axis=-1)
        if "k" in state:
            k, v = np.concatenate([state["k"], k]), np.concatenate([state["v"], v])
        state["k"], state["v"] = k, v
        scores = self.mla_scores(q, k)
        seen = np.arange(len(k)) <= np.arange(len(k) - len(x), len(k))[:, None]
        p = softmax(np.where(seen, scores, -np.inf).astype(x.dtype))
        o = np.einsum("htp,phd->thd", p, v).reshape(len(x), -1)
        return self.linear(layer, "self_attn.o_proj", self.mla_gate(layer, x, o))

    # ---- feed-forward (3.7, 3.8)

    def feed_forward(self, layer, x):
        """Norm, then the dense FFN or the experts."""
        norm = self.weights.layer(layer, "post_attention_layernorm.weight")
        x = rms(x, norm, self.settings.eps)
        if self.settings.is_moe[layer]:
            return self.moe(layer, x)
        return self.glu(layer, "mlp", x)

    def activate(self, g, u):
        """SiTU-GLU or SwiGLU (3.7)."""
        if self.settings.activation == "silu":
            return silu(g) * u
        b, c = x_type(g, self.settings.situ_gate), x_type(u, self.settings.situ_up)
        return b * np.tanh(g / b) * sigmoid(g) * c * np.tanh(u / c)

    def glu(self, layer, name, x):
        """A gated FFN from the files."""
        g = self.linear(layer, name + ".gate_proj", x)
        u = self.linear(layer, name + ".up_proj", x)
        return self.linear(layer, name + ".down_proj", self.activate(g, u))

    def router_logits(self, layer, x):
        """From the full-width normed input."""
        return x @ self.weights.layer(layer, "block_sparse_moe.gate.weight").T

    def bias(self, layer):
        """Correction bias, used for the choice only."""
        return self.weights.layer(layer, "block_sparse_moe.gate.e_score_correction_bias")

    def route(self, layer, x):
        """Chosen ids [T, k] and weights [T, k]."""
        s = sigmoid(self.router_logits(layer, x))
        biased = s + self.bias(layer)
        order = np.argsort(-biased, axis=-1, kind="stable")
        ranked = np.take_along_axis(biased, order, axis=-1)
        used = self.settings.used
        if used < ranked.shape[1]:
            margin = ranked[:, used - 1] - ranked[:, used]
            self.router_margin = np.minimum(self.router_margin, margin)
        ids = order[:, :used]
        return ids, self.mixing_weights(s, biased, ids)

    def mixing_weights(self, s, biased, ids):
        """Unbiased scores of the chosen, renormalised and scaled."""
        w = np.take_along_axis(s, ids, axis=-1)
        if self.settings.renormalize and self.settings.used > 1:
            w = w / (w.sum(axis=-1, keepdims=True) + x_type(w, 1e-20))
        return w * x_type(w, self.settings.routed_scale)

    def expert(self, layer, number, z):
        """One routed expert."""
        name = "block_sparse_moe.experts.%d." % number
        return self.linear(layer, name + "w2", self.activate(
            self.linear(layer, name + "w1", z), self.linear(layer, name + "w3", z)))

    def weighted(self, y, weight):
        """An expert's share of the sum."""
        return y * weight

    def combine(self, layer, z, ids, weights):
        """sum over picked experts of w_e * expert_e(z)."""
        y = np.zeros_like(z)
        for number in np.unique(ids):
            rows, slot = np.nonzero(ids == number)
            out = self.expert(layer, number, z[rows])
            y[rows] += self.weighted(out, weights[rows, slot][:, None])
        return y

    def routed_norm(self, layer, y):
        """Norm of the weighted sum (K3)."""
        norm = self.weights.layer(layer, "block_sparse_moe.routed_expert_norm.weight")
        return rms(y, norm, self.settings.eps)

    def shared(self, layer, x, z):
        """The fused shared experts act on x with weight one."""
        return self.glu(layer, "block_sparse_moe.shared_experts", x)

    def latent_input(self, layer, x):
        """What the routed experts see: x, or its latent (K3)."""
        if not self.settings.latent:
            return x
        return self.linear(layer, "block_sparse_moe.routed_expert_down_proj", x)

    def moe(self, layer, x):
        """Mixture of experts."""
        z = self.latent_input(layer, x)
        y = self.combine(layer, z, *self.route(layer, x))
        if self.settings.latent:
            y = self.routed_norm(layer, y)
            y = self.linear(layer, "block_sparse_moe.routed_expert_up_proj", y)
        return y + self.shared(layer, x, z)


def x_type(x, value):
    """A constant in the element type of x."""
    return x.dtype.type(value)
