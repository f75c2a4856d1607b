"""T14: relations that others determine cost no block: inverses at half the dimension of T1, compositions at a root.

*One token, two places.* The row of a subject x has blocks c(f_i(x)), the row of an answer a has blocks c(h_j(a)). A
relation g of which h_j(a) = f_i(x) iff a = g(x) is asked for by copying block i of x to place j: the logits are
<c(h_j(a)), c(f_i(x))>, p at a = g(x) and at most p - 2 elsewhere. So every relation is one *route* i → j, and the
relations need no more blocks than the routes have ends.

*Inverses*, tied: both rows are c(a) | c(g_0(a)) | .. | c(g_{R-1}(a)). Relation r is the route from block r to the place
of c, its inverse the route from c to the place of block r, since g_r(a) = x iff a = g_r⁻¹(x).

*Compositions*: x has blocks c(g_u(x)), the answer blocks c(g_v⁻¹(a)), and g_v∘g_u is the route u → v: T2e at two hops,
with the word as one token.

*Routes.* Relation token t has the code (t, t²) in coordinates that the entities leave 0. With m the squared mismatch of
t and the route, each entry c = ±1 of its block has a unit ReLU(c + 1 - 2m), which is c + 1 where m = 0 and 0 elsewhere,
and the route has one more, ReLU(1 - 2m), which takes the 1 back: they write c to the route's place, or nothing. With
uniform attention and W_O = 2, h = e_x + e_t.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from constructions.weights.parts import Integers, RelationCode, code_bits, narrow, signs, uniform_block
from theory import FactSystem, Transformer, all_words


def construct_inverses(system: FactSystem) -> Transformer:
    """T14's transformer for R relations and their inverses, relations R .. 2R-1: tied read-out, d = (R+1)·p and a code,
    margin 2. InputError for maps that have no inverse.
    """
    system.require_bijections("an inverse (T14)")
    maps = np.concatenate([np.arange(system.entities)[None], system.answers])
    blocks = range(1, system.relations + 1)
    return _routed(maps, maps, [*((block, 0) for block in blocks), *((0, block) for block in blocks)])


def construct_compositions(system: FactSystem) -> Transformer:
    """T14's transformer for the R² relations g_v∘g_u, number R·u + v: learned read-out, d = R·p and a code, margin 2.

    InputError for maps that have no inverse.
    """
    routes = [(u, v) for u, v in all_words(system.relations, 2).tolist()]
    return _routed(system.answers, system.inverse().answers, routes)


def _routed(subjects: Integers, answers: Integers, routes: Sequence[tuple[int, int]]) -> Transformer:
    """The transformer of maps f_i of a subject and h_j of an answer, both [blocks, N], with one relation a route."""
    entities, size, code = subjects.shape[1], code_bits(subjects.shape[1]), RelationCode(len(routes))
    entries = len(subjects) * size
    dimension = entries + code.columns
    rows, columns = (
        np.pad(signs(maps.T, size).reshape(entities, entries), [(0, 0), (0, code.columns)])
        for maps in (subjects, answers)
    )
    tokens = np.zeros((len(routes), dimension), np.int64)
    tokens[:, entries:] = code.table
    starts, places = np.array(routes).T * size
    within = np.arange(size)
    linear, constant = code.mismatch(np.arange(len(routes)))
    W_in = np.zeros((dimension, len(routes), size + 1), np.int64)  # a unit for each entry, and the one that takes back
    W_out = np.zeros((len(routes), size + 1, dimension), np.int8)
    for route in range(len(routes)):
        W_in[starts[route] + within, route, within] = 1
        W_out[route, within, places[route] + within] = 1
        W_out[route, size, places[route] + within] = -1
    W_in[entries:] = -2 * linear[:, :, None]
    b_in = np.repeat(1 - 2 * constant, size + 1)
    block = uniform_block(
        narrow(W_in.reshape(dimension, -1)),
        narrow(b_in),
        W_out.reshape(-1, dimension),
        np.zeros(dimension, np.int8),
    )
    return Transformer(
        entities=entities,
        W_E=np.concatenate([rows, narrow(tokens)]),
        W_pos=np.zeros((2, dimension), np.int8),
        blocks=(block,),
        W_U=columns.T,
        b_U=np.zeros(entities, np.int8),
        attention="uniform",
    )
