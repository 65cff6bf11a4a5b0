#!/usr/bin/env python3
"""A second reader of snapshot segments, written from docs/formats/snapshot.md alone.

    read_segment.py FILE...

Prints for each file what it is, field by field and record by record, in the same words as
tests/snapshot/describe_segments.c, which asks the program's own reader. Standard library only.
"""
import hashlib
import os
import struct
import sys
import zlib

MAGIC = b"NJSEG\x1a\r\n"
VERSION = 1
FILE_HEADER = struct.Struct("<8sII16sQ32sIIIfQQQ32s32sII")
RECORD_HEADER = struct.Struct("<IIQQQIIIIII")
LIMIT = 1 << 20
NAMES = {1: "SNAP_BEGIN", 2: "TOKENS", 3: "KV", 4: "RECURRENT", 5: "SAMPLER",
         6: "OUTPUT_MARK", 7: "SNAP_COMMIT"}
SNAP_BEGIN, TOKENS, KV, RECURRENT, SAMPLER, OUTPUT_MARK, SNAP_COMMIT, SEG_END = range(1, 9)


class Broken(Exception):
    """What does not verify."""


class Record:
    """One record at a place, judged by itself: header checksum, lengths, payload, padding."""

    def __init__(self, data, offset):
        head = data[offset:offset + RECORD_HEADER.size]
        if len(head) < RECORD_HEADER.size:
            raise Broken("record header cut off")
        (self.type, self.flags, n_payload, self.n_raw, self.sequence, self.salt, self.chain,
         self.layer, self.first, self.count, header_crc) = RECORD_HEADER.unpack(head)
        if zlib.crc32(head[:-4]) != header_crc:
            raise Broken("record header checksum")
        if n_payload > LIMIT or self.n_raw > LIMIT or self.flags > 1:
            raise Broken("record lengths")
        if (n_payload >= self.n_raw) if self.flags else (n_payload != self.n_raw):
            raise Broken("record lengths")
        begin = offset + RECORD_HEADER.size
        self.end = (begin + n_payload + 4 + 7) // 8 * 8
        if self.end > len(data):
            raise Broken("record cut off")
        self.payload = data[begin:begin + n_payload]
        crc_bytes = data[begin + n_payload:begin + n_payload + 4]
        if zlib.crc32(self.payload) != struct.unpack("<I", crc_bytes)[0]:
            raise Broken("payload checksum")
        if any(data[begin + n_payload + 4:self.end]):
            raise Broken("padding")
        self.link = head[-4:] + crc_bytes
        self.is_packed = self.flags == 1

    def raw(self):
        """The payload unpacked: planes joined to values again."""
        if not self.is_packed:
            return self.payload
        stream = zlib.decompressobj()
        planes = stream.decompress(self.payload, self.n_raw + 1)
        if len(planes) != self.n_raw or not stream.eof or stream.unused_data:
            raise Broken("packed payload")
        n = self.n_raw // 4
        values = bytearray(self.n_raw)
        for place in range(4):
            values[place::4] = planes[place * n:(place + 1) * n]
        return bytes(values)


class Shape:
    """SNAP_BEGIN, and whether the records that follow fill it without a gap."""

    def __init__(self, payload):
        if len(payload) < 24:
            raise Broken("shape")
        (self.positions, self.first, n_layers, self.position_values,
         self.layer_values) = struct.unpack("<IIIIQ", payload[:24])
        self.layers = payload[24:]
        if len(self.layers) != n_layers or any(kind > 1 for kind in self.layers):
            raise Broken("shape")
        self.expected = []
        for layer, kind in enumerate(self.layers):
            begin, end = (self.first, self.positions) if kind else (0, self.layer_values)
            self.expected.append([KV if kind else RECURRENT, layer, begin, end])
        self.n_tokens = 0
        self.closing = [SAMPLER, OUTPUT_MARK, SNAP_COMMIT]

    def take(self, record):
        while self.expected and self.expected[0][2] == self.expected[0][3]:
            self.expected.pop(0)
        if record.type in (KV, RECURRENT):
            if not self.expected:
                raise Broken("a layer too many")
            kind, layer, place, end = self.expected[0]
            unit = self.position_values if kind == KV else 1
            if ([record.type, record.layer, record.first] != [kind, layer, place]
                    or not 0 < record.count <= end - place
                    or record.n_raw != 4 * record.count * unit):
                raise Broken("layers do not join")
            self.expected[0][2] += record.count
        elif self.expected or record.is_packed:
            raise Broken("a layer is missing")
        elif record.type == TOKENS:
            if (record.first != self.n_tokens or record.n_raw != 4 * record.count
                    or record.count == 0 or len(self.closing) < 3):
                raise Broken("ids do not join")
            self.n_tokens += record.count
        elif not self.closing or record.type != self.closing.pop(0):
            raise Broken("records out of order")
        elif self.n_tokens < max(self.positions, 1):
            raise Broken("ids are missing")


def has_later_record(data, offset, salt, sequence):
    """Whether a whole record of this segment stands behind the break."""
    for place in range(offset, len(data) - RECORD_HEADER.size + 1, 8):
        try:
            record = Record(data, place)
        except Broken:
            continue
        if record.salt == salt and record.sequence >= sequence:
            return True
    return False


def check_commit(payload, n_records, n_bytes, links):
    if len(payload) != 56:
        raise Broken("commit length")
    first, last, committed_bytes, digest = struct.unpack("<QQQ32s", payload)
    if ((first, last, committed_bytes) != (0, n_records - 1, n_bytes)
            or hashlib.sha256(links).digest() != digest):
        raise Broken("commit")
    return digest


def describe_tail(data, offset, salt, sequence, chain):
    """Behind the commit: the end mark or nothing, then only zeros."""
    try:
        end = Record(data, offset)
        if [end.type, end.salt, end.sequence, end.chain] == [SEG_END, salt, sequence, chain]:
            offset = end.end
    except Broken:
        pass
    return "followed by other bytes" if any(data[offset:]) else "whole"


def describe_records(data, salt, chain, out):
    """Reads records up to the commit; gives the verdict."""
    offset = FILE_HEADER.size
    sequence = 0
    links = b""
    shape = None
    joins = "joined"
    while True:
        try:
            record = Record(data, offset)
            wanted_types = [SNAP_BEGIN] if sequence == 0 else range(TOKENS, SNAP_COMMIT + 1)
            if (record.salt, record.sequence, record.chain) != (salt, sequence, chain):
                raise Broken("does not follow")
            if record.type not in wanted_types:
                raise Broken("type")
            if record.type == SNAP_COMMIT:
                digest = check_commit(record.payload, sequence, offset - FILE_HEADER.size, links)
        except Broken:
            return "damaged" if has_later_record(data, offset, salt, sequence) else "torn"
        try:
            if record.type == SNAP_BEGIN:
                shape = Shape(record.payload)
            elif joins == "joined":
                shape.take(record)
        except Broken:
            joins = "not joined"
        out.append("record %s %d %d %d %s %d %s" % (
            NAMES[record.type], record.layer, record.first, record.count,
            "packed" if record.is_packed else "raw", record.n_raw,
            hashlib.sha256(record.raw()).hexdigest()))
        links += record.link
        chain = zlib.crc32(record.link)
        offset = record.end
        sequence += 1
        if record.type == SNAP_COMMIT:
            out.append("commit %s chain %08x %s" % (digest.hex(), chain, joins))
            return describe_tail(data, offset, salt, sequence, chain)


def describe(data):
    out = []
    if not any(data):
        return ["empty"]
    if len(data) < FILE_HEADER.size:
        return ["without a header"]
    head = data[:FILE_HEADER.size]
    (magic, version, mark, job, item_index, item, sample, numerics, kv_type, epsilon, number,
     previous, salt, weights, template, previous_chain, crc) = FILE_HEADER.unpack(head)
    if magic != MAGIC or mark != 0x0A0B0C0D or zlib.crc32(head[:-4]) != crc:
        return ["without a header"]
    if version != VERSION:
        return ["of another format version", "version %d" % version]
    epsilon_bits = struct.unpack("<I", struct.pack("<f", epsilon))[0]
    out.append("job %s item %d %s sample %d" % (job.hex(), item_index, item.hex(), sample))
    out.append("numerics %d kv %d epsilon %08x" % (numerics, kv_type, epsilon_bits))
    out.append("weights %s template %s" % (weights.hex(), template.hex()))
    out.append("number %d previous %d %08x salt %016x" % (number, previous, previous_chain, salt))
    verdict = describe_records(data, salt & 0xFFFFFFFF, crc, out)
    return [verdict] + out


def main():
    for path in sys.argv[1:]:
        with open(path, "rb") as file:
            data = file.read()
        print("file " + os.path.basename(path))
        print("\n".join(describe(data)))


main()
