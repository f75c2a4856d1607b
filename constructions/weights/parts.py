"""Parts that several constructions share: entity codes, relation codes, read-outs, and the assembly of one block.

*Entity codes.* With p = ⌈log2 N⌉ the signs of the p binary digits of a, c(a) ∈ {-1,+1}^p, are distinct for a = 0..N-1;
so are the q = ⌈p/b⌉ digits of a in base 2^b.

*Relation codes.* The squared distance of numbers, (z - z')² = z² - 2z'z + z'², is linear in (z, z²), is 0 iff z = z'
and at least 1 otherwise: two coordinates tell every relation from every other, whatever R. For z ∈ {0, 1}, z² = z and
one is enough; one relation needs none.

*Nearest-code read-out.* With unembedding 2c(a) and bias -|c(a)|² the logits are |h|² - |h - c(a)|²: at h = c(a) the
margin is the least squared distance of two codes, at least 1 for distinct integer codes. For signs |c|² = p is
constant, and the plain inner product does, with margin p - (p - 2) = 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory import Block, InputError
from theory.definitions.fact_system import check_count

Integers = NDArray[Any]


def code_bits(entities: int) -> int:
    """p = ⌈log2 N⌉, the bits that name an entity (N >= 2, so p >= 1)."""
    return (entities - 1).bit_length()


def code_digits(entities: int, bits: int) -> int:
    """q = ⌈p/b⌉, the base-2^b digits that name an entity. InputError unless 1 <= b <= 30."""
    if check_count("bits", bits) > 30:
        raise InputError(f"bits is {bits}; a subject entry has at most 30 bits")
    return -(-code_bits(entities) // bits)


def signs(values: ArrayLike, length: int) -> NDArray[np.int8]:
    """The lowest `length` binary digits of each value as -1 and +1, shape [..., length]."""
    numbers = np.asarray(values)
    result = np.empty((*numbers.shape, length), np.int8)
    for place in range(length):
        result[..., place] = 2 * (numbers >> place & 1) - 1
    return result


def digits(values: ArrayLike, count: int, bits: int) -> Integers:
    """The lowest `count` digits of each value in base 2^bits, lowest first, shape [..., count]."""
    numbers = np.asarray(values)[..., None]
    return narrow(numbers >> (bits * np.arange(count)) & (2**bits - 1))


def narrow(values: Integers) -> Integers:
    """The same integers in the smallest signed integer type that holds them."""
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    for kind in (np.int8, np.int16, np.int32):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return values.astype(kind)
    return values.astype(np.int64)


@dataclass(frozen=True)
class RelationCode:
    """Numbers z_r = first + r for the relations, written as (z, z²) or as much of it as is needed.

    `table` has shape [R, c]: c = 2; c = 1 when every z is 0 or 1; c = 0 when there is one relation and first = 0.
    """

    relations: int
    first: int = 0

    @property
    def table(self) -> NDArray[np.int64]:
        """The code of each relation, one a row."""
        z = self.first + np.arange(self.relations)
        return np.stack([z, z * z], axis=1)[:, : self.columns]

    @property
    def columns(self) -> int:
        """c, the number of coordinates."""
        return min(2, self.first + self.relations - 1)

    def mismatch(self, expected: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Coefficients [c, ...] and constant [...] with (z - expected)² = coefficients · code(z) + constant."""
        target = np.asarray(expected, dtype=np.int64)
        by_columns = {
            0: np.zeros((0, *target.shape), np.int64),
            1: (1 - 2 * target)[None],
            2: np.stack([-2 * target, np.ones_like(target)]),
        }
        return by_columns[self.columns], target * target if self.columns else np.zeros_like(target)


def readout_by_signs(codes: Integers, dimension: int) -> tuple[Integers, Integers]:
    """W_U [d, answers] and b_U with logits <c(a), h>; `codes` [answers, p] are signs, in the first p coordinates."""
    W_U = np.zeros((dimension, len(codes)), np.int8)
    W_U[: codes.shape[1]] = codes.T
    return W_U, np.zeros(len(codes), np.int8)


def readout_by_distance(codes: Integers, dimension: int) -> tuple[Integers, Integers]:
    """W_U [d, answers] and b_U with logits |h|² - |h - c(a)|²; `codes` [answers, q] are in the first q coordinates."""
    wide = codes.astype(np.int64)
    W_U = np.zeros((dimension, len(codes)), narrow(2 * wide).dtype)
    W_U[: codes.shape[1]] = 2 * wide.T
    return W_U, narrow(-(wide * wide).sum(axis=1))


def sum_of_blocks(blocks: int, size: int, dimension: int) -> Integers:
    """W_out [blocks·size, d] that adds the blocks up in the first `size` coordinates."""
    W_out = np.zeros((blocks * size, dimension), np.int8)
    W_out[:, :size] = np.tile(np.eye(size, dtype=np.int8), (blocks, 1))
    return W_out


def uniform_block(W_in: Integers, b_in: Integers, W_out: Integers, b_out: Integers, scale: int = 2) -> Block:
    """A block whose attention is `scale` times the mean of the prompt: with scale 2 and two tokens, their sum."""
    dimension = len(W_in)
    identity = np.eye(dimension, dtype=np.int8)[None]
    unscored = np.zeros((1, dimension, 0), np.int8)
    return Block(unscored, unscored, identity, scale * identity, W_in, b_in, W_out, b_out)
