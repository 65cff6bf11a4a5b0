"""Check the oracle itself: published values, invariants, and what the tiny models promise.

    python3 selfcheck.py SCRATCH_DIR
"""
import os
import sys
from types import SimpleNamespace

import numpy as np

import checkpoint
import philox
import rank_bpe
import tiny_models
from checkpoint import Checkpoint
from model import Model, sigmoid, silu

FAILURES = []


def expect(what, got, wanted, tolerance):
    """Compare numbers, absolute and relative."""
    got, wanted = np.asarray(got, np.float64), np.asarray(wanted, np.float64)
    good = np.all(np.abs(got - wanted) <= tolerance * np.maximum(1.0, np.abs(wanted)))
    report(what, bool(good), "%s, wanted %s" % (got, wanted))


def report(what, good, detail):
    """One line per check."""
    print("%s  %s%s" % ("ok  " if good else "FAIL", what, "" if good else ": " + detail))
    if not good:
        FAILURES.append(what)


def small_model(tensors, **settings):
    """A Model over a few given tensors."""
    arrays = {name: np.array(values, np.float64) for name, values in tensors.items()}
    weights = SimpleNamespace(settings=SimpleNamespace(**settings), get=arrays.__getitem__,
                              layer=lambda layer, name: arrays[name])
    return Model(weights)


def check_philox():
    """Known answers of Random123."""
    ones = 0xFFFFFFFF
    for counter, key, wanted in (
            ([0] * 4, [0] * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
            ([ones] * 4, [ones] * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd")):
        got = " ".join("%08x" % int(w) for w in philox.philox4x32(counter, key))
        report("Philox4x32-10 of counter %x" % counter[0], got == wanted, got)


def check_mxfp4():
    """Vectors of 2.5."""
    for byte, scale, wanted in ((0x21, 127, [0.5, 1.0]), (0xF7, 127, [6, -6]),
                                (0x8A, 128, [-2, -0.0]), (0x5D, 126, [-1.5, 1.5])):
        packed = np.full((1, 16), byte, np.uint8)
        got = checkpoint.decode_mxfp4(packed, np.array([[scale]], np.uint8))[0, :2]
        expect("MXFP4 byte %02x scale %d" % (byte, scale), got, wanted, 0)


def check_residual_mix():
    """Values of 3.3."""
    model = small_model({"m_norm.weight": [1, 1, 1, 1], "m_proj.weight": [[.5, -.25, .125, 1]]},
                        eps=1e-5)
    got = model.mix([np.array([[1., 2, 3, 4]]), np.array([[4., -3, 2, -1]])], "m")
    expect("attention residual mix", got[0], [1.88749502, .520841631, 2.70416833, 2.52084163],
           1e-8)


def check_conv():
    """Values of 3.4, in one call and token by token."""
    model = small_model({"self_attn.q_conv1d.weight": [[[.1, .2, .3, .4]]]}, taps=4)
    x, wanted = np.arange(1.0, 6.0)[:, None], [.239475064, .825286116, 1.76159416, 2.85772238,
                                               3.92805516]
    expect("short convolution", model.short_conv(0, "q", x, {})[:, 0], wanted, 1e-8)
    state = {}
    steps = [model.short_conv(0, "q", x[t:t + 1], state)[0, 0] for t in range(5)]
    expect("short convolution, token by token", steps, wanted, 1e-8)


def check_decay():
    """Table of 3.5."""
    for rate, z, k3, linear in ((0, 0, -2.5, -0.693147181), (0, 2, -4.40398539, -2.12692801),
                                (1, 0.5, -3.97810019, -2.64781577),
                                (-1, -3, -1.24529402, -0.0178742877),
                                (2, -1, -0.00308798664, -2.31470818)):
        for bound, wanted in ((-5.0, k3), (None, linear)):
            model = small_model({"self_attn.A_log": [rate, 0.0]}, kda_heads=1,
                                decay_bound=bound)
            expect("decay A %g z %g bound %s" % (rate, z, bound),
                   model.decay(0, np.array([[[float(z)]]])), [[[wanted]]], 5e-9)


def check_recurrence():
    """Two steps of 3.5."""
    model, alpha, beta = small_model({}), np.array([[.5, .25]]), np.array([.5])
    s = np.zeros((1, 2, 2))
    s, o = model.recur(s, np.array([[.6, .8]]), np.array([[1., 0]]), np.array([[2., -1]]),
                       alpha, beta)
    expect("recurrence, state 1", s[0], [[1, -.5], [0, 0]], 1e-14)
    expect("recurrence, output 1", o[0], [.6, -.3], 1e-14)
    unit = np.array([[.6, .8]])
    s, o = model.recur(s, unit, unit, np.array([[1., 3]]), alpha, beta)
    expect("recurrence, state 2", s[0], [[.71, .695], [.28, 1.26]], 1e-14)
    expect("recurrence, output 2", o[0], [.65, 1.425], 1e-14)


def check_activation():
    """Table of 3.7."""
    situ = small_model({}, activation="situ", situ_gate=4.0, situ_up=25.0)
    swiglu = small_model({}, activation="silu")
    for g, u, first, second in ((1, 1, 0.715817828, 0.731058579),
                                (4, 10, 28.4162295, 39.2805516),
                                (10, -50, -95.1080215, -499.977301),
                                (-4, 2, -0.109352354, -0.14388968),
                                (-10, 30, -0.00373395452, -0.0136193606)):
        gate, up = np.array([float(g)]), np.array([float(u)])
        expect("SiTU(%g, %g)" % (g, u), situ.activate(gate, up), [first], 1e-9)
        expect("SwiGLU(%g, %g)" % (g, u), swiglu.activate(gate, up), [second], 1e-9)


def check_pieces():
    """ASCII split vectors of 6.2."""
    for text, wanted in (
            ("Hello, world!", "Hello|,| world|!"), ("HTTPServer", "HTTPServer"),
            ("don't DON'T", "don't| DON'T"), ("'tis 'Twas", "'tis| '|Twas"),
            ("The year 2024: 12345 items", "The| year| |202|4|:| |123|45| items"),
            ("a  b   c", "a| | b|  | c"),
            ("line1\r\n\r\n  line2", "line|1|\r\n\r\n| | line|2"),
            ("foo(bar);\n\n", "foo|(bar|);\n\n"), ("x=1/2;//c", "x|=|1|/|2|;//|c"),
            ("  \n \t x", "  \n| \t| x"), (" 123", " |123"), ("ABCdef", "ABCdef"),
            ("aBc", "a|Bc"), ("!!!\n\nA", "!!!\n\n|A"), ("tab\tx", "tab|\tx"),
            ("/path/to", "/path|/to"), ("A'Sb", "A'S|b"), ("_foo_bar", "_foo|_bar")):
        got = "|".join(rank_bpe.pieces(text))
        report("split %r" % text, got == wanted, repr(got))


def check_chat():
    """Segment counts of 7.4."""
    user = rank_bpe.chat([("user", "Hello.")], thinking=True)
    report("chat frame, one user turn", len(user) == 22 and [s[1] for s in user[:8]] == [
        "<|open|>", "message", " role", '="', "user", '"', "<|sep|>", "Hello."], str(user))
    both = rank_bpe.chat([("system", "You are terse."), ("user", "Hello.")])
    report("chat frame, system and user", len(both) == 34, str(len(both)))


def check_sizes(kind, files):
    """Published parameter and tensor counts of 8.1 (packed weights count as bytes * 2)."""
    wanted = {"t5": (979440, 320, 393216), "t13": (4419104, 916, 1769472)}.get(kind)
    if wanted is None:
        return
    packed = plain = 0
    for name in files.names():
        size = tiny_models.count(files.entry(name)["shape"])
        packed += 2 * size if name.endswith("_packed") else 0
        plain += 0 if name.endswith(("_packed", "_scale")) else size
    got = (packed + plain, len(files.names()), packed)
    report("%s has the published size" % kind, got == wanted, str(got))


class Watched(Model):
    """Collects how far activations and routing reach."""
    gate, up, changed, routed = 0.0, 0.0, 0, 0

    def activate(self, g, u):
        self.gate, self.up = max(self.gate, np.abs(g).max()), max(self.up, np.abs(u).max())
        return super().activate(g, u)

    def mixing_weights(self, s, biased, ids):
        plain = np.argsort(-s, axis=-1, kind="stable")[:, :self.settings.used]
        self.changed += np.sum(np.any(np.sort(plain) != np.sort(ids), axis=-1))
        self.routed += len(ids)
        return super().mixing_weights(s, biased, ids)


def check_model(kind, directory):
    """Incremental = full, rounding noise, recipe."""
    files = Checkpoint(directory)
    check_sizes(kind, files.files)
    words = philox.words(1, 1, 100)
    ids = [int(w) % files.settings.vocab for w in words[:, 0]]
    graph = Watched(files)
    full = graph.forward(ids, graph.new_state())
    spread = full.max() - full.min()
    state = graph.new_state()
    steps = np.concatenate([graph.forward([i], state) for i in ids])
    far = np.abs(steps - full).max() / spread
    report("%s: full recompute = incremental (%.1e)" % (kind, far), far < 1e-12, "")
    single = Model(Checkpoint(directory, np.float32))
    noise = np.abs(single.forward(ids, single.new_state()) - full).max() / spread
    report("%s: float32 noise %.1e of the range" % (kind, noise), noise < 5e-6, "")
    report("%s: |gate| reaches %.1f, |up| %.1f" % (kind, graph.gate, graph.up),
           graph.gate > 4 and (graph.up > 25 or graph.settings.activation == "silu"), "")
    share = graph.changed / graph.routed
    report("%s: the bias changes the choice of %d %% of tokens" % (kind, 100 * share),
           share > 0.3, "")


def main():
    """Run everything."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for check in (check_philox, check_mxfp4, check_residual_mix, check_conv, check_decay,
                  check_recurrence, check_activation, check_pieces, check_chat):
        check()
    expect("sigmoid and SiLU at -800", [sigmoid(np.array(-800.0)), silu(np.array(-800.0))],
           [0, 0], 0)
    for kind in tiny_models.KINDS:
        directory = os.path.join(sys.argv[1], kind)
        tiny_models.write(kind, directory)
        check_model(kind, directory)
    sys.exit("%d checks failed" % len(FAILURES) if FAILURES else 0)


if __name__ == "__main__":
    main()
