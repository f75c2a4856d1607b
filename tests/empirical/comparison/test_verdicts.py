"""Verdicts on planted data: supported where the claim is true, refuted where it is false, undecided where open."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest

from empirical.comparison import verdicts
from empirical.comparison.capacity import (
    Counting,
    bits_per_relation,
    demand,
    learned_scalars,
    mlp_scalars,
    predicted_dimension,
    tables_learned,
)
from empirical.comparison.capacity_fit import Capacity, Residual, Scatter
from empirical.comparison.curves import Curve, curve
from empirical.comparison.laws import AFFINE, CAPACITY_POWER, LINEAR, POWER, Estimate, Law, LawFit, Measured, measure
from empirical.comparison.presets import PRESETS, ComparisonPreset
from empirical.comparison.verdicts import Verdict
from tests.helpers.simulated import bounded, erratic, logistic, measured, noisy, noisy_scalars, storing, sweep
from theory.errors import InputError

SIZES = list(product((32, 64, 128, 256, 512, 1024), (2, 4, 8)))
CURVES = [curve(n, r) for n, r in SIZES]
FROZEN = [curve(n, r, subjects="frozen", readout="frozen") for n, r in SIZES]
HOP_CURVES = [curve(n, r, hops=k) for n, r, k in product((64, 128), (2, 3, 4), (1, 2, 3))]


def linear(each: Curve) -> float:
    return each.relations * bits_per_relation(each.entities) / each.entities / 4


def stored(each: Curve) -> float:
    """Scalars: R·log2 N! at two bits each."""
    return each.relations * bits_per_relation(each.entities) / 2


def growing(exponent: float) -> Callable[[Curve], float]:
    def law(each: Curve) -> float:
        return stored(each) * each.relations ** (exponent * (each.hops - 1))

    return law


def prediction(beta: float) -> Callable[[Curve], float]:
    return lambda each: predicted_dimension(each, beta, "tables")


def number(verdict: Verdict, name: str) -> float:
    return dict(verdict.numbers)[name]


def test_a_linear_law_supports_e1() -> None:
    verdict = verdicts.capacity(noisy_scalars(CURVES, stored, 0.04, 0.05, seed=1))
    assert verdict.status == "supported"
    assert number(verdict, "a, low") < 1 < number(verdict, "a, high")
    assert number(verdict, "b, low") < 1 < number(verdict, "b, high")
    assert (verdict.curves, verdict.left_out) == (18, 0)


@pytest.mark.parametrize(
    "law",
    [
        lambda c: 40 * c.relations * c.entities**0.5,
        lambda c: stored(c) * c.relations,
        lambda c: stored(c) / c.relations**0.5,
    ],
    ids=["root of N", "R squared", "root of R"],
)
def test_another_law_refutes_e1(law: Callable[[Curve], float]) -> None:
    assert verdicts.capacity(noisy_scalars(CURVES, law, 0.04, 0.05, seed=2)).status == "not supported"


def test_each_half_of_the_rule_of_e1_counts() -> None:
    # A power of N with less scatter than the linear laws explain: only the comparison tells, if the data are sharp.
    def slow(each: Curve) -> float:
        return each.relations * each.entities**1.1

    sharp = verdicts.capacity(noisy_scalars(CURVES, slow, 0.0, 0.005, seed=2))
    assert sharp.status == "not supported"
    assert 0.8 < number(sharp, "b, low") < number(sharp, "b, high") < 1
    blurred = verdicts.capacity(noisy_scalars(CURVES, slow, 0.0, 0.015, seed=1))
    assert blurred.status == "undecided"
    assert 2 < number(blurred, "AICc, best linear law") - number(blurred, "AICc, best power law") < 10

    # Linear in log N with a large offset: no power of N fits better, but n* does not grow with log2 N!.
    def flat(each: Curve) -> float:
        return each.relations * bits_per_relation(each.entities) ** 0.7

    offset = verdicts.capacity(noisy_scalars(CURVES, flat, 0.1, 0.05, seed=1))
    assert offset.status == "not supported"
    assert number(offset, "b, high") < 0.8


def test_too_much_scatter_or_too_few_curves_leave_e1_undecided() -> None:
    assert verdicts.capacity(noisy_scalars(CURVES, stored, 0.6, 0.05, seed=3)).status == "undecided"
    few = verdicts.capacity(noisy_scalars(CURVES[:5], stored, 0.04, 0.05, seed=3))
    assert few.status == "undecided"
    assert few.reason.startswith("the law c·R^a·(log2 N!)^b needs at least 6 thresholds")
    one_size = [curve(256, r, steps=s) for r in (2, 4, 8) for s in (1000, 2000, 3000)]
    assert "vary N, R or k" in verdicts.capacity(noisy_scalars(one_size, stored, 0.04, 0.05, seed=3)).reason


def test_thresholds_that_are_none_are_left_out_and_counted() -> None:
    good = noisy_scalars(CURVES[:-2], stored, 0.04, 0.05, seed=4)
    verdict = verdicts.capacity([*good, bounded(CURVES[-2], 9.0, None), erratic(storing(CURVES[-1], 500.0))])
    assert (verdict.status, verdict.curves, verdict.left_out) == ("supported", 16, 2)


def planted(monkeypatch: pytest.MonkeyPatch, **intervals: tuple[float, float]) -> None:
    """Every fit finds these intervals of the parameters, and the AICc 0."""

    def fit(law: Law, *_: object) -> LawFit:
        estimates = tuple(Estimate(name, 0.0, *intervals.get(name, (1.0, 1.0))) for name in law.parameters)
        return LawFit(law.formula, estimates, 0.0, 0.0, 0.0, ())

    for name in ("fit", "fit_ratio"):
        monkeypatch.setattr(verdicts, name, fit)


@pytest.mark.parametrize(
    ("a", "b", "linear_over_power", "status"),
    [
        ((0.6, 1.4), (0.6, 1.4), 2.0, "supported"),
        ((0.599, 1.4), (0.6, 1.4), 0.0, "undecided"),
        ((0.6, 1.4), (0.6, 1.401), 0.0, "undecided"),
        ((1.0, 1.0), (1.0, 1.0), 2.001, "undecided"),
        ((1.0, 1.0), (1.0, 1.0), 10.0, "undecided"),
        ((1.0, 1.0), (1.0, 1.0), 10.001, "not supported"),
        ((0.5, 0.8), (1.0, 1.0), 0.0, "undecided"),
        ((0.5, 0.799), (1.0, 1.0), 0.0, "not supported"),
        ((1.0, 1.0), (1.2, 1.5), 0.0, "undecided"),
        ((1.0, 1.0), (1.201, 1.5), 0.0, "not supported"),
    ],
)
def test_e1_at_the_bounds_of_its_rule(
    a: tuple[float, float],
    b: tuple[float, float],
    linear_over_power: float,
    status: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planted(monkeypatch, a=a, b=b)

    def fit_all(laws: tuple[Law, ...], _: object) -> tuple[LawFit, ...]:
        of_power = POWER in laws
        assert {AFFINE, LINEAR}.isdisjoint(laws) == of_power
        assert CAPACITY_POWER not in laws
        best = LawFit("", (), 0.0, 0.0, 5.0 if of_power else 5.0 + linear_over_power, ())
        return best, replace(best, aicc=1000.0)

    monkeypatch.setattr(verdicts, "fit_all", fit_all)
    assert verdicts.capacity(noisy(CURVES, linear, 0.0, 0.05, seed=1)).status == status


@pytest.mark.parametrize(
    ("b", "status"),
    [
        ((0.1, 0.5), "undecided"),
        ((0.101, 0.5), "supported"),
        ((-0.5, 0.1), "undecided"),
        ((-0.5, 0.099), "not supported"),
    ],
)
def test_e2_at_the_bound_of_its_rule(b: tuple[float, float], status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch, b=b)
    thresholds = noisy(CURVES, linear, 0.0, 0.05, seed=1)
    assert verdicts.frozen(thresholds, thresholds, "both").status == status


@pytest.mark.parametrize(
    ("e", "status"),
    [
        ((0.75, 1.25), "supported"),
        ((0.749, 1.25), "undecided"),
        ((0.75, 1.251), "undecided"),
        ((0.0, 0.75), "undecided"),
        ((0.0, 0.749), "not supported"),
        ((1.251, 2.0), "not supported"),
    ],
)
def test_e6_at_the_bounds_of_its_rule(e: tuple[float, float], status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch, e=e)
    assert verdicts.growth(noisy(HOP_CURVES, linear, 0.0, 0.05, seed=1), 1.0, "learned").status == status


@pytest.mark.parametrize(
    ("hold", "broken", "unclear", "p", "status"),
    [
        (5, 0, 0, 0.05, "supported"),
        (5, 0, 0, 0.049, "undecided"),
        (5, 0, 0, 0.001, "undecided"),
        (5, 0, 0, 0.00099, "not supported"),
        (4, 0, 0, 1.0, "undecided"),
        (4, 0, 0, 0.0, "undecided"),
        (0, 4, 0, 1.0, "undecided"),
        (9, 0, 1, 1.0, "supported"),
        (9, 1, 0, 1.0, "supported"),
        (8, 1, 0, 1.0, "undecided"),
        (8, 0, 1, 1.0, "undecided"),
        (0, 1, 4, 1.0, "undecided"),
        (3, 2, 0, 1.0, "not supported"),
        (17, 2, 0, 1.0, "not supported"),
        (18, 2, 0, 1.0, "supported"),  # two of twenty are no more than 10 %
        (17, 2, 1, 1.0, "undecided"),
        (17, 3, 0, 1.0, "not supported"),
    ],
)
def test_e8_at_the_bounds_of_its_rule(
    hold: int, broken: int, unclear: int, p: float, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = ["holds"] * hold + ["breaks"] * broken + ["unclear"] * unclear
    beta = Estimate("β", 2.0, 2.0, 3.0)
    monkeypatch.setattr(verdicts, "fit_capacity", lambda *_: Capacity("tables", beta, 0.0, 9))
    monkeypatch.setattr(verdicts, "scatter_of", lambda *_: Scatter(1.0, 1, p))
    base = Residual("", "tables", "held out", 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, "holds")
    found = tuple(replace(base, outcome=outcome) for outcome in outcomes)
    # What becomes of the fitted curves does not count.
    fitted = tuple(replace(base, role="fitted", outcome=outcome) for outcome in ("holds", "breaks", "breaks"))
    monkeypatch.setattr(verdicts, "residuals", lambda *_: fitted + found)
    verdict, table = verdicts.capacity_law([], [], "planted", "tables")
    assert (verdict.status, table) == (status, fitted + found)
    counts = [number(verdict, name) for name in ("held out", "hold", "break")]
    assert counts == [len(outcomes), hold, broken]


def test_runs_with_the_same_weights_are_one_curve() -> None:
    one_hop, chain = curve(64, 4), [curve(64, 4, hops=k, chain=True) for k in (2, 3)]
    assert {each.trained for each in chain} == {one_hop}
    assert curve(64, 4, hops=2).trained == curve(64, 4, hops=2)
    fitted = noisy(CURVES[:9], prediction(2.1), 0.0, 0.04, seed=9)
    held_out = [measured(each, 9.0) for each in chain] + noisy(CURVES[9:], prediction(2.1), 0.0, 0.04, seed=10)
    verdict, _ = verdicts.capacity_law(fitted, held_out, "chains", "tables")
    assert number(verdict, "held out") == 9  # both chains have the weights of a fitted curve
    twice = [curve(2048, 4, hops=k, chain=True) for k in (2, 3)]
    more, _ = verdicts.capacity_law(fitted, held_out + [measured(each, 18.0) for each in twice], "chains", "tables")
    assert number(more, "held out") == 10
    assert number(more, "degrees of freedom") == 18


def test_the_budget_is_part_of_what_is_claimed() -> None:
    longer = [replace(each, condition=replace(each.condition, steps=6000)) for each in CURVES]
    assert verdicts.capacity(noisy_scalars(CURVES, stored, 0.0, 0.05, seed=1)).statement.endswith("2,000 steps")
    assert verdicts.capacity(noisy_scalars(longer, stored, 0.0, 0.05, seed=1)).statement.endswith("6,000 steps")


def two_rated(each: Curve, tables: float, mlp: float, deviation: float) -> Measured:
    """The threshold of a world in which the MLP's scalars store other bits than the rest."""
    low, high = 0.01, 10_000.0
    for _ in range(80):
        middle = (low * high) ** 0.5
        in_mlp = mlp_scalars(each, middle)
        known = tables * (learned_scalars(each, middle) - in_mlp) + mlp * in_mlp
        low, high = (low, middle) if known > demand(each) else (middle, high)
    return storing(each, learned_scalars(each, high), deviation)


@pytest.mark.parametrize(("mlp", "status"), [(1.5, "supported"), (2.5, "not supported"), (2.0, "undecided")])
def test_two_rates(mlp: float, status: str) -> None:
    every = [two_rated(each, 2.0, mlp, 0.02) for each in CURVES + FROZEN]
    verdict = verdicts.two_rates(every)
    assert number(verdict, "β outside the MLP") == pytest.approx(2.0, rel=1e-3)
    assert number(verdict, "β of the MLP") == pytest.approx(mlp, rel=1e-3)
    assert number(verdict, "Q, two rates") < 0.01
    if mlp != 2.0:
        assert verdict.status == status
        assert number(verdict, "Q, one β, log2 N!") > 20
        assert (number(verdict, "β, no table") < number(verdict, "β, two tables")) == (mlp < 2)
    same = verdicts.two_rates([two_rated(each, 2.0, 2.0, 0.05) for each in CURVES])
    assert same.status == "undecided"


@pytest.mark.parametrize(
    ("ratio", "deviation", "status"),
    [(0.9, 0.02, "supported"), (1 / 3, 0.05, "not supported"), (1.3, 0.02, "not supported"), (0.75, 0.1, "undecided")],
)
def test_composed_hops_beside_scrambled_ones(ratio: float, deviation: float, status: str) -> None:
    sizes = [(64, r) for r in (2, 3, 4, 6, 8)]
    scrambled = [storing(curve(n, r, hops=2, scrambled=True), 9000.0 * r, deviation) for n, r in sizes]
    composed = [storing(curve(n, r, hops=2), ratio * 9000.0 * r, deviation) for n, r in sizes]
    one_hop = [storing(curve(n, r), 9000.0, deviation) for n, r in sizes]
    verdict = verdicts.discount([*composed, *one_hop], scrambled)
    assert verdict.status == status
    assert number(verdict, "ratio") == pytest.approx(ratio, rel=1e-6)
    assert number(verdict, "pairs") == 5


@pytest.mark.parametrize(
    ("interval", "status"),
    [
        ((0.95, 1.05), "supported"),
        ((0.949, 1.0), "undecided"),
        ((1.05, 1.3), "undecided"),
        ((1.051, 1.3), "not supported"),
    ],
)
def test_the_budget_at_the_bounds_of_its_rule(
    interval: tuple[float, float], status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = {}

    def pooled(name: str, logs, variances) -> tuple[Estimate, float]:
        seen.update(logs=logs, variances=variances)
        return Estimate(name, 1.0, *interval), 0.0

    monkeypatch.setattr(verdicts, "pooled", pooled)
    short = [storing(each, 4000.0, 0.3) for each in CURVES[:2]]
    long = [storing(curve(n, r, steps=10_000), 2000.0, 0.4) for n, r in SIZES[:2]]
    assert verdicts.budget(long, short).status == status
    assert seen["logs"] == pytest.approx([0.6931, 0.6931], abs=1e-4)  # half the scalars, twice the bits in each
    assert seen["variances"] == pytest.approx([0.25, 0.25], abs=1e-6)


def test_curves_are_paired_by_their_sizes() -> None:
    sizes = [(64, 2, 1), (64, 2, 2), (64, 3, 1), (32, 2, 1)]
    curves = [measured(curve(n, r, hops=k), 5.0) for n, r, k in sizes]
    others = [measured(curve(n, r, hops=k, steps=9), 5.0) for n, r, k in sizes]
    assert verdicts._pairs(curves, others[::-1]) == list(zip(curves, others, strict=True))
    assert verdicts._pairs(curves[:2], [others[1], erratic(others[0])]) == [(curves[1], others[1])]


@pytest.mark.parametrize(
    ("exponent", "scatter", "status"),
    [(0.4, 0.05, "supported"), (0.0, 0.05, "not supported"), (0.1, 0.3, "undecided")],
)
def test_frozen_tables_against_learned_ones(exponent: float, scatter: float, status: str) -> None:
    learned = noisy(CURVES, linear, 0.04, 0.05, seed=5)
    frozen = noisy(FROZEN, lambda c: 2 * linear(c) * (c.entities / 32) ** exponent, scatter, 0.05, seed=6)
    verdict = verdicts.frozen(frozen, learned, "both")
    assert verdict.status == status
    assert number(verdict, "pairs") == 18


def test_frozen_curves_without_a_learned_partner_decide_nothing() -> None:
    frozen = noisy(FROZEN, lambda c: linear(c) * c.entities**0.4, 0.05, 0.05, seed=6)
    learned = noisy(CURVES, linear, 0.04, 0.05, seed=5)
    assert verdicts.frozen(frozen, learned[:4], "both").status == "undecided"
    with pytest.raises(InputError, match="same N, R and k"):
        verdicts.frozen(frozen, [*learned, measured(curve(32, 2, width=32), 3.0)], "both")


@pytest.mark.parametrize(
    ("planted", "expected", "status"),
    [(1.0, 1.0, "supported"), (0.0, 0.0, "supported"), (0.4, 1.0, "not supported"), (0.0, 1.0, "not supported")],
)
def test_growth_with_the_number_of_hops(planted: float, expected: float, status: str) -> None:
    verdict = verdicts.growth(
        noisy_scalars(HOP_CURVES, growing(planted), 0.05, 0.05, seed=7), expected, "learned read-out"
    )
    assert verdict.status == status
    assert number(verdict, "e, low") < planted < number(verdict, "e, high")


def test_growth_on_the_edge_of_the_tolerance_is_undecided() -> None:
    thresholds = noisy_scalars(HOP_CURVES, growing(0.75), 0.1, 0.05, seed=8)
    assert verdicts.growth(thresholds, 1.0, "learned read-out").status == "undecided"
    assert verdicts.growth(thresholds[:3], 1.0, "learned read-out").status == "undecided"


def test_one_constant_supports_the_capacity_law() -> None:
    fitted = noisy(CURVES[:9], prediction(2.1), 0.05, 0.04, seed=9)
    held_out = noisy(CURVES[9:], prediction(2.1), 0.05, 0.04, seed=10)
    verdict, table = verdicts.capacity_law(fitted, held_out, "larger sizes", "tables")
    assert verdict.status == "supported"
    assert number(verdict, "hold") == 9
    assert len(table) == 18


def test_curves_that_break_the_law_refute_it_and_are_named() -> None:
    fitted = noisy(CURVES[:9], prediction(2.1), 0.05, 0.04, seed=9)
    held_out = noisy(CURVES[9:16], prediction(2.1), 0.05, 0.04, seed=10)
    held_out += noisy(CURVES[16:], prediction(1.0), 0.0, 0.04, seed=11)
    verdict, table = verdicts.capacity_law(fitted, held_out, "larger sizes", "tables")
    assert verdict.status == "not supported"
    assert [each.curve for each in table if each.outcome == "breaks"] == [each.name for each in CURVES[16:]]


def test_few_or_blurred_held_out_thresholds_decide_nothing_and_scatter_refutes() -> None:
    fitted = noisy(CURVES[:9], prediction(2.1), 0.05, 0.04, seed=9)
    few, _ = verdicts.capacity_law(fitted, noisy(CURVES[9:13], prediction(2.1), 0.05, 0.04, seed=10), "few", "tables")
    assert few.status == "undecided"
    off = [measured(each, 1.35 * prediction(2.1)(each), deviation=0.3) for each in CURVES[9:]]
    blurred, _ = verdicts.capacity_law(fitted, off, "blurred", "tables")
    assert (blurred.status, number(blurred, "hold"), number(blurred, "break")) == ("undecided", 0, 0)
    right = noisy(CURVES[9:-1], prediction(2.1), 0.05, 0.04, seed=10)
    one, table = verdicts.capacity_law(fitted, [*right, measured(CURVES[-1], 40.0)], "one odd curve", "tables")
    assert (one.status, number(one, "break")) == ("not supported", 1)  # one alone is no tenth, but Q sees it
    assert number(one, "p of Q") < 0.001
    assert table[-1].outcome == "breaks"
    betas = zip(CURVES[:4], (1.5, 1.9, 2.3, 2.9), strict=True)
    loose = [measured(each, prediction(beta)(each)) for each, beta in betas]
    vague, _ = verdicts.capacity_law(
        loose, [measured(each, prediction(2.1)(each)) for each in CURVES[9:]], "vague β", "tables"
    )
    assert (vague.status, number(vague, "hold")) == ("not supported", 9)  # the mean is right, and β is not one number
    unfitted, table = verdicts.capacity_law(
        fitted[:2], noisy(CURVES[9:], linear, 0.05, 0.04, seed=10), "unfitted", "tables"
    )
    assert unfitted.status == "undecided"
    assert "at least three thresholds" in unfitted.reason
    assert table == ()
    unknown, _ = verdicts.capacity_law(
        noisy(CURVES[:9], prediction(2.1), 1.0, 0.04, seed=12), fitted[:0], "no β", "tables"
    )
    assert unknown.status == "undecided"


def test_a_fitted_curve_is_not_held_out() -> None:
    fitted = noisy(CURVES[:9], prediction(2.1), 0.05, 0.04, seed=9)
    with pytest.raises(InputError, match="cannot be held out as well"):
        verdicts.capacity_law(fitted, fitted[:5], "the same", "tables")


@pytest.mark.parametrize(
    ("ratio", "deviation", "status"),
    [(1.0, 0.02, "supported"), (0.6, 0.05, "not supported"), (0.93, 0.15, "undecided")],
)
def test_more_steps(ratio: float, deviation: float, status: str) -> None:
    short = [storing(each, stored(each), deviation) for each in CURVES[:6]]
    long = [storing(curve(n, r, steps=10_000), ratio * stored(curve(n, r)), deviation) for n, r in SIZES[:6]]
    assert verdicts.budget(long, short).status == status
    assert verdicts.budget(long[:1], short).status == "undecided"


def of_world(
    chosen: ComparisonPreset, counted: Callable[[Curve], Counting]
) -> tuple[dict[tuple[str, str], verdicts.Verdict], tuple[tuple[str, Residual], ...]]:
    """The verdicts, by claim and statement, where two bits for each scalar that is counted are all that matters."""
    found: dict[Curve, Measured] = {}
    for place, each in enumerate(chosen.plan.curves):
        threshold = predicted_dimension(each, 2.0, counted(each))
        (trace,) = sweep(replace(chosen.plan, curves=(each,)), logistic(threshold, 25, place))
        found[each] = measure(each, trace.runs)
    judged, table = verdicts.of_preset(chosen, found)
    return {(each.claim, each.statement): each for each in judged}, table


def test_the_verdicts_of_a_whole_preset_where_the_tables_store_the_facts() -> None:
    """Made-up runs of the standard sweep: frozen subjects cost a constant factor, and one hop's width is nothing."""
    chosen = PRESETS["standard"]
    found, table = of_world(chosen, lambda each: "tables" if tables_learned(each) else "every scalar")
    status = {(claim, statement.split(":")[0]): each.status for (claim, statement), each in found.items()}
    assert status["E2", "frozen both"] == status["E2", "frozen both, selector width"] == "supported"
    assert status["E2", "frozen subjects"] != "supported"
    assert status["E6", "chain"] == "supported"
    tables = [each for (_, statement), each in found.items() if "scalar of the tables," in statement]
    assert len(tables) == 10
    assert "not supported" not in {each.status for each in tables}  # at d = 2 a step is more than the tolerance
    assert next(each for each in tables if each.statement.startswith("all of these")).status != "not supported"
    own = {each.trained for each in chosen.law_fitted}
    groups = {name: {each.trained for each in curves} - own for name, curves in chosen.law_held_out}
    curves = sum(len(each) for each in groups.values())
    frozen = sum(len(each) for group, each in groups.items() if group.startswith("frozen both"))
    assert frozen > 0
    assert [row.counting for _, row in table].count("every scalar") == curves
    assert [row.counting for _, row in table].count("tables") == curves - frozen


def test_the_verdicts_of_a_whole_preset_where_every_scalar_stores_facts() -> None:
    """What is fitted is then what counting predicts, and β for each scalar of the tables alone is no constant."""
    found, _ = of_world(PRESETS["standard"], lambda each: "every scalar")
    every = [each for (_, statement), each in found.items() if "every scalar that learns," in statement]
    assert len(every) == 12
    assert "not supported" not in {each.status for each in every}
    assert next(each for each in every if each.statement.startswith("all of these")).status != "not supported"
    assert all(number(each, "β") == pytest.approx(2.0, abs=0.1) for each in every)
    assert any(each.status == "not supported" for (_, text), each in found.items() if "scalar of the tables," in text)
    for (claim, statement), each in found.items():
        if claim == "E2" and statement.startswith("frozen both"):
            assert abs(number(each, "b, counted") - number(each, "b")) < 0.15
            assert number(each, "b, counted") > 0.2


def test_a_verdict_carries_its_rule_and_is_json() -> None:
    verdict = verdicts.capacity(noisy_scalars(CURVES, stored, 0.04, 0.05, seed=1))
    values = json.loads(json.dumps(verdict.as_dict()))
    assert values["claim"] == "E1"
    assert values["rule"].startswith("E1: with both tables learned")
    assert "Not supported if" in values["rule"]
    assert values["numbers"]["AICc, best linear law"] <= values["numbers"]["AICc, best power law"] + 2
