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

*Split the middle* (odd k = 2j+1): write the word as u r v, |u| = |v| = j. For the first H = ⌈R/2⌉ relations r the row
e_x has a block for u r and the answer's row one for v; for the others e_x has a block for u and the answer's row one
for r v. The two families stand side by side, d = R^j·(⌈R/2⌉ + 1)·p, and one of them writes: a word with r >= H
mismatches every block of the first, and its suffix has a negative number in the second otherwise. Less than R^{j+1}·p
from R = 4 on, and T2e's lower bound up to a factor 1 + O(1/R).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from constructions.weights.blocks import BlockFamily, side_by_side
from constructions.weights.parts import RelationCode, narrow
from constructions.weights.prompt_reading import coordinates_needed, read_prompt, relation_rows
from theory import Block, FactSystem, InputError, Transformer
from theory.definitions.fact_system import check_count


def construct(system: FactSystem, hops: int, *, tied: bool = False) -> Transformer:
    """T2e's transformer with a learned (or tied) read-out: entries -1, 0, +1 in W_E's entity rows and W_U, margin 2."""
    check_count("hops", hops)
    return _assemble(system, hops, [BlockFamily(system.relations, -(-hops // 2), hops // 2)], tied=tied)


def construct_split(system: FactSystem, hops: int) -> Transformer:
    """T2e with the middle relation split, learned read-out, margin 2. InputError unless the number of hops is odd."""
    if check_count("hops", hops) % 2 == 0:
        raise InputError(f"only an odd number of hops has a middle relation to split, not {hops}")
    first, outer = (system.relations + 1) // 2, hops // 2
    families = [BlockFamily(system.relations, outer + 1, outer, ends_below=first)]
    if first < system.relations:
        families.append(BlockFamily(system.relations, outer, outer + 1, begins_at=first))
    return _assemble(system, hops, families, tied=False)


def _assemble(system: FactSystem, hops: int, families: Sequence[BlockFamily], *, tied: bool) -> Transformer:
    """Heads that read the prompt, gates and windows; tied rows hold the blocks of the answers after those of the
    subjects."""
    code = RelationCode(system.relations)
    made = side_by_side(families, system, code)
    entries, exits = made.subjects.shape[1], made.answers.shape[1]
    start = entries if tied else 0
    dimension = max(coordinates_needed(system.relations, hops, code.columns), start + exits, entries)
    reading = read_prompt(system.relations, hops, dimension, code.columns, 1)
    W_V = np.zeros((reading.heads, dimension, entries), np.int8)
    W_O = np.zeros((reading.heads, entries, dimension), np.int64)
    np.fill_diagonal(W_V[0, :entries], 1)
    np.fill_diagonal(W_O[0, :, :entries], 1)
    for head in range(1, reading.heads):
        np.fill_diagonal(W_V[head, : code.columns, : code.columns], 1)
        W_O[head, : code.columns, :entries] = made.coefficients[head - 1]
    subjects = np.pad(made.subjects, [(0, 0), (0, dimension - entries)])
    answers = np.pad(made.answers, [(0, 0), (start, dimension - start - exits)])
    if tied:
        subjects = answers = subjects + answers
    block = Block(
        W_Q=reading.W_Q,
        W_K=reading.W_K,
        W_V=W_V,
        W_O=narrow(W_O),
        W_in=np.pad(made.W_in, [(0, dimension - entries), (0, 0)]),
        b_in=narrow(made.b_in - reading.W_pos[0, :entries] @ made.W_in),
        W_out=np.pad(made.W_out, [(0, 0), (start, dimension - start - exits)]),
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
