"""d* with its interval: planted thresholds, separation, failures, non-monotone outcomes, and coverage by simulation."""

import json
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from empirical.curves import curve
from empirical.runs import RunResult
from empirical.search import Plan
from empirical.threshold import Threshold, Trials, fit_threshold, inversions, success, tally, threshold
from tests.simulated import failed, logistic, result, step, sweep
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
    with pytest.raises(InputError, match="confidence must lie between 0 and 1"):
        fit_threshold(trials, 0.99, confidence=1.0)


def test_a_threshold_is_json() -> None:
    values = json.loads(json.dumps(fitted((5, 0, 5), (6, 5, 5)).as_json()))
    assert values["monotone"] is True
    assert values["trials"][0] == {"dimension": 5, "successes": 0, "runs": 5, "left_out": 0}
