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
from empirical.comparison.capacity_fit import (
    LAW_LEAST,
    Capacity,
    Residual,
    counted_exponents,
    distinct,
    fit_capacity,
    fit_rates,
    residuals,
    scatter_of,
)
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
DISCOUNT = (0.75, 1.1)  # E6: where composed hops over scrambled ones must lie for "as if independent"
BUDGET_TOLERANCE = 0.05  # budget: relative change of β that is still no change
HELD_OUT_SHARE, HELD_OUT_LEAST = Fraction(9, 10), 5  # E8: so much of the held-out thresholds, and no fewer than so many
BREAKS_LEAST = 2  # E8: one curve alone may be a fluke
NOT_REFUTED, REFUTED = 0.05, 0.001  # E8: the p-value of Q, above the one and below the other

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
    """E1: with both tables learned, the scalars that learn must grow like R·log2 N!, and so d* like R·log N where the
    tables have nearly all of them.

    Fit n* = c·R^a·(log2 N!)^b to all scalars that learn at the threshold. Supported if the intervals of a and b lie
    within 1 ± 0.4 and no power law in N (c·R·N^b, c·R^a·N^b) has an AICc more than 2 below the best linear law
    (c·R·log2 N!, c·R·N·log2 N, R·N·(slope·log2 N + offset)). Not supported if the interval of a or of b lies wholly
    outside 1 ± 0.2, or a power law is better by more than 10. (The numbers of this rule are older than any data. That
    n* is fitted, and not d*, was decided after those of the preset `standard`, which therefore describe and do not
    decide; the preset `scaling` has new curves.)
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

    statement = f"learned scalars grow like R·log2 N! with learned tables, {_budget(measured)}"
    return _verdict("E1", statement, capacity, judge, measured)


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
    """E6: the scalars that learn grow with the number of hops as R^(1 + e(k-1)), with the e that is expected.

    e = 1 is R^k, what facts that are stored one by one need in one pass; e = 0 is R, what a chain of thought needs;
    R^⌈k/2⌉, which T2e allows with a learned read-out, lies between. Supported if the interval of e lies within the
    expected e ± 0.25, not supported if it lies wholly outside. The AICc of R^k, R^⌈k/2⌉ and R are reported beside it.
    (That all scalars are compared, and not d*, was decided after the data of the preset `standard`: these describe and
    do not decide. At width 4d R^k facts need d ~ R^(k/2) for large R, so that in d a law of R^k looks like R^⌈k/2⌉.)
    """

    def judge(curves: Sequence[Measured]) -> tuple[Outcome, Numbers]:
        """The rule above on the thresholds that are usable: the status, and the numbers that decided it."""
        exponent = fit(GROWTH, curves).estimate("e")
        laws = (("R^k", ALL_WORDS), ("R^⌈k/2⌉", HALF_WORDS), ("R", ONE_HOP))
        numbers = _figures(exponent) + [(f"AICc, {name}", fit(law, curves).aicc) for name, law in laws]
        return _equality(exponent, expected, GROWTH_TOLERANCE), numbers

    statement = f"{condition}: learned scalars grow as R^(1 + e(k-1)) with e = {expected:g}, {_budget(measured)}"
    return _verdict("E6", statement, growth, judge, measured)


def discount(composed: Sequence[Measured], scrambled: Sequence[Measured]) -> Verdict:
    """E6: k hops in one pass are stored as if every word of relations were a relation of its own.

    Pair the curves of equal N, R and k > 1 whose words are composed and those whose R^k words have independent
    bijections, by the same model. Supported if the interval of the mean ratio of their learned scalars lies within
    [0.75, 1.1]; not supported if it lies wholly outside. R^⌈k/2⌉ predicts about 1/R at two hops.
    """

    def judge(curves: Sequence[Measured]) -> tuple[Outcome, Numbers]:
        """The rule above on the thresholds that are usable: the status, and the numbers that decided it."""
        pairs = _pairs(curves, scrambled)
        ratio = _mean_ratio([(first.scalars, second.scalars) for first, second in pairs], pairs)
        low, high = DISCOUNT
        outcome: Outcome = "undecided"
        if low <= ratio.low and ratio.high <= high:
            outcome = "supported"
        elif ratio.high < low or ratio.low > high:
            outcome = "not supported"
        return outcome, [*_figures(ratio), ("pairs", float(len(pairs)))]

    _check_sizes_differ(scrambled)
    statement = f"composed hops cost what scrambled ones do, {_budget(composed)}"
    several = [each for each in composed if each.curve.hops > 1]
    return _verdict("E6", statement, discount, judge, several)


def capacity_law(
    fitted: Sequence[Measured], held_out: Sequence[Measured], group: str, counting: Counting
) -> tuple[Verdict, tuple[Residual, ...]]:
    """E8: one β, in bits a scalar, holds for curves that it was not fitted to, at this budget of steps.

    Fit β to the fitted curves; a held-out threshold holds if its own β lies within 15 % of that, and breaks the law if
    its whole interval lies outside. Supported if at least five thresholds were held out, at least 90 % of them hold,
    and Cochran's Q of all curves does not speak against one β (p >= 0.05). Not supported if it does (p < 0.001), or if
    more than 10 % of at least five held-out ones, and at least two, break the law. Curves with the same weights to the
    bit are one curve, and not held out from each other. (This rule was written after the data of the preset
    `standard`. The one before it, with a tolerance of 25 % of d and without Q, had called one β for all supported.)
    """
    table: list[Residual] = []
    if {each.curve for each in fitted} & {each.curve for each in held_out}:
        raise InputError("a curve that β was fitted to cannot be held out as well")
    own = distinct(held_out, but=fitted)

    def judge(curves: Sequence[Measured]) -> tuple[Outcome, Numbers]:
        """The rule above on the thresholds that are usable: the status, and the numbers that decided it."""
        law, scatter = fit_capacity(fitted, counting), scatter_of(curves, counting)
        table.extend(residuals(law, fitted, own))
        outcomes = [each.outcome for each in table if each.role == "held out"]
        holds, breaks = outcomes.count("holds"), outcomes.count("breaks")
        numbers = [*_figures(law.beta), ("scatter of log β", law.scatter), ("fitted curves", float(law.curves))]
        numbers += [("held out", float(len(outcomes))), ("hold", float(holds)), ("break", float(breaks))]
        numbers += [("Q", scatter.q), ("degrees of freedom", float(scatter.freedom)), ("p of Q", scatter.p_value)]
        if len(outcomes) < HELD_OUT_LEAST:
            return "undecided", numbers
        broken = breaks >= BREAKS_LEAST and breaks > (1 - HELD_OUT_SHARE) * len(outcomes)
        if broken or scatter.p_value < REFUTED:
            return "not supported", numbers
        right = holds >= HELD_OUT_SHARE * len(outcomes) and scatter.p_value >= NOT_REFUTED
        return "supported" if right else "undecided", numbers

    statement = f"{group}: β bits for each scalar of the {counting}, with the β of other curves, {_budget(held_out)}"
    if counting == "every scalar":
        statement = f"{group}: β bits for every scalar that learns, with the β of other curves, {_budget(held_out)}"
    return _verdict("E8", statement, capacity_law, judge, [*distinct(fitted), *own]), tuple(table)


def two_rates(measured: Sequence[Measured]) -> Verdict:
    """E8: the MLP's scalars store fewer bits than the others.

    Fit demand = β_T·(scalars outside the MLP) + β_M·(the MLP's) to all distinct curves of one budget. Supported if the
    interval of β_M/β_T lies below 1, not supported if it lies above. Beside it: Q of the fit, Q of one β, with log2 N!
    and with N·log2 N bits a relation, and the β of the curves of which two, one and none of the tables learns. (Written
    after the data of the preset `standard`.)
    """

    def judge(curves: Sequence[Measured]) -> tuple[Outcome, Numbers]:
        """The rule above on the thresholds that are usable: the status, and the numbers that decided it."""
        rates = fit_rates(curves)
        numbers = [figure for each in (rates.tables, rates.mlp, rates.ratio) for figure in _figures(each)]
        one = {bits: scatter_of(curves, "every scalar", maps=bits != "log2 N!") for bits in ("log2 N!", "N·log2 N")}
        numbers += [("Q, two rates", rates.q), ("degrees of freedom, two rates", float(rates.freedom))]
        numbers += [(f"Q, one β, {bits}", found.q) for bits, found in one.items()]
        numbers.append(("degrees of freedom, one β", float(one["log2 N!"].freedom)))
        for tables, word in ((2, "two tables"), (1, "one table"), (0, "no table")):
            own = [each for each in curves if tables_learned(each.curve) == tables]
            if len(own) >= LAW_LEAST:
                beta = fit_capacity(own, "every scalar").beta
                numbers += [(f"β, {word}", beta.value), (f"β, {word}, low", beta.low), (f"β, {word}, high", beta.high)]
        if rates.ratio.high < 1:
            return "supported", numbers
        return "not supported" if rates.ratio.low > 1 else "undecided", numbers

    statement = f"an MLP's scalar stores fewer bits than another, {_budget(measured)}"
    return _verdict("E8", statement, two_rates, judge, distinct(measured))


def budget(others: Sequence[Measured], protocol: Sequence[Measured]) -> Verdict:
    """Protocol: the bits that a scalar stores at the threshold do not depend on the budget of steps.

    Pair the curves of equal N, R, k, trained for longer, or shorter, and by the protocol. Supported if the interval of
    the mean ratio of their β, over every scalar that learns, lies within 1 ± 0.05, not supported if it lies outside.
    (Written after the data of the preset `standard`. The rule before it allowed 15 % of d, too much to see anything.)
    """

    def judge(curves: Sequence[Measured]) -> tuple[Outcome, Numbers]:
        """The rule above on the thresholds that are usable: the status, and the numbers that decided it."""
        pairs = _pairs(curves, protocol)
        # β is the same demand over the scalars, so that the ratio is that of the scalars turned round.
        ratio = _mean_ratio([(second.scalars, first.scalars) for first, second in pairs], pairs)
        return _equality(ratio, 1.0, BUDGET_TOLERANCE), [*_figures(ratio), ("pairs", float(len(pairs)))]

    _check_sizes_differ(protocol)
    statement = f"a scalar stores after {_budget(others)} what it does after {_budget(protocol)}"
    return _verdict("budget", statement, budget, judge, others)


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
    every_scalar = fit_capacity(fitted, "every scalar") if len(usable(fitted)) >= LAW_LEAST else None
    result = [capacity(learned)] if learned else []
    for name, partner in FROZEN_AGAINST:
        if found(name):
            result.append(frozen(found(name), found(partner), name, every_scalar))
    for name, exponent in EXPECTED_GROWTH:
        if found(name):
            result.append(growth(found(name), exponent, name))
    if found("scrambled"):
        result.append(discount(found("hops learned"), found("scrambled")))
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
    if fitted:
        held_out = [measured[each] for _, curves in preset.law_held_out for each in curves]
        result.append(two_rates([*fitted, *held_out]))
    others = found("budget")
    for steps in sorted({each.curve.condition.steps for each in others}):
        result.append(budget([each for each in others if each.curve.condition.steps == steps], learned))
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


def _mean_ratio(scalars: Sequence[tuple[float, float]], pairs: Sequence[tuple[Measured, Measured]]) -> Estimate:
    """The pooled mean of the first number of each pair over the second, with the variances of both thresholds."""
    if len(pairs) < 2:
        raise InputError(f"the mean ratio needs at least two pairs of thresholds, not {len(pairs)}")
    logs = np.array([np.log(first / second) for first, second in scalars])
    variances = np.array([first.scalar_deviation**2 + second.scalar_deviation**2 for first, second in pairs])
    return pooled("ratio", logs, variances)[0]


def _budget(measured: Sequence[Measured]) -> str:
    """The budgets of steps of these curves, in words: part of what is claimed, for β depends on it."""
    steps = sorted({each.curve.condition.steps for each in measured})
    return f"{' and '.join(f'{each:,}' for each in steps) or 'no'} steps"


def _pairs(curves: Sequence[Measured], partners: Sequence[Measured]) -> list[tuple[Measured, Measured]]:
    """Each curve with its usable partner of equal N, R and k, where there is one."""
    by_size = {_size(each): each for each in usable(partners)}
    return [(each, by_size[_size(each)]) for each in curves if _size(each) in by_size]


def _check_sizes_differ(curves: Sequence[Measured]) -> None:
    if len({_size(each) for each in curves}) < len(curves):
        raise InputError("two curves to pair with have the same N, R and k, so that pairing is ambiguous")


def _size(measured: Measured) -> tuple[int, int, int]:
    return measured.curve.entities, measured.curve.relations, measured.curve.hops
