"""T6: disjoint attributes need no selector. R sets of N attributes, no MLP, d = R·p + min(1, R-1), a linear read-out,
margin 2.

    e_x:       c(g_0(x)) .. c(g_{R-1}(x)), 0          e_r:  0 .. 0, r
    W_U[r', a]: c(a) on block r', 4r' on the last coordinate;  b_U = -4r'²

Twice the attention mean is e_x + e_r, and the residual stream adds e_r: the last coordinate holds 2r. The logit of
attribute a of relation r' is <c(a), c(g_r'(x))> + 8rr' - 4r'² = <c(a), c(g_r'(x))> + 4r² - 4(r - r')²: at most
4r² + p - 4 for r' ≠ r, at most 4r² + p - 2 for another attribute of r, and 4r² + p for the answer. One number tells
the relations apart, whatever R.
"""

from __future__ import annotations

import numpy as np

from constructions.weights.parts import code_bits, narrow, signs, uniform_block
from theory import FactSystem, Transformer


def construct(system: FactSystem) -> Transformer:
    """T6's linear transformer, for `Task(disjoint_attributes=True)`: output r·N + a is attribute a of relation r.

    The margin is 2.
    """
    entities, relations, size = system.entities, system.relations, code_bits(system.entities)
    entries = relations * size
    dimension = entries + (relations > 1)
    W_E = np.zeros((entities + relations, dimension), np.int64)
    W_E[:entities, :entries] = signs(system.answers.T, size).reshape(entities, entries)
    W_E[entities:, entries:] = np.arange(relations)[:, None]
    number = np.arange(relations)
    W_U = np.zeros((dimension, relations, entities), np.int64)
    for relation in number:
        W_U[relation * size : (relation + 1) * size, relation] = signs(np.arange(entities), size).T
    W_U[entries:] = 4 * number[:, None]
    nothing = np.zeros((dimension, 0), np.int8)
    block = uniform_block(nothing, np.zeros(0, np.int8), nothing.T, np.zeros(dimension, np.int8))
    return Transformer(
        entities=entities,
        W_E=narrow(W_E),
        W_pos=np.zeros((2, dimension), np.int8),
        blocks=(block,),
        W_U=narrow(W_U.reshape(dimension, -1)),
        b_U=narrow(np.repeat(-4 * number**2, entities)),
        attention="uniform",
        residual=True,
    )
