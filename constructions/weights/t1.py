"""T1: single-hop recall with d = R·⌈log2 N⌉, MLP width R·⌈log2 N⌉, subject entries -1 and +1, margin 2.

    e_x:           c(g_0(x))  c(g_1(x))  ..  c(g_{R-1}(x))     one block of p signs a relation
    e_r:              -1         +1      ..      -1            +1 on block r
    2·mean:           ≤ 0     c(g_r(x))+1 ..     ≤ 0           ReLU closes every block but r
    W_out:         sum of the blocks, -1:  c(g_r(x))           read out by <c(a), ·>

Uniform attention over (x, r), W_O = 2, gives h = e_x + e_r. On block r, h = c + 1 ∈ {0, 2}; elsewhere h = c - 1 ≤ 0. So
the summed ReLUs less 1 are exactly c(g_r(x)), and <c(a), c(a')> ≤ p - 2 for a ≠ a'.

With the residual stream h = e_x + 2e_r: on block r, h = c + 2 > 0; elsewhere h = c - 2 < 0. W_out is 4 times the sum
and b_out = -8, so that the MLP writes 4c; the stream under it is at most 3 in absolute value, and each coordinate of
the sum has the sign of c and absolute value at least 1: the margin is 2 again.
"""

from __future__ import annotations

import numpy as np

from constructions.weights.parts import code_bits, readout_by_signs, signs, sum_of_blocks, uniform_block
from theory import FactSystem, Transformer


def construct(system: FactSystem, *, residual: bool = False) -> Transformer:
    """T1's universal transformer: d = width = R·p, margin at least 2, with or without a residual stream."""
    size = code_bits(system.entities)
    dimension = system.relations * size
    subjects = signs(system.answers.T, size).reshape(system.entities, dimension)
    gates = np.kron(2 * np.eye(system.relations, dtype=np.int8) - 1, np.ones(size, np.int8))
    b_out = np.zeros(dimension, np.int8)
    b_out[:size] = -8 if residual else -1
    W_out = (4 if residual else 1) * sum_of_blocks(system.relations, size, dimension)
    block = uniform_block(np.eye(dimension, dtype=np.int8), np.zeros(dimension, np.int8), W_out, b_out)
    W_U, b_U = readout_by_signs(signs(np.arange(system.entities), size), dimension)
    return Transformer(
        entities=system.entities,
        W_E=np.concatenate([subjects, gates]),
        W_pos=np.zeros((2, dimension), np.int8),
        blocks=(block,),
        W_U=W_U,
        b_U=b_U,
        attention="uniform",
        residual=residual,
    )
