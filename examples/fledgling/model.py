"""The network in a form that trains quickly on a CPU.

Parameters carry the names of the released checkpoint (without its prefix),
except that the experts of a layer are three stacked tensors `experts.w1|w2|w3`.
A batch is [rows, length]; several documents share a row and never see each
other: attention, convolution and recurrent state are cut at document borders.

Element-wise work dominates at this size, so everything that autograd would
split into many passes is one autograd function with a hand-written backward.
"""

import math
from typing import Dict, List, NamedTuple

import torch
from torch.autograd import Function

import mxfp4

RMS_EPS = 1e-5
LATENT_EPS = 1e-6
L2_EPS = 1e-6
CHUNK = 16


class Config(NamedTuple):
    vocab: int = 1024
    hidden: int = 128
    n_layers: int = 9
    mla_layers: tuple = (3, 7, 8)
    res_block: int = 4
    dense_width: int = 256
    n_heads: int = 4
    kda_dim: int = 32
    conv: int = 4
    gate_lower_bound: float = -5.0
    a_log_entries: int = 32
    q_rank: int = 48
    kv_rank: int = 40
    nope: int = 24
    rope: int = 8
    v_dim: int = 32
    n_experts: int = 16
    top_k: int = 4
    n_shared: int = 2
    latent: int = 64
    moe_width: int = 64
    situ_gate_cap: float = 4.0
    situ_up_cap: float = 25.0

    def is_mla(self, layer: int) -> bool:
        return layer in self.mla_layers

    def is_moe(self, layer: int) -> bool:
        return layer > 0


# Initial values

def linear(n_out: int, n_in: int, gain: float = 1.0) -> torch.Tensor:
    return torch.randn(n_out, n_in) * (gain / math.sqrt(n_in))


def init_kda(c: Config) -> Dict[str, torch.Tensor]:
    width = c.n_heads * c.kda_dim
    p = {f"{name}_proj.weight": linear(width, c.hidden) for name in "qkvg"}
    for name in "qkv":
        taps = torch.randn(width, 1, c.conv) * 0.1
        taps[:, 0, -1] += 0.7
        p[f"{name}_conv1d.weight"] = taps
    p["o_proj.weight"] = linear(c.hidden, width, 0.5)
    p["f_a_proj.weight"] = linear(c.kda_dim, c.hidden)
    p["f_b_proj.weight"] = linear(width, c.kda_dim)
    p["b_proj.weight"] = linear(c.n_heads, c.hidden)
    p["A_log"] = torch.zeros(c.n_heads)
    decay = torch.exp(torch.empty(width).uniform_(math.log(0.003), 0.0)) / -c.gate_lower_bound
    p["dt_bias"] = torch.log(decay / (1 - decay))
    p["o_norm.weight"] = torch.ones(c.kda_dim)
    return p


def init_mla(c: Config) -> Dict[str, torch.Tensor]:
    width = c.n_heads * c.v_dim
    return {
        "q_a_proj.weight": linear(c.q_rank, c.hidden),
        "q_a_layernorm.weight": torch.ones(c.q_rank),
        "q_b_proj.weight": linear(c.n_heads * (c.nope + c.rope), c.q_rank),
        "kv_a_proj_with_mqa.weight": linear(c.kv_rank + c.rope, c.hidden),
        "kv_a_layernorm.weight": torch.ones(c.kv_rank),
        "kv_b_proj.weight": linear(c.n_heads * (c.nope + c.v_dim), c.kv_rank),
        "g_proj.weight": linear(width, c.hidden),
        "o_proj.weight": linear(c.hidden, width, 0.5),
    }


def init_mlp(width: int, c: Config) -> Dict[str, torch.Tensor]:
    return {"gate_proj.weight": linear(width, c.hidden), "up_proj.weight": linear(width, c.hidden),
            "down_proj.weight": linear(c.hidden, width, 0.5)}


def init_moe(c: Config) -> Dict[str, torch.Tensor]:
    shared = init_mlp(c.n_shared * c.moe_width, c)

    def stack(n_out, n_in):
        return torch.stack([linear(n_out, n_in) for _ in range(c.n_experts)])

    return {
        "gate.weight": linear(c.n_experts, c.hidden),
        "gate.e_score_correction_bias": torch.zeros(c.n_experts),
        "routed_expert_down_proj.weight": linear(c.latent, c.hidden),
        "routed_expert_norm.weight": torch.ones(c.latent),
        "routed_expert_up_proj.weight": linear(c.hidden, c.latent, 0.5),
        **{f"shared_experts.{name}": value for name, value in shared.items()},
        "experts.w1": stack(c.moe_width, c.latent),
        "experts.w2": stack(c.latent, c.moe_width),
        "experts.w3": stack(c.moe_width, c.latent),
    }


def init(c: Config) -> Dict[str, torch.Tensor]:
    p = {"model.embed_tokens.weight": torch.randn(c.vocab, c.hidden) * 0.3,
         "lm_head.weight": linear(c.vocab, c.hidden)}
    mixes = ["model.output_attn_res"]
    norms = ["model.norm"]
    for layer in range(c.n_layers):
        base = f"model.layers.{layer}."
        norms += [base + "input_layernorm", base + "post_attention_layernorm"]
        mixes += [base + "self_attention_res", base + "mlp_res"]
        parts = {"self_attn.": init_mla(c) if c.is_mla(layer) else init_kda(c)}
        if c.is_moe(layer):
            parts["block_sparse_moe."] = init_moe(c)
        else:
            parts["mlp."] = init_mlp(c.dense_width, c)
        for prefix, part in parts.items():
            p.update({base + prefix + name: value for name, value in part.items()})
    for name in norms:
        p[name + ".weight"] = torch.ones(c.hidden)
    for name in mixes:
        p[name + "_norm.weight"] = torch.ones(c.hidden)
        p[name + "_proj.weight"] = torch.zeros(1, c.hidden)
    # No gradient reaches the pre-attention mix of layer 0, which has nothing to mix.
    p["model.layers.0.self_attention_res_proj.weight"] = linear(1, c.hidden)
    for name, value in p.items():
        # The correction bias follows the load of its expert, not a gradient.
        value.requires_grad_(not name.endswith("e_score_correction_bias"))
    return p


# Autograd functions

class RmsNorm(Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        inverse = torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, inverse)
        return (x * inverse).mul_(weight)

    @staticmethod
    def backward(ctx, grad):
        x, weight, inverse = ctx.saved_tensors
        unit = x * inverse
        grad_weight = (grad * unit).flatten(0, -2).sum(0)
        grad_unit = grad * weight
        inner = (grad_unit * unit).mean(-1, keepdim=True)
        return grad_unit.sub_(unit.mul_(inner)).mul_(inverse), grad_weight, None


class Mix(Function):
    """Attention residual: softmax over sources of RMS(v) . w, applied to the raw v."""

    @staticmethod
    def forward(ctx, weight, *sources):
        stack = torch.stack(sources)
        inverse = torch.rsqrt(stack.square().mean(-1) + RMS_EPS)
        dots = stack @ weight
        share = torch.softmax(dots * inverse, 0)
        ctx.save_for_backward(stack, weight, inverse, dots, share)
        return (stack * share[..., None]).sum(0)

    @staticmethod
    def backward(ctx, grad):
        stack, weight, inverse, dots, share = ctx.saved_tensors
        grad_share = (stack * grad).sum(-1)
        grad_score = share * (grad_share - (share * grad_share).sum(0))
        by_dot = grad_score * inverse
        grad_weight = torch.mv(stack.flatten(0, -2).t(), by_dot.flatten())
        along = by_dot * dots * inverse.square() / stack.shape[-1]
        grad_stack = share[..., None] * grad
        grad_stack.addcmul_(by_dot[..., None], weight).addcmul_(along[..., None], stack, value=-1)
        return (grad_weight, *grad_stack.unbind(0))


class ConvSilu(Function):
    """Causal depthwise convolution of 4 taps, then SiLU; `joined[s]` marks t-s in the document."""

    @staticmethod
    def forward(ctx, x, taps, joined):
        y = x * taps[:, -1]
        for shift in range(1, taps.shape[1]):
            y[:, shift:].addcmul_(x[:, :-shift] * joined[shift], taps[:, -1 - shift])
        gate = torch.sigmoid(y)
        ctx.save_for_backward(x, taps, y, gate)
        ctx.joined = joined
        return y * gate

    @staticmethod
    def backward(ctx, grad):
        x, taps, y, gate = ctx.saved_tensors
        grad = grad * gate * (1 + y * (1 - gate))
        grad_x = grad * taps[:, -1]
        grad_taps = torch.empty_like(taps)
        grad_taps[:, -1] = (grad * x).flatten(0, 1).sum(0)
        for shift in range(1, taps.shape[1]):
            masked = grad[:, shift:] * ctx.joined[shift]
            grad_x[:, :-shift].addcmul_(masked, taps[:, -1 - shift])
            grad_taps[:, -1 - shift] = (masked * x[:, :-shift]).flatten(0, 1).sum(0)
        return grad_x, grad_taps, None


def tanh_parts(x: torch.Tensor, cap: float) -> torch.Tensor:
    """tanh(x / cap); sigmoid is much the faster kernel."""
    return torch.sigmoid(x * (2 / cap)).mul_(2).sub_(1)


def situ_forward(gate, up, caps):
    gate_tanh, up_tanh, sigmoid = tanh_parts(gate, caps[0]), tanh_parts(up, caps[1]), gate.sigmoid()
    out = (gate_tanh * sigmoid).mul_(up_tanh).mul_(caps[0] * caps[1])
    return out, (gate_tanh, up_tanh, sigmoid)


def situ_backward(grad, saved, caps):
    gate_tanh, up_tanh, sigmoid = saved
    grad_up = (gate_tanh * sigmoid).mul_(grad).mul_(1 - up_tanh.square()).mul_(caps[0])
    slope = (1 - gate_tanh.square()).add_(gate_tanh * (1 - sigmoid), alpha=caps[0])
    grad_gate = slope.mul_(sigmoid).mul_(up_tanh).mul_(grad).mul_(caps[1])
    return grad_gate, grad_up


class Situ(Function):
    @staticmethod
    def forward(ctx, gate, up, caps):
        out, saved = situ_forward(gate, up, caps)
        ctx.save_for_backward(*saved)
        ctx.caps = caps
        return out

    @staticmethod
    def backward(ctx, grad):
        return (*situ_backward(grad, ctx.saved_tensors, ctx.caps), None)


class Experts(Function):
    """Weighted sum of the picked experts; assignments are sorted by expert.

    `order` lists assignment numbers (token * top_k + slot) by expert, `bounds`
    where each expert's run begins.
    """

    @staticmethod
    def forward(ctx, z, share, w1, w2, w3, order, bounds, caps):
        n_tokens, top_k = share.shape
        inverse = torch.empty_like(order)
        inverse[order] = torch.arange(len(order))
        x = z.index_select(0, order // top_k)
        gate, up = x.new_empty(len(x), w1.shape[1]), x.new_empty(len(x), w3.shape[1])
        y = torch.empty_like(x)
        for e, (lo, hi) in enumerate(zip(bounds, bounds[1:])):
            torch.mm(x[lo:hi], w1[e].t(), out=gate[lo:hi])
            torch.mm(x[lo:hi], w3[e].t(), out=up[lo:hi])
        inner, saved = situ_forward(gate, up, caps)
        for e, (lo, hi) in enumerate(zip(bounds, bounds[1:])):
            torch.mm(inner[lo:hi], w2[e].t(), out=y[lo:hi])
        y = y.index_select(0, inverse).view(n_tokens, top_k, -1)
        ctx.save_for_backward(x, share, w1, w2, w3, order, inverse, inner, y, *saved)
        ctx.bounds, ctx.caps = bounds, caps
        return (y * share[..., None]).sum(1)

    @staticmethod
    def backward(ctx, grad):
        x, share, w1, w2, w3, order, inverse, inner, y, *saved = ctx.saved_tensors
        n_tokens, top_k = share.shape
        grad_share = (y * grad[:, None]).sum(-1)
        grad_y = (grad[:, None] * share[..., None]).view(len(x), -1).index_select(0, order)
        grad_w1, grad_w2, grad_w3 = map(torch.empty_like, (w1, w2, w3))
        grad_inner, grad_x = torch.empty_like(inner), torch.empty_like(x)
        runs = list(enumerate(zip(ctx.bounds, ctx.bounds[1:])))
        for e, (lo, hi) in runs:
            torch.mm(grad_y[lo:hi], w2[e], out=grad_inner[lo:hi])
            torch.mm(grad_y[lo:hi].t(), inner[lo:hi], out=grad_w2[e])
        grad_gate, grad_up = situ_backward(grad_inner, saved, ctx.caps)
        for e, (lo, hi) in runs:
            torch.mm(grad_gate[lo:hi], w1[e], out=grad_x[lo:hi])
            grad_x[lo:hi].addmm_(grad_up[lo:hi], w3[e])
            torch.mm(grad_gate[lo:hi].t(), x[lo:hi], out=grad_w1[e])
            torch.mm(grad_up[lo:hi].t(), x[lo:hi], out=grad_w3[e])
        grad_z = grad_x.index_select(0, inverse).view(n_tokens, top_k, -1).sum(1)
        return grad_z, grad_share, grad_w1, grad_w2, grad_w3, None, None, None


class UnitLowerInverse(Function):
    """(I + A)^-1 for strictly lower triangular A, all blocks at once."""

    @staticmethod
    def forward(ctx, lower):
        size = lower.shape[-1]
        inverse = torch.eye(size).expand_as(lower).contiguous()
        for row in range(1, size):
            inverse[..., row, :row] = -(lower[..., row, :row, None]
                                        * inverse[..., :row, :row]).sum(-2)
        ctx.save_for_backward(inverse)
        return inverse

    @staticmethod
    def backward(ctx, grad):
        inverse, = ctx.saved_tensors
        transposed = inverse.transpose(-1, -2)
        return -(transposed @ grad @ transposed).tril(-1)


class StraightThrough(Function):
    @staticmethod
    def forward(ctx, weight):
        return mxfp4.fake_quantise(weight)

    @staticmethod
    def backward(ctx, grad):
        return grad


# The graph

class Borders(NamedTuple):
    """Which tokens of a batch belong together, in the forms the layers need."""

    joined: List[torch.Tensor]      # [s]: token t-s is in the document of t, [rows, length-s, 1]
    attention: torch.Tensor         # 0 where visible, -inf elsewhere, [rows, 1, length, length]
    within: torch.Tensor            # same document and s <= t in a chunk, [rows, n, 1, C, C]
    enters: torch.Tensor            # token is in the document that the chunk entered with
    leaves: torch.Tensor            # token is in the document that the chunk ends with
    carries: torch.Tensor           # the chunk lies in one document, entry to end


def borders(documents: torch.Tensor, conv: int) -> Borders:
    """`documents` [rows, length] numbers the document of each token."""
    rows, length = documents.shape
    joined = [torch.ones(())] + [(documents[:, s:] == documents[:, :-s]).float()[..., None]
                                 for s in range(1, conv)]
    visible = (documents[:, :, None] == documents[:, None, :]).tril()
    attention = torch.zeros(rows, 1, length, length).masked_fill_(~visible[:, None], -math.inf)
    chunks = documents.view(rows, length // CHUNK, CHUNK)
    within = (chunks[..., :, None] == chunks[..., None, :]).tril().float()
    last = chunks[..., -1]
    entry = torch.cat([torch.full((rows, 1), -1), last[:, :-1]], 1)
    return Borders(joined, attention, within[:, :, None],
                   (chunks == entry[..., None]).float()[:, :, None, :, None],
                   (chunks == last[..., None]).float()[:, :, None, :, None],
                   (entry == last).float()[:, :, None, None, None])


def unit(x: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + L2_EPS)


class Model:
    def __init__(self, config: Config, parameters: Dict[str, torch.Tensor]):
        self.config = config
        self.p = parameters
        self.quantises = False
        self.loads: Dict[int, torch.Tensor] = {}

    def norm(self, x: torch.Tensor, name: str, eps: float = RMS_EPS) -> torch.Tensor:
        return RmsNorm.apply(x, self.p[name + ".weight"], eps)

    def mix(self, sources: List[torch.Tensor], name: str) -> torch.Tensor:
        weight = self.p[name + "_norm.weight"] * self.p[name + "_proj.weight"][0]
        return Mix.apply(weight, *sources)

    def forward(self, tokens: torch.Tensor, documents: torch.Tensor) -> torch.Tensor:
        """Final normed hidden states [rows, length, hidden]; multiply by lm_head for logits."""
        c = self.config
        cuts = borders(documents, c.conv)
        prefix = self.p["model.embed_tokens.weight"][tokens]
        blocks: List[torch.Tensor] = []
        for layer in range(c.n_layers):
            base = f"model.layers.{layer}."
            x = self.mix([*blocks, prefix], base + "self_attention_res") if blocks else prefix
            starts_block = layer % c.res_block == 0
            if starts_block:
                blocks.append(prefix)
            attention = self.mla if c.is_mla(layer) else self.kda
            out = attention(base + "self_attn.", self.norm(x, base + "input_layernorm"), cuts)
            prefix = out if starts_block else prefix + out
            x = self.mix([*blocks, prefix], base + "mlp_res")
            x = self.norm(x, base + "post_attention_layernorm")
            if c.is_moe(layer):
                prefix = prefix + self.moe(layer, base + "block_sparse_moe.", x)
            else:
                prefix = prefix + self.mlp(base + "mlp.", x)
        return self.norm(self.mix([*blocks, prefix], "model.output_attn_res"), "model.norm")

    def mlp(self, base: str, x: torch.Tensor) -> torch.Tensor:
        c = self.config
        hidden = Situ.apply(x @ self.p[base + "gate_proj.weight"].t(),
                            x @ self.p[base + "up_proj.weight"].t(),
                            (c.situ_gate_cap, c.situ_up_cap))
        return hidden @ self.p[base + "down_proj.weight"].t()

    def moe(self, layer: int, base: str, x: torch.Tensor) -> torch.Tensor:
        c, p = self.config, self.p
        flat = x.flatten(0, 1)
        scores = torch.sigmoid(flat @ p[base + "gate.weight"].t())
        biased = scores.detach() + p[base + "gate.e_score_correction_bias"]
        pick = biased.topk(c.top_k, dim=-1).indices
        share = scores.gather(1, pick)
        share = share / (share.sum(-1, keepdim=True) + 1e-20)
        chosen, order = pick.flatten().sort(stable=True)
        self.loads[layer] = torch.bincount(chosen, minlength=c.n_experts)
        bounds = [0, *self.loads[layer].cumsum(0).tolist()]
        experts = [p[base + "experts." + name] for name in ("w1", "w2", "w3")]
        if self.quantises:
            experts = [StraightThrough.apply(weight) for weight in experts]
        z = flat @ p[base + "routed_expert_down_proj.weight"].t()
        y = Experts.apply(z, share, *experts, order, bounds, (c.situ_gate_cap, c.situ_up_cap))
        y = self.norm(y, base + "routed_expert_norm") @ p[base + "routed_expert_up_proj.weight"].t()
        return y.view_as(x) + self.mlp(base + "shared_experts.", x)

    def mla(self, base: str, x: torch.Tensor, cuts: Borders) -> torch.Tensor:
        c, p = self.config, self.p
        rows, length, _ = x.shape
        q_low, low, key_shared, gate = (x @ torch.cat([
            p[base + "q_a_proj.weight"], p[base + "kv_a_proj_with_mqa.weight"],
            p[base + "g_proj.weight"]]).t()).split(
                [c.q_rank, c.kv_rank, c.rope, c.n_heads * c.v_dim], -1)
        q = self.norm(q_low, base + "q_a_layernorm", LATENT_EPS) @ p[base + "q_b_proj.weight"].t()
        latent = self.norm(low, base + "kv_a_layernorm", LATENT_EPS)
        key_value = (latent @ p[base + "kv_b_proj.weight"].t()).view(rows, length, c.n_heads, -1)
        key, value = key_value.split([c.nope, c.v_dim], -1)
        key_shared = key_shared[:, :, None].expand(-1, -1, c.n_heads, -1)
        key = torch.cat([key, key_shared], -1).transpose(1, 2)
        q = q.view(rows, length, c.n_heads, -1).transpose(1, 2) * (c.nope + c.rope) ** -0.5
        share = torch.softmax(q @ key.transpose(2, 3) + cuts.attention, -1)
        out = (share @ value.transpose(1, 2)).transpose(1, 2).flatten(2)
        return (out * torch.sigmoid(gate)) @ p[base + "o_proj.weight"].t()

    def kda(self, base: str, x: torch.Tensor, cuts: Borders) -> torch.Tensor:
        c, p = self.config, self.p
        rows, length, _ = x.shape
        width = c.n_heads * c.kda_dim
        names = ("q_proj", "k_proj", "v_proj", "g_proj", "f_a_proj", "b_proj")
        fused = x @ torch.cat([p[f"{base}{name}.weight"] for name in names]).t()
        qkv, gate, low, beta = fused.split([3 * width, width, c.kda_dim, c.n_heads], -1)
        taps = torch.cat([p[f"{base}{name}_conv1d.weight"][:, 0] for name in "qkv"])
        qkv = ConvSilu.apply(qkv, taps, cuts.joined)
        z = low @ p[base + "f_b_proj.weight"].t() + p[base + "dt_bias"]
        rate = torch.exp(p[base + "A_log"]).repeat_interleave(c.kda_dim)
        decay = c.gate_lower_bound * torch.sigmoid(z * rate)
        q, k, v = qkv.split(width, -1)
        chunked = [self.chunks(part) for part in (q, k, v, decay, torch.sigmoid(beta))]
        out = delta_rule(*chunked, cuts).transpose(2, 3).reshape(rows, length, c.n_heads, -1)
        out = self.norm(out, base + "o_norm").flatten(2)
        return (out * torch.sigmoid(gate)) @ p[base + "o_proj.weight"].t()

    def chunks(self, x: torch.Tensor) -> torch.Tensor:
        """[rows, length, heads * d] to contiguous [rows, n_chunks, heads, CHUNK, d]."""
        rows, length, _ = x.shape
        return x.view(rows, length // CHUNK, CHUNK, self.config.n_heads, -1).transpose(2, 3) \
                .contiguous()


def delta_rule(q, k, v, decay, beta, cuts: Borders) -> torch.Tensor:
    """The gated delta rule, a chunk of tokens at a time.

    With cumulative log decay G in a chunk, |G| <= 16 * 5, so e^G and e^-G are
    finite.  The writes w of a chunk solve a unit lower triangular system.
    """
    total = decay.cumsum(-2)
    grown, shrunk = torch.exp(total), torch.exp(-total)
    q = unit(q) * (q.shape[-1] ** -0.5) * grown
    k = unit(k)
    k_in, k_out = k * grown, k * shrunk
    k_out_t = k_out.transpose(-1, -2)
    strict = (k_in @ k_out_t * cuts.within * beta).tril(-1)
    solve = UnitLowerInverse.apply(strict)
    value = solve @ (v * beta)
    reads = solve @ (k_in * beta * cuts.enters)
    end = grown[..., -1:, :]
    writes_key = (k_out * end * cuts.leaves).transpose(-1, -2)
    keep = end.transpose(-1, -2) * cuts.carries
    state = torch.zeros_like(keep[:, 0]) * torch.zeros(v.shape[-1])
    states, writes = [], []
    for value_n, reads_n, key_n, keep_n in zip(*(part.unbind(1) for part in
                                                 (value, reads, writes_key, keep))):
        states.append(state)
        writes.append(value_n - reads_n @ state)
        state = keep_n * state + key_n @ writes[-1]
    local = (q @ k_out_t) * cuts.within
    return local @ torch.stack(writes, 1) + (q * cuts.enters) @ torch.stack(states, 1)
