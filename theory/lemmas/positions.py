"""Lemmas on the heads that find their token by its position: the token meant has the largest score, at every length.

In what follows t is a position, s or i the one aimed at, k the number of hops; a direct model asks from position k. The
heads of chains are in `theory.lemmas.chains`. Uses `theory.lemmas.proving`; collected in `theory.lemmas.collection`.
"""

from __future__ import annotations

from collections.abc import Callable

import z3

from theory.lemmas.proving import Proof, Term, all_of, between, by_z3, lemma


def distance(s: Term, t: Term) -> Term:
    """|s - t| of two z3 numbers."""
    return z3.If(s > t, s - t, t - s)


@lemma("T2.parabola", "z3", false={"curvature": 2})
def parabola(curvature: Term = 1) -> Proof:
    """For all integers s and t, s² - (2st - t²) = (s - t)² >= |s - t|, so that 2st - t² is largest at t = s alone; and
    for s <= 0 <= t, 2st - t² <= -t, so that aimed below 0 it is largest at t = 0 alone."""
    s, t = z3.Ints("s t")
    score = 2 * s * t - curvature * t * t
    return all_of(
        {
            "square": by_z3(s * s - score == (s - t) * (s - t)),
            "gap": by_z3((s - t) * (s - t) >= distance(s, t)),
            "aimed below 0": by_z3(score <= -t, s <= 0, t >= 0),
        }
    )


@lemma("T2.overlaid-positions", "z3", false={"depth": lambda k, V: k * k + 2 * k * V})
def overlaid_positions(depth: Callable[[Term, Term], Term] = lambda k, V: k * k + 2 * (k + 1) * V + 1) -> Proof:
    """For all k >= 1, V >= 0 and subject entries e, f in [-V,V] under (place, height) = (0, -Z) at position 0, with Z =
    k² + 2(k+1)V + 1, and (t, -t²) at t = 1..k: the subject's head and every relation's head have a gap of at least 1.

    The query's factor, k² >= 1, is left out. With one hop there is no place, and the relation's head scores by height.
    """
    k, i, t = z3.Ints("k i t")
    place, height, largest = z3.Reals("e f V")
    at_subject = height - depth(z3.ToReal(k), largest)
    entries = [between(-largest, place, largest), between(-largest, height, largest)]
    aimed = [between(1, i, k), between(1, t, k), i != t]
    relation_at_subject = 2 * z3.ToReal(i) * place + at_subject
    return all_of(
        {
            "subject": by_z3(-at_subject - z3.ToReal(t * t) >= 1, *entries, between(1, t, k)),
            "relations, against the others": by_z3(i * i - (2 * i * t - t * t) >= 1, *aimed),
            "relations, against the subject": by_z3(
                z3.ToReal(i * i) - relation_at_subject >= 1, *entries, between(1, i, k)
            ),
            "one hop": by_z3(-1 - at_subject >= 1, *entries, k == 1),
        }
    )


@lemma("T13.heads", "z3", false={"reach": lambda V: 4 * V + 2})
def noisy_positions(reach: Callable[[Term], Term] = lambda V: V + z3.Q(1, 2)) -> Proof:
    """For all k >= 1, V >= 1 and subject entries e, f in [-1/2, V + 1/2] under T2's positions: every head keeps a gap
    of at least 1/2."""
    k, i, t = z3.Ints("k i t")
    place, height, largest = z3.Reals("e f V")
    at_subject = height - (z3.ToReal(k * k) + 2 * (z3.ToReal(k) + 1) * largest + 1)
    low, high = z3.Q(-1, 2), reach(largest)
    entries = [largest >= 1, between(low, place, high), between(low, height, high)]
    relation_at_subject = 2 * z3.ToReal(i) * place + at_subject
    return all_of(
        {
            "subject": by_z3(-at_subject - z3.ToReal(t * t) >= z3.Q(1, 2), *entries, between(1, t, k)),
            "relations": by_z3(z3.ToReal(i * i) - relation_at_subject >= z3.Q(1, 2), *entries, between(1, i, k)),
            "one hop": by_z3(-1 - at_subject >= z3.Q(1, 2), *entries, k == 1),
        }
    )


@lemma("T2.room", "z3", false={"spare": 1})
def room_for_positions(spare: Term = 0) -> Proof:
    """For all R, k, q, p >= 1 T2's R^k·q coordinates hold the relation code (min(2, R - 1)), place (if R, k >= 2) and
    height; so do T2b's p + k·⌈log2 R⌉, with a code of ⌈log2 R⌉.

    R^k = R for k = 1 and R^k >= R² for k >= 2. (T2e, which may have less, takes the coordinates that it needs.)
    """
    relations, hops, size, blocks, code_bits = z3.Ints("R k q R^k bits")
    placed = z3.If(z3.And(relations > 1, hops > 1), 1, 0)
    columns = z3.If(relations <= 2, relations - 1, 2)
    sizes = [relations >= 1, hops >= 1, size >= 1]
    power = blocks >= z3.If(hops == 1, relations, relations * relations)
    code = code_bits >= z3.If(relations > 1, 1, 0)
    return all_of(
        {
            "T2": by_z3(blocks * size >= columns + placed + 1 + spare, *sizes, power),
            "T2b": by_z3(size + hops * code_bits >= code_bits + placed + 1 + spare, *sizes, code),
        }
    )


@lemma("T4.positions", "z3", false={"slope": 2})
def depth_positions(slope: Term = 1) -> Proof:
    """For all k >= 1 the scores k·(2it - t²) of target i have a gap of at least k, and the scores k·(2it - t), which
    serve target 0 always and target 1 when k = 1, a gap of at least 1."""
    k, t, target = z3.Ints("k t i")
    parabolic = k * (2 * target * t - t * t)
    return all_of(
        {
            "two coordinates": by_z3(k * target * target - parabolic >= k, k >= 1, t != target),
            "one coordinate, target 0": by_z3(0 - k * (0 - slope * t) >= 1, k >= 1, t >= 1),
            "one coordinate, target 1": by_z3(k * (2 - slope) - 0 >= 1, k == 1),
        }
    )
