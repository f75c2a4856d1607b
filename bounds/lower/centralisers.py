"""T11: all answers to words of k letters, for every k, hold nearly all of the facts.

    N·d·b + B >= log2 ((N!)^{2R-2} / Σ_λ z_λ^{R-2})          R >= 2, any k, depth and chain

the sum over the partitions λ of N; 2N·d·b with a learned read-out. Systems with the same answers differ by an element
that commutes with every g_s·g_0⁻¹, and few pairs of permutations commute. The sum is that of `counting.fact_systems`'
bipartite graphs. Up to `LISTED` entities it is computed; beyond, z_λ <= N! bounds it by p(N)·(N!)^{R-2}, and the number
of partitions by p(N) < e^{π√(2N/3)} < 2^{3.701·√N} (Apostol, Introduction to Analytic Number Theory, theorem 14.5), so
that the right side is at least R·log2 N! - 3.701·⌈√N⌉.
"""

from fractions import Fraction
from math import isqrt

from bounds.counting.fact_systems import bipartite
from bounds.enclosure import constant, log2, log2_falling
from bounds.lower.bound import Bound, check_sizes, empty
from bounds.lower.information import table_rows
from theory.statements.assumptions import READOUTS
from theory.statements.inequalities import stands_on

LISTED = 64  # entities up to which the sum over the partitions is computed
PARTITIONS = Fraction(3701, 1000)  # above π·√(2/3)/ln 2 = 3.70065


def information_at_hops(entities: int, relations: int, readout: str = "fixed") -> Bound:
    """T11 for every number of hops; N·d·b + B >= 0 for one relation, of which it says nothing."""
    check_sizes(entities, relations)
    rows = table_rows(entities, readout)
    if relations == 1:
        return empty("T11", "one relation commutes with itself")
    facts = log2_falling(entities, entities, relations)
    if entities <= LISTED:
        information = log2_falling(entities, entities, 2 * relations - 2) - log2(bipartite(entities, relations))
    else:
        root = isqrt(entities - 1) + 1
        information = facts - constant(PARTITIONS * root)
    assumptions = (*stands_on("T11", "any model"), READOUTS[readout])
    return Bound("T11", rows, 1, information, "log2 ((N!)^(2R-2) / Σ z_λ^(R-2))", assumptions)
