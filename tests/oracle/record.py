"""Record what the oracle says about a model directory.

    python3 record.py MODEL_DIR OUT.json [--prompts PROMPTS.json] [--dense]

Without --prompts the token ids are drawn by counter.  PROMPTS.json has two lists, `sequences`
and `greedy`, of {"text": ..., "ids": [...]} (see prompts.py).  --dense keeps the logits of every
position of the short sequences instead of a few.  The format is described in README.md.
"""
import argparse
import hashlib
import json
import os

import numpy as np

import philox
from checkpoint import Checkpoint
from model import LATENT_EPS, Model

MIN_GAP = 1e-4          # of the logit range, between the two best tokens
MIN_MARGIN = 1e-5       # between the last chosen and the first rejected expert
GREEDY_PROMPTS, GREEDY_TOKENS = 20, 64
SHORT, SHORT_COUNT, LONG = 40, 3, 150
PROBE_VALUES = 4
PROBE_NAMES = ("attention_input", "attention", "feed_forward_input", "feed_forward", "prefix")


def top_gap(logits):
    """Distance of the two best logits per position."""
    best = np.partition(logits, -2, axis=-1)[..., -2:]
    return best[..., 1] - best[..., 0]


def ties(logits, margin, spread):
    """Positions that a correct engine may legitimately answer differently."""
    out, gap = [], top_gap(logits) / spread
    for position in range(len(logits)):
        if gap[position] < MIN_GAP:
            out.append({"position": position, "reason": "top2", "value": gap[position]})
        elif margin[position] < MIN_MARGIN:
            out.append({"position": position, "reason": "router", "value": margin[position]})
    return out


def drawn_ids(vocab, number, length):
    """Token ids by counter."""
    return [int(w) % vocab for w in philox.words(number, 0x70726F6D, length)[:, 0]]


def random_prompts(vocab, first):
    """Endless prompts of 4 to 24 tokens."""
    while True:
        length = 4 + first % 21
        yield {"ids": drawn_ids(vocab, first, length)}
        first += 1


def few_positions(length):
    """First tokens, both sides of multiples of 64, and the last."""
    wanted = {0, 1, 2, 5, length // 2, length - 1}
    for block in range(64, length, 64):
        wanted |= {block - 1, block}
    return sorted(p for p in wanted if 0 <= p < length)


def teacher_forced(graph, prompt, dense):
    """One entry of `sequences`."""
    ids = prompt["ids"]
    logits = graph.forward(ids, graph.new_state())
    spread = float(logits.max() - logits.min())
    kept = range(len(ids)) if dense else few_positions(len(ids))
    entry = {"ids": ids, "argmax": [int(i) for i in logits.argmax(axis=1)],
             "skipped": ties(logits, graph.router_margin, spread), "logit_range": spread,
             "logits": {str(p): list(map(float, logits[p])) for p in kept}}
    return dict({"text": prompt["text"]}, **entry) if "text" in prompt else entry


def greedy(graph, prompt):
    """One entry of `greedy`, or None when the path meets a near-tie."""
    state, out = graph.new_state(), []
    logits = graph.forward(prompt["ids"], state)
    least, low, high = graph.router_margin.min(), logits.min(), logits.max()
    gap = np.inf
    while len(out) < GREEDY_TOKENS:
        gap = min(gap, top_gap(logits[-1]))
        out.append(int(logits[-1].argmax()))
        logits = graph.forward(out[-1:], state)
        least = min(least, graph.router_margin.min())
        low, high = min(low, logits.min()), max(high, logits.max())
    if least < MIN_MARGIN or gap < MIN_GAP * (high - low):
        return None
    entry = {"prompt": prompt["ids"], "continuation": out, "smallest_gap": gap / (high - low)}
    return dict({"text": prompt["text"]}, **entry) if "text" in prompt else entry


def greedy_entries(graph, prompts):
    """The first GREEDY_PROMPTS paths without a near-tie."""
    out, replaced = [], 0
    for prompt in prompts:
        entry = greedy(graph, prompt)
        if entry is None:
            replaced += 1
        else:
            out.append(entry)
        if len(out) == GREEDY_PROMPTS:
            break
    print("greedy: %d prompts, %d replaced" % (len(out), replaced))
    return out


def layer_probe(graph, ids):
    """A few activations of every layer at one position, to locate a wrong one."""
    graph.probe, position = [], min(len(ids) - 1, 20)
    graph.forward(ids, graph.new_state())
    layers = [{name: list(map(float, layer[name][position][:PROBE_VALUES]))
               for name in PROBE_NAMES} for layer in graph.probe]
    graph.probe = None
    return {"sequence": 0, "position": position, "layers": layers}


def without_ties(graph, vocab, length, first):
    """Drawn ids whose path meets no near-tie, so that nothing has to be skipped."""
    while True:
        ids = drawn_ids(vocab, first, length)
        entry = teacher_forced(graph, {"ids": ids}, False)
        if not entry["skipped"]:
            return {"ids": ids}
        first += 100


def drawn_sequences(graph, vocab, dense):
    """Short sequences and one that crosses two blocks of 64 positions."""
    out = [teacher_forced(graph, without_ties(graph, vocab, SHORT, 1000 + n), dense)
           for n in range(SHORT_COUNT)]
    return out + [teacher_forced(graph, without_ties(graph, vocab, LONG, 2000), False)]


def digest(directory, name):
    """SHA-256 of one file of the model."""
    with open(os.path.join(directory, name), "rb") as source:
        return hashlib.sha256(source.read()).hexdigest()


def weights_digest(directory):
    """SHA-256 of the shards' hex digests, one a line, in the order of their names."""
    shards = sorted(n for n in os.listdir(directory) if n.endswith(".safetensors"))
    lines = "".join(digest(directory, name) + "\n" for name in shards)
    return hashlib.sha256(lines.encode("ascii")).hexdigest()


def text_of(value):
    """JSON with nine significant digits and number lists on one line."""
    if isinstance(value, float):
        return "%.9g" % value
    if isinstance(value, dict):
        return "{" + ",\n".join("%s: %s" % (json.dumps(k), text_of(v))
                                for k, v in value.items()) + "}"
    if isinstance(value, list) and value and isinstance(value[0], (dict, list)):
        return "[\n" + ",\n".join(map(text_of, value)) + "]"
    if isinstance(value, list):
        return "[" + ",".join(map(text_of, value)) + "]"
    return json.dumps(value)


def save(path, golden):
    """Write a golden file."""
    with open(path, "w") as out:
        out.write(text_of(golden) + "\n")
    print("%s: %d bytes" % (path, os.path.getsize(path)))


def record(directory, prompts, dense):
    """The golden of one model directory."""
    graph = Model(Checkpoint(directory))
    vocab = graph.settings.vocab
    if prompts:
        sequences = [teacher_forced(graph, prompt, False) for prompt in prompts["sequences"]]
    else:
        sequences = drawn_sequences(graph, vocab, dense)
    positions = sum(len(s["ids"]) for s in sequences)
    skipped = sum(len(s["skipped"]) for s in sequences)
    print("teacher-forced: %d positions, %d left out" % (positions, skipped))
    return {"model": os.path.basename(os.path.normpath(directory)),
            "latent_norm_eps": LATENT_EPS, "vocab": vocab,
            "config_sha256": digest(directory, "config.json"),
            "weights_sha256": weights_digest(directory), "sequences": sequences,
            "greedy": greedy_entries(graph, prompts["greedy"] if prompts
                                     else random_prompts(vocab, 3000)),
            "probe": layer_probe(graph, sequences[0]["ids"])}


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--prompts")
    parser.add_argument("--dense", action="store_true")
    options = parser.parse_args()
    prompts = None
    if options.prompts:
        with open(options.prompts) as source:
            prompts = json.load(source)
    save(options.out, record(options.model, prompts, options.dense))


if __name__ == "__main__":
    main()
