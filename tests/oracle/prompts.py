"""Token ids of real questions for record.py, and text -> ids pairs for tokenizer tests.

    python3 prompts.py MODEL_DIR PROMPTS.json TOKENS.json

Reads tiktoken.model, tokenizer_config.json and questions.csv (columns question, answer) from
MODEL_DIR.  A plain prompt is the question and a line end; a chat prompt is the XTML frame of
kimi-k3.md 7, encoded segment by segment.
"""
import csv
import json
import os
import sys

import rank_bpe

GREEDY_CANDIDATES = 80      # paths that meet a near-tie are replaced by the next one
TEXTS = (
    "Hello, world!", "HTTPServer", "don't DON'T", "'tis 'Twas",
    "The year 2024: 12345 items", "a  b   c", "line1\r\n\r\n  line2", "foo(bar);\n\n",
    "x=1/2;//c", "  \n \t x", " 123", "ABCdef", "aBc", "!!!\n\nA", "tab\tx", "/path/to",
    "A'Sb", "_foo_bar", "The capital of France is", "", " ", "\n", "<|open|>message<|sep|>",
    "[EOS] and [BOS] are text here", "I'll we've they're it's he'd I'm can't")
CHATS = (
    ((("user", "Hello."),), True), ((("user", "Hello."),), False),
    ((("system", "You are terse."), ("user", "Hello.")), True),
    ((("system", "You are terse."), ("user", "Hello.")), False),
    ((("user", "What does <|open|>message<|sep|> mean?"),), False),
    ((("user", ""),), False))


def questions(directory):
    """Rows of questions.csv, spread over the whole file."""
    with open(os.path.join(directory, "questions.csv"), newline="") as source:
        rows = [r for r in csv.DictReader(source) if (r["question"] + r["answer"]).isascii()]
    step = 617                      # no divisor of a likely row count: visits all relations
    return [rows[i * step % len(rows)] for i in range(min(len(rows), 200))]


def plain(tokenizer, text):
    """A prompt of ordinary text."""
    return {"text": text, "ids": tokenizer.encode(text)}


def chat(tokenizer, turns, thinking):
    """A prompt in the chat frame; `text` is for people only."""
    segments = rank_bpe.chat(turns, thinking)
    return {"text": "".join(text for _, text in segments), "ids": tokenizer.frame(segments)}


def greedy_prompts(tokenizer, rows):
    """Plain and chat prompts in turn."""
    out = []
    for number, row in enumerate(rows[:GREEDY_CANDIDATES]):
        if number % 2 == 0:
            out.append(plain(tokenizer, row["question"] + "\n"))
        else:
            out.append(chat(tokenizer, [("user", row["question"])], False))
    return out


def sequences(tokenizer, rows):
    """Questions with answers: four plain, three framed, one long."""
    both = [row["question"] + "\n" + row["answer"] for row in rows]
    out = [plain(tokenizer, text) for text in both[:4]]
    for row, thinking in zip(rows[4:7], (False, True, False)):
        out.append(chat(tokenizer, [("user", row["question"])], thinking))
    return out + [plain(tokenizer, "\n".join(both[7:19]))]


def token_pairs(tokenizer, rows):
    """What a tokenizer must answer."""
    texts = list(TEXTS) + [row["question"] + "\n" for row in rows[:20]]
    frames = list(CHATS) + [((("user", row["question"]),), False) for row in rows[:4]]
    return {"texts": [plain(tokenizer, text) for text in texts],
            "chats": [{"turns": [{"role": r, "content": c} for r, c in turns],
                       "thinking": thinking, "ids": chat(tokenizer, turns, thinking)["ids"]}
                      for turns, thinking in frames],
            "special": tokenizer.special}


def lines(value, depth=2):
    """JSON with one entry of the outer levels a line."""
    if depth and isinstance(value, dict):
        return "{" + ",\n".join("%s: %s" % (json.dumps(k), lines(v, depth - 1))
                                for k, v in value.items()) + "}"
    if depth and isinstance(value, list):
        return "[\n" + ",\n".join(lines(v, depth - 1) for v in value) + "]"
    return json.dumps(value)


def main():
    """Command line."""
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    directory, prompts, tokens = sys.argv[1:]
    tokenizer, rows = rank_bpe.Tokenizer(directory), questions(directory)
    for path, value in ((prompts, {"sequences": sequences(tokenizer, rows),
                                   "greedy": greedy_prompts(tokenizer, rows)}),
                        (tokens, token_pairs(tokenizer, rows))):
        with open(path, "w") as out:
            out.write(lines(value) + "\n")


if __name__ == "__main__":
    main()
