"""Compare the oracle with llama.cpp on a GGUF of the same weights.

    python3 compare_llama.py SCRATCH_DIR [--record GOLDEN_DIR] [--mxfp4]

SCRATCH_DIR must hold node_modules with node-llama-cpp (run_llama_cpp.sh arranges that).
Experts are expanded to F32 in the GGUF, because llama.cpp rounds activations to 8 bits for
MXFP4 products.  It uses a latent norm eps of 1e-5.  With --record, what llama.cpp said
becomes <model>_llama_cpp.json.
"""
import argparse
import json
import os
import subprocess
import sys

import numpy as np

import gguf
import record
import tiny_models
from checkpoint import Checkpoint
from model import Model

HERE = os.path.dirname(os.path.abspath(__file__))
LATENT_EPS = 1e-5
MODELS = ("t13", "kl5")
LENGTHS = (1, 5, 17, 40, 66, 130)
GENERATED = 20
MIN_GAP = 1e-4          # of the logit range
ALLOWED = 2e-5          # difference of log probabilities, as a share of the logit range
SOURCE = "llama.cpp (node-llama-cpp 3.21.1) on a GGUF with F32 trunk and F32 experts"


def ask(scratch, path, prompts):
    """Answers of llama.cpp."""
    request = os.path.join(scratch, "request.json")
    with open(request, "w") as out:
        json.dump({"prompts": prompts, "tokens": GENERATED}, out)
    done = subprocess.run(["node", os.path.join(HERE, "llama_cpp.mjs"),
                           os.path.abspath(path), os.path.abspath(request)], cwd=scratch,
                          check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)["answers"]


def distance(logits, best):
    """Largest difference of log probabilities among the recorded tokens, per range."""
    ids, theirs = [i for i, _ in best], np.log([p for _, p in best])
    peak = logits.max()
    ours = logits - peak - np.log(np.exp(logits - peak).sum())
    return float(np.abs(ours[ids] - theirs).max() / (logits.max() - logits.min()))


def follow(graph, answer):
    """Walk llama.cpp's path: worst difference, agreeing steps, smallest relative gap."""
    state, worst, equal, gap = graph.new_state(), 0.0, 0, np.inf
    logits = graph.forward(answer["prompt"], state)[-1]
    for token, best in zip(answer["continuation"], answer["probabilities"]):
        worst = max(worst, distance(logits, best))
        gap = min(gap, float(record.top_gap(logits) / (logits.max() - logits.min())))
        equal += int(logits.argmax()) == token
        logits = graph.forward([token], state)[-1]
    return worst, equal, gap


def compare(kind, scratch, expand):
    """Golden of one model, worst difference, whether all clear steps agree."""
    directory, path = os.path.join(scratch, kind), os.path.join(scratch, kind + ".gguf")
    tiny_models.write(kind, directory)
    gguf.convert(directory, path, expand)
    graph = Model(Checkpoint(directory), LATENT_EPS)
    prompts = [record.without_ties(graph, graph.settings.vocab, length, 6000 + n)["ids"]
               for n, length in enumerate(LENGTHS)]
    sequences, greedy, worst, clear = [], [], 0.0, True
    for answer in ask(scratch, path, prompts):
        far, equal, gap = follow(graph, answer)
        print("%s, %3d tokens: log probabilities differ by %.1e of the range, "
              "%d of %d tokens equal (smallest gap %.1e)" % (
                  kind, len(answer["prompt"]), far, equal, GENERATED, gap))
        worst, clear = max(worst, far), clear and (equal == GENERATED or gap < MIN_GAP)
        sequences.append({"ids": answer["prompt"], "probabilities": [
            [int(i), float(p)] for i, p in answer["probabilities"][0]]})
        if gap >= MIN_GAP:
            greedy.append({"prompt": answer["prompt"], "continuation": answer["continuation"],
                           "smallest_gap": gap})
    return {"model": kind, "source": SOURCE, "latent_norm_eps": LATENT_EPS,
            "config_sha256": record.digest(directory, "config.json"),
            "sequences": sequences, "greedy": greedy}, worst, clear


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scratch")
    parser.add_argument("--record")
    parser.add_argument("--mxfp4", action="store_true", help="keep MXFP4 experts; report only")
    options = parser.parse_args()
    failed = False
    for kind in MODELS:
        golden, worst, clear = compare(kind, options.scratch, not options.mxfp4)
        print("%s: worst %.1e, allowed %.0e" % (kind, worst, ALLOWED))
        failed = failed or worst > ALLOWED or not clear
        if options.record:
            record.save(os.path.join(options.record, kind + "_llama_cpp.json"), golden)
    sys.exit(1 if failed and not options.mxfp4 else 0)


if __name__ == "__main__":
    main()
