"""How many systems of involutions there are: undirected R-regular edge-coloured multigraphs, up to relabelling.

If every relation is its own inverse and fixes no entity (x is married to y), it is a perfect matching of the N
entities, and a fact system is R perfect matchings: an undirected multigraph in which every node has one edge of each
colour. N is the number of nodes, so for odd N there is none and every count is 0. Two matchings may share an edge;
`bounds.counting.simple_graphs` forbids that.

References: Read, J. London Math. Soc. 34 (1959) 417; Ciobanu and Kolpakov, arXiv 1712.01418 (the connected ones are
the conjugacy classes of free subgroups of Z_2 * Z_2 * Z_2). Read's own values for A002831 were wrong from N = 10 on,
and were corrected in 2014.
"""

import math

from flint import fmpq, fmpz

from bounds.counting.cycle_index import inverse_euler, partition_sum, partition_sums
from bounds.counting.sizes import check_countable, factorial_bits


def matchings(entities: int, relations: int) -> int:
    """R perfect matchings of N nodes, up to relabelling, Σ_λ φ(λ)^R / z_λ; 0 for odd N. OEIS A002830 (R = 3, N = 2m).

    φ(λ) = Π_k φ_k(m_k) is the number of perfect matchings that a permutation of cycle type λ fixes, φ_k(m) as in
    `fixed_matchings`.
    """
    n, r = check_countable("matchings", entities, relations, _cost, limit=10**11, speed=1)
    return _whole(partition_sum(n, lambda length, most: _weights(length, most, r)))


def matchings_connected(entities: int, relations: int) -> int:
    """The connected ones among `matchings`: its inverse Euler transform; 0 for odd N. OEIS A002831 (R = 3, N = 2m)."""
    n, r = check_countable("matchings-connected", entities, relations, _cost, limit=10**11, speed=1)
    structures = partition_sums(n, lambda length, most: _weights(length, most, r))
    return int(inverse_euler([fmpz(_whole(count)) for count in structures])[n])


def fixed_matchings(length: int, most: int) -> list[int]:
    """φ_k(m) for k = length and m = 0 .. most: perfect matchings of k·m points that a product of m k-cycles fixes.

    A fixed matching pairs the cycles, or joins a cycle of even length to itself, each point to the opposite one. Two
    cycles of length k are joined in k ways (rotations), so by the partner of the last cycle

        φ_k(m) = [k even]·φ_k(m-1) + (m-1)·k·φ_k(m-2),

    that is φ_k(m) = Σ_{j <= m/2; m = 2j or k even} C(m, 2j) (2j-1)!! k^j.
    """
    fixed = [1, int(length % 2 == 0)]
    for count in range(2, most + 1):
        alone = fixed[-1] if length % 2 == 0 else 0
        fixed.append(alone + (count - 1) * length * fixed[-2])
    return fixed[: most + 1]


def _weights(length: int, most: int, relations: int) -> list[fmpq]:
    """φ_k(m)^R / (k^m m!) for k = length and m = 0 .. most."""
    return [
        fmpq(fixed**relations, length**count * math.factorial(count))
        for count, fixed in enumerate(fixed_matchings(length, most))
    ]


def _whole(count: fmpq) -> int:
    """A number of classes: a fraction here would be a wrong formula."""
    if count.q != 1:
        raise ArithmeticError(f"Burnside's sum is {count}, not a whole number")
    return int(count.p)


def _cost(entities: int, relations: int) -> int:
    """About N² operations on fractions of log2 (N!)^R bits."""
    return entities**2 * factorial_bits(entities, relations)
