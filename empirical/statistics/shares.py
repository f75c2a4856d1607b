"""Fractions of answers with their 95 % intervals, which are exact (Clopper-Pearson) and count subjects, not answers.

Reference: Clopper, Pearson, Biometrika 26 (1934).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Share:
    """A fraction of answers with its 95 % interval."""

    value: float
    low: float
    high: float

    def as_dict(self) -> dict[str, float]:
        """The three numbers by name."""
        return dict(vars(self))


def share(hits: NDArray[np.bool_]) -> Share:
    """The fraction of hits [.., X], with the exact (Clopper-Pearson) 95 % interval of as many hits in X trials.

    The last axis is the subjects. Each counts once, with the mean of its hits: answers of one subject may hang
    together, so that more of them need not say more.
    """
    low, high = clopper_pearson(hits.sum() * hits.shape[-1] / hits.size, hits.shape[-1])
    return Share(float(hits.mean()), float(low), float(high))


def clopper_pearson(hits: NDArray[Any] | float, trials: int) -> tuple[Floats, Floats]:
    """The exact 95 % interval of a probability, for arrays of hits, also fractional ones, in so many trials."""
    hits = np.asarray(hits, float)
    low = np.where(hits > 0, beta.ppf(0.025, np.maximum(hits, 1e-9), trials - hits + 1), 0.0)
    high = np.where(hits < trials, beta.ppf(0.975, hits + 1, np.maximum(trials - hits, 1e-9)), 1.0)
    return low, high
