"""Lemmas on entity codes and read-outs: codes are distinct, the nearest one is named, with what margin.

A vector of any length is a loop over its coordinates; h counts those in which two codes differ, so that codes are
distinct iff h >= 1. Uses `theory.lemmas.proving`; the lemmas are collected in `theory.lemmas.collection`.
"""

from __future__ import annotations

import sympy
import z3

from theory.lemmas.proving import Proof, Term, all_of, between, by_identity, by_invariant, by_minimum, by_z3, lemma


def _is_sign(value: Term) -> Term:
    return z3.Or(value == 1, value == -1)


@lemma("T1.codes", "z3", false={"surplus": 1})
def distinct_digits(surplus: Term = 0) -> Proof:
    """For all B >= 1 and n, n digits 0..B-1 name exactly one number in 0..B^n - 1, and equal numbers have equal digits:
    entity codes (signs for B = 2, digits for B = 2^b) and words (B = R) are distinct.

    Two numbers grow by one digit at a time, highest first: a becomes B·a + d.
    """
    base, size, a, other, digit, other_digit = z3.Ints("B size a a' d d'")
    same = z3.Bool("same")
    return by_invariant(
        z3.And(same == (a == other), between(0, a, size - 1), between(0, other, size - 1)),
        [
            (a, z3.IntVal(0), base * a + digit),
            (other, z3.IntVal(0), base * other + other_digit),
            (size, z3.IntVal(1), base * size),
            (same, z3.BoolVal(True), z3.And(same, digit == other_digit)),
        ],
        z3.And(same == (a == other), between(0, a, size - 1)),
        always=[base >= 1],
        each_step=[between(0, digit, base - 1 + surplus), between(0, other_digit, base - 1 + surplus)],
    )


@lemma("T1.margin", "z3", false={"margin": 3})
def sign_margin(margin: Term = 2) -> Proof:
    """For every p and all distinct c, c' in {-1,+1}^p, <c,c> - <c,c'> = p - (p - 2h) = 2h >= 2."""
    length, inner, differing, c, other = z3.Ints("p inner h c c'")
    return by_invariant(
        z3.And(inner == length - 2 * differing, differing >= 0),
        [
            (length, z3.IntVal(0), length + 1),
            (inner, z3.IntVal(0), inner + c * other),
            (differing, z3.IntVal(0), differing + z3.If(c == other, 0, 1)),
        ],
        z3.Implies(differing >= 1, length - inner >= margin),
        each_step=[_is_sign(c), _is_sign(other)],
    )


@lemma("T1.residual-margin", "z3", false={"scale": 3})
def margin_over_a_stream(scale: Term = 4) -> Proof:
    """For every p, all distinct c, c' in {-1,+1}^p and all s in [-3,3]^p, <c, s + 4c> - <c', s + 4c> >= 2h >= 2."""
    gain, stream = z3.Reals("gain s")
    c, other, differing = z3.Ints("c c' h")
    return by_invariant(
        z3.And(gain >= 2 * differing, differing >= 0),
        [
            (gain, z3.RealVal(0), gain + z3.ToReal(c - other) * (stream + scale * z3.ToReal(c))),
            (differing, z3.IntVal(0), differing + z3.If(c == other, 0, 1)),
        ],
        z3.Implies(differing >= 1, gain >= 2),
        each_step=[_is_sign(c), _is_sign(other), between(-3, stream, 3)],
    )


@lemma("T1b.nearest-code", "z3", false={"factor": 1})
def nearest_code(factor: Term = 2) -> Proof:
    """For all real c, h of any length, 2<c,h> - |c|² = |h|² - |h - c|²: the nearest code has the largest logit."""
    logit, norm, distance, c, h = z3.Reals("logit norm distance c h")
    return by_invariant(
        logit == norm - distance,
        [
            (logit, z3.RealVal(0), logit + factor * c * h - c * c),
            (norm, z3.RealVal(0), norm + h * h),
            (distance, z3.RealVal(0), distance + (h - c) * (h - c)),
        ],
        logit == norm - distance,
    )


@lemma("T1b.margin", "z3", false={"gap": 2})
def integer_distance(gap: Term = 1) -> Proof:
    """Distinct integer vectors of any length are at squared distance at least 1: the margin of the nearest code at h =
    c."""
    distance, differing, c, other = z3.Ints("distance h c c'")
    return by_invariant(
        z3.And(distance >= differing, differing >= 0),
        [
            (distance, z3.IntVal(0), distance + (c - other) * (c - other)),
            (differing, z3.IntVal(0), differing + z3.If(c == other, 0, 1)),
        ],
        z3.Implies(differing >= 1, distance >= gap),
    )


@lemma("T13.margin", "z3", false={"passed": 3})
def noisy_distance(passed: Term = 2) -> Proof:
    """For all integers c ≠ c' and reals |η| <= δ <= 1/2: the coordinate c + η adds (c - c')² + 2(c - c')·η >= 1 - 2δ to
    the difference of two logits."""
    c, other = z3.Ints("c c'")
    noise, most = z3.Reals("η δ")
    step = z3.ToReal(c - other)
    known = [c != other, between(-most, noise, most), most <= z3.Q(1, 2)]
    return by_z3(step * step + passed * step * noise >= 1 - 2 * most, *known)


@lemma("T13.pieces", "z3", false={"length": 3})
def common_perturbation(length: Term = 2) -> Proof:
    """For all reals δ > 0: two numbers in one half-open piece of length 2δ are both less than δ from their mean; and
    the pieces of [0, A] are those of the numbers 0 .. ⌊A/2δ⌋."""
    u, v, noise, extent = z3.Reals("u v δ A")
    piece, last = z3.Ints("piece last")
    side = length * noise
    mean = (u + v) / 2
    inside = [noise > 0, between(z3.ToReal(piece) * side, u, u), between(z3.ToReal(piece) * side, v, v)]
    inside += [u < (z3.ToReal(piece) + 1) * side, v < (z3.ToReal(piece) + 1) * side]
    counted = [between(z3.ToReal(last) * side, extent, extent), extent < (z3.ToReal(last) + 1) * side]
    return all_of(
        {
            "mean": by_z3(z3.And(u - mean < noise, mean - u < noise, v - mean < noise, mean - v < noise), *inside),
            "number": by_z3(piece <= last, *inside, *counted, u <= extent),
        }
    )


@lemma("T1b.circle-margin", "sympy and z3", false={"nearest": 2})
def circle_margin(nearest: int = 1) -> Proof:
    """For all N >= 2 the logits on the circle are cos(2πm/N), m = a - a'; for 1 <= m <= N - 1 they are at most
    cos(2π/N), so that the margin is 1 - cos(2π/N) exactly, and at least 8/N².

    cos(2π/N) - cos(2πm/N) is a product of two sines of angles in [0, π], and 1 - cos(2π/N) = 2·sin²(π/N) with sin x >=
    2x/π.
    """
    alpha, beta, m, x = sympy.symbols("alpha beta m x", real=True)
    step = sympy.pi / sympy.symbols("N", positive=True)
    places, other = z3.Reals("N m")
    inner = sympy.cos(alpha) * sympy.cos(beta) + sympy.sin(alpha) * sympy.sin(beta)
    product = 2 * sympy.sin((m + nearest) * step) * sympy.sin((m - nearest) * step)
    in_half_turn = z3.And(between(0, other - nearest, places), between(0, other + nearest, places))
    chord = sympy.sin(x) - 2 * x / sympy.pi
    return all_of(
        {
            "logit": by_identity(inner, sympy.cos(alpha - beta)),
            "difference": by_identity(sympy.cos(2 * nearest * step) - sympy.cos(2 * m * step), product),
            "angles in [0, π]": by_z3(in_half_turn, between(1, other, places - 1), places >= 2),
            "sin >= 0 there": by_minimum(sympy.sin(x), x, sympy.Interval(0, sympy.pi), 0),
            "margin": by_identity(1 - sympy.cos(2 * step), 2 * sympy.sin(step) ** 2),
            "sin x >= 2x/π": by_minimum(chord, x, sympy.Interval(0, sympy.pi / 2), 0),
        }
    )


@lemma("T6.margin", "z3", false={"spacing": 1})
def disjoint_attributes(spacing: Term = 4) -> Proof:
    """For all p, r, r' the logit <c(a), c(g_r'(x))> + 8rr' - 4r'² is <c(a), c(g_r'(x))> + 4r² - 4(r - r')²: 4r² + p at
    the answer and at most 4r² + p - 2 at every other attribute of every relation."""
    asked, other, length, inner = z3.Ints("r r' p inner")
    logit = inner + 2 * asked * spacing * other - spacing * other * other
    top = spacing * asked * asked
    return all_of(
        {
            "logit": by_z3(logit == inner + top - spacing * (asked - other) * (asked - other)),
            "margin": by_z3(logit <= top + length - 2, inner <= z3.If(asked == other, length - 2, length)),
        }
    )


@lemma("T7.digits", "z3", false={"growth": 3})
def digits_are_affine(growth: Term = 2) -> Proof:
    """For every b a base-2^b digit is (2^b - 1 + Σ_i 2^i·c_i)/2 in the signs c_i of its bits, so that rows of digits
    are affine in the codes too."""
    number, weighted, power, bit = z3.Ints("number weighted 2^i bit")
    return by_invariant(
        2 * number == power - 1 + weighted,
        [
            (number, z3.IntVal(0), number + power * bit),
            (weighted, z3.IntVal(0), weighted + power * (2 * bit - 1)),
            (power, z3.IntVal(1), growth * power),
        ],
        2 * number == power - 1 + weighted,
        each_step=[z3.Or(bit == 0, bit == 1)],
    )
