"""T3b: steps against dimension. A chain that emits every j-th entity: d = (R^j [+ R^ρ])·⌈p/b⌉ + 4 with a fixed
read-out, (R^⌈j/2⌉ [+ R^⌈ρ/2⌉])·p + 4 with a learned one; the terms in ρ = k - (s-1)·j, the hops of the first of s =
⌈k/j⌉ steps, only if ρ ≠ j.

A subject's row has blocks for the words of j hops, and of ρ. In the step taken at the last position τ = k + i - 1, j
heads (the *slots*) read positions ρ + (τ-k-1)·j + m, m = 1..j, by the scores τ·(2st - t²) of T3. From the second step
on these are the relations of the step. In the first they are right-aligned: the last ρ slots read r_1..r_ρ, and the
others, aimed at positions <= 0, read the subject at position 0, whose relation code is zero. Relations have codes (z,
z²) with z = r + 1 >= 1, so that "no relation" (z = 0) is one more value to match: blocks of j-hop words are closed in a
shorter first step, and blocks of ρ-hop words, which expect empty slots first, are closed afterwards
(`blocks.Family.skipped`).

The entity head scores τ·(t - (k+1)·z): below 0 on relations, 0 at position 0, and largest at the last entity emitted.
Entities have zeros in the relation code and the two position coordinates; these four are all that is added to the
blocks. j = 1 is the ordinary chain (T3 saves two coordinates), j = k is one pass (T2 and T2e save four).
"""

from __future__ import annotations

import numpy as np

from constructions.weights.blocks import BlockFamily, side_by_side
from constructions.weights.parts import (
    Integers,
    RelationCode,
    code_digits,
    digits,
    narrow,
    readout_by_distance,
    sum_of_blocks,
)
from theory import Block, FactSystem, Task, Transformer


def construct(system: FactSystem, hops: int, stride: int, bits: int = 1) -> Transformer:
    """T3b with a fixed read-out, for `Task(hops, stride)`: universal, width = (R^j [+ R^ρ])·q, d = width + 4.

    The margin is at least 1.
    """
    task = Task(hops, stride)
    size = code_digits(system.entities, bits)
    families = _families(system.relations, task, meet_in_the_middle=False)
    subjects = np.concatenate([family.digit_rows(system, bits) for family in families], axis=1)
    entries = subjects.shape[1]
    gates = [family.gates(_code(system), size, 2**bits) for family in families]
    b_in = np.concatenate([constant for _, constant in gates])
    coefficients = np.concatenate([linear for linear, _ in gates], axis=2)
    W_out = sum_of_blocks(entries // size, size, entries)
    W_U, b_U = readout_by_distance(digits(np.arange(system.entities), size, bits), entries + 4)
    W_in = np.eye(entries, dtype=np.int8)
    return _assemble(system, task, subjects, coefficients, W_in, b_in, W_out, W_U, b_U)


def construct_learned(system: FactSystem, hops: int, stride: int) -> Transformer:
    """T3b with a learned read-out, for `Task(hops, stride)`: d = (R^⌈j/2⌉ [+ R^⌈ρ/2⌉])·p + 4, width 2(R^j [+ R^ρ])·p.

    The margin is 2.
    """
    task = Task(hops, stride)
    made = side_by_side(_families(system.relations, task, meet_in_the_middle=True), system, _code(system))
    entries, exits = made.subjects.shape[1], made.answers.shape[1]
    W_U = np.zeros((entries + 4, system.entities), np.int8)
    W_U[:exits] = made.answers.T
    b_U = np.zeros(system.entities, np.int8)
    W_out = np.pad(made.W_out, [(0, 0), (0, entries - exits)])
    return _assemble(system, task, made.subjects, made.coefficients, made.W_in, made.b_in, W_out, W_U, b_U)


def _code(system: FactSystem) -> RelationCode:
    """Relations as 1..R, so that an empty slot is the number 0."""
    return RelationCode(system.relations, first=1)


def _families(relations: int, task: Task, *, meet_in_the_middle: bool) -> list[BlockFamily]:
    """Blocks for words of `stride` hops and, if the first step has another number of hops, for these."""
    lengths = [task.stride] if task.first_step == task.stride else [task.stride, task.first_step]
    suffixes = [length // 2 if meet_in_the_middle else 0 for length in lengths]
    return [
        BlockFamily(relations, length - suffix, suffix, task.stride - length)
        for length, suffix in zip(lengths, suffixes, strict=True)
    ]


def _assemble(
    system: FactSystem,
    task: Task,
    subjects: Integers,
    coefficients: Integers,
    W_in: Integers,
    b_in: Integers,
    W_out: Integers,
    W_U: Integers,
    b_U: Integers,
) -> Transformer:
    """Coordinates: blocks, relation code (z, z²), position (t, t²). Head 0 reads the entity, head m slot m."""
    entries = subjects.shape[1]
    code, dimension, hops, stride = _code(system), entries + 4, task.hops, task.stride
    relation, place = slice(entries, entries + code.columns), entries + 2
    W_E = np.zeros((system.entities + system.relations, dimension), np.int64)
    W_E[: system.entities, :entries] = subjects
    W_E[system.entities :, relation] = code.table
    W_pos = np.zeros((task.positions, dimension), np.int64)
    W_pos[:, place] = np.arange(task.positions)
    W_pos[:, place + 1] = np.arange(task.positions) ** 2
    W_Q, W_K = np.zeros((2, 1 + stride, dimension, 2), np.int64)
    W_Q[0, place, 0] = 1
    W_K[0, place, 0], W_K[0, entries, 0] = 1, -(hops + 1)
    W_V = np.zeros((1 + stride, dimension, entries), np.int8)
    W_O = np.zeros((1 + stride, entries, dimension), np.int64)
    W_V[0, :entries] = np.eye(entries)
    W_O[0, :, :entries] = np.eye(entries)
    for slot in range(1, 1 + stride):
        W_Q[slot, place : place + 2] = [(2 * (task.first_step - (hops + 1) * stride + slot), -1), (2 * stride, 0)]
        W_K[slot, place : place + 2] = np.eye(2)
        W_V[slot, relation, : code.columns] = np.eye(code.columns)
        W_O[slot, : code.columns, :entries] = coefficients[slot - 1]
    block = Block(
        W_Q=narrow(W_Q),
        W_K=narrow(W_K),
        W_V=W_V,
        W_O=narrow(W_O),
        W_in=np.pad(W_in, [(0, 4), (0, 0)]),
        b_in=narrow(b_in),
        W_out=np.pad(W_out, [(0, 0), (0, 4)]),
        b_out=np.zeros(dimension, np.int8),
    )
    return Transformer(
        entities=system.entities,
        W_E=narrow(W_E),
        W_pos=narrow(W_pos),
        blocks=(block,),
        W_U=W_U,
        b_U=b_U,
        attention="hardmax",
    )
