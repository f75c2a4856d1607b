"""T2e: k hops in one pass with a learned read-out halve the exponent, d = R^⌈k/2⌉·p, width 2·R^k·p, margin 2.

*Meet in the middle.* A word w of k relations is u then v, |u| = ⌈k/2⌉ and |v| = ⌊k/2⌋, and a = g_w(x) iff g_v⁻¹(a) =
g_u(x).

    e_x:      blocks c(g_u(x)), one for each u          (how far x can go forward)
    W_U[a]:   blocks c(g_v⁻¹(a)), one for each v        (how far a can come backward)
    MLP:      copies the block u of e_x to the place of v, 0 elsewhere      (`blocks`: the window units)
    logit:    <c(g_v⁻¹(a)), c(g_u(x))> = p iff a = g_w(x), at most p - 2 otherwise

The entity rows of W_E and the read-out depend on the facts, everything else is fixed. *Tied*, W_U is the entity rows of
W_E: each row holds both families, and the MLP writes to the coordinates of the second: d = (R^⌈k/2⌉ + R^⌊k/2⌋)·p.
Tokens other than entities never need more than 4 coordinates (relation code, place, height), so d is the larger of the
two.
"""

from __future__ import annotations

import numpy as np

from constructions.blocks import Family
from constructions.parts import RelationCode, code_bits, narrow
from constructions.reading import coordinates_needed, read_prompt, relation_rows
from theory import Block, FactSystem, Transformer
from theory.fact_system import check_count


def construct(system: FactSystem, hops: int, *, tied: bool = False) -> Transformer:
    """T2e's transformer with a learned (or tied) read-out: entries -1, 0, +1 in W_E's entity rows and W_U, margin 2."""
    check_count("hops", hops)
    family = Family(system.relations, prefix=-(-hops // 2), suffix=hops // 2)
    code = RelationCode(system.relations)
    size = code_bits(system.entities)
    forward, backward = family.sign_rows(system), family.answer_rows(system)
    entries, start = forward.shape[1], forward.shape[1] if tied else 0
    needed = coordinates_needed(system.relations, hops, code.columns)
    dimension = max(needed, start + backward.shape[1], entries)
    reading = read_prompt(system.relations, hops, dimension, code.columns, 1)
    coefficients, constant = family.gates(code, size, 3 * family.places)
    W_V = np.zeros((reading.heads, dimension, entries), np.int8)
    W_O = np.zeros((reading.heads, entries, dimension), np.int64)
    np.fill_diagonal(W_V[0, :entries], 1)
    np.fill_diagonal(W_O[0, :, :entries], 1)
    for head in range(1, reading.heads):
        np.fill_diagonal(W_V[head, : code.columns, : code.columns], 1)
        W_O[head, : code.columns, :entries] = coefficients[head - 1]
    W_in, b_in, W_out = family.windows(size)
    subjects = np.zeros((system.entities, dimension), np.int8)
    subjects[:, :entries] = forward
    answers = np.zeros((system.entities, dimension), np.int8)
    answers[:, start : start + backward.shape[1]] = backward
    if tied:
        subjects = answers = subjects + answers
    block = Block(
        W_Q=reading.W_Q,
        W_K=reading.W_K,
        W_V=W_V,
        W_O=narrow(W_O),
        W_in=np.pad(W_in, [(0, dimension - entries), (0, 0)]),
        b_in=narrow(b_in + (constant - reading.W_pos[0, :entries]) @ W_in),
        W_out=np.pad(W_out, [(0, 0), (start, dimension - start - W_out.shape[1])]),
        b_out=np.zeros(dimension, np.int8),
    )
    return Transformer(
        entities=system.entities,
        W_E=np.concatenate([subjects, narrow(relation_rows(code, dimension))]),
        W_pos=narrow(reading.W_pos),
        blocks=(block,),
        W_U=answers.T,
        b_U=np.zeros(system.entities, np.int8),
        attention="hardmax",
    )
