"""Lemmas on softmax: the gaps of T3's scores bound what leaks to other tokens, and so the error, below what answers
need.

At inverse temperature β let x = e^-β. Within a head the weight of a token whose score is g below the largest is at most
x^g. In what follows B = 2^b, P is the offset of T3 and the spread of the block coordinates is P + 2B - 1: entities have
0..B - 1, relations -P or -P - B. Uses `theory.lemmas.proving`; collected in `theory.lemmas.collection`.
"""

from __future__ import annotations

import z3

from theory.lemmas.proving import Proof, Term, all_of, between, by_invariant, by_z3, lemma, relu

HALF = z3.Q(1, 2)
A_TENTH_LARGER = z3.Q(11, 10)


@lemma("T3.leak-of-a-head", "z3", false={"growth": 2})
def leak_of_a_head(growth: Term = 1) -> Proof:
    """For any number of tokens at distances m = 1, 2, .. with weights at most y^m, 0 < y < 1, the weights add up to at
    most y/(1 - y), on each side of the token meant.

    Gaps are τ·m at least (T3.relation-head, T3.entity-head), so that y = x^τ.
    """
    y, total, power, weight = z3.Reals("y total y^m weight")
    return by_invariant(
        z3.And(total * (1 - y) <= y - y * power, power > 0),
        [(total, z3.RealVal(0), total + weight), (power, z3.RealVal(1), growth * power * y)],
        total * (1 - y) <= y,
        always=[y > 0, y < 1],
        each_step=[weight <= power * y],
    )


@lemma("T3.leak-moves-a-mean", "z3", false={"factor": z3.Q(99, 100)})
def leak_moves_a_mean(factor: Term = 1) -> Proof:
    """For any number of tokens with values within `spread` of each other, a head that gives weight A to the tokens not
    meant misses the value of the one meant by at most A·spread."""
    leaked, error, weight, value, meant, spread = z3.Reals("A error weight value meant spread")
    bounded = between(-factor * leaked * spread, error, factor * leaked * spread)
    return by_invariant(
        z3.And(bounded, leaked >= 0),
        [(leaked, z3.RealVal(0), leaked + weight), (error, z3.RealVal(0), error + weight * (value - meant))],
        bounded,
        always=[spread >= 0],
        each_step=[weight >= 0, between(-spread, value - meant, spread)],
    )


@lemma("T3.spread", "z3", false={"shift": 0})
def spread_of_blocks(shift: Term = 1) -> Proof:
    """For all R, q, k, B the offset P is at most B·k + 1: then the sum of a relation's coordinates is deep enough
    already. So the spread P + 2B - 1 is at most B·(k + 2); R = q = 1 attains it."""
    entries, k, base, offset, others = z3.Ints("qR k B P q(R-1)")
    needed = (entries * (base - 1) + 1) * k + 1
    depth = entries * offset + others * base
    return all_of(
        {
            "deep enough": by_z3(
                depth >= needed, offset == base * k + shift, entries >= 1, others >= 0, base >= 2, k >= 1
            ),
            "spread": by_z3(offset + 2 * base - 1 <= base * (k + 2), offset <= base * k + shift),
            "attained": by_z3(
                z3.Implies(depth >= needed, offset + 2 * base - 1 >= base * (k + 2)), entries == 1, others == 0
            ),
        }
    )


@lemma("T3.softmax", "z3", false={"factor": 8, "slack": z3.Q(4, 3)})
def softmax_leak(factor: Term = 9, slack: Term = A_TENTH_LARGER) -> Proof:
    """For all b, k >= 1, all R, q and every step, at e^-β = 1/(9(2^{b+1} - 1)) the two heads move every block
    coordinate by less than 1/2; so they do if e^-β is up to a tenth larger, by far more than β is rounded.

    k = 1: each head sees one other token, 2x·spread <= 2x·3B < 1/2. k >= 2: each leaks 2y/(1 - y) at most, y = x^τ <=
    x^k; x^{k-1}·(k + 2) <= 1/6 by induction over k from 2 on, so that 2·2y·B(k + 2) < (1 - y)/2.
    """
    x, base, power, y, k = z3.Reals("x B x^(k-1) y k")
    cold = [x > 0, x * factor * (2 * base - 1) <= slack, base >= 2]
    small = [x > 0, x < z3.Q(1, 24)]
    decayed = power * (k + 2) <= z3.Q(1, 6)
    return all_of(
        {
            "k = 1": by_z3(2 * x * 3 * base < HALF, *cold),
            "x": by_z3(z3.And(x < z3.Q(1, 24), x * base <= z3.Q(1, 12)), *cold),
            "induction over k >= 2": by_invariant(
                z3.And(decayed, power > 0, k >= 2),
                [(power, x, power * x), (k, z3.RealVal(2), k + 1)],
                decayed,
                always=small,
            ),
            "k >= 2": by_z3(
                4 * y * base * (k + 2) < (1 - y) / 2,
                *[*small, x * base <= z3.Q(1, 12), decayed, power > 0, k >= 2, y > 0, y <= power * x],
            ),
        }
    )


@lemma("T3.sign-code-softmax", "z3", false={"factor": 7})
def sign_code_leak(factor: Term = 8) -> Proof:
    """For all k and spreads, at e^-2β = 1/(8(2k - 1)·spread) two heads, each leaking at most e^-2β to each of at most
    2k - 1 other tokens, move every block coordinate by at most 1/4 (T3.sign-code-heads: gaps of at least 2)."""
    x_squared, spread, leaked, weight = z3.Reals("e^-2β spread A weight")
    tokens, k = z3.Ints("tokens k")
    others = 2 * z3.ToReal(k) - 1
    known = [k >= 1, spread > 0, x_squared > 0, x_squared * factor * others * spread == 1]
    return all_of(
        {
            "a head": by_invariant(
                leaked <= z3.ToReal(tokens) * x_squared,
                [(leaked, z3.RealVal(0), leaked + weight), (tokens, z3.IntVal(0), tokens + 1)],
                leaked <= z3.ToReal(tokens) * x_squared,
                always=known,
                each_step=[weight <= x_squared],
            ),
            "both": by_z3(2 * leaked * spread <= z3.Q(1, 4), *known, leaked <= others * x_squared),
        }
    )


@lemma("T3.half-error", "z3", false={"error": 1})
def half_error(error: Term = HALF) -> Proof:
    """For any number of coordinates, if every block coordinate is moved by less than 1/2, digits arrive within 1/2 of
    themselves through the open gate, 0 through the closed ones, and the nearest integer code is still the answer's: a
    positive margin."""
    gain, moved, step = z3.Reals("gain error c'-c")
    digit, differing = z3.Ints("t h")
    small = [-error < moved, moved < error]
    arrived = relu(z3.ToReal(digit) + moved) - z3.ToReal(digit)
    # |h - c'|² - |h - c|² for h = c + error, coordinate by coordinate.
    nearer = (moved - step) * (moved - step) - moved * moved
    return all_of(
        {
            "open": by_z3(z3.And(-error < arrived, arrived < error), digit >= 0, *small),
            "closed": by_z3(relu(z3.ToReal(digit) + moved) == 0, digit <= -1, *small),
            "margin": by_invariant(
                z3.And(gain >= 0, differing >= 0, z3.Implies(differing >= 1, gain > 0)),
                [
                    (gain, z3.RealVal(0), gain + nearer),
                    (differing, z3.IntVal(0), differing + z3.If(step == 0, 0, 1)),
                ],
                z3.Implies(differing >= 1, gain > 0),
                each_step=[*small, z3.Or(step == 0, step >= 1, step <= -1)],
            ),
        }
    )
