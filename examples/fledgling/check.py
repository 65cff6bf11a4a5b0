"""A second, slow reading of the exported files, in numpy alone.

Loads the shards, decodes MXFP4, steps token by token through the published
graph and decodes greedily.  Nothing here is shared with the training graph, so
agreement of the two means something.  Every sequence of a batch has its own
state; finished ones are stepped on and ignored.

    python3 check.py                            score per relation, expert load
    python3 check.py --system "You are terse."  the same with a system turn
    python3 check.py --stories 3                a few sampled stories
    python3 check.py --ask "Which city is the capital of France?"
"""

import argparse
import collections
import csv
import json
import os
from typing import Dict, List, NamedTuple, Sequence

import numpy as np

import corpus
from bpe import Tokenizer

PREFIX = "language_model."
LATENT_EPS = 1e-6
L2_EPS = 1e-6
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
MAX_NEW_TOKENS = 40
MAX_STORY_TOKENS = 200


# Files

def read_shard(path: str) -> Dict[str, np.ndarray]:
    with open(path, "rb") as file:
        data = file.read()
    header_bytes = int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:8 + header_bytes]).items():
        begin, end = (8 + header_bytes + offset for offset in entry["data_offsets"])
        kind = {"F32": "<f4", "BF16": "<u2", "U8": "u1"}[entry["dtype"]]
        value = np.frombuffer(data[begin:end], kind).reshape(entry["shape"])
        if entry["dtype"] == "BF16":
            value = (value.astype(np.uint32) << 16).view(np.float32)
        tensors[name] = value
    return tensors


def decode_mxfp4(packed: np.ndarray, scale: np.ndarray) -> np.ndarray:
    assert scale.min() > 0 and scale.max() < 255
    codes = np.stack([packed & 15, packed >> 4], -1).reshape(len(packed), -1)
    values = np.where(codes & 8, -1, 1) * E2M1[codes & 7]
    return (values * np.repeat(np.ldexp(np.float32(1), scale.astype(int) - 127), 32, 1)) \
        .astype(np.float32)


def load_weights(directory: str) -> Dict[str, np.ndarray]:
    with open(os.path.join(directory, "model.safetensors.index.json")) as file:
        index = json.load(file)
    weights = {}
    for shard in sorted(set(index["weight_map"].values())):
        weights.update(read_shard(os.path.join(directory, shard)))
    assert set(weights) == set(index["weight_map"])
    for name in [name for name in weights if name.endswith("weight_packed")]:
        base = name[:-len("_packed")]
        weights[base] = decode_mxfp4(weights.pop(name), weights.pop(base + "_scale"))
    return {name[len(PREFIX):]: value for name, value in weights.items()}


# The graph

def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def softmax(x, axis):
    x = np.exp(x - x.max(axis, keepdims=True))
    return x / x.sum(axis, keepdims=True)


def rms(x, weight, eps):
    return x / np.sqrt(np.square(x).mean(-1, keepdims=True) + np.float32(eps)) * weight


def unit(x):
    return x / np.sqrt(np.square(x).sum(-1, keepdims=True) + np.float32(L2_EPS))


class Network:
    def __init__(self, directory: str):
        with open(os.path.join(directory, "config.json")) as file:
            self.c = json.load(file)["text_config"]
        self.w = load_weights(directory)
        self.eps = self.c["rms_norm_eps"]
        self.kda_layers = {layer - 1 for layer in self.c["linear_attn_config"]["kda_layers"]}
        self.loads = np.zeros((self.c["num_hidden_layers"], self.c["num_experts"]))

    def mix(self, sources, name):
        weight = self.w[name + "_norm.weight"] * self.w[name + "_proj.weight"][0]
        stack = np.stack(sources)
        scores = (stack @ weight) / np.sqrt(np.square(stack).mean(-1) + np.float32(self.eps))
        return (softmax(scores, 0)[..., None] * stack).sum(0)

    def step(self, tokens: np.ndarray, state: dict, counted: np.ndarray) -> np.ndarray:
        """Logits after one token of every sequence; `counted` sequences enter the expert load."""
        prefix, blocks = self.w["model.embed_tokens.weight"][tokens], []
        for layer in range(self.c["num_hidden_layers"]):
            base = f"model.layers.{layer}."
            x = self.mix([*blocks, prefix], base + "self_attention_res") if blocks else prefix
            starts_block = layer % self.c["attn_res_block_size"] == 0
            if starts_block:
                blocks.append(prefix)
            x = rms(x, self.w[base + "input_layernorm.weight"], self.eps)
            own = state.setdefault(layer, {})
            attention = self.kda if layer in self.kda_layers else self.mla
            out = attention(base + "self_attn.", x, own)
            prefix = out if starts_block else prefix + out
            x = self.mix([*blocks, prefix], base + "mlp_res")
            x = rms(x, self.w[base + "post_attention_layernorm.weight"], self.eps)
            is_moe = layer >= self.c["first_k_dense_replace"]
            prefix = prefix + (self.moe(layer, base + "block_sparse_moe.", x, counted) if is_moe
                               else self.mlp(base + "mlp.", x))
        x = self.mix([*blocks, prefix], "model.output_attn_res")
        return rms(x, self.w["model.norm.weight"], self.eps) @ self.w["lm_head.weight"].T

    def linear(self, base, name, x):
        return x @ self.w[f"{base}{name}.weight"].T

    def situ(self, gate, up):
        cap, up_cap = self.c["activation_situ_beta"], self.c["activation_situ_linear_beta"]
        return cap * np.tanh(gate / cap) * sigmoid(gate) * up_cap * np.tanh(up / up_cap)

    def mlp(self, base, x):
        inner = self.situ(self.linear(base, "gate_proj", x), self.linear(base, "up_proj", x))
        return self.linear(base, "down_proj", inner)

    def moe(self, layer, base, x, counted):
        score = sigmoid(self.linear(base, "gate", x))
        biased = score + self.w[base + "gate.e_score_correction_bias"]
        pick = np.argsort(-biased, 1, kind="stable")[:, :self.c["num_experts_per_token"]]
        np.add.at(self.loads[layer], pick[counted].ravel(), 1)
        share = np.zeros_like(score)
        np.put_along_axis(share, pick, np.take_along_axis(score, pick, 1), 1)
        share /= share.sum(1, keepdims=True) + np.float32(1e-20)
        z = self.linear(base, "routed_expert_down_proj", x)
        y = np.zeros_like(z)
        for expert in range(self.c["num_experts"]):
            rows = np.nonzero(share[:, expert])[0]
            name = f"{base}experts.{expert}."
            inner = self.situ(self.linear(name, "w1", z[rows]), self.linear(name, "w3", z[rows]))
            y[rows] += share[rows, expert, None] * self.linear(name, "w2", inner)
        y = rms(y, self.w[base + "routed_expert_norm.weight"], self.eps)
        return self.linear(base, "routed_expert_up_proj", y) + self.mlp(base + "shared_experts.", x)

    def convolve(self, base, name, x, own):
        """The last `kernel` inputs of every channel are the state, newest last."""
        taps = self.w[f"{base}{name}_conv1d.weight"][:, 0]
        history = own.setdefault(name, np.zeros((len(x), *taps.shape), np.float32))
        history[..., :-1] = history[..., 1:].copy()
        history[..., -1] = x
        return silu((history * taps).sum(-1))

    def kda(self, base, x, own):
        linear = self.c["linear_attn_config"]
        heads, dim = linear["num_heads"], linear["head_dim"]
        q, k, v = (self.convolve(base, name, self.linear(base, name + "_proj", x), own)
                   .reshape(-1, heads, dim) for name in "qkv")
        q, k = unit(q) * np.float32(dim ** -0.5), unit(k)
        z = self.linear(base, "f_b_proj", self.linear(base, "f_a_proj", x))
        z = (z + self.w[base + "dt_bias"]).reshape(-1, heads, dim)
        a_log = self.w[base + "A_log"]
        assert not a_log[heads:].any()
        decay = linear["gate_lower_bound"] * sigmoid(np.exp(a_log[:heads, None]) * z)
        beta = sigmoid(self.linear(base, "b_proj", x))[..., None]
        memory = own.setdefault("memory", np.zeros((len(x), heads, dim, dim), np.float32))
        memory *= np.exp(decay)[..., None]
        read = np.einsum("bhij,bhi->bhj", memory, k)
        memory += k[..., None] * (beta * (v - read))[..., None, :]
        out = rms(np.einsum("bhij,bhi->bhj", memory, q), self.w[base + "o_norm.weight"], self.eps)
        gate = sigmoid(self.linear(base, "g_proj", x))
        return self.linear(base, "o_proj", out.reshape(len(x), -1) * gate)

    def mla(self, base, x, own):
        heads, rank = self.c["num_attention_heads"], self.c["kv_lora_rank"]
        nope, rope = self.c["qk_nope_head_dim"], self.c["qk_rope_head_dim"]
        low = self.linear(base, "q_a_proj", x)
        low = rms(low, self.w[base + "q_a_layernorm.weight"], LATENT_EPS)
        q = self.linear(base, "q_b_proj", low).reshape(-1, heads, nope + rope)
        joint = self.linear(base, "kv_a_proj_with_mqa", x)
        latent = rms(joint[:, :rank], self.w[base + "kv_a_layernorm.weight"], LATENT_EPS)
        key_value = self.linear(base, "kv_b_proj", latent).reshape(len(x), heads, -1)
        shared = np.broadcast_to(joint[:, None, rank:], (len(x), heads, rope))
        own.setdefault("keys", []).append(np.concatenate([key_value[..., :nope], shared], -1))
        own.setdefault("values", []).append(key_value[..., nope:])
        scores = np.einsum("tbhd,bhd->tbh", np.stack(own["keys"]), q)
        share = softmax(scores * np.float32((nope + rope) ** -0.5), 0)
        out = np.einsum("tbh,tbhd->bhd", share, np.stack(own["values"])).reshape(len(x), -1)
        return self.linear(base, "o_proj", out * sigmoid(self.linear(base, "g_proj", x)))


# Decoding

def generate(network: Network, prompts: Sequence[List[int]], stops, max_new: int,
             choose) -> List[List[int]]:
    """New tokens of each prompt, the stop token included; `choose` maps logits to tokens."""
    state: dict = {}
    lengths = np.array([len(prompt) for prompt in prompts])
    made: List[List[int]] = [[] for _ in prompts]
    is_done = np.zeros(len(prompts), bool)
    tokens = np.array([prompt[0] for prompt in prompts])
    for position in range(1, lengths.max() + max_new):
        guesses = choose(network.step(tokens, state, ~is_done))
        for row, prompt in enumerate(prompts):
            if position < len(prompt):
                tokens[row] = prompt[position]
                continue
            tokens[row] = guesses[row]
            if not is_done[row]:
                made[row].append(int(guesses[row]))
                is_done[row] = guesses[row] in stops or len(made[row]) == max_new
        if is_done.all():
            break
    return made


def greedy(logits: np.ndarray) -> np.ndarray:
    return logits.argmax(-1)


def sampler(temperature: float, seed: int):
    rng = np.random.default_rng(seed)

    def choose(logits):
        shares = softmax(logits.astype(np.float64) / temperature, -1)
        return np.array([rng.choice(len(row), p=row) for row in shares])
    return choose


class Asker:
    """Wraps questions in one of the two formats and unwraps the answers."""

    def __init__(self, network: Network, tokenizer: Tokenizer, is_chat: bool, system: str = ""):
        self.network, self.tokenizer = network, tokenizer
        self.is_chat, self.system = is_chat, system
        self.stops = {tokenizer.special_ids[name] for name in ("[EOS]", "<|end_of_msg|>")}
        tail = corpus.end_of_reply() if is_chat else [corpus.control("[EOS]")]
        self.tail = "".join(segment.text for segment in tail)

    def prompt(self, question: str) -> List[int]:
        segments = (corpus.chat_prompt(question, self.system) if self.is_chat
                    else [corpus.text(question + "\n", 0.0)])
        return self.tokenizer.encode_segments(segments)

    def ask(self, questions: Sequence[str], max_new: int, choose=greedy) -> List[str]:
        made = generate(self.network, [self.prompt(question) for question in questions],
                        self.stops, max_new, choose)
        return [self.tokenizer.decode(tokens) for tokens in made]


class Question(NamedTuple):
    relation: str
    question: str
    answer: str


def read_questions(path: str) -> List[Question]:
    with open(path, newline="", encoding="ascii") as file:
        return [Question(**row) for row in csv.DictReader(file)]


def right_per_relation(asker: Asker, questions: Sequence[Question], batch: int):
    """Right means: exactly the answer, then exactly the end of the turn."""
    right = collections.Counter()
    for first in range(0, len(questions), batch):
        part = questions[first:first + batch]
        for item, text in zip(part, asker.ask([item.question for item in part], MAX_NEW_TOKENS)):
            is_right = text == item.answer + asker.tail
            right[item.relation] += is_right
            if not is_right:
                print(f"wrong ({'chat' if asker.is_chat else 'plain'}, {item.relation}): "
                      f"{item.question} {text[:60]!r}, not {item.answer!r}")
    return right


def report(network: Network, tokenizer: Tokenizer, questions: Sequence[Question], system: str):
    plain, chat = (right_per_relation(Asker(network, tokenizer, is_chat, system), questions, 256)
                   for is_chat in (False, True))
    sizes = collections.Counter(item.relation for item in questions)
    print("| relation | questions | plain | chat |\n|---|---|---|---|")
    for relation, size in sizes.items():
        print(f"| {relation} | {size} | {100 * plain[relation] / size:.1f} % "
              f"| {100 * chat[relation] / size:.1f} % |")
    total = len(questions)
    print(f"| all | {total} | {100 * sum(plain.values()) / total:.1f} % "
          f"| {100 * sum(chat.values()) / total:.1f} % |")
    answer, count = collections.Counter(item.answer for item in questions).most_common(1)[0]
    print(f"best constant answer: {answer!r}, {100 * count / total:.1f} % right")


def report_stories(network: Network, tokenizer: Tokenizer, count: int, temperature: float,
                   seed: int) -> None:
    """Samples `count` stories in each format and prints the first few."""
    prompts = [corpus.STORY_PROMPTS[0].format(a=corpus.with_article(name))
               for name in (corpus.CHARACTERS * (1 + count // len(corpus.CHARACTERS)))[:count]]
    for is_chat in (False, True):
        asker = Asker(network, tokenizer, is_chat)
        tales = asker.ask(prompts, MAX_STORY_TOKENS, sampler(temperature, seed))
        for prompt, tale in zip(prompts, tales[:4]):
            print(f"{prompt}\n  {tale}")
        n_ended = sum(tale.endswith(asker.tail) for tale in tales)
        print(f"{'chat' if is_chat else 'plain'}: {n_ended} of {count} stories ended by themselves")


def main() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description="Score the exported model, slowly.")
    parser.add_argument("--model", default=here, help="directory of the exported model")
    parser.add_argument("--questions", default=os.path.join(here, "questions.csv"))
    parser.add_argument("--system", default="", help="a system turn before each chat question")
    parser.add_argument("--stories", type=int, default=0, help="sample that many stories instead")
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ask", help="one question instead, in both formats")
    options = parser.parse_args()
    network = Network(options.model)
    tokenizer = Tokenizer.load(os.path.join(options.model, "tiktoken.model"))
    if options.ask:
        for is_chat in (False, True):
            asker = Asker(network, tokenizer, is_chat, options.system)
            print(asker.ask([options.ask], MAX_STORY_TOKENS)[0])
    elif options.stories:
        report_stories(network, tokenizer, options.stories, options.temperature, options.seed)
    else:
        report(network, tokenizer, read_questions(options.questions), options.system)
    routed = network.loads[network.c["first_k_dense_replace"]:]
    even = routed / routed.mean(1, keepdims=True)
    print(f"expert load, as a share of an even one: {even.min():.2f} to {even.max():.2f}")


if __name__ == "__main__":
    main()
