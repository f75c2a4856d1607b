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

from constructions.exact import Product, magnitude
from theory import Task, Transformer

Integers = NDArray[Any]

LARGEST = 5 * 10**7
# Sums of absolute values that are certain to be below 2^62 although float64 rounds them; differences fit 64 bits too.
LARGEST_SCORE = 2.0**60
LEAK_BITS = 80


class Refused(Exception):
    """The certificate does not accept; the message says why. Not an error: the model may still be right."""


@dataclass(frozen=True)
class Reading:
    """`source[step, head]` is the position read (shape [steps, heads]), or -1 for the mean of the prompt; `leak` >=
    0.
    """

    source: NDArray[np.int64]
    leak: Fraction


def certify_reading(transformer: Transformer, task: Task) -> Reading:
    """The positions that each head of a single block reads in each step, for every prompt; Refused when they may
    vary.
    """
    heads = transformer.blocks[0].heads
    if transformer.attention == "uniform":
        return Reading(np.full((task.steps, heads), -1), Fraction(0))
    sources, leak = np.empty((task.steps, heads), np.int64), Fraction(0)
    for head in range(heads):
        sources[:, head], gaps = _read_by_head(transformer, task, head)
        if transformer.attention == "softmax":
            leak = max(leak, _leak(gaps, transformer.beta or 0.0))
    return Reading(sources, leak)


def _read_by_head(transformer: Transformer, task: Task, head: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The position read in each step, shape [steps], and the least gap of each rank over all steps (LARGEST_INT
    pads).
    """
    block, entities, hops = transformer.blocks[0], transformer.entities, task.hops
    query, key = _projection(block.W_Q[head]), _projection(block.W_K[head])
    key_positions = key(transformer.W_pos[: task.positions])
    entity_keys = np.unique(key(transformer.W_E[:entities]), axis=0)
    relation_keys = np.unique(key(transformer.W_E[entities:]), axis=0)
    sources = np.empty(task.steps, np.int64)
    smallest_gaps = np.full(task.positions, np.iinfo(np.int64).max)
    tokens = {first: np.unique(query(rows), axis=0) for first, rows in _askers(transformer)}
    for step in range(task.steps):
        last = hops + step
        asked = tokens[step == 0] + query(transformer.W_pos[last : last + 1])
        if len(asked) * max(len(entity_keys), last) > LARGEST:
            raise Refused(f"head {head} of the attention depends on the tokens in too many ways")
        _require_small_scores(asked, entity_keys, relation_keys, key_positions)
        low, high = np.zeros((2, len(asked), last + 1), np.int64)
        is_relation = (np.arange(last + 1) >= 1) & (np.arange(last + 1) <= hops)
        for kind, rows in ((False, entity_keys), (True, relation_keys)):
            scores = asked @ rows.T
            low[:, is_relation == kind] = scores.min(axis=1)[:, None]
            high[:, is_relation == kind] = scores.max(axis=1)[:, None]
        fixed = asked @ key_positions[: last + 1].T
        sources[step], gaps = _winner(low + fixed, high + fixed, head, step)
        smallest_gaps[:last] = np.minimum(smallest_gaps[:last], gaps)
    return sources, smallest_gaps


def _askers(transformer: Transformer) -> list[tuple[bool, Integers]]:
    """Who stands at the last position: a relation in the first step, an emitted entity later."""
    return [(True, transformer.W_E[transformer.entities :]), (False, transformer.W_E[: transformer.entities])]


def _winner(low: NDArray[np.int64], high: NDArray[np.int64], head: int, step: int) -> tuple[int, NDArray[np.int64]]:
    """The position whose least score exceeds every other's largest, for every query row, and the sorted least gaps."""
    winner = int(low[0].argmax())
    others = np.delete(high, winner, axis=1)
    gaps = low[:, winner, None] - others
    if gaps.size and gaps.min() <= 0:
        raise Refused(f"head {head} does not read the same position for every prompt in step {step + 1}")
    return winner, np.sort(gaps, axis=1).min(axis=0) if gaps.size else np.zeros(0, np.int64)


def _projection(weights: Integers) -> Callable[[Integers], NDArray[np.int64]]:
    """rows [n, d] -> rows·W [n, d_query] as int64; Refused when they do not fit."""
    product = Product(weights)

    def project(rows: Integers) -> NDArray[np.int64]:
        """The rows [n, d] times the weights, shape [n, d_query]; Refused when an entry reaches 2^60 in magnitude."""
        values = product(np.ascontiguousarray(rows.T)).T
        if magnitude(values.T).max(initial=0) >= LARGEST_SCORE:
            raise Refused("attention scores are too large to be certified in 64-bit integers")
        return values.astype(np.int64)

    return project


def _require_small_scores(asked: NDArray[np.int64], *keys: NDArray[np.int64]) -> None:
    """Refused unless each query's score of a token at a position, added up in any order, stays below 2^60."""
    tokens, positions = np.max([magnitude(rows.T) for rows in keys[:-1]], axis=0), magnitude(keys[-1].T)
    if magnitude(asked.T) @ (tokens + positions) >= LARGEST_SCORE:
        raise Refused("attention scores are too large to be certified in 64-bit integers")


def _leak(gaps: NDArray[np.int64], beta: float) -> Fraction:
    """An upper bound of Σ exp(-β·gap) over the gaps that occur, as a fraction."""
    total = flint.arb(0)
    for gap in gaps[gaps < np.iinfo(np.int64).max].tolist():
        total += (-flint.arb(beta) * gap).exp()
    numerator = (total.upper() * 2**LEAK_BITS).upper().ceil().unique_fmpz()
    if numerator is None or numerator > 2**LEAK_BITS:
        raise Refused("softmax may leak all of its weight at this inverse temperature")
    return Fraction(int(numerator), 2**LEAK_BITS)
