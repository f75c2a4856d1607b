"""Gated blocks: a subject's row as blocks c(g_u(x)), one a word u, of which the prompt's relations open one.

*Gate.* A word of `skipped` empty slots, then the relations of u, is expected in the slots that the heads read. The
squared mismatches (z - z')² of the slots, linear in the relation codes (`parts.RelationCode`), add up to 0 on the block
of the word asked and to at least 1 on every other, and W_O writes -penalty times that sum on the block, so that it is
closed there.

*Fixed read-out*: the entries are digits 0..2^b - 1, the penalty 2^b, and ReLU(digit - penalty·mismatch) is the digit or
0.

*Learned read-out, meet in the middle* (T2e). After u come the relations of a suffix v, number J = 0..V-1 among the V =
R^suffix of them. A sign c ∈ {-1,+1} of the block arrives at s = c + 3J - 3V·mismatch: s <= -2 on closed blocks, s = 3J
± 1 on the open one. For each j the *window* w_j(s) = -ReLU(s - 3j + 2) + 2·ReLU(s - 3j + 1) - 2·ReLU(s - 3j - 1) +
ReLU(s - 3j - 2) is c at s = 3j + c and 0 at every other value that occurs: 0 for s <= 3j - 2 and for s >= 3j + 2.
Neighbouring windows share their kinks 3j - 2 and 3j - 1: two hidden units for each block entry and suffix, and w_J
moves the block of u to the place of v, 0 elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from constructions.weights.parts import Integers, RelationCode, code_bits, code_digits, digits, signs
from theory import FactSystem, all_words
from theory.definitions.fact_system import Words


@dataclass(frozen=True)
class BlockFamily:
    """Blocks for words of `prefix` hops, each followed by a suffix of `suffix` hops, after `skipped` empty slots.

    All R^prefix words and R^suffix suffixes, unless only words that end in a relation below `ends_below` are taken, or
    only suffixes that begin with relation `begins_at` or a later one. (Other suffixes then have negative numbers J, for
    which every window is 0.)
    """

    relations: int
    prefix: int
    suffix: int = 0
    skipped: int = 0
    ends_below: int | None = None
    begins_at: int = 0

    @property
    def words(self) -> Words:
        """The words that have a block, one a row."""
        words = all_words(self.relations, self.prefix)
        return words if self.ends_below is None else words[words[:, -1] < self.ends_below]

    @property
    def suffixes(self) -> Words:
        """The suffixes that have a place, one a row, in the order of their numbers."""
        words = all_words(self.relations, self.suffix)
        return words[words[:, 0] >= self.begins_at] if self.begins_at else words

    @property
    def blocks(self) -> int:
        """The number of blocks in a subject's row, R^prefix for all words."""
        return len(self.words)

    @property
    def places(self) -> int:
        """V, the number of places that the MLP can move a block to, R^suffix for all suffixes."""
        return len(self.suffixes)

    def digit_rows(self, system: FactSystem, bits: int) -> Integers:
        """The subjects' blocks as base-2^b digits, shape [N, blocks·q]."""
        ends = system.follow_all(self.words).T
        return digits(ends, code_digits(system.entities, bits), bits).reshape(system.entities, -1)

    def sign_rows(self, system: FactSystem) -> Integers:
        """The subjects' blocks c(g_u(x)) as signs, shape [N, blocks·p]."""
        ends = system.follow_all(self.words).T
        return signs(ends, code_bits(system.entities)).reshape(system.entities, -1)

    def answer_rows(self, system: FactSystem) -> Integers:
        """The answers' blocks c(g_v⁻¹(a)) as signs, shape [N, places·p]. InputError for maps that have no inverse."""
        if self.suffix:
            system.require_bijections("a read-out that holds the last hops (T2e)")
        starts = np.argsort(system.follow_all(self.suffixes), axis=1).T
        return signs(starts, code_bits(system.entities)).reshape(system.entities, -1)

    def gates(self, code: RelationCode, size: int, penalty: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """What each slot's code adds to the blocks: coefficients [slots, c, blocks·size], and the constant
        [blocks·size].

        `size` is the number of entries of a block. The sum over the slots, plus the constant, is
        -penalty·mismatch + 3·(number of the suffix); slots = skipped + prefix + suffix.
        """
        words = self.words
        expected = np.concatenate([np.zeros((len(words), self.skipped), np.int64), code.first + words], axis=1)
        slots = self.skipped + self.prefix + self.suffix
        coefficients = np.zeros((slots, code.columns, self.blocks), np.int64)
        constant = np.zeros(self.blocks, np.int64)
        for slot in range(self.skipped + self.prefix):
            linear, offset = code.mismatch(expected[:, slot])
            coefficients[slot] = -penalty * linear
            constant -= penalty * offset
        for place in range(self.suffix if code.columns else 0):
            weight = 3 * self.relations ** (self.suffix - 1 - place)
            coefficients[self.skipped + self.prefix + place, 0] += weight
            constant -= weight * (code.first + (self.begins_at if place == 0 else 0))
        return np.repeat(coefficients, size, axis=2), np.repeat(constant, size)

    def windows(self, size: int) -> tuple[Integers, NDArray[np.int64], Integers]:
        """W_in [blocks·size, m], b_in [m] and W_out [m, places·size] of the windows; m = 2·blocks·places·size."""
        entries, places = self.blocks * size, self.places
        W_in = np.repeat(np.eye(entries, dtype=np.int8), 2 * places, axis=1)
        kinks = 3 * np.arange(places)[:, None] - (2, 1)
        W_out = np.zeros((entries, places, 2, places * size), np.int8)
        for entry in range(entries):
            for place in range(places):
                here = place * size + entry % size
                W_out[entry, place, :, here] = (-1, 2)
                if place:
                    W_out[entry, place, :, here - size] = (-2, 1)
        return W_in, np.tile(-kinks.reshape(-1), entries), W_out.reshape(-1, places * size)


@dataclass(frozen=True)
class SideBySide:
    """Families with a learned read-out, one after the other: their rows, and the gates and windows of all of them.

    `subjects` [N, entries] and `answers` [N, exits] are signs; `coefficients` [slots, c, entries] is what each slot
    adds to the blocks; W_in [entries, m], b_in [m] (with the gates' constants) and W_out [m, exits] are the MLP.
    """

    subjects: Integers
    answers: Integers
    coefficients: NDArray[np.int64]
    W_in: Integers
    b_in: NDArray[np.int64]
    W_out: Integers


def side_by_side(families: Sequence[BlockFamily], system: FactSystem, code: RelationCode) -> SideBySide:
    """The families' blocks in the order given, each copied by its windows to places of its own."""
    size = code_bits(system.entities)
    gates = [family.gates(code, size, 3 * family.places) for family in families]
    units = [family.windows(size) for family in families]
    W_in = block_diagonal([part for part, _, _ in units])
    constant = np.concatenate([part for _, part in gates])
    return SideBySide(
        subjects=np.concatenate([family.sign_rows(system) for family in families], axis=1),
        answers=np.concatenate([family.answer_rows(system) for family in families], axis=1),
        coefficients=np.concatenate([part for part, _ in gates], axis=2),
        W_in=W_in,
        b_in=np.concatenate([part for _, part, _ in units]) + constant @ W_in,
        W_out=block_diagonal([part for _, _, part in units]),
    )


def block_diagonal(parts: Sequence[Integers]) -> Integers:
    """The matrices along the diagonal of a larger one, zeros elsewhere, in the type of the first."""
    rows, columns = (sum(part.shape[axis] for part in parts) for axis in (0, 1))
    matrix = np.zeros((rows, columns), parts[0].dtype)
    row = column = 0
    for part in parts:
        matrix[row : row + part.shape[0], column : column + part.shape[1]] = part
        row, column = row + part.shape[0], column + part.shape[1]
    return matrix
