"""Certificate, part 1: which positions the heads read, for every prompt at once.

Scores are bilinear: a query row (last position and its token) against a key row (position t and its token). For each
query row that occurs, the score of position t lies between the least and the largest over the tokens that can stand
there: the subject or an emitted entity, or a relation. If the least score of one position exceeds the largest of every
other, in every case, the head reads that position whatever the prompt says. Intervals are conservative: a head may be
refused, never wrongly accepted.

Softmax at inverse temperature β reads the same position up to a *leak*: 1 less its weight is at most Σ_t exp(-β·gap_t),
with gap_t the least difference of scores; the sum is enclosed by ball arithmetic and rounded up to a fraction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from constructions.verification.exact import Product
from constructions.verification.integers import (
    absolute,
    add,
    alike,
    column_numbers,
    column_sums,
    numerators,
    scaled,
    transposed,
    whole,
)
from theory import Block, Task, Transformer

Integers = NDArray[Any]

# Scores computed for one step, and products of Python's integers for one stage: each takes seconds.
MOST_SCORES = 5 * 10**7
MOST_PYTHON_PRODUCTS = 2**25
LEAK_BITS = 80
NO_NOISE = Fraction(0)


class Refused(Exception):
    """The certificate does not accept; the message says why. Not an error: the model may still be right."""


def require_affordable(kind: Any, products: int, what: str) -> None:
    """Refused when so many products would have to be taken in Python's integers."""
    if np.dtype(kind) == object and products > MOST_PYTHON_PRODUCTS:
        raise Refused(
            f"{what} needs {products} products of integers beyond 64 bits; at most {MOST_PYTHON_PRODUCTS} are taken"
        )


@dataclass(frozen=True)
class Embedding:
    """The rows of W_E and W_pos as integers over one `scale`, a column each: subjects [d, N] (the table itself, seen by
    columns), relations [d, R], positions [d, positions].
    """

    subjects: Integers
    relations: Integers
    positions: Integers
    scale: int

    @classmethod
    def of(cls, transformer: Transformer) -> Embedding:
        """The embedding of a transformer."""
        (tokens, places), scale = numerators(transformer.W_E, transformer.W_pos)
        entities = transformer.entities
        return cls(tokens[:entities].T, transposed(tokens[entities:]), transposed(places), scale)


@dataclass(frozen=True)
class Reading:
    """`source[step][head]` is the position read, or -1 for the mean of the prompt; `leak` >= 0."""

    source: list[list[int]]
    leak: Fraction


def certify_reading(
    transformer: Transformer, block: Block, embedding: Embedding, task: Task, noise: Fraction = NO_NOISE
) -> Reading:
    """The positions that each head of a block reads in each step, for every prompt, when the stream is the embedding,
    and every coordinate of the subject's row may be off by `noise` (in one pass, and not for softmax); Refused when
    they may vary.
    """
    if transformer.attention == "uniform":
        return Reading([[-1] * block.heads for _ in range(task.steps)], Fraction(0))
    sources, leak = [], Fraction(0)
    for head in range(block.heads):
        query, key = Product(block.W_Q[head]), Product(block.W_K[head])
        source, gaps = _read_by_head(query, key, embedding, task, head, noise * embedding.scale)
        sources.append(source)
        if transformer.attention == "softmax":
            leak = max(leak, _leak(gaps, transformer.beta or 0.0, embedding.scale**2 * query.scale * key.scale))
    return Reading([[source[step] for source in sources] for step in range(task.steps)], leak)


def _read_by_head(
    query: Product, key: Product, embedding: Embedding, task: Task, head: int, noise: Fraction
) -> tuple[list[int], Integers]:
    """The position read in each step, and the least gap of each rank over all steps, as scores over scale²·(scales);
    `noise` is that of the numerators of the subject's row.
    """
    hops, subjects, relations = task.hops, embedding.subjects, embedding.relations
    require_affordable(key.kind(subjects), key.multiplications * subjects.shape[1], "the keys of the attention")
    require_affordable(query.kind(subjects), query.multiplications * subjects.shape[1], "the queries of the attention")
    by_position = Product(key(embedding.positions[:, : task.positions]))
    by_entity, by_relation = (Product(_distinct(key(columns))) for columns in (subjects, relations))
    # Who stands at the last position: a relation in the first step, an emitted entity later.
    tokens = [_distinct(query(relations)), _distinct(query(subjects))]
    places = query(embedding.positions)
    sources: list[int] = []
    least: Integers = np.zeros(0, np.int64)
    for step in range(task.steps):
        last = hops + step
        asked = add(tokens[min(step, 1)], places[:, last : last + 1])
        if asked.shape[1] * max(by_entity.outputs, last) > MOST_SCORES:
            raise Refused(f"head {head} of the attention depends on the tokens in too many ways")
        for product in (by_entity, by_relation, by_position):
            require_affordable(product.kind(asked), product.multiplications * asked.shape[1], "the attention")
        is_relation = (np.arange(last + 1) >= 1) & (np.arange(last + 1) <= hops)
        fixed = by_position(asked)[: last + 1]
        scores = by_entity(asked), by_relation(asked)
        low, high = (add(_over_tokens(extreme, *scores, is_relation), fixed) for extreme in (np.min, np.max))
        if noise:
            moved = np.zeros(low.shape, object)
            moved[0] = scaled(column_sums(absolute(Product(key.weights.T)(asked))), noise.numerator)
            low, high = (scaled(scores, noise.denominator) for scores in (low, high))
            low, high = add(low, scaled(moved, -1)), add(high, moved)
        winner, gaps = _winner(low, high, head, step)
        sources.append(winner)
        # Each step has one position more than the one before it.
        known = np.minimum(*alike(least, gaps[: len(least)]))
        least = np.concatenate(alike(known, gaps[len(least) :]))
    return sources, least


def _over_tokens(
    extreme: Callable[..., Integers], by_entity: Integers, by_relation: Integers, is_relation: NDArray[np.bool_]
) -> Integers:
    """The least or largest score of the tokens that can stand at each position, shape [positions, queries]."""
    entity, relation = alike(extreme(by_entity, axis=0), extreme(by_relation, axis=0))
    return np.where(is_relation[:, None], relation, entity)


def _distinct(columns: Integers) -> Integers:
    """The columns that differ, once each."""
    return columns[:, np.unique(column_numbers(columns), return_index=True)[1]]


def _winner(low: Integers, high: Integers, head: int, step: int) -> tuple[int, Integers]:
    """The position whose least score exceeds every other's largest, for every query, and the sorted least gaps.

    Shapes: low, high [positions, queries]; there are two positions at least, the subject's and a relation's.
    """
    winner: int = low[:, 0].argmax().tolist()
    gaps = add(low[winner][None], scaled(np.delete(high, winner, axis=0), -1))
    if gaps.min() <= 0:
        raise Refused(f"head {head} does not read the same position for every prompt in step {step + 1}")
    return winner, np.sort(gaps, axis=0).min(axis=1)


def _leak(gaps: Integers, beta: float, scale: int) -> Fraction:
    """An upper bound of Σ exp(-β·gap/scale) over the gaps, as a fraction."""
    total = flint.arb(0)
    for gap in gaps.tolist():
        total = total + (-flint.arb(beta) * whole(gap) / scale).exp()
    numerator = (total.upper() * 2**LEAK_BITS).upper().ceil().unique_fmpz()
    if numerator is None or numerator > 2**LEAK_BITS:
        raise Refused("softmax may leak all of its weight at this inverse temperature")
    return Fraction(whole(numerator), 2**LEAK_BITS)
