"""d* with its interval: planted thresholds, separation, failures, non-monotone outcomes, and coverage by simulation."""

import json
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import chi2, fisher_exact

from empirical.comparison.curves import curve
from empirical.comparison.search import Plan
from empirical.models.runs import RunResult
from empirical.statistics.threshold import Threshold, Trials, fit_threshold, inversions, success, tally, threshold
from tests.helpers.simulated import failed, logistic, result, step, sweep
from theory.errors import InputError

CURVE = curve(256, 4)


def fitted(*rates: tuple[int, int, int]) -> Threshold:
    """The fit of (dimension, successes, runs)."""
    found = fit_threshold([Trials(d, successes, runs, 0) for d, successes, runs in rates], 0.99)
    return found


def runs(outcomes: Iterable[tuple[int, int, float]], steps_taken: int | None = None) -> list[RunResult]:
    """Runs at (dimension, seed) that ended with this accuracy."""
    found = [result(CURVE.config(d, seed), accuracy >= 0.99, accuracy) for d, seed, accuracy in outcomes]
    return [replace(each, steps_taken=steps_taken or each.steps_taken) for each in found]


def test_separated_outcomes_have_a_finite_fit_whose_interval_is_the_gap_at_least() -> None:
    found = fitted((5, 0, 5), (6, 5, 5))
    assert found.separated
    assert found.dimension == pytest.approx(np.sqrt(30), rel=0.01)
    assert found.low <= 5
    assert found.high is not None
    assert 6 <= found.high < 6.5
    # Two dimensions are a saturated model, for which the penalty is half a success and half a failure more at each.
    assert found.steepness == pytest.approx(2 * np.log(5.5 / 0.5) / np.log(6 / 5), rel=0.1)
    # Far away single runs, as the bracket leaves them, do not matter.
    wider = fitted((3, 0, 1), (5, 0, 5), (6, 5, 5), (12, 1, 1))
    assert wider.dimension == pytest.approx(found.dimension, rel=0.02)


def penalised(centre: float, trials: list[Trials]) -> tuple[float, float]:
    """The penalised log-likelihood of a d*, at the steepness that is best for it, and that steepness: by definition."""

    def minus(log_steepness: float) -> float:
        value, information = 0.0, np.zeros((2, 2))
        for each in trials:
            chance = 1 / (1 + (centre / each.dimension) ** np.exp(log_steepness))
            value += each.successes * np.log(chance) + (each.runs - each.successes) * np.log(1 - chance)
            row = np.array([1.0, np.log(each.dimension)])
            information += each.runs * chance * (1 - chance) * np.outer(row, row)
        return -value - np.log(np.linalg.det(information)) / 2

    found = minimize_scalar(minus, bounds=(0.0, np.log(100)), method="bounded", options={"xatol": 1e-6})
    return -found.fun, float(np.exp(found.x))


@pytest.mark.parametrize("confidence", [0.5, 0.95])
@pytest.mark.parametrize(
    "rates",
    [[(8, 1, 5), (9, 2, 5), (10, 4, 5)], [(4, 1, 7), (6, 2, 3), (7, 3, 4), (12, 9, 10)], [(5, 1, 9), (6, 9, 9)]],
)
def test_the_fit_is_the_maximum_of_the_penalised_likelihood(
    rates: list[tuple[int, int, int]], confidence: float
) -> None:
    trials = [Trials(*rate, 0) for rate in rates]
    found = fit_threshold(trials, 0.99, confidence)
    at = minimize_scalar(lambda x: -penalised(np.exp(x), trials)[0], bounds=(np.log(3), np.log(20)), method="bounded")
    best, steepness = penalised(np.exp(at.x), trials)
    assert found.dimension == pytest.approx(np.exp(at.x), rel=0.006)  # the grid's step is 0.005
    assert found.steepness == pytest.approx(steepness, rel=0.1)  # and here 0.16

    def above(x: float) -> float:
        return penalised(np.exp(x), trials)[0] - best + chi2.ppf(confidence, 1) / 2

    low, high = brentq(above, at.x - 0.9, at.x), brentq(above, at.x, at.x + 0.9)
    assert found.high is not None
    # One step outwards, but for what the grid of s misses of the maximum.
    assert low - 0.0101 <= np.log(found.low) <= low + 0.004
    assert high - 0.004 <= np.log(found.high) <= high + 0.0101


@pytest.mark.parametrize(("successes", "runs"), [((3, 2, 1, 5), (5, 5, 5, 5)), ((4, 1, 3, 0), (9, 4, 7, 3))])
def test_p_values_of_inversions_are_fishers_adjusted_by_holm(successes: tuple[int, ...], runs: tuple[int, ...]) -> None:
    trials = [Trials(4 + i, *counts, 0) for i, counts in enumerate(zip(successes, runs, strict=True))]
    plain = {}
    for i, small in enumerate(trials):
        for large in trials[i + 1 :]:
            if small.successes * large.runs > large.successes * small.runs:
                table = [[each.successes, each.runs - each.successes] for each in (small, large)]
                plain[small.dimension, large.dimension] = fisher_exact(table, alternative="greater").pvalue
    found = {(each.smaller, each.larger): each.p_value for each in inversions(trials[::-1])}
    assert found.keys() == plain.keys()
    adjusted = 0.0
    for rank, pair in enumerate(sorted(plain, key=plain.__getitem__)):
        adjusted = max(adjusted, min(1.0, (6 - rank) * plain[pair]))  # six pairs, inverted or not
        assert found[pair] == pytest.approx(adjusted)


def test_an_inversion_is_one_only_at_a_strictly_higher_rate_and_is_told_with_both_rates() -> None:
    assert inversions([Trials(4, 2, 5, 0), Trials(5, 4, 10, 0), Trials(6, 0, 0, 3)]) == ()
    (found,) = inversions([Trials(4, 3, 5, 0), Trials(5, 1, 4, 0)])
    assert (found.rate_at_smaller, found.rate_at_larger) == (0.6, 0.25)


def test_five_hundredths_are_still_chance() -> None:
    found = fitted((4, 0, 5), (5, 3, 5), (6, 2, 5), (7, 5, 5))
    (inversion,) = found.inversions
    assert replace(found, inversions=(replace(inversion, p_value=0.05),)).monotone
    assert not replace(found, inversions=(replace(inversion, p_value=0.0499),)).monotone


def test_where_the_dimension_does_not_matter_the_curve_is_as_flat_as_any() -> None:
    # From 0.1 to 0.9 over a factor of 80 in d: s = log 81 / log 80.
    found = fitted((4, 3, 6), (8, 3, 6), (16, 3, 6))
    assert found.steepness == pytest.approx(np.log(81) / np.log(80), rel=0.01)


def test_a_wide_gap_leaves_a_wide_interval() -> None:
    found = fitted((4, 0, 5), (16, 5, 5))
    assert found.high is not None
    assert found.low <= 4
    assert found.high >= 16
    assert found.dimension == pytest.approx(8, rel=0.02)


def test_more_seeds_narrow_the_interval() -> None:
    few, many = fitted((8, 1, 5), (9, 2, 5), (10, 4, 5)), fitted((8, 10, 50), (9, 20, 50), (10, 40, 50))
    assert few.high is not None
    assert many.high is not None
    assert few.low < many.low < 9.2 < many.high < few.high
    assert many.dimension == pytest.approx(9.18, rel=0.02)
    assert not few.separated


def test_one_sided_outcomes_are_bounds_not_estimates() -> None:
    never, always = fitted((4, 0, 5), (8, 0, 5)), fitted((4, 5, 5), (8, 5, 5))
    assert (never.dimension, never.low, never.high) == (None, 8.0, None)
    assert (always.dimension, always.low, always.high) == (None, 0.0, 4.0)
    assert not fitted((8, 1, 5), (9, 2, 5), (10, 5, 5)).separated  # some pass where others fail
    assert never.separated
    assert always.separated


def test_without_a_counted_run_nothing_is_known() -> None:
    for runs_that_do_not_count in ([], [failed(CURVE.config(5, 0))]):
        found = threshold(runs_that_do_not_count)
        assert (found.dimension, found.low, found.high) == (None, 0.0, None)


def test_failed_runs_change_the_fit_in_nothing_but_their_number() -> None:
    good = [step(6)(CURVE.config(d, seed)) for d in (4, 5, 6, 7) for seed in range(5)]
    bad = [failed(CURVE.config(d, seed)) for d in (6, 7) for seed in range(5, 10)]
    without, with_failures = threshold(good), threshold(good + bad)
    assert with_failures.left_out == 10
    assert with_failures.dimension == without.dimension
    assert (with_failures.low, with_failures.high) == (without.low, without.high)
    # Counted as not memorised they would have moved it: the test can fail.
    as_failures = threshold(good + [result(each.config, False) for each in bad])
    assert as_failures.dimension != without.dimension


def test_accuracy_one_is_a_threshold_of_its_own() -> None:
    outcomes = [(d, seed, 0.5 if d < 5 else 0.995 if d < 8 else 1.0) for d in range(3, 10) for seed in range(5)]
    loose, perfect = threshold(runs(outcomes), 0.99), threshold(runs(outcomes), 1.0)
    assert loose.dimension is not None
    assert perfect.dimension is not None
    assert 4 < loose.dimension < 5
    assert 7 < perfect.dimension < 8


def test_a_run_stopped_early_says_nothing_about_a_higher_accuracy() -> None:
    (stopped,) = runs([(5, 0, 0.995)], steps_taken=100)
    (finished,) = runs([(5, 0, 0.995)])
    assert success(stopped, 0.99) is True
    assert success(stopped, 1.0) is None
    assert success(finished, 1.0) is False
    assert tally([stopped, finished], 1.0) == (Trials(5, 0, 1, 1),)
    (beyond,) = runs([(5, 0, 0.98)], steps_taken=10**9)
    assert success(beyond, 0.99) is False
    assert success(replace(finished, accuracy=0.99), 0.99) is True
    assert success(replace(finished, status="failed"), 0.99) is None
    assert success(replace(finished, accuracy=None), 0.99) is None


def test_non_monotone_outcomes_are_reported() -> None:
    found = fitted((4, 0, 5), (5, 5, 5), (6, 0, 5), (7, 5, 5))
    assert not found.monotone
    (inversion,) = found.inversions
    assert (inversion.smaller, inversion.larger) == (5, 6)
    assert inversion.p_value == pytest.approx(6 / 252)


def test_a_chance_inversion_is_listed_and_is_no_violation() -> None:
    found = fitted((4, 0, 5), (5, 3, 5), (6, 2, 5), (7, 5, 5))
    assert [(each.smaller, each.larger) for each in found.inversions] == [(5, 6)]
    assert found.monotone


def test_violations_are_rarely_reported_of_monotone_curves() -> None:
    generator = np.random.default_rng(1)
    dimensions = range(5, 13)
    chances = [1 / (1 + (8.5 / d) ** 10) for d in dimensions]
    reported = 0
    for _ in range(300):
        outcomes = [Trials(d, int(generator.binomial(5, p)), 5, 0) for d, p in zip(dimensions, chances, strict=True)]
        reported += any(each.p_value < 0.05 for each in inversions(outcomes))
    assert reported / 300 <= 0.05


@pytest.mark.parametrize(("steepness", "sweeps"), [(10.0, 150), (25.0, 120), (500.0, 80)])
def test_the_interval_covers_the_planted_threshold(steepness: float, sweeps: int) -> None:
    """Whole searches, d* anywhere between 2.5 and 30: at least 90 % of the 95 % intervals hold it, without bias."""
    generator = np.random.default_rng(int(steepness))
    covered, errors = 0, []
    for number in range(sweeps):
        centre = float(np.exp(generator.uniform(np.log(2.5), np.log(30))))
        (trace,) = sweep(Plan((CURVE,)), logistic(centre, steepness, number))
        found = threshold(trace.runs)
        assert found.dimension is not None
        assert found.high is not None
        covered += found.low <= centre <= found.high
        errors.append(np.log(found.dimension / centre))
    assert covered / sweeps >= 0.9
    assert abs(np.mean(errors)) < 0.03


def test_an_interval_at_a_lower_confidence_is_narrower_and_bad_levels_are_refused() -> None:
    trials = [Trials(8, 1, 5, 0), Trials(9, 2, 5, 0), Trials(10, 4, 5, 0)]
    wide, narrow = fit_threshold(trials, 0.99), fit_threshold(trials, 0.99, confidence=0.5)
    assert wide.low < narrow.low
    for confidence in (0.0, 1.0, float("nan")):
        with pytest.raises(InputError, match="confidence must lie between 0 and 1"):
            fit_threshold(trials, 0.99, confidence=confidence)


def test_a_threshold_is_json() -> None:
    values = json.loads(json.dumps(fitted((5, 0, 5), (6, 5, 5)).as_json()))
    assert values["monotone"] is True
    assert values["trials"][0] == {"dimension": 5, "successes": 0, "runs": 5, "left_out": 0}
