"""Compare the oracle with an independent float64 forward over a GGUF of the same weights.

    python3 compare_reference.py SCRATCH_DIR [--record GOLDEN_DIR]

The other program, reference_forward.py, is looked for in the folder that the environment
variable NIGHTJAR_REFERENCE_TOOLS names (default: ../shared/tools beside the repository).
Without it this prints so and exits with 77.  Both sides use a latent norm eps of 1e-5, which
the GGUF layout cannot say.  With --record, what the *other* program said becomes
<model>_gguf_reference.json.
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

LATENT_EPS = 1e-5
MODELS = ("t13", "kl5")
LENGTHS = (1, 5, 17, 40, 66, 130)
GENERATED = 20
ALLOWED = 2e-5          # of the logit range
SOURCE = "an independent float64 forward over a GGUF of the same weights"


def tool_path():
    """Where the other program is, or None."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    folder = os.environ.get("NIGHTJAR_REFERENCE_TOOLS",
                            os.path.join(root, "..", "shared", "tools"))
    path = os.path.join(folder, "reference_forward.py")
    return path if os.path.exists(path) else None


def foreign(tool, path, ids):
    """Logits after the last id and greedy tokens, as the other program sees them."""
    command = [sys.executable, tool, path, ",".join(map(str, ids)), "--gen", str(GENERATED)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def ours(graph, ids):
    """The same from the oracle."""
    state = graph.new_state()
    first = logits = graph.forward(ids, state)[-1]
    out = []
    while len(out) < GENERATED:
        out.append(int(logits.argmax()))
        logits = graph.forward(out[-1:], state)[-1]
    return first, out


def compare(tool, kind, scratch):
    """Entries for the golden and the largest relative difference."""
    directory, path = os.path.join(scratch, kind), os.path.join(scratch, kind + ".gguf")
    tiny_models.write(kind, directory)
    gguf.convert(directory, path)
    graph, sequences, greedy, worst = Model(Checkpoint(directory), LATENT_EPS), [], [], 0.0
    for number, length in enumerate(LENGTHS):
        ids = record.without_ties(graph, graph.settings.vocab, length, 5000 + number)["ids"]
        said, (logits, path_ours) = foreign(tool, path, ids), ours(graph, ids)
        theirs = np.array(said["logits"])
        spread = float(theirs.max() - theirs.min())
        far = float(np.abs(theirs - logits).max()) / spread
        print("%s, %3d tokens: logits differ by %.1e of the range, greedy %s" % (
            kind, length, far, "equal" if said["greedy"] == path_ours else "DIFFERS"))
        worst = max(worst, far if said["greedy"] == path_ours else np.inf)
        sequences.append({"ids": ids, "logit_range": spread,
                          "logits": {str(length - 1): list(map(float, theirs))}})
        if said["min_gap"] > record.MIN_GAP * spread:
            greedy.append({"prompt": ids, "continuation": said["greedy"],
                           "smallest_gap": said["min_gap"] / spread})
    return {"model": kind, "source": SOURCE, "latent_norm_eps": LATENT_EPS,
            "config_sha256": record.digest(directory, "config.json"),
            "sequences": sequences, "greedy": greedy}, worst


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scratch")
    parser.add_argument("--record")
    options = parser.parse_args()
    tool = tool_path()
    if tool is None:
        print("no reference_forward.py: set NIGHTJAR_REFERENCE_TOOLS")
        sys.exit(77)
    failed = False
    for kind in MODELS:
        golden, worst = compare(tool, kind, options.scratch)
        print("%s: worst %.1e, allowed %.0e" % (kind, worst, ALLOWED))
        failed = failed or not worst <= ALLOWED
        if options.record:
            record.save(os.path.join(options.record, kind + "_gguf_reference.json"), golden)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
