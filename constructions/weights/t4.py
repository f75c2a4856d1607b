"""T4: depth instead of dimension. 2k-1 blocks with a residual stream answer k hops with d = R·p + at most 4, margin 2.

The stream at the last position holds, in R·p block coordinates, the row of the current entity; the relation code and
the position stand in coordinates of their own, which no block writes to, so that they can be read at any depth.

    A_i (k of them)    a head reads r_i at position i and adds -2·mismatch to each block (A_1: another head adds e_x);
                       two units an entry, ReLU(v + 1) and ReLU(-v - 1), v = c - 2·mismatch: their difference less 1
                       is v, which erases it (the constant of the mismatch is in the biases); the first is c + 1 on
                       the open block, 0 on the others, where v <= 1 - 2, and writes S = c(g_r(y))
    B_i (k-1)          one unit an entity, ReLU(<c(a), S> - p + 1) = 1 iff S = c(a): erases S and writes the row of a

Widths 2R·p and N. A_k leaves S = c(answer), read out by <c(a), ·> with margin 2. The dimension does not grow with k:
B_i is a table of N rows, B = Θ(N·R·log N) bits outside the subject table (shared by the blocks), the other side of the
dichotomy T2c.

d = R·p + min(2, R-1) + (2 if k >= 2 and R >= 2, else 1): relation codes (r, r²), positions (t, t²), each shortened
where one will do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from constructions.weights.parts import Integers, RelationCode, code_bits, narrow, readout_by_signs, signs
from theory import Block, FactSystem, Transformer
from theory.definitions.fact_system import check_count


def construct(system: FactSystem, hops: int) -> Transformer:
    """T4's transformer of 2k-1 blocks with a residual stream: d <= R·p + 4 for every k, widths 2R·p and N, margin 2."""
    check_count("hops", hops)
    size, code = code_bits(system.entities), RelationCode(system.relations)
    entries = system.relations * size
    place = entries + code.columns
    columns = 2 if hops > 1 and system.relations > 1 else 1
    dimension = place + columns
    rows = signs(system.answers.T, size).reshape(system.entities, entries)
    W_E = np.zeros((system.entities + system.relations, dimension), np.int64)
    W_E[: system.entities, :entries] = rows
    W_E[system.entities :, entries:place] = code.table
    W_pos = np.zeros((hops + 1, dimension), np.int64)
    W_pos[:, place:] = (np.arange(hops + 1)[:, None] ** [1, 2])[:, :columns]
    blocks = []
    for hop in range(1, hops + 1):
        blocks.append(_select_block(code, hop, size, dimension, columns))
        if hop < hops:
            blocks.append(_lookup_block(rows, size, dimension))
    W_U, b_U = readout_by_signs(signs(np.arange(system.entities), size), dimension)
    return Transformer(
        entities=system.entities,
        W_E=narrow(W_E),
        W_pos=narrow(W_pos),
        blocks=tuple(blocks),
        W_U=W_U,
        b_U=b_U,
        attention="hardmax",
        residual=True,
        causal=True,
    )


def _select_block(code: RelationCode, hop: int, size: int, dimension: int, columns: int) -> Block:
    """A_hop: add the relation's mismatches, at the first hop the subject's row too; keep the open block as its code."""
    entries, place = code.relations * size, dimension - columns
    targets = ([0] if hop == 1 else []) + ([hop] if code.columns else [])
    W_Q, W_K = np.zeros((2, len(targets), dimension, 2), np.int64)
    W_V = np.zeros((len(targets), dimension, entries), np.int8)
    W_O = np.zeros((len(targets), entries, dimension), np.int64)
    linear, offset = code.mismatch(np.repeat(np.arange(code.relations), size))
    for head, target in enumerate(targets):
        W_Q[head, place] = (2 * target, -1)
        # (t, t²); with one coordinate t² = t for one hop, and any increasing function of t serves target 0.
        W_K[head, place:] = np.eye(2) if columns == 2 else [(1, 1)]
        if target:
            W_V[head, entries:place, : code.columns] = np.eye(code.columns)
            W_O[head, : code.columns, :entries] = -2 * linear
        else:
            np.fill_diagonal(W_V[head], 1)
            np.fill_diagonal(W_O[head], 1)
    units, keep = np.eye(dimension, entries, dtype=np.int64), np.zeros(dimension, np.int64)
    W_out = np.concatenate([_collect(entries, size, dimension) - units.T, units.T])
    b_in = 1 - 2 * offset
    keep[:entries] = b_in
    keep[:size] -= 1
    return Block(
        W_Q=narrow(W_Q),
        W_K=narrow(W_K),
        W_V=W_V,
        W_O=narrow(W_O),
        W_in=narrow(np.concatenate([units, -units], axis=1)),
        b_in=narrow(np.concatenate([b_in, -b_in])),
        W_out=narrow(W_out),
        b_out=narrow(keep),
    )


def _collect(entries: int, size: int, dimension: int) -> NDArray[np.int64]:
    """[entries, d]: entry i of every block goes to coordinate i."""
    matrix = np.zeros((entries, dimension), np.int64)
    matrix[np.arange(entries), np.arange(entries) % size] = 1
    return matrix


def _lookup_block(rows: Integers, size: int, dimension: int) -> Block:
    """B: one unit an entity a recognises S = c(a) and replaces it by the row of a. No attention."""
    codes = signs(np.arange(len(rows)), size)
    W_in = np.zeros((dimension, len(rows)), np.int8)
    W_in[:size] = codes.T
    W_out = np.zeros((len(rows), dimension), np.int8)
    W_out[:, : rows.shape[1]] = rows
    W_out[:, :size] -= codes
    return Block(
        W_Q=np.zeros((0, dimension, 0), np.int8),
        W_K=np.zeros((0, dimension, 0), np.int8),
        W_V=np.zeros((0, dimension, 0), np.int8),
        W_O=np.zeros((0, 0, dimension), np.int8),
        W_in=W_in,
        b_in=narrow(np.full(len(rows), 1 - size)),
        W_out=W_out,
        b_out=np.zeros(dimension, np.int8),
    )
