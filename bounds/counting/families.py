"""How much information a system of each structured family carries, in bits: the entropy of what `draw_family` draws.

*One-to-one families.* The choices of the draw are uniform, and each system comes from one choice, so that the entropy
is log2 of their number:
independent: R permutations, (N!)^R; maps: N^{NR}; inverses and synonyms: half of the relations, (N!)^{R/2}; fourfold
synonyms: a quarter, (N!)^{R/4}; involutions: a(N)^R with a(n) = a(n-1) + (n-1)·a(n-2), for the first point is fixed or
has one of n-1 partners; half-shared: a permutation, the N/2 subjects that change, and which derangement D moves their
answers, (N!·C(N, N/2)·D(N/2))^{R/2}; blocks: a permutation of each of 4 blocks for each relation, ((N/4)!)^{4R}; xor: a
mask for each relation, N^R; hidden shift: g_0 is any permutation and g_0⁻¹g_r any shift, N!·N^{R-1}; powers of a cycle:
g_0 is any cycle of all N entities and gives the others, (N-1)!.

*Compositions* of b bijections in pairs come from (N!)^b choices, and nearly every one from one choice alone. For if
g'_s∘g'_r = g_s∘g_r for the words that are drawn, then u = g_r∘g'_r⁻¹ is the same for all r, g'_r = u⁻¹∘g_r, and
g_s∘u = u⁻¹∘g_s: the choices that give one system are as many as the u that every g_s conjugates to their inverses. A
uniform g does so to u with probability 1/|class of u|, as u⁻¹ is of the class of u. So the mean number of choices that
give the same system is c = Σ |class|^{1-b} over the classes of S_N, which is Σ_λ (z_λ/N!)^{b-1} with the orders z_λ of
centralisers. (Beyond EXACT_UP_TO entities c is bounded: a class that moves j points has at least (N)_j/z elements, z
the largest centraliser of j points without a fixed one. Such a type has at most j/2 cycles, the product of their
lengths is at most 3^{j/3} as for any sum j, and so z <= 3^{j/3}·⌊j/2⌋!; and there are at most p(j) of them.) By
Jensen's inequality the entropy lies between b·log2 N! - log2 c and b·log2 N!. (At N = 64 and b = 4, c - 1 is
1.3·10⁻¹⁰.)
"""

from fractions import Fraction
from functools import cache
from math import comb, factorial

from flint import arb, ctx, fmpz

from bounds.counting.cycle_index import partition_sum
from bounds.enclosure import Interval, log2
from theory.definitions.families import BLOCKS, bases, check_family

EXACT_UP_TO = 256  # entities


def family_choices(family: str, entities: int, relations: int) -> int:
    """How many equally likely choices `draw_family` has: the systems of the family, but for compositions, which a few
    choices share. InputError where `draw_family` raises it."""
    n, r = check_family(family, entities, relations)
    permutations = factorial(n)
    match family:
        case "independent":
            return int(permutations**r)
        case "maps":
            return int(n ** (n * r))
        case "inverses" | "synonyms":
            return int(permutations ** (r // 2))
        case "fourfold-synonyms":
            return int(permutations ** (r // 4))
        case "involutions":
            return int(_involutions(n) ** r)
        case "compositions":
            return int(permutations ** bases(r))
        case "half-shared":
            return int((permutations * comb(n, n // 2) * _derangements(n // 2)) ** (r // 2))
        case "blocks":
            return int(factorial(n // BLOCKS) ** (BLOCKS * r))
        case "xor":
            return int(n**r)
        case "hidden-shift":
            return int(permutations * n ** (r - 1))
        case "cycle-powers":
            return factorial(n - 1)
    raise AssertionError(f"the family {family!r} is drawn but not counted")


def shared_choices(family: str, entities: int, relations: int) -> Fraction:
    """The mean, over the choices, of how many choices give the same system: 1 but for compositions, where it is c, or
    beyond EXACT_UP_TO entities at least c."""
    n, r = check_family(family, entities, relations)
    if family != "compositions":
        return Fraction(1)
    power = bases(r) - 1
    if n > EXACT_UP_TO:
        return most_shared(n, power)
    centralisers = partition_sum(n, lambda k, most: [fmpz(factorial(m) * k**m) ** power for m in range(most + 1)])
    return Fraction(int(centralisers), factorial(n) ** power)


def most_shared(entities: int, power: int) -> Fraction:
    """An upper bound of c = Σ |class|^{-power} over the classes of S_N, rounded up to a multiple of 2^{-512}."""
    with ctx.workprec(1024):
        total, whole = arb(1), arb(entities + 1).lgamma()
        for moved in range(2, entities + 1):
            largest = arb(largest_centraliser(moved)).log()
            falling = whole - arb(entities - moved + 1).lgamma()
            total += arb(fmpz.partitions_p(fmpz(moved))) * (power * (largest - falling)).exp()
        units = (total * 2**512).upper().ceil().unique_fmpz()
    assert units is not None  # the ceiling of one point
    return Fraction(int(units), 2**512)


def largest_centraliser(moved: int) -> fmpz:
    """At least Π k^m_k m_k! for every permutation that moves `moved` points: Π k^m_k <= 3^⌈moved/3⌉, as of any numbers
    with that sum, and of cycles of two points or more there are ⌊moved/2⌋ at most."""
    return fmpz(3) ** -(-moved // 3) * fmpz(factorial(moved // 2))


@cache
def information(family: str, entities: int, relations: int) -> Interval:
    """The entropy in bits of a system as `draw_family` draws it, between rationals; InputError as there."""
    high = log2(family_choices(family, entities, relations))
    shared = shared_choices(family, entities, relations)
    low = high - log2(shared.numerator) + log2(shared.denominator)
    return Interval(low.interval().low, high.interval().high)


def relative_information(family: str, entities: int, relations: int) -> float:
    """ι, the bits of a system over those of R independent permutations, as a float (of compositions the middle)."""
    own, free = (information(name, entities, relations) for name in (family, "independent"))
    return float((own.low + own.high) / (free.low + free.high))


def _involutions(n: int) -> int:
    """a(n), the involutions of n points, the identity among them. OEIS A000085."""
    before, now = 1, 1
    for k in range(2, n + 1):
        before, now = now, now + (k - 1) * before
    return now


def _derangements(n: int) -> int:
    """D(n), the permutations of n points without a fixed point. OEIS A000166."""
    count = 1
    for k in range(1, n + 1):
        count = k * count + (-1) ** k
    return count
