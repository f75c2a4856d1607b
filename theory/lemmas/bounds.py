"""Lemmas that set the constructions against the lower bounds: where they meet, and the limits in which they do.

Logarithms are to base 2. Of p = ⌈log2 N⌉ and q = ⌈p/b⌉ only log2 N <= p < log2 N + 1 and p <= b·q < p + b are used.
Uses `theory.lemmas.proving`; collected in `theory.lemmas.collection`.
"""

from __future__ import annotations

import sympy
import z3

from theory.lemmas.proving import Proof, Term, all_of, by_identity, by_invariant, by_limit, by_z3, lemma

N, R, B, K, q = sympy.symbols("N R b k q", positive=True)  # any positive reals, unlike those of the formulas


def log2(value: Term) -> Term:
    """The SymPy logarithm to base 2."""
    return sympy.log(value) / sympy.log(2)


def binary_entropy(rate: Term) -> Term:
    """h(ε) = -ε·log2 ε - (1-ε)·log2(1-ε), for SymPy."""
    return -rate * log2(rate) - (1 - rate) * log2(1 - rate)


@lemma("T1.optimal", "sympy", false={"surplus": N})
def sign_codes_are_optimal(surplus: Term = 1) -> Proof:
    """As N grows, for every R, R·(log2 N + 1) over R·log2 N tends to 1, and so does N·R·(log2 N + 1) over R·log2 N!.

    T1's bits a subject, R·p, lie between T1c's R·log2 N and R·(log2 N + 1), and all subjects' likewise: so T1 is
    optimal up to 1 + o(1).
    """
    return all_of(
        {
            "universal": by_limit(R * (log2(N) + surplus) / (R * log2(N)), N, sympy.oo, 1),
            "every model": by_limit(
                N * R * (log2(N) + surplus) / (R * sympy.loggamma(N + 1) / sympy.log(2)), N, sympy.oo, 1
            ),
        }
    )


@lemma("T1b.no-gap", "sympy", false={"bits_left": 1})
def no_gap(bits_left: Term = 0) -> Proof:
    """For N = 2^p with p = b·q, T1b's dimension R·q is exactly T1c's bound R·log2(N)/b, for all R, q, b."""
    return by_identity(R * q, R * log2(2 ** (B * q - bits_left)) / B)


@lemma("T1d.minimum", "z3", false={"surplus": 1})
def nested_ceilings(surplus: Term = 0) -> Proof:
    """For all real y > 0 and integers b >= 1, ⌈⌈y⌉/b⌉ is the least integer d with d·b >= y: T1d's lookup, with y =
    R·log2 N and ⌈y⌉ the bits of its index, has exactly the least dimension that T1c allows."""
    y = z3.Real("y")
    bits, index_bits, dimension, smaller = z3.Ints("b index_bits d d'")
    known = [y > 0, bits >= 1, z3.ToReal(index_bits) >= y, z3.ToReal(index_bits) < y + 1]
    known += [dimension * bits >= index_bits, (dimension - 1) * bits < index_bits]
    return all_of(
        {
            "enough": by_z3(z3.ToReal((dimension - surplus) * bits) >= y, *known),
            "least": by_z3(z3.ToReal(smaller * bits) < y, *known, smaller <= dimension - 1),
        }
    )


@lemma("T2d.falling-factorial", "z3", false={"power": 2})
def falling_factorial(power: Term = 1) -> Proof:
    """For all integers 1 <= n < N, (N - n)^n <= (N)_n <= N^n: R^k·log2(N - R^{k-1}) <= R·log2 (N)_{R^{k-1}} <= R^k·log2
    N at n = R^{k-1}."""
    entities, count, chosen, lower, upper, factor = z3.Ints("N n i lower upper (N)_i")
    return by_invariant(
        z3.And(lower > 0, lower <= factor, factor <= upper, chosen >= 0),
        [
            (lower, z3.IntVal(1), lower * (entities - count)),
            (factor, z3.IntVal(1), factor * (entities - chosen * power)),
            (upper, z3.IntVal(1), upper * entities),
            (chosen, z3.IntVal(0), chosen + 1),
        ],
        z3.And(lower <= factor, factor <= upper),
        always=[count >= 1, count < entities],
        each_step=[chosen < count],
    )


@lemma("T2d.half", "z3", false={"smallest": 1})
def at_least_half(smallest: Term = 2) -> Proof:
    """For R >= 2 and 1 + R + .. + R^k <= N, N - R^{k-1} >= N/2: so R^k·(log2 N - 1) <= R^k·log2(N - R^{k-1})."""
    entities, relations, power = z3.Ints("N R R^(k-1)")
    return by_z3(2 * (entities - power) >= entities, relations >= smallest, power >= 1, relations * power <= entities)


@lemma("T2.optimal", "sympy", false={"exponent": 2})
def direct_is_optimal(exponent: Term = 1) -> Proof:
    """As N grows, for all R, k, b and n, R^k·(log2 N + b) over R^k·log2(N - n) tends to 1.

    T2's bits a subject, R^k·b·q, are below R^k·(log2 N + b + 1), because b·q < p + b, and T2d's R·log2 (N)_n with n =
    R^{k-1} are at least R^k·log2(N - n), by T2d.falling-factorial: so T2 is optimal up to 1 + o(1).
    """
    n = sympy.symbols("n", positive=True)
    return by_limit(R**K * (exponent * log2(N) + B) / (R**K * log2(N - n)), N, sympy.oo, 1)


@lemma("T2c.dichotomy", "z3", false={"share": 3})
def dichotomy(share: Term = 8) -> Proof:
    """For all R, k, N, L >= 0 and m = ⌊N/(2R^{k-1})⌋ >= 1, B + m·d·b >= m·R^k·L implies d·b >= R^k·L/2 or B >= NRL/8.

    m >= N/(4R^{k-1}), since ⌊y⌋ >= y/2 for y >= 1.
    """
    facts, bits, power, relations, entities, length, roots = z3.Reals("B d·b R^(k-1) R N L m")
    one_side = bits >= relations * power * length / 2
    other_side = facts >= entities * relations * length / share
    return by_z3(
        z3.Or(one_side, other_side),
        facts + roots * bits >= roots * relations * power * length,
        *[roots >= 1, entities < 2 * power * (roots + 1), power >= 1, relations >= 1, length >= 0],
    )


@lemma("T2e.exponent", "sympy", false={"backward": 2})
def exponent_halves(backward: Term = 1) -> Proof:
    """With k = 2f or 2f + 1, T2e's R^⌈k/2⌉·p coordinates over T2's R^k·p (at one bit) are R^-f: for every k >= 2 the
    ratio tends to 0 as R grows, and for every R >= 2 as k grows."""
    f, odd, p, above_one = sympy.symbols("f odd p n", positive=True)
    ratio = R ** (f + odd) * p / (R ** (2 * f + odd) * p)
    return all_of(
        {
            "ratio": by_identity(ratio, R ** (-f * backward)),
            "many relations": by_limit(R ** (-f), R, sympy.oo, 0),
            "many hops": by_limit((1 + above_one) ** (-f), f, sympy.oo, 0),
        }
    )


@lemma("T3.no-exponent", "sympy", false={"growth": 0})
def chains_beat_direct(growth: Term = 1) -> Proof:
    """For every R >= 2 and q, T3's dimension R·q + 2 over T2's R^k·q tends to 0 as the number of hops k grows."""
    above_one = sympy.symbols("n", positive=True)
    relations = 1 + above_one
    return by_limit((relations * q + 2) / (relations ** (growth * K) * q), K, sympy.oo, 0)


@lemma("T8.no-error", "sympy", false={"weight": 2})
def no_error(weight: Term = 1) -> Proof:
    """As ε falls to 0, T8's bounds tend to T1c's, for all N and R: R·(log2 N - h(ε) - ε·log2(N-1)) to R·log2 N, and
    R·(log2 N! - N·h(ε) - N·ε·log2(N-1)) to R·log2 N!."""
    rate = sympy.symbols("epsilon", positive=True)
    lost = binary_entropy(rate) + rate * log2(N - 1)
    log_factorial = sympy.loggamma(N + 1) / sympy.log(2)
    return all_of(
        {
            "universal": by_limit(R * (weight * log2(N) - lost), rate, 0, R * log2(N)),
            "every model": by_limit(R * (log_factorial - N * lost), rate, 0, R * log_factorial),
        }
    )


@lemma("T10.free-edges", "z3", false={"letters": 1})
def edges_are_entries(letters: Term = 0) -> Proof:
    """For every R, the edge of relation r < R out of node u is entry (r, u) of the table of answers, number u·R + r:
    two edges out of distinct nodes, or of distinct relations, are distinct entries, which maps may set freely."""
    relations, u, v, r, s = z3.Ints("R u v r s")
    known = [relations >= 1, u >= 0, v >= 0, r >= 0, s >= 0, r < relations + letters, s < relations + letters]
    apart = z3.Or(u != v, r != s)
    # A step from u to v is a step of R or more, from r to s one of less than R.
    steps = [z3.Implies(u > v, (u - v) * relations >= relations), z3.Implies(v > u, (v - u) * relations >= relations)]
    return all_of(
        {
            "steps": by_z3(z3.And(*steps), relations >= 1, u >= 0, v >= 0),
            "entries": by_z3(u * relations + r != v * relations + s, *known, *steps, apart),
        }
    )


@lemma("T10.no-gap", "sympy", false={"bits_left": 1})
def maps_leave_no_gap(bits_left: Term = 0) -> Proof:
    """For N = 2^p with p = b·q, T2's dimension R^k·q is exactly T10's bound R^k·log2(N)/b, for all R, k, q, b."""
    return by_identity(R**K * q, R**K * log2(2 ** (B * q - bits_left)) / B)


@lemma("T11.two-relations", "sympy", false={"centralisers": 1})
def two_relations(centralisers: Term = 0) -> Proof:
    """For R = 2 the sum over partitions has a 1 for each, so that T11 is (N!)²/p(N) tables; and for every R, with z_λ
    <= N! and p partitions, at least (N!)^R/p."""
    factorial, partitions = sympy.symbols("N! p", positive=True)
    return all_of(
        {
            "two": by_identity(
                factorial ** (2 * 2 - 2) / (partitions * factorial ** (2 - 2)), factorial**2 / partitions
            ),
            "any": by_identity(
                factorial ** (2 * R - 2) / (partitions * factorial ** (R - 2 + centralisers)), factorial**R / partitions
            ),
        }
    )


@lemma("T12.envelope", "z3", false={"steeper": -1})
def steeper_and_steeper(steeper: Term = 1) -> Proof:
    """For all lines ax + b and a'x + b' and all x < y: if the first is above at x and the second at y, then a < a'. So
    the slopes along an upper envelope grow, no line comes back, and N lines change at most N - 1 times."""
    a, b, other_a, other_b, x, y = z3.Reals("a b a' b' x y")
    return by_z3(
        steeper * (other_a - a) > 0, x < y, a * x + b > other_a * x + other_b, a * y + b < other_a * y + other_b
    )


@lemma("T12.look-up", "z3", false={"factor": 4})
def look_up_is_near(factor: Term = 6) -> Proof:
    """For all real N >= 2 and M = N^{R-1} >= 1, T1d's width 2M - 1 + 2N(M - 1)/(N - 1) is below 6M; and M/R - 1 is at
    most the least width (N·M - 1)/(R(N-1)) - 1."""
    entities, power, relations, sum_of_powers = z3.Reals("N N^(R-1) R sum")
    known = [entities >= 2, power >= 1, relations >= 1]
    return all_of(
        {
            "width": by_z3(
                2 * power - 1 + 2 * sum_of_powers < factor * power,
                *known,
                sum_of_powers * (entities - 1) == entities * (power - 1),
            ),
            "least": by_z3(power * (entities - 1) <= entities * power - 1, *known),
        }
    )


@lemma("T14.price", "z3", false={"lost": 0})
def full_price(lost: Term = 1) -> Proof:
    """For all N >= 2, (N-1)² + 1 >= N²/2, so that log ((N-1)² + 1) >= 2·log N - 1; and of a bijection g(x) = x iff
    g⁻¹(x) = x, so that (g(x), g⁻¹(x)) is a pair other than x or (x, x), as (N-1)² + 1 are."""
    entities = z3.Int("N")
    element = z3.DeclareSort("Entity")
    g, inverse = (z3.Function(name, element, element) for name in ("g", "inverse"))
    x = z3.Const("x", element)
    return all_of(
        {
            "price": by_z3((1 + lost) * ((entities - 1) * (entities - 1) + 1) >= entities * entities, entities >= 2),
            "fixed points": by_z3((g(x) == x) == (inverse(x) == x), inverse(g(x)) == x, g(inverse(x)) == x),
        }
    )
