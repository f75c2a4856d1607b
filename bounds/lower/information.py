"""T1c and T8: what it takes to hold all answers of one subject, or all facts, exactly or at an error rate.

**T1c.** *Universal: d·b >= R·log2 N.* The answers of one subject can be any of N^R vectors, and a universal model gets
to know them from its row alone. *Every model: N·d·b + B >= R·log2 N!.* The answers to all queries are g, one of (N!)^R
systems. A learned read-out brings N more rows (2N·d·b); a tied one does not.

**T8.** At error rate ε <= 1 - 1/N, averaged over all queries, with h(ε) = -ε·log2 ε - (1-ε)·log2(1-ε):

    universal:    d·b >= R·(log2 N - h(ε) - ε·log2(N-1))
    every model:  N·d·b + B >= R·(log2 N! - N·h(ε) - N·ε·log2(N-1))

*Proof.* Let g be uniform. The entropy of the answers, R·log2 N or R·log2 N!, is at most the bits of what the model
answers from plus the entropy of the answers given the model's own, which is at most the sum over the queries of h(ε_q)
+ ε_q·log2(N-1) (Fano), ε_q the error probability at query q over g. That function of ε_q is concave, and increasing up
to 1 - 1/N, so the sum is at most the number of queries times its value at the mean, ε. (One subject x: the mean over x
of its R queries is at most ε for each g, so the inequality averaged over x is the claim.) ∎

At ε = 0 this is T1c; at 1 - 1/N, where guessing suffices, the universal bound is 0, and beyond it stays 0. The second
is 0 from where its right side is.

Reference: Fano's inequality in Cover and Thomas, Elements of Information Theory (2006), section 2.10.
"""

from fractions import Fraction

from bounds.enclosure import Logarithm, log2, log2_falling, sign
from bounds.lower.bound import Bound, check_sizes
from theory.errors import InputError
from theory.statements.assumptions import READOUTS, SINGLE_HOP, Assumption, error_rate
from theory.statements.inequalities import stands_on


def universal_single_hop(entities: int, relations: int) -> Bound:
    """T1c, universal: d·b >= R·log2 N."""
    check_sizes(entities, relations)
    return Bound("T1c", 1, 0, log2(entities, relations), "R·log2 N", stands_on("T1c", "universal"))


def total_information(entities: int, relations: int, readout: str = "fixed") -> Bound:
    """T1c, every model: N·d·b + B >= R·log2 N!, and 2N·d·b + B with a learned read-out."""
    check_sizes(entities, relations)
    rows = table_rows(entities, readout)
    information = log2_falling(entities, entities, relations)
    return Bound("T1c", rows, 1, information, "R·log2 N!", (*stands_on("T1c", "any model"), READOUTS[readout]))


def universal_with_errors(entities: int, relations: int, error: Fraction) -> Bound:
    """T8, universal: d·b >= R·(log2 N - h(ε) - ε·log2(N-1)), and 0 from ε = 1 - 1/N on."""
    check_sizes(entities, relations)
    uncertainty = uncertainty_per_query(entities, error)
    information = Logarithm() if uncertainty is None else (log2(entities) - uncertainty).times(relations)
    assumptions = (*at_error("universal", error), SINGLE_HOP)
    return Bound("T8", 1, 0, information, "R·(log2 N - h(ε) - ε·log2(N-1))", assumptions)


def total_information_with_errors(entities: int, relations: int, error: Fraction, readout: str = "fixed") -> Bound:
    """T8, every model: N·d·b + B >= R·(log2 N! - N·h(ε) - N·ε·log2(N-1)), and 0 where that is negative."""
    check_sizes(entities, relations)
    rows = table_rows(entities, readout)
    uncertainty = uncertainty_per_query(entities, error)
    information = Logarithm()
    if uncertainty is not None:
        rest = (log2_falling(entities, entities) - uncertainty.times(entities)).times(relations)
        information = rest if sign(rest) > 0 else Logarithm()
    assumptions = (*at_error("any model", error), READOUTS[readout])
    return Bound("T8", rows, 1, information, "R·(log2 N! - N·h(ε) - N·ε·log2(N-1))", assumptions)


def at_error(name: str, error: Fraction) -> tuple[Assumption, ...]:
    """What T8's inequality of that name stands on, with the error rate in place of ε."""
    return tuple(error_rate(error) if each == error_rate() else each for each in stands_on("T8", name))


def uncertainty_per_query(entities: int, error: Fraction) -> Logarithm | None:
    """h(ε) + ε·log2(N-1), Fano's bound on what is left open about an answer; None from ε = 1 - 1/N on, where all is."""
    if isinstance(error, float) or not 0 <= error < 1:
        raise InputError(f"error rate must be a fraction in [0, 1), exact as in Fraction('0.01'), not {error!r}")
    error = Fraction(error)
    if error >= 1 - Fraction(1, entities):
        return None
    wrong, total = error.numerator, error.denominator
    if wrong == 0:
        return Logarithm()
    # h(w/t) = log2 t - (w/t)·log2 w - (1 - w/t)·log2(t - w)
    entropy = log2(total) - log2(wrong, error) - log2(total - wrong, 1 - error)
    return entropy + log2(entities - 1, error)


def table_rows(entities: int, readout: str) -> int:
    """How many rows of d·b bits a model with this read-out has: N, and 2N if it is learned."""
    check_readout(readout)
    return 2 * entities if readout == "learned" else entities


def check_readout(readout: str) -> None:
    """InputError unless the read-out is fixed, learned or tied."""
    if readout not in READOUTS:
        raise InputError(f"read-out must be one of {', '.join(READOUTS)}, not {readout!r}")
