"""Trains the fledgling model and exports it.

Every choice follows from --seed and the step number, none from the clock.
Matrices are trained with Muon, the rest with AdamW.  After the first stage the
experts are rounded to MXFP4 in the forward pass (straight-through), so that the
exported 4-bit values are those that were trained.

Two single-threaded processes share the parameters.  In each step both compute
the gradient of half a batch, then each updates the layers it owns with the mean
of the two gradients.  The result does not depend on how they are scheduled.

    python3 train.py --out .
"""

import os

# Before torch loads its BLAS: the two processes are the parallelism.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import math
import multiprocessing
import time
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

import torch
import torch.nn.functional as F

import bpe
import corpus
import export
from model import Config, Model, init

N_RANKS = 2
ROWS, LENGTH = 7, 160  # of one rank
POOL_DOCUMENTS = 96
VOCABULARY_DOCUMENTS = 20000
WARMUP_STEPS = 40
FINAL_LR_SHARE = 0.02
CLIP_NORM = 1.0
WEIGHT_DECAY = 0.05
MUON_LR, MUON_MOMENTUM, NEWTON_SCHULZ_STEPS = 0.02, 0.95, 5
ADAM_LR, ADAM_BETAS, ADAM_EPS = 3e-3, (0.9, 0.97), 1e-8
ROUTER_BIAS_STEP = 2e-3
REPORT_EVERY, SCORE_EVERY = 20, 100
SCORE_STRIDE = 4

Encoded = Tuple[List[int], List[float]]  # token ids, loss weight of each


class Stage(NamedTuple):
    """Optimisers start afresh in each stage, and so does the stream of documents."""

    steps: int
    cosine_steps: int  # the cosine falls over these; a stage may end before it does
    peak: float        # share of the full learning rate after warm-up
    quantises: bool


STAGES = (Stage(steps=1000, cosine_steps=2400, peak=1.0, quantises=False),
          Stage(steps=200, cosine_steps=700, peak=0.65, quantises=True),
          Stage(steps=320, cosine_steps=320, peak=0.5, quantises=True))


class Batch(NamedTuple):
    tokens: torch.Tensor     # [rows, length]
    targets: torch.Tensor
    weights: torch.Tensor    # of the target; 0 where there is none
    documents: torch.Tensor  # the document of each token; padding has its own


# Data

def encode(tokenizer: bpe.Tokenizer, document: Iterable[corpus.Segment]) -> Encoded:
    ids, weights = [], []
    for segment in document:
        part = tokenizer.encode_segment(segment)
        ids += part
        weights += [segment.weight] * len(part)
    return ids, weights


def pack_row(pool: List[Encoded], length: int) -> List[Encoded]:
    """Take documents from the pool, oldest first, each that still fits."""
    taken, used, rest = [], 0, []
    for document in pool:
        if used + len(document[0]) - 1 <= length:
            taken.append(document)
            used += len(document[0]) - 1
        else:
            rest.append(document)
    pool[:] = rest
    return taken


def batch_of(rows: Sequence[Sequence[Encoded]], length: int, pad: int) -> Batch:
    tokens = torch.full((len(rows), length), pad)
    targets = torch.full((len(rows), length), pad)
    weights = torch.zeros(len(rows), length)
    documents = torch.full((len(rows), length), -2)
    for row, packed in enumerate(rows):
        at = 0
        for number, (ids, token_weights) in enumerate(packed):
            end = at + len(ids) - 1
            tokens[row, at:end] = torch.tensor(ids[:-1])
            targets[row, at:end] = torch.tensor(ids[1:])
            weights[row, at:end] = torch.tensor(token_weights[1:])
            documents[row, at:end] = number
            at = end
    return Batch(tokens, targets, weights, documents)


class Batches:
    def __init__(self, tokenizer: bpe.Tokenizer, seed: int):
        self.tokenizer = tokenizer
        self.sampler = corpus.Sampler(seed)
        self.pool: List[Encoded] = []

    def next(self) -> Batch:
        rows = []
        for _ in range(ROWS):
            while len(self.pool) < POOL_DOCUMENTS:
                document = encode(self.tokenizer, self.sampler.document())
                if len(document[0]) <= LENGTH + 1:
                    self.pool.append(document)
            rows.append(pack_row(self.pool, LENGTH))
        return batch_of(rows, LENGTH, self.tokenizer.special_ids["[PAD]"])


def train_tokenizer(vocab: int, seed: int) -> bpe.Tokenizer:
    sampler = corpus.Sampler(seed)
    texts = [segment.text for _ in range(VOCABULARY_DOCUMENTS)
             for segment in sampler.document() if not segment.is_control]
    return bpe.Tokenizer(bpe.train(texts, vocab - len(bpe.SPECIAL_NAMES)))


# Optimisers

def is_muon(name: str, value: torch.Tensor) -> bool:
    """Matrices that map between hidden spaces; not embeddings, router, convolutions or mixes."""
    other = ("embed_tokens.weight", "lm_head.weight", "moe.gate.weight", "conv1d.weight",
             "res_proj.weight")
    return value.dim() >= 2 and not name.endswith(other)


def orthogonalise(matrices: torch.Tensor) -> torch.Tensor:
    """Newton-Schulz towards the nearest orthogonal matrix, batched; rows <= columns."""
    x = matrices / (matrices.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(NEWTON_SCHULZ_STEPS):
        gram = x @ x.transpose(-1, -2)
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    return x


class Muon:
    """One momentum buffer and one batched orthogonalisation for each shape of matrix."""

    def __init__(self, parameters: Sequence[torch.Tensor]):
        self.groups: Dict[Tuple[int, int], List[torch.Tensor]] = {}
        for value in parameters:
            shape = tuple(sorted(value.shape[-2:]))
            self.groups.setdefault(shape, []).append(value)
        self.momentum = {shape: torch.zeros_like(self.gather(values))
                         for shape, values in self.groups.items()}

    @staticmethod
    def is_tall(value: torch.Tensor) -> bool:
        return value.shape[-2] > value.shape[-1]

    def gather(self, values: Sequence[torch.Tensor]) -> torch.Tensor:
        return torch.cat([(value.transpose(-1, -2) if self.is_tall(value) else value)
                          .reshape(-1, *sorted(value.shape[-2:])) for value in values])

    def step(self, lr: float) -> None:
        for shape, values in self.groups.items():
            grad = self.gather([value.grad for value in values])
            momentum = self.momentum[shape].mul_(MUON_MOMENTUM).add_(grad)
            update = orthogonalise(grad.add_(momentum, alpha=MUON_MOMENTUM))
            scale = -lr * 0.2 * math.sqrt(shape[1])
            at = 0
            for value in values:
                n_matrices = value.numel() // (shape[0] * shape[1])
                part = update[at:at + n_matrices]
                part = part.transpose(-1, -2) if self.is_tall(value) else part
                value.mul_(1 - lr * WEIGHT_DECAY).add_(part.reshape(value.shape), alpha=scale)
                at += n_matrices


class Optimiser:
    """Updates the parameters it is given from their `.grad`."""

    def __init__(self, parameters: Dict[str, torch.Tensor]):
        self.muon = Muon([value for name, value in parameters.items() if is_muon(name, value)])
        rest = [value for name, value in parameters.items() if not is_muon(name, value)]
        self.adam = torch.optim.AdamW([
            {"params": [value for value in rest if value.dim() >= 2], "weight_decay": WEIGHT_DECAY},
            {"params": [value for value in rest if value.dim() < 2], "weight_decay": 0.0},
        ], lr=ADAM_LR, betas=ADAM_BETAS, eps=ADAM_EPS)

    @torch.no_grad()
    def step(self, lr_share: float) -> None:
        self.muon.step(MUON_LR * lr_share)
        for group in self.adam.param_groups:
            group["lr"] = ADAM_LR * lr_share
        self.adam.step()


def lr_share(step: int, steps: int) -> float:
    if step < WARMUP_STEPS:
        return (step + 1) / WARMUP_STEPS
    progress = (step - WARMUP_STEPS) / max(1, steps - WARMUP_STEPS)
    return FINAL_LR_SHARE + (1 - FINAL_LR_SHARE) * 0.5 * (1 + math.cos(math.pi * progress))


# Loss and score

def logits_where(model: Model, batch: Batch, chosen: torch.Tensor) -> torch.Tensor:
    hidden = model.forward(batch.tokens, batch.documents).flatten(0, 1)
    return hidden.index_select(0, chosen) @ model.p["lm_head.weight"].t()


def losses(model: Model, batch: Batch) -> Tuple[torch.Tensor, float]:
    """The weighted mean loss, and the mean over answer tokens alone."""
    weights = batch.weights.flatten()
    chosen = weights.nonzero().flatten()
    weights = weights[chosen]
    each = F.cross_entropy(logits_where(model, batch, chosen), batch.targets.flatten()[chosen],
                           reduction="none")
    is_answer = weights == corpus.ANSWER_WEIGHT
    return (each * weights).sum() / weights.sum(), float(each.detach()[is_answer].mean())


def question_documents(tokenizer: bpe.Tokenizer, is_chat: bool, stride: int) -> List[Encoded]:
    """Unseen phrasings; only the answer and the token that ends it carry weight."""
    documents = []
    for _, question, answer in list(corpus.held_out_questions())[::stride]:
        prompt = (corpus.chat_prompt(question) if is_chat
                  else [corpus.text(question + "\n", 0.0)])
        end = corpus.control("<|close|>" if is_chat else "[EOS]", 1.0)
        documents.append(encode(tokenizer, [*prompt, corpus.text(answer, 1.0), end]))
    return documents


@torch.no_grad()
def score(model: Model, tokenizer: bpe.Tokenizer, is_chat: bool, stride: int) -> float:
    """The share of questions whose every answer token is the most likely one."""
    pool, rows = question_documents(tokenizer, is_chat, stride), []
    n_questions = len(pool)
    while pool:
        rows.append(pack_row(pool, LENGTH))
    n_right = 0
    for first in range(0, len(rows), ROWS):
        batch = batch_of(rows[first:first + ROWS], LENGTH, tokenizer.special_ids["[PAD]"])
        chosen = torch.arange(batch.tokens.numel())
        guesses = logits_where(model, batch, chosen).argmax(-1).view_as(batch.targets)
        is_wrong = (guesses != batch.targets) & (batch.weights > 0)
        for row, packed in enumerate(rows[first:first + ROWS]):
            wrong = set(batch.documents[row][is_wrong[row]].tolist())
            n_right += len(packed) - len(wrong)
    return n_right / n_questions


# Two ranks

def layer_of(name: str) -> int:
    parts = name.split(".")
    return int(parts[2]) if parts[1] == "layers" else 0


class Exchange:
    """Gradients and expert loads of all ranks in shared memory, and the meeting point."""

    def __init__(self, parameters: Dict[str, torch.Tensor], config: Config):
        for value in parameters.values():
            value.share_memory_()
        self.trained = {name: value for name, value in parameters.items() if value.requires_grad}
        total = sum(value.numel() for value in self.trained.values())
        self.gradients = torch.zeros(N_RANKS, total).share_memory_()
        self.loads = torch.zeros(N_RANKS, config.n_layers, config.n_experts).share_memory_()
        self.barrier = multiprocessing.get_context("fork").Barrier(N_RANKS)

    def publish(self, rank: int, model: Model) -> None:
        """Hand over this rank's gradients and loads, and wait for the others'."""
        flat = [torch.zeros(value.numel()) if value.grad is None else value.grad.flatten()
                for value in self.trained.values()]
        torch.cat(flat, out=self.gradients[rank])
        for layer, loads in model.loads.items():
            self.loads[rank, layer] = loads.float()
        self.barrier.wait()

    def collect(self) -> None:
        """Set every `.grad` to the clipped mean over the ranks."""
        mean = self.gradients.mean(0)
        mean.mul_(min(1.0, CLIP_NORM / (float(mean.norm()) + 1e-6)))
        pieces = mean.split([value.numel() for value in self.trained.values()])
        for value, piece in zip(self.trained.values(), pieces):
            value.grad = piece.view_as(value)


class Trainer:
    """One rank.  It owns, and alone updates, every N_RANKS-th layer."""

    def __init__(self, rank: int, stage: Stage, seed: int, checkpoint: Optional[str],
                 model: Model, tokenizer: bpe.Tokenizer, exchange: Exchange):
        self.rank, self.stage, self.checkpoint = rank, stage, checkpoint
        self.model, self.tokenizer, self.exchange = model, tokenizer, exchange
        self.batches = Batches(tokenizer, seed * 1000 + rank)
        self.optimiser = Optimiser({name: value for name, value in exchange.trained.items()
                                    if self.owns(layer_of(name))})

    def owns(self, layer: int) -> bool:
        return layer % N_RANKS == self.rank

    @torch.no_grad()
    def balance_routers(self, share_left: float) -> None:
        """Move the correction bias of each expert against its load in this step."""
        for layer in filter(self.owns, self.model.loads):
            base = f"model.layers.{layer}.block_sparse_moe."
            loads = self.exchange.loads[:, layer].sum(0)
            self.model.p[base + "gate.e_score_correction_bias"].add_(
                torch.sign(loads.mean() - loads), alpha=ROUTER_BIAS_STEP * share_left)

    def step(self, step: int) -> Tuple[float, float]:
        steps, peak = self.stage.cosine_steps, self.stage.peak
        loss, answer_loss = losses(self.model, self.batches.next())
        loss.backward()
        self.exchange.publish(self.rank, self.model)
        self.exchange.collect()
        self.optimiser.step(peak * lr_share(step, steps))
        self.balance_routers(peak * (1 - step / steps))
        for value in self.exchange.trained.values():
            value.grad = None
        self.exchange.barrier.wait()
        return float(loss), answer_loss

    def report_score(self, stride: int) -> None:
        """Rank 0 scores the plain questions, rank 1 those in the chat format."""
        is_chat = self.rank == 1
        right = score(self.model, self.tokenizer, is_chat, stride)
        print(f"  unseen phrasings, 1 in {stride}, {'chat' if is_chat else 'plain'}: {right:.4f}",
              flush=True)

    def run(self) -> None:
        torch.set_num_threads(1)
        torch.set_flush_denormal(True)
        self.model.quantises = self.stage.quantises
        began = time.monotonic()
        for step in range(self.stage.steps):
            loss, answer_loss = self.step(step)
            if self.rank == 0 and step % REPORT_EVERY == 0:
                print(f"{time.monotonic() - began:7.1f} s  step {step:5d}  loss {loss:.4f}  "
                      f"answers {answer_loss:.4f}", flush=True)
            if step % SCORE_EVERY == SCORE_EVERY - 1:
                self.report_score(SCORE_STRIDE)
                if self.rank == 0 and self.checkpoint:
                    save(self.checkpoint, self.model.p, self.tokenizer)
        self.report_score(1)
        if self.rank == 0:
            print(f"{time.monotonic() - began:7.1f} s  stage of {self.stage.steps} steps done",
                  flush=True)


def save(path: str, parameters: Dict[str, torch.Tensor], tokenizer: bpe.Tokenizer) -> None:
    torch.save({"parameters": {name: value.detach() for name, value in parameters.items()},
                "tokens": tokenizer.tokens}, path)


def run_stage(*arguments) -> None:
    """Rank 0 is this process."""
    trainers = [Trainer(rank, *arguments) for rank in range(N_RANKS)]
    others = [multiprocessing.get_context("fork").Process(target=trainer.run)
              for trainer in trainers[1:]]
    for process in others:
        process.start()
    trainers[0].run()
    for process in others:
        process.join()


def train(options: argparse.Namespace) -> None:
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    config = Config()
    tokenizer = train_tokenizer(config.vocab, options.seed)
    model = Model(config, init(config))
    exchange = Exchange(model.p, config)
    steps_left = options.steps
    for number, stage in enumerate(STAGES):
        stage = stage._replace(steps=min(stage.steps, steps_left))
        steps_left -= stage.steps
        if stage.steps:
            run_stage(stage, options.seed + number, options.checkpoint,
                      model, tokenizer, exchange)
    if options.checkpoint:
        save(options.checkpoint, model.p, tokenizer)
    export.export(model.p, config, tokenizer, options.out)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the fledgling model and export it.")
    parser.add_argument("--steps", type=int, default=sum(stage.steps for stage in STAGES),
                        help="end after that many steps, for a trial")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", required=True, help="directory for the exported model")
    parser.add_argument("--checkpoint", help="also save the float masters to this file")
    train(parser.parse_args())


if __name__ == "__main__":
    main()
