"""Lemmas on chains of thought: in every step the heads find the current entity and the relations of the step.

In what follows t is a position, τ = k..2k-1 the last one, from which the step is taken, and z a relation's number. The
gaps of the scores are enough for hardmax; `theory.lemmas.softmax` turns them into leaks. Uses `theory.lemmas.proving`;
collected in `theory.lemmas.collection`.
"""

from __future__ import annotations

from collections.abc import Callable

import z3

from theory.lemmas.positions import distance
from theory.lemmas.proving import Proof, Term, all_of, between, by_invariant, by_z3, lemma


@lemma("T3.relation-head", "z3", false={"factor": 1})
def relation_head(factor: Term = 2) -> Proof:
    """For all k <= τ <= 2k-1 the query (2τ² - 2(k-1)τ, -τ) and the keys (t, t²) score τ·(2st - t²) with s = τ-k+1,
    which is in 1..k: largest at t = s alone, by τ·(s - t)² >= τ·|s - t|."""
    tau, k, t, s = z3.Reals("τ k t s")
    aimed, position = z3.Ints("s t")
    score = (factor * tau * tau - 2 * (k - 1) * tau) * t - tau * t * t
    aim = s == tau - k + 1
    return all_of(
        {
            "score": by_z3(score == tau * (2 * s * t - t * t), aim),
            "gap": by_z3(tau * s * s - tau * (2 * s * t - t * t) == tau * (s - t) * (s - t)),
            "size": by_z3((aimed - position) * (aimed - position) >= distance(aimed, position)),
            "a relation": by_z3(z3.And(between(1, s, k), s <= tau), aim, between(k, tau, 2 * k - 1)),
        }
    )


@lemma("T3.entity-head", "z3", false={"slope": lambda largest: largest})
def entity_head(slope: Callable[[Term], Term] = lambda largest: largest + 1) -> Proof:
    """For all k, S, sums Σ in 0..S of entities and -T <= -((S+1)k + 1) of relations, the score τ·((S+1)·t + Σ) is
    largest at the current entity: by τ·|τ - t| at least if that is the last token, and by τ·(k + 1 - t) if it is the
    subject.

    The factor τ is left out. In the first step, at τ = k, the relations stand at t = 1..k and the subject at 0; later
    there are entities at 0 and k + 1 .. τ.
    """
    k, t, tau, back, largest, depth, total, own = z3.Ints("k t τ back S T Σ own")
    M = slope(largest)
    relation, here = M * t - depth, M * tau + own
    sums = [between(0, total, largest), between(0, own, largest), depth >= M * k + 1, k >= 1]
    return all_of(
        {
            "first step": by_z3(own - relation >= k + 1 - t, *sums, between(1, t, k)),
            "later, against relations": by_z3(here - relation >= tau - t, *sums, between(1, t, k), tau > k),
            "later, against entities": by_z3(here - (M * (tau - back) + total) >= back, *sums, between(1, back, tau)),
        }
    )


@lemma("T3.offset", "z3", false={"missing": 1})
def least_offset(missing: Term = 0) -> Proof:
    """For all R, q, B and totals, P = max(0, ⌈(total - q(R-1)B)/(qR)⌉) is the least P >= 0 for which the block
    coordinates of a relation, q times -P and q(R - 1) times -P - B, sum to at most -total."""
    size, relations, base, total, offset, smaller, entries = z3.Ints("q R B total P P' qR")
    wanted = total - size * (relations - 1) * base
    positive = z3.And(wanted > 0, entries * (offset - 1) < wanted, wanted <= entries * offset + missing)
    known = [size >= 1, relations >= 1, base >= 2, entries == size * relations]
    known.append(z3.Or(positive, z3.And(wanted <= 0, offset == 0)))

    def depth(P: Term) -> Term:
        """Minus the sum of a relation's block coordinates at offset P: q·P + (R-1)·q·(P + B)."""
        return size * P + (relations - 1) * size * (P + base)

    return all_of(
        {
            "sum": by_z3(depth(offset) == size * (relations * offset + (relations - 1) * base)),
            "enough": by_z3(z3.And(offset >= 0, depth(offset) >= total), *known),
            "least": by_z3(depth(smaller) < total, *known, between(0, smaller, offset - 1)),
        }
    )


@lemma("T3.sign-code-heads", "z3", false={"scale": lambda largest: (largest + 1) / 2})
def sign_code_heads(scale: Callable[[Term], Term] = lambda largest: (largest + 1) / 2 + 1) -> Proof:
    """For all S, L >= 1, M = ⌈S/2⌉ + 1, sums in 0..S of entities and -T <= -(2ML + 2) of relations, the scores
    M·<c(τ), c(t)> + Σ of position codes of L signs are largest at the current entity, by at least 2.

    Distinct codes have inner products at most L - 2 (T1.margin), which is the relation head's gap of 2 as well. In the
    first step the codes of τ = k and of 0 have L - 2: they differ in the last sign alone (T3.position-numbers).
    """
    length, largest, depth, total, own, inner, M = z3.Ints("L S T Σ own inner M")
    known = [between(0, total, largest), between(0, own, largest), scale(largest) == M, length >= 1]
    known.append(2 * M * length + 2 <= depth)
    relation, here = M * inner - depth, M * length + own
    return all_of(
        {
            "scale": by_z3(largest + 2 <= 2 * M, *known),
            "first step": by_z3(M * (length - 2) + own - relation >= 2, *known, inner <= length),
            "later, against relations": by_z3(here - relation >= 2, *known, inner <= length),
            "later, against entities": by_z3(here - (M * inner + total) >= 2, *known, inner <= length - 2),
        }
    )


@lemma("T3.position-numbers", "z3", false={"missing": 1})
def position_numbers(missing: Term = 0) -> Proof:
    """For all k and H = 2^{L-1} >= k the numbers t mod k + H·⌊t/k⌋ of the positions t = 0..2k-1 are distinct and below
    2H, at least H iff t >= k, and those of k and 0 differ by H: in the last sign alone."""
    k, t, other, half = z3.Ints("k t t' H")

    def number(position: Term) -> Term:
        """t mod k + H·⌊t/k⌋ for a position t in 0..2k-1: t itself below k, t - k + H from k on."""
        return z3.If(position >= k, position - k + half, position)

    claims = [number(t) != number(other), between(0, number(t), 2 * half - 1), (number(t) >= half) == (t >= k)]
    places = [between(0, t, 2 * k - 1), between(0, other, 2 * k - 1), t != other]
    return by_z3(z3.And(*claims, number(k) == number(0) + half), k >= 1, half >= k - missing, *places)


@lemma("T3b.slots", "z3", false={"shift": 1})
def stride_slots(shift: Term = 0) -> Proof:
    """For all 1 <= ρ <= j and k = ρ + (steps - 1)·j, slot m = 1..j of step i, at τ = k + i - 1, scores τ·(2st - t²)
    with s = ρ + (i-2)·j + m: the m-th relation of the step for i >= 2; in the first step the last ρ slots are aimed at
    1..ρ, in order, and the others at s <= 0. No slot is aimed beyond k."""
    k, j, rho, tau, m, i, steps, s = z3.Ints("k j ρ τ m i steps s")
    query = tau * 2 * (rho - (k + 1) * j + m) + tau * tau * 2 * j
    aim = s == rho + (tau - k - 1) * j + m + shift
    sizes = [between(1, rho, j), between(1, m, j), steps >= 1, k == rho + (steps - 1) * j]
    step = [tau == k + i - 1, between(1, i, steps)]
    right_aligned = z3.If(m > j - rho, z3.And(s == m - (j - rho), between(1, s, rho)), s <= 0)
    return all_of(
        {
            "score": by_z3(query == tau * 2 * s, aim),
            "first step": by_z3(right_aligned, aim, *sizes, tau == k),
            "later steps": by_z3(s == rho + (i - 2) * j + m, aim, *sizes, *step, i >= 2),
            "no slot beyond k": by_z3(z3.And(s <= k, s <= tau), aim, *sizes, *step),
        }
    )


@lemma("T3b.entity-head", "z3", false={"slope": lambda k: k})
def stride_entity_head(slope: Callable[[Term], Term] = lambda k: k + 1) -> Proof:
    """For all k the score t - (k+1)·z is at most -1 on the relations, z >= 1 at t = 1..k, and t on entities, z = 0:
    largest, by at least 1, at the last entity, which in the first step is the subject."""
    k, t, z, tau = z3.Ints("k t z τ")
    return all_of(
        {
            "relations": by_z3(t - slope(k) * z <= -1, between(1, t, k), z >= 1),
            "entities": by_z3((tau - slope(k) * 0) - (t - slope(k) * 0) >= 1, between(0, t, tau - 1)),
        }
    )


@lemma("T3b.other-families", "z3", false={"first": 0})
def other_families(first: Term = 1) -> Proof:
    """For all j > ρ, with relations numbered from 1 and empty slots 0, slot 1 mismatches, by at least 1, in the steps
    that a family of blocks is not for; and the number J of a suffix is at most V - 1 over empty slots too.

    Words of j hops expect z >= 1 in slot 1, which is empty in a first step of ρ < j hops; words of ρ hops expect 0
    there, where later steps have z >= 1. J grows by one slot at a time, J becomes R·J + z - 1.
    """
    z, expected, relations, places, number = z3.Ints("z e R V J")
    return all_of(
        {
            "words of j hops": by_z3((0 - expected) * (0 - expected) >= 1, expected >= first),
            "words of ρ hops": by_z3((z - 0) * (z - 0) >= 1, z >= first),
            "suffix": by_invariant(
                number <= places - 1,
                [(number, z3.IntVal(0), relations * number + z - first), (places, z3.IntVal(1), relations * places)],
                number <= places - 1,
                always=[relations >= 1],
                each_step=[between(0, z, relations - 1 + first)],
            ),
        }
    )
