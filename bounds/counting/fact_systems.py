"""How many fact systems there are: labelled, up to relabelling, connected, rooted, with unordered relations.

A fact system on N entities with R relations is an R-tuple of permutations: an R-regular edge-coloured digraph, in
which every colour enters and leaves every node once. Each count states its formula and its number in the On-Line
Encyclopedia of Integer Sequences (OEIS). All are exact, and all raise InputError, in one line, unless both arguments
are whole numbers >= 1 and the count can be computed in minutes at most.

z_λ = Π_k k^{m_k} m_k! is the centraliser order of cycle type λ (`bounds.counting.cycle_index`, where Burnside's lemma
is).

References: M. Hall, Canad. J. Math. 1 (1949) 187 (subgroups of free groups); Liskovets, Acta Appl. Math. 52 (1998) 91;
Kwak and Lee, J. Graph Theory 23 (1996) 105; Stanley, Enumerative Combinatorics 2 (1999), problem 5.13.
"""

import math
from operator import mul

from flint import fmpz

from bounds.counting.cycle_index import (
    centraliser_order,
    cycle_types,
    inverse_euler,
    partition_sum,
    partition_sums,
    power,
)
from bounds.counting.sizes import check_countable, factorial_bits


def labelled(entities: int, relations: int) -> int:
    """All fact systems, (N!)^R. OEIS A000142 (R = 1), A001044 (2), A000442 (3)."""
    n, r = check_countable("labelled", entities, relations, factorial_bits, limit=10**8)
    return int(fmpz.fac_ui(fmpz(n)) ** r)


def relabelled(entities: int, relations: int) -> int:
    """Fact systems up to relabelling the entities, Σ_λ z_λ^{R-1}.

    OEIS A160449 (array), A110143 (R = 2), A152612 (3), A160446 (4).

    R-tuples of permutations up to simultaneous conjugation: σ fixes a tuple iff it commutes with all R of them, and
    Burnside's sum is Σ_λ z_λ^R / z_λ.
    """
    n, r = check_countable("relabelled", entities, relations, _quadratic_cost, limit=10**12, speed=8)
    return int(partition_sum(n, lambda length, most: _centraliser_powers(length, most, r - 1)))


def bipartite(entities: int, relations: int) -> int:
    """Fact systems with subjects and attributes relabelled independently, Σ_λ z_λ^{R-2}.

    OEIS A160449, R shifted by one.

    (σ, τ) fixes (g_r) iff τ = g_r σ g_r^{-1} for every r, so σ and τ are conjugate; the (n!/z_λ)² pairs of type λ fix
    z_λ^R tuples each. One relation alone is one class: Σ_λ z_λ^{-1} = 1, as every permutation has one cycle type.
    """
    n, r = check_countable("bipartite", entities, relations, _quadratic_cost, limit=10**12, speed=8)
    if r == 1:
        return 1
    return int(partition_sum(n, lambda length, most: _centraliser_powers(length, most, r - 2)))


def rooted(entities: int, relations: int) -> int:
    """Connected fact systems with one distinguished entity, up to relabelling.

    OEIS A049290 (array), A003319 shifted (R = 2), A027837 (3).

    They are the subgroups of index N of the free group on R generators (the words that lead from the root back to
    it), so

        s(n) = n (n!)^{R-1} - Σ_{k=1..n-1} (k!)^{R-1} s(n-k)                                   (M. Hall 1949).
    """
    n, r = check_countable("rooted", entities, relations, _quadratic_cost, limit=10**12, speed=8)
    return int(_subgroups(n, r))


def connected(entities: int, relations: int) -> int:
    """Labelled fact systems whose graph is connected (transitive R-tuples), (N-1)! times `rooted`. OEIS (n-1)!·A049290.

    Each rooted class is named in (N-1)! ways with the root named 0: nothing but the identity fixes root and
    relations. By the component of entity 0, t(n) = (n!)^R - Σ_{k<n} C(n-1, k-1) t(k) ((n-k)!)^R. An R-regular digraph
    that is connected is strongly connected.
    """
    n, r = check_countable("connected", entities, relations, _quadratic_cost, limit=10**12, speed=8)
    return int(fmpz.fac_ui(fmpz(n - 1)) * _subgroups(n, r))


def connected_relabelled(entities: int, relations: int) -> int:
    """Connected fact systems up to relabelling: the inverse Euler transform of `relabelled`.

    OEIS A057004 (array), A057005 (R = 2), A057006 (3).

    Also the conjugacy classes of subgroups of index N of the free group on R generators.
    """
    n, r = check_countable("connected-relabelled", entities, relations, _quadratic_cost, limit=10**12, speed=8)
    systems = partition_sums(n, lambda length, most: _centraliser_powers(length, most, r - 1))
    return int(inverse_euler(systems)[n])


def unordered_colours(entities: int, relations: int) -> int:
    """Multisets of R permutations up to simultaneous conjugation: relabelled entities *and* relations. OEIS A362644.

    σ of type λ permutes the n! permutations by conjugation; σ^l fixes z(λ^l) of them, λ^l the type of σ^l. The
    multisets of size r that σ fixes are h_r, from Newton's identity r·h_r = Σ_{l=1..r} z(λ^l) h_{r-l}, and Burnside's
    sum is Σ_λ h_R / z_λ.
    """
    n, r = check_countable("unordered-colours", entities, relations, listing_cost, limit=3 * 10**7)
    total = 0
    for cycle_type in cycle_types(n):
        fixed_by_power = [centraliser_order(power(cycle_type, exponent)) for exponent in range(1, r + 1)]
        multisets = [1]
        for size in range(1, r + 1):
            multisets.append(sum(map(mul, fixed_by_power, reversed(multisets))) // size)
        total += multisets[r] * (math.factorial(n) // centraliser_order(cycle_type))
    return total // math.factorial(n)


def _subgroups(index: int, rank: int) -> fmpz:
    """The number of subgroups of this index in the free group of this rank, by Hall's recurrence."""
    powers = _centraliser_powers(1, index, rank - 1)
    subgroups = [fmpz(0)]
    for n in range(1, index + 1):
        smaller = sum(map(mul, powers[1:n], subgroups[n - 1 : 0 : -1]), fmpz(0))
        subgroups.append(n * powers[n] - smaller)
    return subgroups[index]


def _centraliser_powers(length: int, most: int, exponent: int) -> list[fmpz]:
    """(k^m m!)^exponent for k = length and m = 0 .. most: what m cycles of length k contribute to z_λ^exponent."""
    powers = [fmpz(1)]
    for count in range(1, most + 1):
        powers.append(powers[-1] * fmpz(length * count) ** exponent)
    return powers


def _quadratic_cost(entities: int, relations: int) -> int:
    """About N² multiplications of numbers of log2 (N!)^R bits."""
    return entities**2 * factorial_bits(entities, relations)


def listing_cost(entities: int, relations: int) -> int:
    """Partitions of N, times the steps that each takes. 200 has more partitions than any limit allows."""
    return int(fmpz.partitions_p(fmpz(min(entities, 200)))) * relations * (relations + 10)
