"""The safetensors container, read and written by hand (kimi-k3.md 2.1)."""
import json
import os
import struct

import numpy as np

ITEM_BYTES = {"BF16": 2, "F32": 4, "U8": 1}
INDEX_NAME = "model.safetensors.index.json"


def bf16_from_float(values):
    """Round float32 values to bfloat16 bit patterns, nearest even."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def bf16_to_float(bits):
    """bfloat16 bit patterns as float32 (exact)."""
    return (np.asarray(bits, np.uint16).astype(np.uint32) << 16).view(np.float32)


def shard_name(number, count):
    """File name of shard `number` (from 1) of `count`."""
    return "model-%05d-of-%06d.safetensors" % (number, count)


def header_bytes(tensors):
    """Length word and JSON header of (name, dtype, shape, data) tuples in file order."""
    entries, offset = [], 0
    for name, dtype, shape, data in tensors:
        entries.append('"%s":{"dtype":"%s","shape":[%s],"data_offsets":[%d,%d]}' % (
            name, dtype, ",".join(map(str, shape)), offset, offset + len(data)))
        offset += len(data)
    text = "{" + ",".join(entries) + "}"
    text += " " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text.encode("ascii")


def write_shard(path, tensors):
    """Write (name, dtype, shape, data) tuples back to back, in the given order."""
    with open(path, "wb") as out:
        out.write(header_bytes(tensors))
        for _, _, _, data in tensors:
            out.write(data)


def write_index(directory, shard_of):
    """Write the index: total payload bytes, then name -> shard in file order."""
    total = sum(size for _, _, size in shard_of)
    entries = ",\n".join('"%s":"%s"' % (name, shard) for name, shard, _ in shard_of)
    with open(os.path.join(directory, INDEX_NAME), "w") as out:
        out.write('{"metadata":{"total_size":%d},"weight_map":{\n%s\n}}\n' % (total, entries))


class Shard:
    """One safetensors file in memory."""

    def __init__(self, path):
        with open(path, "rb") as source:
            self.bytes = source.read()
        (length,) = struct.unpack_from("<Q", self.bytes)
        self.base = 8 + length
        self.entries = json.loads(self.bytes[8:self.base])
        self.entries.pop("__metadata__", None)
        for name, entry in self.entries.items():
            self.check(name, entry)

    def check(self, name, entry):
        """Every extent is inside the file and as long as its shape says."""
        begin, end = entry["data_offsets"]
        size = ITEM_BYTES[entry["dtype"]] * int(np.prod(entry["shape"], dtype=np.int64))
        if not (0 <= begin <= end <= len(self.bytes) - self.base and end - begin == size):
            raise ValueError("%s: bad extent" % name)

    def raw(self, name):
        """The stored bytes of a tensor."""
        begin, end = self.entries[name]["data_offsets"]
        return self.bytes[self.base + begin:self.base + end]

    def array(self, name):
        """A tensor in its own element type; BF16 is widened to float32."""
        entry = self.entries[name]
        raw, shape = self.raw(name), entry["shape"]
        if entry["dtype"] == "BF16":
            return bf16_to_float(np.frombuffer(raw, "<u2")).reshape(shape)
        return np.frombuffer(raw, {"F32": "<f4", "U8": "u1"}[entry["dtype"]]).reshape(shape)


class Directory:
    """All shards named by the index of a model directory, looked up by tensor name."""

    def __init__(self, directory):
        with open(os.path.join(directory, INDEX_NAME)) as source:
            shard_of = json.load(source)["weight_map"]
        shards = {file: Shard(os.path.join(directory, file))
                  for file in sorted(set(shard_of.values()))}
        self.shard = {name: shards[file] for name, file in shard_of.items()}

    def __contains__(self, name):
        return name in self.shard

    def names(self):
        """All tensor names in index order."""
        return list(self.shard)

    def entry(self, name):
        """Header entry (dtype, shape, data_offsets) of a tensor."""
        return self.shard[name].entries[name]

    def raw(self, name):
        """Stored bytes of a tensor."""
        return self.shard[name].raw(name)

    def array(self, name):
        """Tensor values, BF16 widened to float32."""
        return self.shard[name].array(name)
