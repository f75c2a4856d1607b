"""T1d: the exact minimum of the embedding dimension, and what its last bit costs in width.

*Lookup*, d = ⌈R·log2 N / b⌉ for every N, R, b: which no universal model can beat (T1c). The R answers of x are one
index I = Σ_r g_r(x)·N^r < N^R, written in d base-2^b digits; relation r adds r·N^R to it, so that the MLP sees one
integer s = r·N^R + I. The answer is a function f(s) on 0..R·N^R - 1, and f(s) = Σ_j κ_j·ReLU(s - j) with κ its second
differences (κ_0 the first), which vanish off the steps of f. f is s mod N on relation 0 (one slope, two units a wrap)
and constant on runs of N^r on relation r >= 1 (two units a step), so the width is 2·N^{R-1} - 1 + 2·Σ_{i=1}^{R-1} N^i =
O(N^{R-1}), not R·N^R.

*Concatenation*, d = ⌈R·p/b⌉ at width at most 2^b·(⌈R·p/b⌉ + R - 1): the R p-bit answers are one string of bits, cut
into b-bit digits; a digit may hold bits of several relations. Relation r adds t·2^b to the digits in which it is the
t-th, and -2^b to those that it has no bits in. On 0..2^b·(sharers) the part of the answer that a digit holds is again
piecewise linear, 0 for s <= 0, and the parts add up to the answer. Both read out by 2a·h - a², margin 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from constructions.weights.parts import (
    Integers,
    code_bits,
    code_digits,
    digits,
    narrow,
    readout_by_distance,
    uniform_block,
)
from theory import FactSystem, InputError, Transformer
from theory.statements.powers import bits_of_power

LARGEST_TABLE = 2**24


def piecewise_linear_units(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Kinks j and slopes κ_j ≠ 0 with values[s] - values[0] = Σ_j κ_j ReLU(s - j) for s = 0..len(values) - 1."""
    slopes = np.diff(values)
    changes = np.diff(slopes, prepend=0)
    kinks = np.flatnonzero(changes)
    return kinks, changes[kinks]


def require_table(entities: int, relations: int) -> None:
    """InputError when R·N^R exceeds 2^24."""
    bits = bits_of_power(entities, relations)  # the power itself may be too long for any memory
    if bits > LARGEST_TABLE.bit_length() or relations * entities**relations > LARGEST_TABLE:
        raise InputError(f"T1d's lookup has R·N^R points, about {relations}·2^{bits}; at most 2^24 can be built")


def construct(system: FactSystem, bits: int) -> Transformer:
    """T1d's lookup: d = ⌈R·log2 N / b⌉ with b-bit subject entries, margin 1. InputError when R·N^R exceeds 2^24."""
    entities, relations = system.entities, system.relations
    code_digits(entities, bits)
    require_table(entities, relations)
    indices = entities**relations
    dimension = -(-(indices - 1).bit_length() // bits)
    powers = entities ** np.arange(relations)
    table = np.arange(indices) // powers[:, None] % entities
    kinks, slopes = piecewise_linear_units(table.reshape(-1))
    shifts = np.zeros((relations, dimension), np.int64)
    shifts[:, 0] = indices * np.arange(relations)
    W_in = np.repeat(2 ** (bits * np.arange(dimension)), len(kinks)).reshape(dimension, len(kinks))
    subjects = digits(powers @ system.answers, dimension, bits)
    return _assemble(system, np.concatenate([subjects, shifts]), W_in, -kinks, slopes)


def construct_concatenated(system: FactSystem, bits: int) -> Transformer:
    """T1d's concatenation: d = ⌈R·p/b⌉ with b-bit subject entries, width at most 2^b·(d + R - 1), margin 1."""
    size = code_bits(system.entities)
    code_digits(system.entities, bits)
    if bits > 20:
        raise InputError(f"T1d's concatenation tabulates 2^b values a digit; bits is {bits}, at most 20 can be built")
    string = answer_bits(system, size).reshape(system.entities, -1)
    dimension = -(-string.shape[1] // bits)
    padded = np.pad(string, [(0, 0), (0, dimension * bits - string.shape[1])]).reshape(-1, dimension, bits)
    shifts = np.full((system.relations, dimension), -(2**bits), np.int64)
    units: list[tuple[int, NDArray[np.int64], NDArray[np.int64]]] = []
    for digit in range(dimension):
        first, last = digit * bits // size, min(system.relations - 1, (digit * bits + bits - 1) // size)
        shifts[first : last + 1, digit] = 2**bits * np.arange(last - first + 1)
        parts = [_part_of_answer(digit, relation, size, bits) for relation in range(first, last + 1)]
        units.append((digit, *piecewise_linear_units(np.concatenate(parts))))
    W_in = np.repeat(np.eye(dimension, dtype=np.int64), [len(kinks) for _, kinks, _ in units], axis=1)
    kinks = np.concatenate([kinks for _, kinks, _ in units])
    slopes = np.concatenate([slopes for _, _, slopes in units])
    return _assemble(system, np.concatenate([padded @ 2 ** np.arange(bits), shifts]), W_in, -kinks, slopes)


def answer_bits(system: FactSystem, size: int) -> NDArray[np.int64]:
    """The binary digits (0 and 1, lowest first) of every answer, shape [N, R, size]."""
    return system.answers.T[..., None] >> np.arange(size) & 1


def _part_of_answer(digit: int, relation: int, size: int, bits: int) -> NDArray[np.int64]:
    """What the values v = 0..2^bits - 1 of a digit contribute to a relation's answer: its bits, each at its place."""
    place = digit * bits + np.arange(bits) - relation * size
    inside = (place >= 0) & (place < size)
    return (np.arange(2**bits)[:, None] >> np.arange(bits) & 1)[:, inside] @ 2 ** place[inside]


def _assemble(system: FactSystem, W_E: Integers, W_in: Integers, b_in: Integers, slopes: Integers) -> Transformer:
    """Uniform attention, hidden units that add the answer up in coordinate 0, read-out 2a·h - a²."""
    dimension = W_E.shape[1]
    W_out = np.zeros((len(slopes), dimension), np.int64)
    W_out[:, 0] = slopes
    block = uniform_block(narrow(W_in), narrow(b_in), narrow(W_out), np.zeros(dimension, np.int8))
    W_U, b_U = readout_by_distance(np.arange(system.entities)[:, None], dimension)
    return Transformer(
        entities=system.entities,
        W_E=narrow(W_E),
        W_pos=np.zeros((2, dimension), np.int8),
        blocks=(block,),
        W_U=W_U,
        b_U=b_U,
        attention="uniform",
    )
