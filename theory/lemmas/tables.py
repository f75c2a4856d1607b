"""Lemmas on T1d: a function on 0..n is a sum of ReLUs at its kinks; how many kinks the answers have; shared digits.

Uses `theory.lemmas.proving`; collected in `theory.lemmas.collection`.
"""

from __future__ import annotations

import sympy
import z3

from theory.lemmas.proving import Proof, Term, all_of, between, by_identity, by_invariant, by_z3, lemma, relu


@lemma("T1d.sum-of-kinks", "z3", false={"error": 1})
def sum_of_kinks(error: Term = 0) -> Proof:
    """For every function f on the integers 0, 1, .. with integer values, f(s) - f(0) = Σ_j κ_j·ReLU(s - j), where κ_0
    is f(1) - f(0) and κ_j the second difference at j.

    From s to s + 1 each ReLU(s - j) with j <= s grows by 1 and the others stay 0, so that the sum grows by the slope
    Σ_{j<=s} κ_j = f(s + 1) - f(s).
    """
    s, j, total, slope = z3.Ints("s j total slope")
    f = z3.Function("f", z3.IntSort(), z3.IntSort())
    before = z3.If(s == 0, 0, f(s) - f(s - 1))
    kink = f(s + 1) - f(s) - before + error
    return all_of(
        {
            "a ReLU grows by 1 from its kink on": by_z3(relu(s + 1 - j) == relu(s - j) + z3.If(j <= s, 1, 0)),
            "sum": by_invariant(
                z3.And(total == f(s) - f(0), slope == before, s >= 0),
                [
                    (total, z3.IntVal(0), total + slope + kink),
                    (slope, z3.IntVal(0), slope + kink),
                    (s, z3.IntVal(0), s + 1),
                ],
                total == f(s) - f(0),
            ),
        }
    )


@lemma("T1d.kinks", "z3", false={"shortest": 1})
def kinks_of_runs(shortest: Term = 2) -> Proof:
    """For all N >= 2 the look-up table has a kink at a point s >= 1 iff s is the first or the last point of a run: of N
    points on relation 0, of N^r equal answers on relation r >= 1.

    On relation 0 the answer is the place m in the run, and the next run, of relation 0 or 1, starts at 0. On the others
    the answers of neighbouring runs differ: a run follows N - 1 with 0, or v with v + 1.
    """
    length, m, answer, after, before = z3.Ints("length m answer after before")
    at_edge = z3.Or(m == 0, m == length - 1)
    rising = z3.If(m == length - 1, 0, m + 1) - 2 * m + z3.If(m == 0, length - 1, m - 1)
    constant = z3.If(m == length - 1, after, answer) - 2 * answer + z3.If(m == 0, before, answer)
    in_run = [length >= shortest, between(0, m, length - 1)]
    return all_of(
        {
            "relation 0": by_z3((rising != 0) == at_edge, *in_run),
            "relation r >= 1": by_z3((constant != 0) == at_edge, *in_run, answer != after, answer != before),
        }
    )


@lemma("T1d.width", "sympy and z3", false={"last": 0})
def lookup_width(last: int = 1) -> Proof:
    """For all N >= 2 and R >= 1 the kinks, two a run without the last point of all, number 2·N^{R-1} - 1 +
    2·Σ_{i=1}^{R-1} N^i, which is below 6·N^{R-1}.

    Relation 0 has N^{R-1} runs, relation r >= 1 has N^{R-r}; κ_0 = 1 is the kink at the first point of all.
    """
    above_one, relations, r = sympy.symbols("n R r", integer=True, positive=True)
    entities = above_one + 1
    runs = entities ** (relations - 1) + sympy.summation(entities ** (relations - r), (r, 1, relations - 1))
    stated = 2 * entities ** (relations - 1) - 1 + 2 * sympy.summation(entities**r, (r, 1, relations - 1))
    n, power, rest = z3.Reals("N N^(R-1) sum")
    geometric = (n - 1) * rest == n * (power - 1)
    return all_of(
        {
            "count": by_identity(2 * runs - last, stated),
            "order": by_z3(2 * power - 1 + 2 * rest < 6 * power, n >= 2, power >= 1, geometric),
        }
    )


@lemma("T1d.index", "z3", false={"smallest_rest": -1})
def index_of_answers(smallest_rest: Term = 0) -> Proof:
    """For all N, R and answers g_r the index I = Σ_r g_r·N^r lies in 0..N^R - 1, and g_r = ⌊I/N^r⌋ mod N.

    I = N^r·(g_r + N·high) + rest with 0 <= rest < N^r, by the first part; division with remainder is unique.
    """
    entities, index, power, answer = z3.Ints("N I N^r g")
    divisor, quotient, rest, other_quotient, other_rest = z3.Ints("P quotient rest quotient' rest'")
    return all_of(
        {
            "range": by_invariant(
                between(0, index, power - 1),
                [(index, z3.IntVal(0), index + answer * power), (power, z3.IntVal(1), power * entities)],
                between(0, index, power - 1),
                always=[entities >= 2],
                each_step=[between(0, answer, entities - 1)],
            ),
            "division": by_z3(
                z3.And(quotient == other_quotient, rest == other_rest),
                divisor * quotient + rest == divisor * other_quotient + other_rest,
                between(smallest_rest, rest, divisor - 1),
                between(0, other_rest, divisor - 1),
            ),
        }
    )


@lemma("T1d.shared-digits", "z3", false={"surplus": 1})
def shared_digits(surplus: Term = 0) -> Proof:
    """For all R, p, b the numbers of relations with bits in a digit add up over d digits to at most d + R - 1, so that
    the concatenation's tables have at most 2^b·(d + R - 1) points.

    Digit i holds the bits i·b .. i·b + b - 1, of the relations from first = ⌊i·b/p⌋ to last = min(R - 1, ⌊(i·b + b -
    1)/p⌋). The next digit's first relation is not before this one's last.
    """
    digits, shared, last, relations = z3.Ints("d shared last R")
    first, next_last, bit, answer_bits = z3.Ints("first next_last bit p")
    return all_of(
        {
            "order": by_z3((bit + 1) / answer_bits >= bit / answer_bits, bit >= 0, answer_bits >= 1),
            "sum": by_invariant(
                z3.And(shared <= digits + last, between(0, last, relations - 1)),
                [
                    (digits, z3.IntVal(0), digits + 1),
                    (shared, z3.IntVal(0), shared + next_last - first + 1 + surplus),
                    (last, z3.IntVal(0), next_last),
                ],
                shared <= digits + relations - 1,
                always=[relations >= 1],
                each_step=[last <= first, first <= next_last, next_last <= relations - 1],
            ),
        }
    )


@lemma("T1d.shifted-digit", "z3", false={"shift": 0})
def shifted_digit(shift: Term = 1) -> Proof:
    """For all B, t and 0 <= v < B, t·B + v is a point of the t-th stretch, t·B .. (t + 1)·B - 1, and ReLU(v - B - j) =
    0 for every kink j >= 0: a digit without bits of the relation adds nothing."""
    v, base, j, place = z3.Ints("v B j t")
    digit = between(0, v, base - 1)
    return all_of(
        {
            "open": by_z3(between(place * base, place * base + v, (place + 1) * base - 1), digit),
            "closed": by_z3(relu(v - shift * base - j) == 0, digit, j >= 0),
        }
    )
