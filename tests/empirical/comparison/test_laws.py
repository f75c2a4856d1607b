"""Fits of laws to thresholds: planted laws are recovered, told apart, and covered; a curve that breaks one is named."""

from fractions import Fraction
from itertools import product
from math import lgamma, log, log2, prod

import numpy as np
import pytest
from scipy.stats import t

from empirical.comparison.beside_theory import beside_theory, bits_per_coordinate
from empirical.comparison.capacity import (
    bits_per_relation,
    demand,
    first_guess,
    learned_scalars,
    predicted_dimension,
    scalars,
)
from empirical.comparison.capacity_fit import counted_exponents, fit_capacity, residuals
from empirical.comparison.curves import Curve, curve
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
    Law,
    _sizes,
    fit,
    fit_all,
    fit_ratio,
    measure,
    pooled,
    usable,
)
from empirical.models.runs import RunConfig
from tests.helpers.simulated import bounded, erratic, measured, noisy, noisy_scalars, result, storing
from theory.errors import InputError

CAPACITY_LAWS = (LINEAR, LINEAR_LOG, AFFINE, CAPACITY_POWER, LINEAR_POWER, POWER)
GROWTH_LAWS = (GROWTH, ALL_WORDS, HALF_WORDS, ONE_HOP)
SIZES = list(product((32, 64, 128, 256, 512, 1024), (2, 4, 8)))
CURVES = [curve(n, r) for n, r in SIZES]
HOP_CURVES = [curve(n, r, hops=k) for n, r, k in product((64, 128), (2, 3, 4), (1, 2, 3))]


def linear(each: Curve) -> float:
    return 0.25 * demand(each) / each.entities


def stored(each: Curve) -> float:
    """Scalars: what is demanded at two bits each."""
    return 0.5 * demand(each)


def law_of(beta: float):
    return lambda each: predicted_dimension(each, beta, "tables")


def test_the_numerator_is_that_of_the_theorem() -> None:
    entities, error = 256, 0.01
    total = lgamma(entities + 1) / log(2)
    entropy = -error * log2(error) - (1 - error) * log2(1 - error)
    assert bits_per_relation(entities) == pytest.approx(total)
    expected = total - entities * (entropy + error * log2(entities - 1))
    assert bits_per_relation(entities, Fraction(1, 100)) == pytest.approx(expected)
    assert demand(curve(256, 3, hops=2)) == pytest.approx(9 * total)
    assert demand(curve(256, 3, hops=2, chain=True)) == pytest.approx(3 * total)


def test_the_prediction_of_the_law() -> None:
    each = curve(256, 4, hops=2)
    share = 16 * bits_per_relation(256) / 256
    assert predicted_dimension(each, 2.0, "tables") == pytest.approx(share / 4)
    for condition in ({"readout": "frozen"}, {"readout": "tied"}, {"subjects": "frozen"}):
        assert predicted_dimension(curve(256, 4, hops=2, **condition), 2.0, "tables") == pytest.approx(share / 2)
    assert predicted_dimension(curve(256, 4, hops=2, chain=True), 2.0, "tables") == pytest.approx(share / 16)
    assert first_guess(each) == round(share / 4)
    with_mlp = predicted_dimension(each, 2.0, "tables and MLP")
    assert with_mlp < share / 4
    assert 2 * scalars(each, with_mlp, "tables and MLP") == pytest.approx(demand(each))
    both = curve(256, 4, subjects="frozen", readout="frozen")
    assert first_guess(both) > first_guess(curve(256, 4))
    with pytest.raises(InputError, match="no table learns"):
        predicted_dimension(both, 2.0, "tables")
    with pytest.raises(InputError, match="β must be a positive number"):
        predicted_dimension(each, 0.0, "tables")


@pytest.mark.parametrize(
    ("width", "by_hand"), [("4d", 2 * 3 * 12 + 12 + 3), (10, 2 * 3 * 10 + 10 + 3), ("selector", 2 * 3 * 32 + 32 + 3)]
)
def test_scalars_by_hand(width: int | str, by_hand: int) -> None:
    each = curve(256, 4, width=width)
    assert scalars(each, 3, "tables") == 2 * 256 * 3
    assert scalars(each, 3, "tables and MLP") == 2 * 256 * 3 + by_hand
    assert scalars(curve(256, 4, width=width, readout="tied"), 3, "tables and MLP") == 256 * 3 + by_hand
    assert scalars(curve(256, 4, width=width, subjects="frozen", readout="frozen"), 3, "tables") == 0
    assert first_guess(curve(2, 1)) == 1


@pytest.mark.parametrize(
    "condition",
    [
        {},
        {"readout": "tied"},
        {"readout": "frozen"},
        {"subjects": "frozen"},
        {"subjects": "frozen", "readout": "frozen"},
        {"hops": 3},
        {"hops": 3, "chain": True},
        {"hops": 2, "scrambled": True},
        {"attention": "learned"},
        {"attention": "learned", "hops": 2},
        {"width": "selector"},
        {"width": 17},
        {"family": "inverses"},
    ],
)
def test_every_scalar_is_what_the_model_trains(condition) -> None:
    model = pytest.importorskip("empirical.models.model")
    each = curve(16, 4, **condition)
    for dimension in (1, 3, 8):
        config = each.config(dimension, 0)
        sizes = model.shapes(config)
        assert learned_scalars(each, dimension) == sum(prod(sizes[name]) for name in model.trained(config))


def test_a_dimension_below_one_is_predicted_as_any_other() -> None:
    each = curve(256, 4)
    found = predicted_dimension(each, 1000.0, "tables and MLP")
    assert 0 < found < 1
    assert scalars(each, found, "tables and MLP") * 1000 == pytest.approx(demand(each))


def test_a_threshold_bounded_on_one_side_has_no_deviation() -> None:
    for each in (bounded(curve(256, 4), 9.0, None), bounded(curve(256, 4), 0.0, 9.0)):
        with pytest.raises(InputError, match="the threshold is bounded on one side only"):
            _ = each.deviation


def test_a_curve_is_its_condition_without_dimension_and_seed() -> None:
    each = curve(256, 4, hops=2, chain=True, steps=900)
    assert Curve(RunConfig(256, 4, dimension=9, width=3, hops=2, chain=True, steps=900, seed=5)) == each
    assert set(each.name.split()) == {"N=256", "R=4", "k=2", "width=4d", "chain", "steps=900"}
    assert curve(256, 4).name == "N=256 R=4 k=1 width=4d"
    values = each.as_dict()
    assert (values["width"], values["hops"], values["chain"], values["entities"]) == ("4d", 2, True, 256)
    assert values.keys().isdisjoint({"dimension", "seed"})
    config = each.config(7, 3)
    assert (config.dimension, config.width, config.seed, config.steps) == (7, 28, 3, 900)


def test_widths_are_a_number_or_a_rule() -> None:
    assert curve(256, 4, hops=2, width="selector").width_at(3) == 4**2 * 8
    assert curve(256, 4, hops=2, width="selector", chain=True).width_at(3) == 4 * 8
    assert curve(256, 4, width=10).width_at(3) == 10
    with pytest.raises(InputError, match="width must be a whole number of at least 1, not 0"):
        curve(256, 4, width=0)
    with pytest.raises(InputError, match="width rule is '8d'; it must be a number or one of 4d, selector"):
        curve(256, 4, width="8d")


@pytest.mark.parametrize("deviation", [0.02, 0.5])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_a_fit_of_one_parameter_is_the_closed_form(deviation: float, confidence: float) -> None:
    """With equal σ: the mean, total variance max(σ², S/n) with S the sum of squares, and Student's interval."""
    factors = [0.8, 1.0, 1.2, 0.88, 1.6, 1.04]
    chosen = [
        storing(each, c * each.relations * each.entities * np.log2(each.entities), deviation)
        for each, c in zip(CURVES[:6], factors, strict=True)
    ]
    found = fit(LINEAR_LOG, chosen, confidence)
    logs = np.log(factors)
    n, squares = 6, float(((logs - logs.mean()) ** 2).sum())
    variance = max(deviation**2, squares / n)
    likelihood = -n / 2 * np.log(2 * np.pi * variance) - squares / (2 * variance)
    half = t.ppf((1 + confidence) / 2, n - 1) * np.sqrt(variance / n * max(1, squares / variance / (n - 1)))
    estimate = found.estimate("log c")
    assert estimate.value == pytest.approx(logs.mean(), abs=1e-6)
    assert (estimate.high - estimate.low) / 2 == pytest.approx(half, rel=1e-3)
    assert found.scatter**2 == pytest.approx(variance - deviation**2, abs=1e-4)
    assert found.log_likelihood == pytest.approx(likelihood, abs=1e-5)
    assert found.aicc == pytest.approx(4 - 2 * likelihood + 12 / (n - 3), abs=1e-4)
    assert found.residuals == pytest.approx(logs - logs.mean(), abs=1e-5)


def test_a_ratio_has_the_variances_of_both() -> None:
    pairs = [(measured(each, 6.0, 0.3), measured(each, 3.0, 0.4)) for each in CURVES[:5]]
    flat = Law("c", ("log c",), (0.0,), lambda p, s: p[0] + 0 * s["R"])
    estimate = fit_ratio(flat, pairs).estimate("log c")
    assert estimate.value == pytest.approx(log(2))
    assert estimate.high - estimate.low == pytest.approx(2 * t.ppf(0.975, 4) * 0.5 / np.sqrt(5), rel=1e-4)


@pytest.mark.parametrize(
    ("law", "parameters", "expected"),
    [
        (LINEAR, (log(0.3),), lambda n, r, k, m: 0.3 * r * m),
        (LINEAR_LOG, (log(0.3),), lambda n, r, k, m: 0.3 * r * n * log2(n)),
        (AFFINE, (0.3, 0.7), lambda n, r, k, m: r * n * (0.3 * log2(n) + 0.7)),
        (AFFINE, (-1.0, 0.0), lambda n, r, k, m: r * n * 1e-9),
        (CAPACITY_POWER, (log(0.3), 0.8, 1.2), lambda n, r, k, m: 0.3 * r**0.8 * m**1.2),
        (POWER, (log(0.3), 0.8, 0.4), lambda n, r, k, m: 0.3 * r**0.8 * n**0.4),
        (LINEAR_POWER, (log(0.3), 0.4), lambda n, r, k, m: 0.3 * r * n**0.4),
        (GROWTH, (log(0.3), 0.6), lambda n, r, k, m: 0.3 * r ** (1 + 0.6 * (k - 1)) * m),
        (ALL_WORDS, (log(0.3),), lambda n, r, k, m: 0.3 * r**k * m),
        (HALF_WORDS, (log(0.3),), lambda n, r, k, m: 0.3 * r ** (-(-k // 2)) * m),
    ],
)
def test_a_law_predicts_what_its_formula_says(law, parameters, expected) -> None:
    for n, r, k in ((64, 3, 1), (256, 2, 2), (10, 5, 3)):
        sizes = {name: np.array([float(value)]) for name, value in zip("NRkM", (n, r, k, log2(r + 5)), strict=True)}
        assert np.exp(law.predict(np.array(parameters), sizes)) == pytest.approx([expected(n, r, k, log2(r + 5))])
    each = curve(2, 3, hops=2)
    sizes = {name: array.tolist() for name, array in _sizes([each]).items()}
    assert sizes == {"R": [3], "N": [2], "k": [2], "M": [1]}


@pytest.mark.parametrize(
    ("logs", "variances", "mean", "scatter2", "variance"),
    [
        ([0, 1], [1, 1], 1 / 2, 0, 1 / 2),  # Q = 1/2 < 1
        ([0, 2, 4], [1, 1, 1], 2, 3, 4 / 3),  # Q = 8, (8 - 2)/(3 - 1) = 3
        ([0, 3], [1, 1 / 3], 29 / 18, 23 / 6, 1 / (6 / 29 + 6 / 25)),  # Q = 27/4, (27/4 - 1)/(4 - 10/4) = 23/6
    ],
)
def test_the_pooled_mean_by_hand(logs, variances, mean, scatter2, variance) -> None:
    for confidence in (0.8, 0.95):
        estimate, scatter = pooled("β", np.array(logs, float), np.array(variances, float), confidence)
        half = t.ppf((1 + confidence) / 2, len(logs) - 1) * np.sqrt(variance)
        assert scatter**2 == pytest.approx(scatter2)
        assert np.log([estimate.low, estimate.value, estimate.high]) == pytest.approx([mean - half, mean, mean + half])


def test_an_estimate_contains_its_ends() -> None:
    estimate = Estimate("c", 2.0, 1.0, 3.0)
    assert [estimate.contains(value) for value in (0.9, 1.0, 2.5, 3.0, 3.1)] == [False, True, True, True, False]


def test_exponents_of_a_planted_linear_law_are_one() -> None:
    found = fit(CAPACITY_POWER, noisy_scalars(CURVES, stored, 0.05, 0.05, seed=1))
    assert found.estimate("a").contains(1.0)
    assert found.estimate("b").contains(1.0)
    assert found.estimate("a").high - found.estimate("a").low < 0.2
    # n*/(R·N) = 0.5·(log2 N!)/N, and (log2 N!)/N grows by one for each doubling of a large N, by a little more before.
    slope = fit(AFFINE, noisy_scalars(CURVES, stored, 0.0, 0.001, seed=1)).estimate("slope")
    assert slope.value == pytest.approx(0.5, rel=0.1)


def test_the_information_criterion_picks_the_planted_law() -> None:
    def power(each: Curve) -> float:
        return 20 * each.relations**0.7 * each.entities**1.5

    for seed in range(5):
        assert fit_all(CAPACITY_LAWS, noisy_scalars(CURVES, stored, 0.03, 0.05, seed))[0].formula in (
            LINEAR.formula,
            "R·N·(slope·log2 N + offset)",
        )
        best, *others = fit_all(CAPACITY_LAWS, noisy_scalars(CURVES, power, 0.03, 0.05, seed))
        assert best.formula == POWER.formula
        assert others[0].aicc > best.aicc + 5
        assert best.estimate("b").contains(1.5)


def test_the_intervals_of_the_exponents_cover() -> None:
    covered = np.zeros(2)
    for seed in range(120):
        found = fit(POWER, noisy_scalars(CURVES[::2], lambda c: c.relations * c.entities**1.4, 0.1, 0.05, seed))
        covered += [found.estimate("a").contains(1.0), found.estimate("b").contains(1.4)]
    assert (covered / 120 >= 0.89).all()
    assert (covered < 120).all()


def test_sharp_thresholds_weigh_more() -> None:
    blurred = [storing(each, 3 * stored(each), deviation=2.0) for each in CURVES[:3]]
    sharp = [storing(each, stored(each), deviation=0.02) for each in CURVES[3:]]
    assert np.exp(fit(LINEAR, blurred + sharp).estimate("log c").value) == pytest.approx(0.5, rel=0.02)


def test_scatter_about_the_law_is_found() -> None:
    wide = fit(LINEAR, noisy_scalars(CURVES, stored, 0.3, 0.05, seed=2))
    assert 0.2 < wide.scatter < 0.4
    assert fit(LINEAR, [storing(each, stored(each)) for each in CURVES]).scatter == 0.0
    assert wide.as_json()["scatter"] == wide.scatter


@pytest.mark.parametrize(
    ("exponent", "best"), [(lambda k: k, ALL_WORDS), (lambda k: -(-k // 2), HALF_WORDS), (lambda k: 1, LINEAR)]
)
def test_growth_with_the_hops_is_told_apart(exponent, best) -> None:
    def law(each: Curve) -> float:
        return 0.5 * each.relations ** exponent(each.hops) * bits_per_relation(each.entities)

    thresholds = noisy_scalars(HOP_CURVES, law, 0.05, 0.05, seed=3)
    fits = fit_all(GROWTH_LAWS, thresholds)
    assert min((each for each in fits if each.formula != GROWTH.formula), key=lambda f: f.aicc).formula == best.formula
    growth = fit(GROWTH, thresholds).estimate("e")
    if best is not HALF_WORDS:
        assert growth.contains(1.0 if best is ALL_WORDS else 0.0)
    else:
        assert 0.2 < growth.low < growth.high < 0.8


def test_laws_refuse_what_they_cannot_tell() -> None:
    with pytest.raises(InputError, match="needs at least 6 thresholds, not 5"):
        fit(POWER, [measured(each, linear(each)) for each in CURVES[:5]])
    same = [curve(256, 4, steps=100 * steps) for steps in range(1, 8)]
    with pytest.raises(InputError, match=r"cannot tell .* apart"):
        fit(POWER, [measured(each, 5.0 + number) for number, each in enumerate(same)])
    with pytest.raises(InputError, match="bounded on one side"):
        fit(LINEAR, [bounded(each, 4.0, None) for each in CURVES[:5]])
    with pytest.raises(InputError, match="no parameter 'e'"):
        fit(LINEAR, [measured(each, linear(each)) for each in CURVES]).estimate("e")


def test_one_sided_and_erratic_thresholds_take_no_part() -> None:
    good = measured(CURVES[0], 5.0)
    assert usable([good, bounded(CURVES[1], 8.0, None), erratic(measured(CURVES[2], 5.0))]) == (good,)


def test_the_ratio_of_thresholds() -> None:
    learned = noisy(CURVES, linear, 0.0, 0.04, seed=4)
    frozen = [curve(n, r, subjects="frozen", readout="frozen") for n, r in SIZES]
    others = noisy(frozen, lambda c: linear(c) * 0.5 * c.entities**0.3, 0.0, 0.04, seed=5)
    assert fit_ratio(POWER, list(zip(others, learned, strict=True))).estimate("b").contains(0.3)


def test_the_pooled_mean_covers() -> None:
    generator, covered = np.random.default_rng(6), 0
    for _ in range(300):
        variances = generator.uniform(0.02, 0.15, size=8) ** 2
        logs = generator.normal(np.log(2.0), np.sqrt(variances + 0.1**2))
        covered += pooled("β", logs, variances)[0].contains(2.0)
    assert 0.9 <= covered / 300 <= 0.99


def test_a_planted_capacity_is_fitted_and_predicts_the_held_out_curves() -> None:
    fitted = noisy(CURVES[:9], law_of(2.2), 0.05, 0.05, seed=7)
    held_out = noisy(CURVES[9:] + HOP_CURVES[9:], law_of(2.2), 0.03, 0.03, seed=8)
    law = fit_capacity(fitted)
    assert law.beta.contains(2.2)
    assert law.beta.high / law.beta.low < 1.2
    table = residuals(law, fitted, held_out)
    assert {each.outcome for each in table} == {"holds"}
    assert [each.role for each in table].count("held out") == len(held_out)


def test_a_curve_that_breaks_the_law_is_named() -> None:
    fitted = noisy(CURVES[:9], law_of(2.2), 0.0, 0.03, seed=9)
    law = fit_capacity(fitted)
    broken, blurred, endless, odd = CURVES[9:13]
    held_out = [
        measured(broken, 2 * predicted_dimension(broken, 2.2, "tables")),
        measured(blurred, 1.3 * predicted_dimension(blurred, 2.2, "tables"), deviation=0.3),
        bounded(endless, 3 * predicted_dimension(endless, 2.2, "tables"), None),
        erratic(measured(odd, 2 * predicted_dimension(odd, 2.2, "tables"))),
        measured(CURVES[14], predicted_dimension(CURVES[14], 2.2, "tables")),
    ]
    table = [each for each in residuals(law, fitted, held_out) if each.role == "held out"]
    assert [each.outcome for each in table] == ["breaks", "unclear", "breaks", "unclear", "holds"]
    assert table[0].curve == broken.name
    assert table[0].relative_error == pytest.approx(-0.5, abs=0.05)  # twice the dimension, half the bits
    assert table[2].relative_error is None
    assert table[0].as_json()["outcome"] == "breaks"


def test_a_prediction_is_judged_up_to_the_tolerance_itself() -> None:
    law = fit_capacity(noisy(CURVES[:9], law_of(2.2), 0.0, 0.03, seed=9))
    each = CURVES[9]
    predicted = predicted_dimension(each, law.beta.value, "tables")

    def outcome(threshold, tolerance: float = 0.25) -> str:
        (found,) = residuals(law, [threshold], [], tolerance)
        assert found.role == "fitted"
        assert found.predicted == predicted
        return found.outcome

    # Of the tables alone the bits a scalar fall as the dimension grows: 0.8 of the prediction is 1.25 of β.
    off = measured(each, predicted / 1.2, 0.01)
    error = predicted / off.dimension - 1
    assert outcome(off, error * (1 + 1e-9)) == "holds"
    assert outcome(off, error * (1 - 1e-9)) == "unclear"
    assert outcome(bounded(each, predicted / 0.7501, None)) == "unclear"
    assert outcome(bounded(each, predicted / 0.7499, None)) == "breaks"
    assert outcome(bounded(each, 0.0, predicted / 1.2499)) == "unclear"
    assert outcome(bounded(each, 0.0, predicted / 1.2501)) == "breaks"
    assert outcome(measured(each, predicted / 2, 0.01)) == "breaks"
    assert outcome(erratic(measured(each, predicted))) == "unclear"


def test_beta_is_the_pooled_ratio_of_demand_and_scalars() -> None:
    chosen = [measured(each, 5.0 + i, 0.1 + 0.02 * i) for i, each in enumerate(CURVES[:4])]
    for counting in ("tables", "every scalar"):
        law = fit_capacity(chosen, counting, 0.9)
        logs, variances = [], []
        for each in chosen:
            count = [
                scalars(each.curve, d, counting) for d in (each.dimension, each.threshold.low, each.threshold.high)
            ]
            logs.append(log(demand(each.curve) / count[0]))
            variances.append((log(count[2] / count[1]) / (2 * 1.959964)) ** 2)
        expected, scatter = pooled("β", np.array(logs), np.array(variances), 0.9)
        assert law.beta.value == pytest.approx(expected.value)
        assert (law.beta.low, law.beta.high) == pytest.approx((expected.low, expected.high))
        assert law.scatter == pytest.approx(scatter)
        assert law.curves == 4
    assert fit_capacity(chosen[:3]).curves == 3


def test_the_mlp_counts_where_no_table_learns() -> None:
    frozen = [curve(n, r, subjects="frozen", readout="frozen") for n, r in SIZES]
    truth = noisy(frozen, lambda c: predicted_dimension(c, 1.5, "every scalar"), 0.03, 0.05, seed=10)
    law = fit_capacity(truth, "every scalar")
    assert law.beta.contains(1.5)
    # 8d² weights hold R·N·log N bits: d grows about like the root of R, and of N·log N.
    in_relations, in_entities = counted_exponents(law, frozen)
    assert in_relations == pytest.approx(0.5, abs=0.02)
    assert 0.5 < in_entities < 0.75
    with pytest.raises(InputError, match="count every scalar"):
        fit_capacity(truth)
    with pytest.raises(InputError, match="at least three thresholds"):
        fit_capacity(truth[:2], "every scalar")
    one_relation = [each for each in frozen if each.relations == 2]
    for too_few in ([], frozen[:2], one_relation, frozen[:3]):
        with pytest.raises(InputError, match="both vary"):
            counted_exponents(law, too_few)
    assert counted_exponents(law, frozen[:4])[0] == pytest.approx(0.5, abs=0.1)


def test_a_threshold_is_measured_with_the_size_of_its_model() -> None:
    each = curve(256, 4)
    runs = [result(each.config(d, seed), d >= 7) for d in range(4, 10) for seed in range(5)]
    sized = [
        type(run)(run.config, run.status, run.accuracy, 3000, 1.0, (), 1000 * run.config.dimension) for run in runs
    ]
    found = measure(each, sized)
    assert 6 < found.dimension < 7
    assert found.trained_scalars == 7000
    assert found.deviation == pytest.approx(log(found.threshold.high / found.threshold.low) / (2 * 1.959964))
    assert measure(each, [run for run in sized if run.config.dimension < 7]).trained_scalars is None
    assert usable([measure(each, [])]) == ()


def test_thresholds_stand_beside_the_theory() -> None:
    each = measured(curve(256, 4), 6.5, scalars=4000)
    row = beside_theory(each)
    share = 4 * bits_per_relation(256, Fraction(1, 100))
    assert row.bits_per_coordinate == pytest.approx(share / (256 * 6.5)) == bits_per_coordinate(each)
    assert row.bits_per_scalar == pytest.approx(share / 4000)
    assert row.bits == 4
    assert row.universal_construction == 8  # T1b at 4 bits: R·⌈8/4⌉
    assert row.universal_bound == 8  # 4·(8 - h(ε) - ε·log2 255)/4 = 7.84
    assert row.middle_construction is None
    assert row.as_json()["bits"] == 4


def test_k_hops_stand_beside_their_own_theorems() -> None:
    direct = beside_theory(measured(curve(4096, 2, hops=2), 9.0))
    assert direct.bits == 5
    assert direct.universal_construction == 4 * 3  # T2: R^2·⌈12/5⌉
    assert direct.universal_bound is not None
    assert 0 < direct.universal_bound <= 12
    assert direct.middle_construction == 2 * 12  # T2e: R·p
    assert beside_theory(measured(curve(4096, 2, hops=2, readout="frozen"), 9.0)).middle_construction is None
    chain = beside_theory(measured(curve(4096, 2, hops=2, chain=True), 6.0))
    assert chain.universal_bound is None
    assert chain.universal_construction == 2 * 3 + 2  # T3: R·⌈12/4⌉ + 2
    assert beside_theory(bounded(curve(256, 4), 9.0, None)).bits is None
    # A chain of one hop is no chain, and an entry has a bit at least.
    assert beside_theory(measured(curve(256, 4, chain=True), 6.5)).universal_bound == 8
    assert beside_theory(measured(curve(256, 4), 1000.0)).bits == 1
