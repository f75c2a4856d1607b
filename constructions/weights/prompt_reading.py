"""Reading a prompt: hardmax heads that fetch the subject and each relation by their positions.

A head that scores position t by -(target - t)², or by target-independent multiples of it, attends to its target alone,
with a gap of at least 1: 2·target·t - t² is linear in (t, t²). The direct k-hop constructions (T2, T2b, T2e) have one
head for the subject, at position 0, and one for each relation, at positions 1..k, all asked from the last position, k.

*No coordinates are spent on positions.* Relation tokens leave most of the d coordinates at zero, so W_pos writes the
position into two of these: place = t and height = -t² for t >= 1. At position 0 the subject's own entries stand there,
at most V in absolute value; height = -Z, Z = k² + 2(k+1)V + 1, puts its scores below every other: <= 2kV + V - Z < 0
against target² > 0 at the target (with one hop, where the head scores by height alone, V - Z < -1). The subject's head
scores by -height: at least Z - V > k². The query is a positive multiple of -height at position k, which is k² > 0
whatever the relation there. With one hop, place is not needed; with one relation there is nothing to read but the
subject. The -Z that the subject's head reads along is a constant and cancelled by b_in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from constructions.weights.parts import RelationCode, narrow


@dataclass(frozen=True)
class PromptReading:
    """Positions and scores of the heads of a direct k-hop model: head 0 reads the subject, head i reads relation r_i.

    `W_pos` [k + 1, d]; `W_Q`, `W_K` [heads, d, 2]; heads = k + 1, or 1 when there is one relation.
    """

    W_pos: NDArray[np.int64]
    W_Q: NDArray[np.int64]
    W_K: NDArray[np.int64]

    @property
    def heads(self) -> int:
        """The number of heads."""
        return len(self.W_Q)


def coordinates_needed(relations: int, hops: int, code_columns: int) -> int:
    """The least d for which `read_prompt` finds room: the relation code, place (if needed) and height."""
    return code_columns + (1 if relations > 1 and hops > 1 else 0) + 1


def read_prompt(relations: int, hops: int, dimension: int, code_columns: int, largest: int) -> PromptReading:
    """The heads, for subject entries up to `largest` and relation codes in the first `code_columns` coordinates."""
    place, height = dimension - 2, dimension - 1
    placed = relations > 1 and hops > 1
    W_pos = np.zeros((hops + 1, dimension), np.int64)
    W_pos[:, height] = -(np.arange(hops + 1) ** 2)
    W_pos[0, height] = -(hops**2 + 2 * (hops + 1) * largest + 1)
    heads = hops + 1 if relations > 1 else 1
    W_Q = np.zeros((heads, dimension, 2), np.int64)
    W_K = np.zeros((heads, dimension, 2), np.int64)
    # height is -k² at the last position: the query is k²·(0, -1) for the subject and k²·(2i, 1) for relation i.
    W_Q[0, height] = (0, 1)
    for hop in range(1, heads):
        W_Q[hop, height] = (-2 * hop if placed else 0, -1)
    W_K[:, height, 1] = 1
    if placed:
        W_pos[1:, place] = np.arange(1, hops + 1)
        W_K[:, place, 0] = 1
    return PromptReading(W_pos, narrow(W_Q), narrow(W_K))


def relation_rows(code: RelationCode, dimension: int) -> NDArray[np.int64]:
    """Embedding rows [R, d] with the relation code in the first coordinates."""
    rows = np.zeros((code.relations, dimension), np.int64)
    rows[:, : code.columns] = code.table
    return rows
