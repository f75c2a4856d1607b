"""How much work each kind of check is, from the sizes alone; see `theory.records.work` for what is done with it.

The nanoseconds of a step are of one core, measured once for each kind; they are right to a factor of a few.
"""

from __future__ import annotations

from dataclasses import dataclass

from constructions.verification.exact import products
from theory import Task, Transformer
from theory.records.work import Work

LOGIT, PASS, UNIT = 3, 200, 2  # of a margin; of a prompt; of a hidden unit or a coordinate on a prompt
MULTIPLICATIONS = 3  # in a nanosecond, in BLAS
BOX = 10**6  # of a query whose row is perturbed
ENCLOSED, RATIONAL = 20_000, 300  # of an enclosed logit; of a product of fractions and balls on the way to it
WORD, STEP, ROW = 2 * 10**6, 10**7, 50  # of the certificate: a word, a step of a chain, a coordinate of an entity
RANK = 200  # of the elimination of T7
SYSTEM = 2 * 10**6  # of a small system that is built and checked

# Bytes of an entry of a table [entities, d] or of dense weights [width, d], at the peak.
BUILT, CERTIFIED, LISTED = 9, 9, 18
BATCH = 400  # bytes of an answer or a unit while some queries are run at once


@dataclass(frozen=True)
class Extent:
    """What a model and its task come to: N, answers, queries N·R^k, words of a step, steps, the longest prompt, d,
    width, the coordinates that the read-out reads, and whether a unit reads every coordinate (a memory) or few."""

    entities: int
    answers: int
    queries: int
    words: int
    steps: int
    positions: int
    dimension: int
    width: int
    read: int
    dense: bool

    @property
    def logits(self) -> int:
        """How many logits the check of every query computes."""
        return self.queries * self.steps * self.answers

    def memory(self, entry: int) -> int:
        """Bytes, for so many an entry of the large tables."""
        tables = (self.entities + self.answers + (2 * self.width if self.dense else 0)) * self.dimension
        return entry * tables


def running(transformer: Transformer, task: Task, queries: int, at_once: int) -> Work:
    """Every query of a model, whoever made it, on all logits: exactly, so many `at_once`, or enclosed for softmax."""
    passes, logits = queries * task.steps, queries * task.steps * transformer.answers
    if transformer.attention == "softmax":
        return Work(ENCLOSED * logits + RATIONAL * products(transformer, task.positions, passes, 0))
    batches = -(-queries // at_once) * task.steps
    multiplications = products(transformer, task.positions, passes, batches) + logits * transformer.dimension
    return Work(LOGIT * logits + multiplications // MULTIPLICATIONS)


def building(extent: Extent) -> Work:
    """The weights."""
    memory = extent.memory(BUILT)
    return Work(memory, memory)


def listing(extent: Extent, queries: int | None = None) -> Work:
    """Every query, or so many of them, on all logits, exactly."""
    passes = (extent.queries if queries is None else queries) * extent.steps
    units = extent.width * (extent.dimension + extent.read) if extent.dense else 0
    multiplications = passes * (extent.answers * extent.read + units)
    numbers = LOGIT * extent.answers + UNIT * (extent.width + extent.positions * extent.dimension)
    time = passes * (PASS + numbers) + multiplications // MULTIPLICATIONS
    return Work(time, extent.memory(LISTED) + BATCH * (extent.answers + extent.width))


def enclosing(extent: Extent) -> Work:
    """Every query on all logits, by intervals."""
    return Work(ENCLOSED * extent.logits, extent.memory(LISTED))


def certifying(extent: Extent) -> Work:
    """All queries from the weights, word by word; a memory's units differ from entity to entity."""
    mixed = extent.entities * (extent.dimension + extent.read) if extent.dense else 0
    word = WORD + 10 * extent.width + extent.entities * (ROW * extent.read + mixed)
    return Work(extent.words * word + extent.steps * STEP, extent.memory(CERTIFIED))


def perturbing(extent: Extent) -> Work:
    """The worst perturbation of the row of every query."""
    query = (extent.answers + extent.dimension) * (extent.width + extent.dimension)
    return Work(extent.queries * (BOX + query // MULTIPLICATIONS), extent.memory(LISTED))


def fitting(extent: Extent, unknowns: int) -> Work:
    """T7: ranks of the subject rows beside `unknowns` columns of codes, and a least-squares fit."""
    low, high = sorted((extent.entities, unknowns + extent.dimension))
    return Work(RANK * low * low * high, 64 * low * high + extent.memory(BUILT))


def enumerating(systems: int) -> Work:
    """So many small systems, every query of each."""
    return Work(SYSTEM * systems)
