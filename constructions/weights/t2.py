"""T2: k hops in one pass with a fixed read-out, d = width = R^k·⌈p/b⌉, margin at least 1.

    e_x:          one block of digits c(g_w(x)) for each of the R^k words w
    head 0:       reads e_x at position 0               (`reading`: positions cost no coordinate)
    head i:       reads r_i at position i; W_O maps its code (r, r²) to -2^b·(r - w_i)² on the block of every word w
    MLP:          ReLU(digit - 2^b·mismatch): open on the block of the word asked, 0 elsewhere; W_out sums the blocks

A block is closed because digit <= 2^b - 1 and the mismatch is at least 1. Nothing but the subject rows depends on the
facts (universal), and the read-out is the nearest-code one. By T2d no universal model with a fixed read-out can do with
less than log T_k(N, R) ~ R^k·log N bits a subject, so this is optimal up to 1 + o(1) as N grows.
"""

from __future__ import annotations

import numpy as np

from constructions.weights.blocks import BlockFamily
from constructions.weights.parts import RelationCode, code_digits, digits, narrow, readout_by_distance, sum_of_blocks
from constructions.weights.prompt_reading import read_prompt, relation_rows
from theory import Block, FactSystem, Transformer
from theory.definitions.fact_system import check_count


def construct(system: FactSystem, hops: int, bits: int = 1) -> Transformer:
    """T2's universal transformer for k-hop queries: d = width = R^k·q, b-bit subject entries, margin at least 1."""
    size = code_digits(system.entities, bits)
    family = BlockFamily(system.relations, check_count("hops", hops))
    code = RelationCode(system.relations)
    dimension = family.blocks * size
    reading = read_prompt(system.relations, hops, dimension, code.columns, 2**bits - 1)
    W_V = np.zeros((reading.heads, dimension, dimension), np.int8)
    W_O = np.zeros((reading.heads, dimension, dimension), narrow(np.array([2**bits * 2 * system.relations])).dtype)
    np.fill_diagonal(W_V[0], 1)
    np.fill_diagonal(W_O[0], 1)
    coefficients, constant = family.gates(code, size, 2**bits)
    for head in range(1, reading.heads):
        np.fill_diagonal(W_V[head, : code.columns, : code.columns], 1)
        W_O[head, : code.columns] = coefficients[head - 1]
    block = Block(
        W_Q=reading.W_Q,
        W_K=reading.W_K,
        W_V=W_V,
        W_O=W_O,
        W_in=np.eye(dimension, dtype=np.int8),
        b_in=narrow(constant - reading.W_pos[0]),
        W_out=sum_of_blocks(family.blocks, size, dimension),
        b_out=np.zeros(dimension, np.int8),
    )
    W_U, b_U = readout_by_distance(digits(np.arange(system.entities), size, bits), dimension)
    return Transformer(
        entities=system.entities,
        W_E=np.concatenate([family.digit_rows(system, bits), narrow(relation_rows(code, dimension))]),
        W_pos=narrow(reading.W_pos),
        blocks=(block,),
        W_U=W_U,
        b_U=b_U,
        attention="hardmax",
    )
