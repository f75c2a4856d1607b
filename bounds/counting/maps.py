"""How many systems of arbitrary maps there are (T10), with names and up to relabelling the entities.

Each count states its formula and its number in the On-Line Encyclopedia of Integer Sequences (OEIS). Both are exact,
and raise InputError, in one line, unless both arguments are whole numbers >= 1 and the count can be computed in minutes
at most.

Reference: Harary and Palmer, Graphical Enumeration (1973), section 3.4 (functional digraphs).
"""

import math

from bounds.counting.cycle_index import CycleType, centraliser_order, cycle_types
from bounds.counting.fact_systems import listing_cost
from bounds.counting.sizes import check_countable


def maps(entities: int, relations: int) -> int:
    """All systems of R maps of N entities, N^(N·R). OEIS A000312 (R = 1), A062206 (2)."""
    n, r = check_countable("maps", entities, relations, lambda n, r: n * r * n.bit_length(), limit=10**8)
    number: int = n ** (n * r)
    return number


def maps_relabelled(entities: int, relations: int) -> int:
    """Systems of R maps up to relabelling the entities, Σ_λ f_λ^R / z_λ. OEIS A001372 (R = 1), A054050 (2).

    A permutation σ of type λ = 1^{m_1} 2^{m_2} .. fixes a map g iff g commutes with it: a cycle of length k goes to a
    cycle whose length j divides k, turned in one of j ways, so that f_λ = Π_k (Σ_{j | k} j·m_j)^{m_k} maps are fixed.
    """
    n, r = check_countable("maps-relabelled", entities, relations, listing_cost, limit=3 * 10**7)
    total = sum(
        maps_fixed(cycle_type) ** r * (math.factorial(n) // centraliser_order(cycle_type))
        for cycle_type in cycle_types(n)
    )
    return int(total // math.factorial(n))


def maps_fixed(cycle_type: CycleType) -> int:
    """f_λ, the number of maps that commute with a permutation of this cycle type."""
    return math.prod(
        sum(other * times for other, times in cycle_type if length % other == 0) ** count
        for length, count in cycle_type
    )
