"""Fractions, and R², with their 95 % intervals over subjects, which are made in two ways.

*Exact* (Clopper-Pearson): for what is right or wrong. As many hits as were found in as many trials as there are
subjects; it covers whatever the truth is, also where all or none are right. Hits of one subject may hang together, so a
subject counts once, with the mean of its hits; such counts are fractional, which `scipy.stats.binomtest` does not take.

*Bootstrap*: for what an exact interval does not know: means of any values (differences, averages over shuffles), and
ratios of two means (R²). The subjects of held-out predictions are drawn again, with replacement; the maps are not
fitted again. So an interval says how far the figure depends on which subjects were asked, and not on which were trained
on. Where all values are equal it has no width, however few they are: with none of n right the truth may still be 3/n.

References: Clopper, Pearson, Biometrika 26 (1934); Efron, Annals of Statistics 7 (1979).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from statsmodels.stats.proportion import proportion_confint

Floats = NDArray[np.float64]

LEVEL = 0.05
DRAWS = 2000


@dataclass(frozen=True)
class Share:
    """A mean over subjects, or a ratio of two means, with its 95 % interval; `subjects` took part."""

    value: float
    low: float
    high: float
    subjects: int

    def interval(self) -> dict[str, float]:
        """The value and its interval by name, for a record that says elsewhere how many subjects took part."""
        return {"value": self.value, "low": self.low, "high": self.high}


def exact_share(hits: NDArray[np.bool_]) -> Share:
    """The fraction of hits [.., X], with the exact interval of as many hits in X trials: the last axis is the
    subjects, each of which counts once, with the mean of its hits."""
    subjects = hits.shape[-1]
    low, high = clopper_pearson(hits.sum() * subjects / hits.size, subjects)
    return Share(float(hits.mean()), float(low), float(high), subjects)


def clopper_pearson(hits: NDArray[Any] | float, trials: int) -> tuple[Floats, Floats]:
    """The exact 95 % interval of a probability, for arrays of hits, also fractional ones, in so many trials."""
    low, high = proportion_confint(np.asarray(hits, float), trials, alpha=LEVEL, method="beta")
    return np.asarray(low), np.asarray(high)


def bootstrap_share(values: ArrayLike, seed: int = 0) -> Share:
    """The mean of the values, one a subject, with its bootstrap interval."""
    found = np.asarray(values, float)
    means = _weights(len(found), seed) @ found
    return _share(float(found.mean()), means, len(found))


def bootstrap_share_of(values: ArrayLike, chosen: NDArray[np.bool_], seed: int = 0) -> Share | None:
    """`bootstrap_share` of the chosen subjects; None if there are none."""
    return bootstrap_share(np.asarray(values)[chosen], seed) if chosen.any() else None


def explained_share(residual: ArrayLike, total: ArrayLike, seed: int = 0) -> Share:
    """R² = 1 - (sum of the residuals) / (sum of the totals), both squared norms [subjects]; 0 where the total is 0."""
    left, whole = np.asarray(residual, float), np.asarray(total, float)
    weights = _weights(len(left), seed)
    return _share(float(_fraction(left.sum(), whole.sum())), _fraction(weights @ left, weights @ whole), len(left))


def gained_share(less: ArrayLike, more: ArrayLike, total: ArrayLike, seed: int = 0) -> Share:
    """The R² that a fit gains over another, from the residuals of both (`less` explains less)."""
    one, other, whole = np.asarray(less, float), np.asarray(more, float), np.asarray(total, float)
    weights = _weights(len(one), seed)
    drawn = _fraction(weights @ other, weights @ whole) - _fraction(weights @ one, weights @ whole)
    value = _fraction(other.sum(), whole.sum()) - _fraction(one.sum(), whole.sum())
    return _share(float(value), drawn, len(one))


def _fraction(residual: Any, total: Any) -> Floats:
    """1 - residual / total; 0 where the total is 0: where nothing varies, nothing is explained."""
    whole = np.asarray(total, float)
    return np.where(whole > 0, 1 - np.asarray(residual) / np.where(whole > 0, whole, 1), 0.0)


def _share(value: float, drawn: Floats, subjects: int) -> Share:
    low, high = np.quantile(drawn, [LEVEL / 2, 1 - LEVEL / 2])
    return Share(value, float(low), float(high), subjects)


@functools.lru_cache(maxsize=4)
def _weights(subjects: int, seed: int) -> Floats:
    """How often each subject is drawn, as a fraction, shape [DRAWS, subjects]."""
    generator = np.random.default_rng(seed)
    return generator.multinomial(subjects, np.full(subjects, 1 / subjects), size=DRAWS) / subjects
