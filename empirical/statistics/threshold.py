"""The threshold d* of a curve: the dimension at which half of the seeds memorise, with a confidence interval.

*Model.* Run i at dimension d memorises with probability 1 / (1 + exp(-s·(log d - log d*))), s > 0, independently. d* is
a real number, comparable with a law that predicts one; the smallest whole dimension that memorises is about ⌈d*⌉.

*Fit.* Learned thresholds are sharp: often every seed fails at d and every seed succeeds at d + 1. Then the likelihood
grows without end as s → ∞, and the maximum likelihood estimate does not exist. So the likelihood is multiplied by
Jeffreys' prior, the root of the determinant of Fisher's information (Firth 1993; Heinze and Schemper 2002), whose
maximum always exists; it amounts to about half a success and half a failure added to the data. The interval holds the
d* whose profile of that penalised likelihood is at most χ²/2 below its maximum.

If the outcomes are *separated* (every dimension that fails lies below every one that succeeds), any d* between the two
is equally good for a steep curve, so the interval is widened to hold that whole gap.

If no run memorises, or all do, the threshold is only bounded on one side: it has no estimate, and an open interval. If
no run counts, nothing is known: [0, ∞).

*Monotonicity* is a property of the data, not an assumption: `inversions` lists each pair of dimensions of which the
smaller memorises more often, with the p-value of Fisher's exact test, adjusted for the number of pairs (Holm).

References: D. Firth, Bias reduction of maximum likelihood estimates, Biometrika 80 (1993); G. Heinze and M. Schemper, A
solution to the problem of separation in logistic regression, Statistics in Medicine 21 (2002).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, hypergeom

from empirical.models.runs import MEMORISED_AT, RunResult
from empirical.statistics.significance import holm
from theory.errors import InputError

# The grid of the fit: log d* in steps of GRID_STEP up to MARGIN beyond the data, and the steepness s in log d, from a
# probability that takes a factor of 80 in d to climb from 0.1 to 0.9, to one that takes half a percent.
GRID_STEP, MARGIN = 0.005, 1.0
STEEPNESS = np.exp(np.linspace(0.0, np.log(1000.0), 45))


@dataclass(frozen=True)
class Trials:
    """The runs at one dimension: how many of them count, how many of those succeeded, how many are left out."""

    dimension: int
    successes: int
    runs: int
    left_out: int

    @property
    def rate(self) -> float:
        """The fraction of successes; only where some run counts."""
        return self.successes / self.runs


@dataclass(frozen=True)
class Inversion:
    """Two dimensions of which the smaller memorised more often; `p_value` is one-sided and adjusted for all pairs."""

    smaller: int
    larger: int
    rate_at_smaller: float
    rate_at_larger: float
    p_value: float


@dataclass(frozen=True)
class Threshold:
    """d* of one curve at one accuracy: estimate and interval [low, high].

    `dimension` is None if no run succeeded (then `high` is None) or none fell short (then `low` is 0). `steepness` is s
    of the model, `left_out` counts runs that failed or stopped too early to say.
    """

    accuracy: float
    dimension: float | None
    low: float
    high: float | None
    steepness: float | None
    separated: bool
    confidence: float
    trials: tuple[Trials, ...]
    left_out: int
    inversions: tuple[Inversion, ...]

    @property
    def monotone(self) -> bool:
        """False if some inversion is more than chance would explain (adjusted p below 0.05)."""
        return all(each.p_value >= 0.05 for each in self.inversions)

    def as_json(self) -> dict[str, Any]:
        """The threshold as JSON values."""
        return asdict(self) | {"monotone": self.monotone}


def success(result: RunResult, accuracy: float) -> bool | None:
    """Whether the run reached this accuracy at its end; None if it cannot be said.

    That is so of a failed run, and of one that stopped before its budget at a lower accuracy than is asked for here.
    """
    if result.status == "failed" or result.accuracy is None:
        return None
    if result.accuracy >= accuracy:
        return True
    return False if result.steps_taken >= result.config.steps else None


def tally(results: Iterable[RunResult], accuracy: float = MEMORISED_AT) -> tuple[Trials, ...]:
    """Successes, counted runs and runs left out, by increasing dimension. The runs must be of one curve."""
    outcomes: defaultdict[int, list[bool | None]] = defaultdict(list)
    for result in results:
        outcomes[result.config.dimension].append(success(result, accuracy))
    return tuple(
        Trials(dimension, found.count(True), len(found) - found.count(None), found.count(None))
        for dimension, found in sorted(outcomes.items())
    )


def threshold(results: Iterable[RunResult], accuracy: float = MEMORISED_AT, confidence: float = 0.95) -> Threshold:
    """d* of the runs of one curve."""
    return fit_threshold(tally(results, accuracy), accuracy, confidence)


def fit_threshold(trials: Sequence[Trials], accuracy: float, confidence: float = 0.95) -> Threshold:
    """d* of tallied outcomes. InputError unless 0 < confidence < 1."""
    if not 0 < confidence < 1:
        raise InputError(f"confidence must lie between 0 and 1, not {confidence!r}")
    counted = [each for each in trials if each.runs]
    dimension: float | None = None
    steepness: float | None = None
    low, high = 0.0, None
    failing = [each.dimension for each in counted if each.successes < each.runs]
    passing = [each.dimension for each in counted if each.successes]
    separated = not failing or not passing or max(failing) < min(passing)
    if failing and not passing:
        low = float(max(failing))
    elif passing and not failing:
        high = float(min(passing))
    elif counted:
        dimension, steepness, low, high = _fit(counted, confidence)
        if separated:
            low, high = min(low, float(max(failing))), max(high, float(min(passing)))
    left_out = sum(each.left_out for each in trials)
    return Threshold(
        accuracy, dimension, low, high, steepness, separated, confidence, tuple(trials), left_out, inversions(counted)
    )


def inversions(trials: Sequence[Trials]) -> tuple[Inversion, ...]:
    """Each pair of dimensions of which the smaller has the higher success rate, with Fisher's exact p-value by Holm."""
    pairs = list(combinations([each for each in sorted(trials, key=lambda t: t.dimension) if each.runs], 2))
    if not any(small.rate > large.rate for small, large in pairs):
        return ()
    p_values = holm([_fisher(small, large) for small, large in pairs])
    found = [
        Inversion(small.dimension, large.dimension, small.rate, large.rate, p_value)
        for p_value, (small, large) in zip(p_values, pairs, strict=True)
        if small.rate > large.rate
    ]
    return tuple(sorted(found, key=lambda each: (each.p_value, each.smaller)))


def _fisher(small: Trials, large: Trials) -> float:
    """P(at least so many of the successes fall to the smaller dimension), were both equally likely to succeed."""
    runs, successes = small.runs + large.runs, small.successes + large.successes
    return float(hypergeom.sf(small.successes - 1, runs, successes, small.runs))


def _fit(trials: Sequence[Trials], confidence: float) -> tuple[float, float, float, float]:
    """(d*, s, low, high) by the penalised profile likelihood on the grid."""
    places = np.log([each.dimension for each in trials])
    grid = np.arange(places[0] - MARGIN, places[-1] + MARGIN, GRID_STEP)
    profile, steepness = _profile(grid, places, trials)
    best = profile.max()
    # The likelihood of separated outcomes is flat between them: the middle of the plateau, not its first point.
    top = np.flatnonzero(profile >= best - 1e-9)
    middle = top[len(top) // 2]
    inside = np.flatnonzero(profile >= best - chi2.ppf(confidence, 1) / 2)
    low = np.exp(grid[max(inside[0] - 1, 0)])
    high = np.exp(grid[min(inside[-1] + 1, len(grid) - 1)])
    return float(np.exp(grid[middle])), float(steepness[middle]), float(low), float(high)


def _profile(
    grid: NDArray[np.float64], places: NDArray[np.float64], trials: Sequence[Trials]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each log d*, the penalised log-likelihood maximised over s, and the s at which it is."""
    value = np.zeros((len(grid), len(STEEPNESS)))
    moments = [np.zeros_like(value) for _ in range(3)]
    for place, each in zip(places, trials, strict=True):
        logit = STEEPNESS * (place - grid)[:, None]
        value -= each.successes * np.logaddexp(0, -logit) + (each.runs - each.successes) * np.logaddexp(0, logit)
        # log p(1-p), kept from underflow; the information of (intercept, slope) is Σ n·p(1-p)·[1 x; x x²].
        weight = each.runs * np.exp(-np.logaddexp(0, -logit) - np.logaddexp(0, logit))
        for power, moment in enumerate(moments):
            moment += weight * (place - places.mean()) ** power
    determinant = moments[0] * moments[2] - moments[1] ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        value = value + np.where(determinant > 0, 0.5 * np.log(determinant), -np.inf)
    best = value.argmax(axis=1)
    return value[np.arange(len(grid)), best], STEEPNESS[best]
