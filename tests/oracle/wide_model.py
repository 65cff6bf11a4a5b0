"""The graph at the released widths on two layers whose weights are made when they are read.

    python3 wide_model.py record GOLDEN         the reduced golden
    python3 wide_model.py compare LOGITS        every logit that `wide_test --dump` wrote

wide_config.json and wide_model.txt say what the model is.  No matrix is ever whole in memory,
and only the experts that are chosen are made.
"""
import json
import os
import sys
import zlib

import numpy as np

import checkpoint
import model
import philox

SEED = 73
IDS = [5, 90001, 163839]
ROWS_AT_ONCE_VALUES = 1 << 22
EXPERTS = 896
TOLERANCE = 2e-5            # of the range between the largest and the smallest logit

HERE = os.path.dirname(os.path.abspath(__file__))


def words(name, first_block, n_blocks):
    """(n_blocks, 4) little-endian words of a tensor from a block on."""
    index = np.arange(first_block, first_block + n_blocks, dtype=np.uint64)
    fixed = np.zeros(n_blocks, np.uint64)
    stream = fixed + np.uint64(zlib.crc32(name.encode()))
    return np.stack(philox.philox4x32([index, stream, fixed, fixed], [SEED, 0]), axis=1)


def round_to(dtype, values):
    """Doubles as the file would hold them."""
    single = values.astype(np.float32)
    if dtype == "F32":
        return single.astype(np.float64)
    bits = single.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return (rounded << np.uint32(16)).view(np.float32).astype(np.float64)


class Recipe:
    """One line of wide_model.txt."""

    def __init__(self, fields):
        self.dtype, self.shape = fields[0], [int(n) for n in fields[1].split("x")]
        self.base, self.step = float(fields[2]), float(fields[3])
        draws = 2.0 * np.arange(65536, dtype=np.float64) - 65535.0
        self.table = None if self.dtype == "U8" else round_to(
            self.dtype, self.base + draws * self.step)

    def values(self, name, first, count):
        """Elements first .. first + count - 1 of the tensor `name`."""
        size = 16 if self.dtype == "U8" else 8
        block, skip = first // size, first % size
        raw = words(name, block, (skip + count + size - 1) // size)
        if self.dtype == "U8":
            drawn = raw.view(np.uint8).reshape(-1)[skip:skip + count]
            return drawn if self.step == 1 else (self.base + drawn % self.step).astype(np.uint8)
        return self.table[raw.view(np.uint16).reshape(-1)[skip:skip + count]]


class Rows:
    """A matrix that is made a few rows at a time; knows what the graph does with one."""
    __array_ufunc__ = None

    def __init__(self, weights, name):
        self.weights, self.name = weights, name
        self.n_rows, self.n_columns = weights.matrix_shape(name)

    @property
    def T(self):
        """Only ever the right side of a product."""
        return self

    def __getitem__(self, ids):
        return np.concatenate([self.weights.rows(self.name, int(i), 1) for i in ids])

    def __rmatmul__(self, x):
        at_once = max(1, ROWS_AT_ONCE_VALUES // self.n_columns)
        parts = [x @ self.weights.rows(self.name, first, min(at_once, self.n_rows - first)).T
                 for first in range(0, self.n_rows, at_once)]
        return np.concatenate(parts, axis=-1)


class Weights:
    """What model.Model asks of a checkpoint."""
    prefix = "language_model."

    def __init__(self):
        with open(os.path.join(HERE, "wide_config.json")) as source:
            self.settings = checkpoint.Settings(json.load(source))
        self.recipes = {}
        with open(os.path.join(HERE, "wide_model.txt")) as source:
            for line in source:
                if not line.startswith("#"):
                    fields = line.split()
                    self.recipes[fields[1]] = Recipe(fields[2:])

    def recipe(self, name):
        """By full name; None when there is no such tensor."""
        parts = name.split(".experts.")
        if len(parts) == 2:
            number, rest = parts[1].split(".", 1)
            name = "%s.experts.*.%s" % (parts[0], rest) if int(number) < EXPERTS else name
        return self.recipes.get(name)

    def matrix_shape(self, name):
        """Rows and columns of values."""
        plain = self.recipe(name)
        if plain is not None:
            return plain.shape
        packed = self.recipe(name + "_packed")
        return [packed.shape[0], 2 * packed.shape[1]]

    def part(self, name, first, n_rows):
        """Rows of a stored tensor."""
        recipe = self.recipe(name)
        width = recipe.shape[1]
        return recipe.values(name, first * width, n_rows * width).reshape(n_rows, width)

    def rows(self, name, first, n_rows):
        """Rows as values, packed ones decoded."""
        if self.recipe(name) is not None:
            return self.part(name, first, n_rows)
        return checkpoint.decode_mxfp4(self.part(name + "_packed", first, n_rows),
                                       self.part(name + "_scale", first, n_rows))

    def get(self, name):
        """A vector, or a matrix that is not there yet."""
        name = self.prefix + name
        recipe = self.recipe(name)
        if recipe is None or (len(recipe.shape) == 2 and recipe.shape[0] > 1):
            return Rows(self, name)
        total = int(np.prod(recipe.shape))
        return recipe.values(name, 0, total).reshape(recipe.shape)

    def layer(self, layer, name):
        """A tensor of one layer."""
        return self.get("model.layers.%d.%s" % (layer, name))


class Wide(model.Model):
    """Keeps what the golden needs besides logits."""

    def route(self, layer, x):
        """The choice of every row."""
        self.chosen = super().route(layer, x)
        return self.chosen

    def mla_latent(self, layer, x):
        """What the engine keeps of a position."""
        self.latent = super().mla_latent(layer, x)
        return self.latent


def run():
    """The model after its run, the state, and the logits of all positions."""
    wide = Wide(Weights())
    state = wide.new_state()
    return wide, state, wide.forward(IDS, state)


def numbers(values):
    """JSON of an array, nine digits."""
    return json.dumps([float("%.9g" % v) for v in np.asarray(values).reshape(-1)])


def sampled(values, stride):
    """{first, stride, values}: every stride-th of a flat array, and where that begins."""
    return '{"stride": %d, "values": %s}' % (
        stride, numbers(np.asarray(values).reshape(-1)[::stride]))


def record(path):
    """A few hundred values of every kind."""
    wide, state, logits = run()
    print("smallest router margin %.3g" % wide.router_margin.min())
    experts, weights = wide.chosen
    fields = [
        ("ids", json.dumps(IDS)),
        ("logit_range", "%.9g" % (logits.max() - logits.min())),
        ("argmax", json.dumps([int(i) for i in logits.argmax(axis=-1)])),
        ("experts", json.dumps(experts.tolist()).replace(" ", "")),
        ("expert_weights", numbers(weights)),
        ("logits", sampled(logits, 1021)),
        ("recurrent", sampled(state.layer[0]["s"], 9973)),
        ("latent", sampled(np.concatenate(wide.latent, axis=-1), 11))]
    with open(path, "w") as out:
        out.write("{" + ",\n".join('"%s": %s' % field for field in fields) + "}\n")


def compare(path):
    """Every logit of the engine's dump, little-endian F32."""
    logits = run()[2]
    ours = np.fromfile(path, "<f4").astype(np.float64).reshape(logits.shape)
    worst = np.abs(ours - logits).max() / (logits.max() - logits.min())
    same = np.array_equal(ours.argmax(axis=-1), logits.argmax(axis=-1))
    print("largest difference %.3g of the range, %d logits" % (worst, logits.size))
    return 0 if worst < TOLERANCE and same else 1


def main():
    """Command line."""
    if len(sys.argv) != 3 or sys.argv[1] not in ("record", "compare"):
        sys.exit(__doc__)
    if sys.argv[1] == "compare":
        sys.exit(compare(sys.argv[2]))
    record(sys.argv[2])


if __name__ == "__main__":
    main()
