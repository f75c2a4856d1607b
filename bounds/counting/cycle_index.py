"""Cycle index sums: counting up to relabelling, by Burnside's lemma.

The orbits of a group on a set are as many as its elements fix points on average (Cauchy, Frobenius, Burnside). In S_n
the permutations of cycle type λ = 1^{m_1} 2^{m_2} .. are n!/z_λ, z_λ = Π_k k^{m_k} m_k!, so

    number of classes = Σ_λ fix(λ)/z_λ.

Wherever fix(λ) is a product over the cycle lengths k of a function of m_k alone, so is every term, and the sum over all
partitions of n is the coefficient of x^n in one product of sparse series,

    Σ_λ Π_k w_k(m_k) = [x^n] Π_k Σ_m w_k(m) x^{km}.

The factors are multiplied from the largest k down: until k = 2 every partial product is sparse at its low end and its
coefficients have at most about half the digits of the result, and for a single n the factor k = 1, with by far the
longest coefficients, costs no more than a dot product. In all about n² log n short multiplications.

A structure is a multiset of its connected components, so the numbers a_n of structures and c_n of connected ones obey
Euler's transform 1 + Σ a_n x^n = Π_k (1 - x^k)^{-c_k}; the logarithmic derivative inverts it.

References: Pólya, Acta Math. 68 (1937) 145; Harary and Palmer, Graphical Enumeration (1973), sections 2.2 and 4.2;
Stanley, Enumerative Combinatorics 2 (1999), problem 5.13.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from operator import mul
from typing import TypeVar

from flint import fmpq, fmpz

Number = TypeVar("Number", fmpz, fmpq)

CycleType = tuple[tuple[int, int], ...]
"""Pairs (k, m_k) with m_k >= 1: m_k cycles of length k."""


def partition_sum(size: int, weights: Callable[[int, int], Sequence[Number]]) -> Number:
    """Σ_λ Π_k w_k(m_k(λ)) over the partitions λ of `size`, where weights(k, most) is [w_k(0) = 1, .., w_k(most)]."""
    return _dot(weights(1, size), _product(size, weights, smallest=2)[::-1])


def partition_sums(size: int, weights: Callable[[int, int], Sequence[Number]]) -> list[Number]:
    """`partition_sum` of 0, 1, .., size."""
    return _product(size, weights, smallest=1)


def inverse_euler(structures: Sequence[fmpz]) -> list[fmpz]:
    """[0, c_1, .., c_n]: the connected structures, from the numbers [a_0 = 1, a_1, .., a_n] of all structures.

    With b_n = Σ_{d | n} d·c_d the logarithmic derivative of Euler's product is n·a_n = Σ_{k=1..n} b_k a_{n-k}.
    """
    connected, divisor_sums = [fmpz(0)], [fmpz(0)]
    for n in range(1, len(structures)):
        divisor_sums.append(n * structures[n] - _dot(divisor_sums, structures[n::-1]))
        smaller = sum((d * connected[d] for d in range(1, n) if n % d == 0), fmpz(0))
        connected.append((divisor_sums[n] - smaller) // n)
    return connected


def cycle_types(size: int) -> Iterator[CycleType]:
    """The cycle types of the permutations of `size` points, that is the partitions of `size`."""

    def extend(left: int, longest: int) -> Iterator[CycleType]:
        """The cycle types of `left` points without cycles longer than `longest`, each with its longest cycles first."""
        if left == 0:
            yield ()
            return
        for length in range(1, min(left, longest) + 1):
            for count in range(1, left // length + 1):
                for shorter in extend(left - length * count, length - 1):
                    yield ((length, count), *shorter)

    return extend(size, size)


def centraliser_order(cycle_type: CycleType) -> int:
    """z_λ = Π_k k^{m_k} m_k!, the number of permutations that commute with one of this cycle type."""
    return math.prod(length**count * math.factorial(count) for length, count in cycle_type)


def power(cycle_type: CycleType, exponent: int) -> CycleType:
    """The cycle type of σ^exponent: a cycle of length k falls into gcd(k, exponent) cycles of equal length."""
    counts: dict[int, int] = {}
    for length, count in cycle_type:
        pieces = math.gcd(length, exponent)
        counts[length // pieces] = counts.get(length // pieces, 0) + count * pieces
    return tuple(counts.items())


def _product(size: int, weights: Callable[[int, int], Sequence[Number]], smallest: int) -> list[Number]:
    """Coefficients of x^0 .. x^size of Π_{k >= smallest} Σ_m w_k(m) x^{km}."""
    one = weights(1, 0)[0]
    coefficients = [one] + [one - one] * size
    for length in range(size, smallest - 1, -1):
        factor = weights(length, size // length)
        for n in range(size, length - 1, -1):
            coefficients[n] = _dot(factor, coefficients[n::-length])
    return coefficients


def _dot(left: Sequence[Number], right: Sequence[Number]) -> Number:
    """Σ_i left[i]·right[i], as far as the shorter one goes."""
    return sum(map(mul, left[1:], right[1:]), left[0] * right[0])
