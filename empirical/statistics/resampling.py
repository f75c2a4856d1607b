"""Intervals by bootstrap over subjects, tests by flipping signs, and Holm's correction for many tests at once.

*Intervals.* The subjects of held-out predictions are drawn again, with replacement; the maps are not fitted again. So
an interval says how far the figure depends on which subjects were asked, and not on which were trained on.

Where all values are equal the interval has no width, however few they are: with none of n right the truth may still be
3/n.

*Tests.* Each subject gives a difference between two conditions. If neither were better its sign would be random: the
p-value is the fraction of random signs whose mean difference is at least the one found (with the one found counted, so
it is never 0). Predictions of different folds share training subjects, so the test is approximate, as any test on
cross-validated predictions is.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

DRAWS, FLIPS = 2000, 20_000
LEVEL = 0.05


@dataclass(frozen=True)
class Share:
    """A mean over subjects, or a ratio of two means, with its 95 % interval; `subjects` took part."""

    value: float
    low: float
    high: float
    subjects: int

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, as JSON values."""
        return asdict(self)


def share(values: ArrayLike, seed: int = 0) -> Share:
    """The mean of the values, one a subject."""
    found = np.asarray(values, float)
    means = _weights(len(found), seed) @ found
    return _share(float(found.mean()), means, len(found))


def share_of(values: ArrayLike, chosen: NDArray[np.bool_], seed: int = 0) -> Share | None:
    """The mean of the values of the chosen subjects; None if there are none."""
    return share(np.asarray(values)[chosen], seed) if chosen.any() else None


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


def _fraction(residual: Any, total: Any) -> NDArray[np.float64]:
    """1 - residual / total; 0 where the total is 0: where nothing varies, nothing is explained."""
    whole = np.asarray(total, float)
    return np.where(whole > 0, 1 - np.asarray(residual) / np.where(whole > 0, whole, 1), 0.0)


def _share(value: float, drawn: NDArray[np.float64], subjects: int) -> Share:
    low, high = np.quantile(drawn, [LEVEL / 2, 1 - LEVEL / 2])
    return Share(value, float(low), float(high), subjects)


@functools.lru_cache(maxsize=8)
def _weights(subjects: int, seed: int) -> NDArray[np.float64]:
    """How often each subject is drawn, as a fraction, shape [DRAWS, subjects]."""
    generator = np.random.default_rng(seed)
    return generator.multinomial(subjects, np.full(subjects, 1 / subjects), size=DRAWS) / subjects


def p_better(differences: ArrayLike, seed: int = 0) -> NDArray[np.float64]:
    """One-sided p-values that the mean difference is above 0, for differences [.., subjects].

    None is below 1 / (FLIPS + 1).
    """
    values = np.atleast_2d(np.asarray(differences, np.float32))
    flat = values.reshape(-1, values.shape[-1])
    # A flip that gives the same sum in another order of rounding counts as equal.
    reached = (_signs(values.shape[-1], seed) @ flat.T >= flat.sum(axis=1) - 1e-3).sum(axis=0)
    return ((1 + reached) / (1 + FLIPS)).reshape(values.shape[:-1])


@functools.lru_cache(maxsize=4)
def _signs(subjects: int, seed: int) -> NDArray[np.float32]:
    """Random signs, shape [FLIPS, subjects]."""
    signs = np.random.default_rng(seed).integers(0, 2, size=(FLIPS, subjects), dtype=np.int8)
    return signs.astype(np.float32) * 2 - 1


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm's adjusted p-values: below 0.05 for some only with probability 0.05 when no difference is real."""
    ordered = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted, running = [1.0] * len(p_values), 0.0
    for rank, place in enumerate(ordered):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = running
    return tuple(adjusted)
