"""Training runs with made-up outcomes, whose threshold is known: for the tests of search, fits and verdicts."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from empirical.comparison.capacity import dimension_of
from empirical.comparison.curves import Curve
from empirical.comparison.laws import Measured
from empirical.comparison.search import Plan, Trace, among
from empirical.models.runs import RunConfig, RunResult
from empirical.statistics.threshold import Threshold

Outcome = Callable[[RunConfig], RunResult]


def result(config: RunConfig, memorised: bool, accuracy: float | None = None) -> RunResult:
    """A finished run."""
    reached = accuracy if accuracy is not None else 1.0 if memorised else 0.5
    return RunResult(config, "memorised" if memorised else "not memorised", reached, config.steps, 1.0)


def failed(config: RunConfig) -> RunResult:
    """A run that says nothing."""
    return RunResult(config, "failed", None, 10, 1.0, error="loss is NaN")


def logistic(centre: float, steepness: float, sweep: int = 0) -> Outcome:
    """Success with probability 1 / (1 + (d*/d)^s), a function of (sweep, d, seed)."""

    def outcome(config: RunConfig) -> RunResult:
        chance = 1 / (1 + (centre / config.dimension) ** steepness)
        draw = np.random.default_rng([sweep, config.dimension, config.seed]).random()
        return result(config, bool(draw < chance))

    return outcome


def step(centre: float) -> Outcome:
    """Success from d >= d* on."""
    return lambda config: result(config, config.dimension >= centre)


def sweep(plan: Plan, outcome: Outcome, known: Iterable[RunResult] = ()) -> tuple[Trace, ...]:
    """The plan carried out to its end."""
    results = list(known)
    while batch := plan.next_batch(among(results)):
        results += [outcome(config) for config in batch]
    return plan.traces(among(results))


def measured(curve: Curve, dimension: float, deviation: float = 0.05, scalars: int | None = None) -> Measured:
    """A threshold whose interval stands for this standard deviation of log d*."""
    half = 1.959964 * deviation
    low, high = float(dimension * np.exp(-half)), float(dimension * np.exp(half))
    return Measured(curve, Threshold(0.99, dimension, low, high, 30.0, False, 0.95, (), 0, ()), scalars)


def storing(curve: Curve, count: float, deviation: float = 0.05) -> Measured:
    """A threshold at which so many scalars learn, whose interval stands for this standard deviation of their
    logarithm."""
    half = np.exp(1.959964 * deviation)
    at, low, high = (dimension_of(curve, each, "every scalar") for each in (count, count / half, count * half))
    return Measured(curve, Threshold(0.99, at, low, high, 30.0, False, 0.95, (), 0, ()))


def noisy_scalars(
    curves: Iterable[Curve], law: Callable[[Curve], float], scatter: float, deviation: float, seed: int
) -> list[Measured]:
    """As `noisy`, about a law of the scalars that learn at the threshold."""
    generator = np.random.default_rng(seed)
    spread = np.hypot(scatter, deviation)
    return [storing(each, law(each) * float(np.exp(generator.normal(0, spread))), deviation) for each in curves]


def bounded(curve: Curve, low: float, high: float | None) -> Measured:
    """A threshold that is bounded on one side only."""
    return Measured(curve, Threshold(0.99, None, low, high, None, True, 0.95, (), 0, ()))


def noisy(
    curves: Iterable[Curve], law: Callable[[Curve], float], scatter: float, deviation: float, seed: int
) -> list[Measured]:
    """Thresholds about a law with normal scatter and measurement error in log d*."""
    generator = np.random.default_rng(seed)
    spread = np.hypot(scatter, deviation)
    return [measured(each, law(each) * float(np.exp(generator.normal(0, spread))), deviation) for each in curves]


def erratic(each: Measured) -> Measured:
    """The same threshold, with success that is not monotone in d."""
    from empirical.statistics.threshold import Inversion

    return replace(each, threshold=replace(each.threshold, inversions=(Inversion(4, 5, 1.0, 0.0, 0.004),)))
