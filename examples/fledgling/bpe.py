"""Byte-level rank BPE for ASCII text: pre-tokenisation, training, encoding, files.

`split` is the released pattern restricted to ASCII, written as a scanner.
Merging picks the adjacent pair whose concatenation has the lowest rank, the
leftmost on ties, as every reader of a `tiktoken.model` does.
"""

import base64
import collections
import json
from typing import Dict, Iterable, List, Sequence

from corpus import Segment

# In id order, directly after the ranks; the gap keeps the released spacing.
SPECIAL_NAMES = ["[BOS]", "[EOS]", "<|end_of_msg|>", "<|open|>", "<|close|>", "<|sep|>",
                 "[start_header_id]", "[end_header_id]", None, "[EOT]", "<|media_begin|>",
                 "<|media_content|>", "<|media_end|>", "<|media_pad|>", "[UNK]", "[PAD]"]
SHOWN_NAMES = {"<|open|>", "<|close|>", "<|sep|>"}
CONTRACTIONS = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")
WHITESPACE = " \t\n\v\f\r"


def run_end(text: str, start: int, accept) -> int:
    while start < len(text) and accept(text[start]):
        start += 1
    return start


def is_upper(char: str) -> bool:
    return "A" <= char <= "Z"


def is_lower(char: str) -> bool:
    return "a" <= char <= "z"


def is_digit(char: str) -> bool:
    return "0" <= char <= "9"


def is_mark(char: str) -> bool:
    return not (is_upper(char) or is_lower(char) or is_digit(char) or char in WHITESPACE)


def word_end(text: str, start: int) -> int:
    """End of the word at `start`, or `start` if there is none."""
    end = run_end(text, run_end(text, start, is_upper), is_lower)
    if end > start:
        for suffix in CONTRACTIONS:
            if text[end:end + len(suffix)].lower() == suffix:
                return end + len(suffix)
    return end


def whitespace_end(text: str, start: int) -> int:
    end = run_end(text, start, lambda char: char in WHITESPACE)
    last_newline = max(text.rfind("\r", start, end), text.rfind("\n", start, end))
    if last_newline >= 0:
        return last_newline + 1
    return end - 1 if end < len(text) and end - start > 1 else end


def piece_end(text: str, start: int) -> int:
    first = text[start]
    is_prefix = first not in "\r\n" and not (is_upper(first) or is_lower(first) or is_digit(first))
    # In ASCII no letter is both upper and lower, so "upper* lower+" and "upper+ lower*" at one
    # position are one word; only the order of positions matters: prefixed first, then bare.
    for begin in ([start + 1] if is_prefix else []) + [start]:
        end = word_end(text, begin)
        if end > begin:
            return end
    if is_digit(first):
        return min(run_end(text, start, is_digit), start + 3)
    begin = start + 1 if first == " " else start
    end = run_end(text, begin, is_mark)
    if end > begin:
        return run_end(text, end, lambda char: char in "\r\n")
    return whitespace_end(text, start)


def split(text: str) -> List[str]:
    pieces, start = [], 0
    while start < len(text):
        end = piece_end(text, start)
        pieces.append(text[start:end])
        start = end
    return pieces


def merge_all(parts: Sequence[bytes], pair) -> List[bytes]:
    merged, i = [], 0
    while i < len(parts):
        if i + 1 < len(parts) and (parts[i], parts[i + 1]) == pair:
            merged.append(parts[i] + parts[i + 1])
            i += 2
        else:
            merged.append(parts[i])
            i += 1
    return merged


def train(texts: Iterable[str], n_ranks: int) -> List[bytes]:
    """The token of every rank: 256 bytes, then the most frequent pairs in turn."""
    counts = collections.Counter(piece for text in texts for piece in split(text))
    words = [([bytes([byte]) for byte in piece.encode()], count)
             for piece, count in sorted(counts.items())]
    tokens = [bytes([byte]) for byte in range(256)]
    known = set(tokens)
    while len(tokens) < n_ranks:
        pair_counts = collections.Counter()
        for parts, count in words:
            for pair in zip(parts, parts[1:]):
                pair_counts[pair] += count
        pair = max(pair_counts, key=lambda candidate: (pair_counts[candidate], candidate))
        words = [(merge_all(parts, pair) if pair[0] in parts else parts, count)
                 for parts, count in words]
        if pair[0] + pair[1] not in known:
            known.add(pair[0] + pair[1])
            tokens.append(pair[0] + pair[1])
    return tokens


class Tokenizer:
    def __init__(self, tokens: Sequence[bytes]):
        self.tokens = list(tokens)
        self.ranks: Dict[bytes, int] = {token: rank for rank, token in enumerate(tokens)}
        self.special_ids = {name: len(tokens) + i for i, name in enumerate(SPECIAL_NAMES) if name}
        self.vocab_size = len(tokens) + len(SPECIAL_NAMES)
        self.piece_cache: Dict[str, List[int]] = {}

    @classmethod
    def load(cls, path: str) -> "Tokenizer":
        with open(path, "rb") as file:
            lines = [line.split() for line in file]
        assert [int(rank) for _, rank in lines] == list(range(len(lines)))
        return cls([base64.b64decode(token) for token, _ in lines])

    def save(self, path: str) -> None:
        with open(path, "wb") as file:
            for rank, token in enumerate(self.tokens):
                file.write(base64.b64encode(token) + b" %d\n" % rank)

    def encode_piece(self, piece: str) -> List[int]:
        whole = piece.encode()
        if whole in self.ranks:
            return [self.ranks[whole]]
        parts = [bytes([byte]) for byte in whole]
        while len(parts) > 1:
            candidates = [(self.ranks[left + right], i)
                          for i, (left, right) in enumerate(zip(parts, parts[1:]))
                          if left + right in self.ranks]
            if not candidates:
                break
            _, i = min(candidates)
            parts[i:i + 2] = [parts[i] + parts[i + 1]]
        return [self.ranks[part] for part in parts]

    def encode(self, text: str) -> List[int]:
        """Ordinary text: the names of special tokens in it mean nothing."""
        ids: List[int] = []
        for piece in split(text):
            if piece not in self.piece_cache:
                self.piece_cache[piece] = self.encode_piece(piece)
            ids += self.piece_cache[piece]
        return ids

    def encode_segment(self, segment: Segment) -> List[int]:
        return [self.special_ids[segment.text]] if segment.is_control else self.encode(segment.text)

    def encode_segments(self, segments: Iterable[Segment]) -> List[int]:
        return [token for segment in segments for token in self.encode_segment(segment)]

    def decode(self, ids: Iterable[int]) -> str:
        names = {token: name for name, token in self.special_ids.items()}
        return b"".join(self.tokens[i] if i < len(self.tokens) else names.get(i, "").encode()
                        for i in ids).decode("utf-8", "replace")

    def save_config(self, path: str) -> None:
        """`tokenizer_config.json`: names and display flags of the special tokens."""
        names = {len(self.tokens) + i: name or f"<|reserved_token_{len(self.tokens) + i}|>"
                 for i, name in enumerate(SPECIAL_NAMES)}
        config = {
            "added_tokens_decoder": {
                str(token): {"content": name, "lstrip": False, "normalized": False,
                             "rstrip": False, "single_word": False,
                             "special": name not in SHOWN_NAMES}
                for token, name in names.items()},
            "bos_token": "[BOS]", "eos_token": "[EOS]", "pad_token": "[PAD]",
            "unk_token": "[UNK]", "clean_up_tokenization_spaces": False,
            "model_max_length": 1048576, "tokenizer_class": "TikTokenTokenizer",
        }
        with open(path, "w", encoding="ascii") as file:
            json.dump(config, file, indent=2)
            file.write("\n")
