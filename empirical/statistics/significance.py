"""Tests by flipping signs, and Holm's correction for many tests at once.

Each subject gives a difference between two conditions. If neither were better its sign would be random: the p-value is
the fraction of random signs whose mean difference is at least the one found (with the one found counted, so it is never
0). Predictions of different folds share training subjects, so the test is approximate, as any test on cross-validated
predictions is.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from statsmodels.stats.multitest import multipletests

FLIPS = 20_000


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
    return tuple(multipletests(p_values, method="holm")[1].tolist()) if len(p_values) else ()
