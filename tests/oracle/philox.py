"""Philox4x32-10, the counter-based generator of Salmon et al. (2011), vectorised.

A value of a tiny model depends on (seed, tensor name, element index) only, so a C
program and this one produce the same weights without sharing a random stream.
"""
import numpy as np

ROUNDS = 10
MULTIPLIER = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
WEYL = (0x9E3779B9, 0xBB67AE85)
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def philox4x32(counter, key):
    """Four uint32 arrays for four counter words (arrays or ints) and two key words."""
    c = [np.asarray(word, np.uint64) for word in counter]
    k = [int(key[0]), int(key[1])]
    for _ in range(ROUNDS):
        first, second = MULTIPLIER[0] * c[0], MULTIPLIER[1] * c[2]
        c = [(second >> HALF) ^ c[1] ^ np.uint64(k[0]), second & LOW,
             (first >> HALF) ^ c[3] ^ np.uint64(k[1]), first & LOW]
        k = [(k[0] + WEYL[0]) & 0xFFFFFFFF, (k[1] + WEYL[1]) & 0xFFFFFFFF]
    return [word.astype(np.uint32) for word in c]


def words(seed, stream, count):
    """(count, 4) uint32: the outputs of counters (0..count-1, stream, 0, 0)."""
    index = np.arange(count, dtype=np.uint64)
    fixed = np.zeros(count, np.uint64)
    return np.stack(philox4x32([index, fixed + np.uint64(stream), fixed, fixed],
                               [seed, 0]), axis=1)
