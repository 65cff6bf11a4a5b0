"""Rank BPE over a tiktoken.model file, and the XTML chat frame, for recording (6, 7).

The pre-tokeniser is the scanner of kimi-k3.md 6.2 for ASCII; text outside ASCII is refused,
so that nothing is recorded that this file does not understand.
"""
import base64
import json
import os

CONTRACTIONS = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")


def is_space(c):
    """White_Space among ASCII."""
    return c in " \t\n\v\f\r"


def run_end(text, start, accept):
    """First index from `start` whose character is not accepted."""
    while start < len(text) and accept(text[start]):
        start += 1
    return start


def contraction_end(text, end):
    """Include a contraction that follows directly."""
    for c in CONTRACTIONS:
        if text[end:end + len(c)].lower() == c:
            return end + len(c)
    return end


def word_end(text, start):
    """A2 or A3 at `start`: upper letters, then lower letters; None if neither matches."""
    upper = run_end(text, start, lambda c: c.isalpha() and c.isupper())
    lower = run_end(text, upper, lambda c: c.isalpha() and c.islower())
    return contraction_end(text, lower) if lower > start else None


def lower_word_end(text, start):
    """A2 alone: at least one lower letter."""
    upper = run_end(text, start, lambda c: c.isalpha() and c.isupper())
    lower = run_end(text, upper, lambda c: c.isalpha() and c.islower())
    return contraction_end(text, lower) if lower > upper else None


def letters_end(text, start):
    """Step 2 of the scanner: A2 then A3, each first behind one leading character."""
    lead = not (text[start] in "\r\n" or text[start].isalnum())
    for match in (lower_word_end, word_end):
        for begin in ([start + 1] if lead else []) + [start]:
            end = match(text, begin)
            if end is not None:
                return end
    return None


def punctuation_end(text, start):
    """Step 4: optional space, symbols, then line ends."""
    begin = start + 1 if text[start] == " " else start
    end = run_end(text, begin, lambda c: not is_space(c) and not c.isalnum())
    return run_end(text, end, lambda c: c in "\r\n") if end > begin else None


def space_end(text, start):
    """Step 5: whitespace."""
    end = run_end(text, start, is_space)
    newline = max(text.rfind("\n", start, end), text.rfind("\r", start, end))
    if newline >= 0:
        return newline + 1
    return end if end == len(text) or end - start == 1 else end - 1


def pieces(text):
    """Pre-tokens of ASCII text (6.2)."""
    if not text.isascii():
        raise ValueError("only ASCII text can be split here")
    start = 0
    while start < len(text):
        end = letters_end(text, start)
        if end is None and text[start].isdigit():
            end = min(run_end(text, start, str.isdigit), start + 3)
        if end is None:
            end = punctuation_end(text, start)
        if end is None:
            end = space_end(text, start)
        yield text[start:end]
        start = end


class Tokenizer:
    """Ranks of tiktoken.model plus the named special tokens."""

    def __init__(self, directory):
        self.rank = {}
        with open(os.path.join(directory, "tiktoken.model"), "rb") as source:
            for line in source.read().splitlines():
                if line:
                    token, rank = line.split()
                    self.rank[base64.b64decode(token)] = int(rank)
        with open(os.path.join(directory, "tokenizer_config.json")) as source:
            added = json.load(source)["added_tokens_decoder"]
        self.special = {entry["content"]: int(number) for number, entry in added.items()}

    def merge(self, data):
        """Ids of one pre-token: merge the pair of lowest rank, leftmost first (6.1)."""
        if data in self.rank:
            return [self.rank[data]]
        parts = [data[i:i + 1] for i in range(len(data))]
        while len(parts) > 1:
            ranks = [self.rank.get(a + b, len(self.rank)) for a, b in zip(parts, parts[1:])]
            best = min(range(len(ranks)), key=ranks.__getitem__)
            if ranks[best] == len(self.rank):
                break
            parts[best:best + 2] = [parts[best] + parts[best + 1]]
        return [self.rank[part] for part in parts]

    def encode(self, text):
        """Ids of plain text, specials disabled."""
        return [i for piece in pieces(text) for i in self.merge(piece.encode("ascii"))]

    def frame(self, segments):
        """Ids of (is_control, text) segments, each encoded on its own (7.1)."""
        ids = []
        for is_control, text in segments:
            ids += [self.special[text]] if is_control else self.encode(text)
        return ids


OPEN, CLOSE, SEP, END = "<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>"


def escape(value):
    """Attribute value: & and double quote only (7.1)."""
    return value.replace("&", "&amp;").replace('"', "&quot;")


def open_tag(tag, *attributes):
    """Segments of an opening tag."""
    out = [(True, OPEN), (False, tag)]
    for key, value in attributes:
        out += [(False, " " + key), (False, '="'), (False, escape(value)), (False, '"')]
    return [s for s in out if s[1]] + [(True, SEP)]


def close_tag(tag):
    """Segments of a closing tag."""
    return [(True, CLOSE), (False, tag), (True, SEP)]


def message(role, content):
    """A system or user turn (7.2)."""
    body = [(False, content)] if content else []
    return open_tag("message", ("role", role)) + body + close_tag("message") + [(True, END)]


def generation(thinking):
    """The start of the assistant's turn."""
    return open_tag("message", ("role", "assistant")) + open_tag(
        "think" if thinking else "response")


def chat(turns, thinking=False):
    """Segments of a conversation of (role, content) turns and the generation prompt."""
    out = [segment for role, content in turns for segment in message(role, content)]
    return out + generation(thinking)
