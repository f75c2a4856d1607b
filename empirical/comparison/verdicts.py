"""A verdict on each empirical claim: supported, not supported or undecided, by a rule written before the data are seen.

The rules are the docstrings below, and each verdict carries its rule and its numbers. Common to all: a claim is judged
by intervals (95 %), never by an estimate alone; a claim that equality holds is supported only if the interval lies
*inside* a tolerance (an interval that is merely wide enough to hold the right value decides nothing), and not supported
only if it lies *outside*; thresholds that are bounded on one side or whose success is not monotone in d are left out
and counted; too few thresholds for the fit leave the claim undecided. Supported means: measured on these curves. It
proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from empirical.comparison.capacity import COUNTINGS, Counting, tables_learned
from empirical.comparison.capacity_fit import LAW_LEAST, Capacity, Residual, counted_exponents, fit_capacity, residuals
from empirical.comparison.curves import Curve
from empirical.comparison.laws import (
    AFFINE,
    ALL_WORDS,
    CAPACITY_POWER,
    GROWTH,
    HALF_WORDS,
    LINEAR,
    LINEAR_LOG,
    LINEAR_POWER,
    ONE_HOP,
    POWER,
    Estimate,
    Measured,
    fit,
    fit_all,
    fit_ratio,
    pooled,
    usable,
)
from empirical.comparison.presets import ComparisonPreset
from empirical.statistics.verdict import Outcome, Verdict, rule_of
from theory.errors import InputError

EXPONENT_TOLERANCE = 0.4  # E1: both exponents must be 1 up to this
CLEARLY_WRONG = 0.2  # E1: and an interval that stays away from 1 by more than this refutes
SAME, CERTAIN = 2.0, 10.0  # differences of AICc: below the one nothing is decided, above the other it is
POLYNOMIAL = 0.1  # E2: the exponent of N in frozen over learned, above which "polynomially more" is meant
GROWTH_TOLERANCE = 0.25  # E6: of the exponent e in R^(1 + e(k-1))
BUDGET_TOLERANCE = 0.15  # budget: relative change of d* that is still no change
HELD_OUT_SHARE, HELD_OUT_LEAST = Fraction(9, 10), 5  # E8: so much of the held-out thresholds, and no fewer than so many
BREAKS_LEAST = 2  # E8: one curve alone may be a fluke

# The experiments of a preset: which frozen curves are held against which learned ones, and the growth e claimed.
FROZEN_AGAINST = (
    ("frozen subjects", "capacity"),
    ("frozen read-out", "capacity"),
    ("frozen both", "capacity"),
    ("frozen both, selector width", "learned, selector width"),
)
EXPECTED_GROWTH = (("hops learned", 1.0), ("hops tied", 1.0), ("hops frozen", 1.0), ("chain", 0.0))


Numbers = list[tuple[str, float]]


def capacity(measured: Sequence[Measured]) -> Verdict:
    """E1: with both tables learned, d* grows like R·log N.

    Fit d* = c·R^a·((log2 N!)/N)^b. Supported if the intervals of a and b lie within 1 ± 0.4 and no power law in N
    (c·R·N^b, c·R^a·N^b) has an AICc more than 2 below the best linear law (c·R·(log2 N!)/N, c·R·log2 N, R·(slope·log2 N
    + offset)). Not supported if the interval of a or of b lies wholly outside 1 ± 0.2, or a power law is better by more
    than 10.
    """

    def judge(curves: Sequence[Measured]) -> tuple[Outcome, Numbers]:
        """The rule above on the thresholds that are usable: the status, and the numbers that decided it."""
        powers = fit(CAPACITY_POWER, curves)
        exponents = [powers.estimate("a"), powers.estimate("b")]
        linear = fit_all((LINEAR, LINEAR_LOG, AFFINE), curves)[0].aicc
        power = fit_all((LINEAR_POWER, POWER), curves)[0].aicc
        numbers = [figure for each in exponents for figure in _figures(each)]
        numbers += _figures(fit(AFFINE, curves).estimate("slope"))
        numbers += [("AICc, best linear law", linear), ("AICc, best power law", power)]
        if any(_outside(each, 1.0, CLEARLY_WRONG) for each in exponents) or linear > power + CERTAIN:
            return "not supported", numbers
        inside = all(_inside(each, 1.0, EXPONENT_TOLERANCE) for each in exponents)
        return "supported" if inside and linear <= power + SAME else "undecided", numbers

    return _verdict("E1", "d* = Θ(R·log N) with learned tables", capacity, judge, measured)


def frozen(
    frozen_curves: Sequence[Measured], learned: Sequence[Measured], condition: str, law: Capacity | None = None
) -> Verdict:
    """E2: frozen tables need polynomially more dimension than learned ones.

    Pair the curves of equal N, R, k and fit d*(frozen) / d*(learned) = c·R^a·N^b. Supported if the interval of b lies
    above 0.1. Not supported if it lies below 0.1: then the ratio is constant or logarithmic in N, as for a law of bits
    in which frozen tables merely store nothing. Beside it the exponent that counting predicts: the same ratio where
    every scalar that may learn, the MLP's too, stores the bits that E8's `law` says.
    """

    def judge(curves: Sequence[Measured]) -> tuple[Outcome, Numbers]:
        """The rule above on the thresholds that are usable: the status, and the numbers that decided it."""
        pairs = _pairs(curves, learned)
        exponent = fit_ratio(POWER, pairs).estimate("b")
        status: Outcome = "undecided"
        if exponent.low > POLYNOMIAL:
            status = "supported"
        elif exponent.high < POLYNOMIAL:
            status = "not supported"
        numbers = [*_figures(exponent), ("pairs", float(len(pairs)))]
        if law is not None:
            counted = [counted_exponents(law, [pair[side].curve for pair in pairs])[1] for side in (0, 1)]
            numbers.append(("b, counted", counted[0] - counted[1]))
        return status, numbers

    _check_sizes_differ(learned)
    statement = f"{condition}: polynomially more dimension than with learned tables"
    return _verdict("E2", statement, frozen, judge, frozen_curves)


def growth(measured: Sequence[Measured], expected: float, condition: str) -> Verdict:
    """E6: the dimension grows with the number of hops as R^(1 + e(k-1)), with the e that is expected.

    e = 1 is R^k, what a fixed read-out must pay in one pass; e = 0 is R, what a chain of thought needs; R^⌈k/2⌉, which
    T2e allows with a learned read-out, lies between. Supported if the interval of e lies within the expected e ± 0.25,
    not supported if it lies wholly outside. The AICc of R^k, R^⌈k/2⌉ and R are reported beside it.
    """

    def judge(curves: Sequence[Measured]) -> tuple[Outcome, Numbers]:
        """The rule above on the thresholds that are usable: the status, and the numbers that decided it."""
        exponent = fit(GROWTH, curves).estimate("e")
        laws = (("R^k", ALL_WORDS), ("R^⌈k/2⌉", HALF_WORDS), ("R", ONE_HOP))
        numbers = _figures(exponent) + [(f"AICc, {name}", fit(law, curves).aicc) for name, law in laws]
        return _equality(exponent, expected, GROWTH_TOLERANCE), numbers

    statement = f"{condition}: d* grows as R^(1 + e(k-1)) with e = {expected:g}"
    return _verdict("E6", statement, growth, judge, measured)


def capacity_law(
    fitted: Sequence[Measured], held_out: Sequence[Measured], group: str, counting: Counting
) -> tuple[Verdict, tuple[Residual, ...]]:
    """E8: one β predicts the thresholds of curves that it was not fitted to.

    Fit β to the fitted curves; a held-out threshold holds if it lies within 25 % of its prediction, and breaks the law
    if its whole interval lies outside. Supported if at least five thresholds were held out, at least 90 % of them hold,
    and the interval of β spans less than a factor of 1.5. Not supported if more than 10 % of at least five held-out
    ones, and at least two, break it. There are two laws: β bits for each scalar of the tables that learn, or for each
    scalar that learns, the MLP's too.
    """
    table: list[Residual] = []
    if {each.curve for each in fitted} & {each.curve for each in held_out}:
        raise InputError("a curve that β was fitted to cannot be held out as well")

    def judge(_: Sequence[Measured]) -> tuple[Outcome, Numbers]:
        """The rule above on the thresholds that are usable: the status, and the numbers that decided it."""
        law = fit_capacity(fitted, counting)
        table.extend(residuals(law, fitted, held_out))
        outcomes = [each.outcome for each in table if each.role == "held out"]
        holds, breaks = outcomes.count("holds"), outcomes.count("breaks")
        numbers = [*_figures(law.beta), ("scatter of log β", law.scatter), ("fitted curves", float(law.curves))]
        numbers += [("held out", float(len(outcomes))), ("hold", float(holds)), ("break", float(breaks))]
        if len(outcomes) < HELD_OUT_LEAST:
            return "undecided", numbers
        if breaks >= BREAKS_LEAST and breaks > (1 - HELD_OUT_SHARE) * len(outcomes):
            return "not supported", numbers
        sharp = law.beta.high < 1.5 * law.beta.low
        return "supported" if sharp and holds >= HELD_OUT_SHARE * len(outcomes) else "undecided", numbers

    statement = f"{group}: β bits for each scalar of the {counting}, with the β of other curves, predict d*"
    return _verdict("E8", statement, capacity_law, judge, [*fitted, *held_out]), tuple(table)


def budget(longer: Sequence[Measured], protocol: Sequence[Measured]) -> Verdict:
    """Protocol: the thresholds are not an artefact of too few steps.

    Pair the curves of equal N, R, k, trained for longer and by the protocol. Supported if the interval of the mean
    ratio of their d* lies within 1 ± 0.15, not supported if it lies wholly outside.
    """

    def judge(curves: Sequence[Measured]) -> tuple[Outcome, Numbers]:
        """The rule above on the thresholds that are usable: the status, and the numbers that decided it."""
        pairs = _pairs(curves, protocol)
        if len(pairs) < 2:
            raise InputError(f"the mean ratio needs at least two pairs of thresholds, not {len(pairs)}")
        logs = np.array([np.log(first.dimension / second.dimension) for first, second in pairs])
        variances = np.array([first.deviation**2 + second.deviation**2 for first, second in pairs])
        ratio, _ = pooled("ratio", logs, variances)
        return _equality(ratio, 1.0, BUDGET_TOLERANCE), [*_figures(ratio), ("pairs", float(len(pairs)))]

    _check_sizes_differ(protocol)
    return _verdict("budget", "more steps leave d* where it is", budget, judge, longer)


def of_preset(
    preset: ComparisonPreset, measured: Mapping[Curve, Measured]
) -> tuple[tuple[Verdict, ...], tuple[tuple[str, Residual], ...]]:
    """Every verdict that the experiments of a preset allow, and E8's table with the group of each curve.

    `measured` holds every curve of the preset, at one accuracy.
    """

    def found(experiment: str) -> list[Measured]:
        """The thresholds of an experiment of the preset; none where it has no such experiment."""
        return [measured[each] for each in dict(preset.experiments).get(experiment, ())]

    learned = found("capacity")
    fitted = [measured[each] for each in preset.law_fitted]
    # With too few thresholds for a β the claims are judged all the same, without what counting predicts.
    every_scalar = fit_capacity(fitted, "tables and MLP") if len(usable(fitted)) >= LAW_LEAST else None
    result = [capacity(learned)] if learned else []
    for name, partner in FROZEN_AGAINST:
        if found(name):
            result.append(frozen(found(name), found(partner), name, every_scalar))
    for name, exponent in EXPECTED_GROWTH:
        if found(name):
            result.append(growth(found(name), exponent, name))
    table: list[tuple[str, Residual]] = []
    for counting in COUNTINGS:
        every: list[Measured] = []
        for group, curves in preset.law_held_out:
            if counting == "tables" and not all(tables_learned(each) for each in curves):
                continue  # where no table learns there is nothing to count
            held_out = [measured[each] for each in curves]
            verdict, rows = capacity_law(fitted, held_out, group, counting)
            result.append(verdict)
            table += [(group, row) for row in rows if row.role == "held out"]
            every += held_out
        if every:
            result.append(capacity_law(fitted, every, "all of these", counting)[0])
    longer = [each for each in found("budget") if each.curve.condition.steps > learned[0].curve.condition.steps]
    if longer:
        result.append(budget(longer, learned))
    return tuple(result), tuple(table)


def _verdict(
    claim: str,
    statement: str,
    rule: Callable[..., object],
    judge: Callable[[Sequence[Measured]], tuple[Outcome, Numbers]],
    measured: Sequence[Measured],
) -> Verdict:
    """The judgement of the usable curves; undecided, with the reason, where the fit is not possible."""
    curves = usable(measured)
    text = rule_of(rule)
    left_out = len(measured) - len(curves)
    try:
        status, numbers = judge(curves)
    except InputError as error:
        return Verdict(claim, statement, "undecided", text, (), len(curves), left_out, str(error))
    return Verdict(claim, statement, status, text, tuple(numbers), len(curves), left_out)


def _figures(estimate: Estimate) -> Numbers:
    name = estimate.name
    return [(name, estimate.value), (f"{name}, low", estimate.low), (f"{name}, high", estimate.high)]


def _inside(estimate: Estimate, value: float, tolerance: float) -> bool:
    return value - tolerance <= estimate.low and estimate.high <= value + tolerance


def _outside(estimate: Estimate, value: float, tolerance: float) -> bool:
    return estimate.high < value - tolerance or estimate.low > value + tolerance


def _equality(estimate: Estimate, value: float, tolerance: float) -> Outcome:
    if _inside(estimate, value, tolerance):
        return "supported"
    return "not supported" if _outside(estimate, value, tolerance) else "undecided"


def _pairs(curves: Sequence[Measured], partners: Sequence[Measured]) -> list[tuple[Measured, Measured]]:
    """Each curve with its usable partner of equal N, R and k, where there is one."""
    by_size = {_size(each): each for each in usable(partners)}
    return [(each, by_size[_size(each)]) for each in curves if _size(each) in by_size]


def _check_sizes_differ(curves: Sequence[Measured]) -> None:
    if len({_size(each) for each in curves}) < len(curves):
        raise InputError("two curves to pair with have the same N, R and k, so that pairing is ambiguous")


def _size(measured: Measured) -> tuple[int, int, int]:
    return measured.curve.entities, measured.curve.relations, measured.curve.hops
