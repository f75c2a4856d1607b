"""T14: relations that others determine, inverses and compositions, and what they cost by read-out."""

from __future__ import annotations

import sympy

from theory.statements.assumptions import BIJECTIONS, INVERSES_OR_COMPOSITIONS, LEARNED_OR_TIED, SINGLE_HOP
from theory.statements.assumptions import UNIFORM_ATTENTION as UNIFORM
from theory.statements.registry import Construction, Theorem, single_block_parameters
from theory.statements.symbols import R, p


def _routed(name: str, blocks: sympy.Expr, asked: sympy.Expr, readout: str) -> Construction:
    """Uniform attention over (x, r); p + 1 units a relation asked for; codes take up to 2 coordinates."""
    dimension, width = blocks * p + sympy.Min(2, asked - 1), asked * (p + 1)
    count = single_block_parameters(dimension, width, positions=2, heads=1, query=0, value=dimension, relations=asked)
    return Construction(name, dimension, width, count, 2, universal=False, readout=readout)  # type: ignore[arg-type]


T14 = Theorem(
    "T14",
    "Relations that others determine",
    (BIJECTIONS, INVERSES_OR_COMPOSITIONS, SINGLE_HOP, LEARNED_OR_TIED, UNIFORM),
    "With a tied read-out, R relations and their inverses, 2R in all, need d = (R+1)·p and at most 2 coordinates "
    "more, at width 2R·(p+1) and margin 2: half of what T1 needs for 2R relations. With a learned read-out all R² "
    "compositions of two need d = R·p and at most 2 more, at width R²·(p+1) and margin 2. Universal models, whose "
    "read-out is fixed, pay the full price in one pass: d·b >= R·log ((N-1)² + 1) >= R·(2·log N - 1) for "
    "inverses, and d·b >= log T_2 for compositions (T2d). What a learned read-out must hold is T1c's: N·d·b + B "
    ">= R·log N! tied, twice the left side untied. Whether involutions, which hold half of what bijections do, "
    "can be had for less than bijections is open.",
    "The row of x has blocks c(f_i(x)), that of an answer a blocks c(h_j(a)). For a relation g with h_j(a) = f_i(x) "
    "iff a = g(x), the MLP copies block i to place j: units ReLU(c + 1 - 2m) and, to take the 1 back, ReLU(1 - 2m), m"
    " the squared mismatch of the token's code (z, z²), write c where m = 0 and nothing elsewhere. The logit of a is "
    "<c(h_j(a)), c(f_i(x))>, p iff a = g(x), at most p - 2 otherwise. Inverses: the row of x and of a is c(a) | "
    "c(g_0(a)) | .. | c(g_{R-1}(a)); g_r copies block r to the place of c, where a = g_r(x) fits, g_r⁻¹ copies c(x) "
    "to the place of block r, where g_r(a) = x does. Compositions: blocks c(g_u(x)) and c(g_v⁻¹(a)), u to the place "
    "of v (T2e at k = 2, the word as one token). Fixed read-out: the row of x determines its 2R answers. g_r(x) = y "
    "and g_r⁻¹(x) = z occur for all y, z other than x, and y = x iff z = x: (N-1)² + 1 pairs for each r, "
    "independently, and (N-1)² + 1 >= N²/2. (A chain can walk the cycle of r to its end, so that one pass is needed.)",
    (
        _routed("inverses", R + 1, 2 * R, "tied"),
        _routed("compositions", R, R**2, "learned"),
    ),
)
