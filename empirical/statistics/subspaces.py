"""Subspaces of the stream, by orthonormal bases: the span of some vectors, and how far two overlap.

Reference: Björck, Golub, Math. Comp. 27 (1973).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROUNDING = 1e-6  # singular values below this fraction of the largest are taken for zero


def principal_axes(vectors: Floats) -> Floats:
    """Orthonormal axes [q, s] of the span of the centred vectors [N, q]: the rest of the coordinates says nothing."""
    _, sizes, right = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
    return np.asarray(right[sizes > ROUNDING * sizes.max(initial=0.0)].T)


def overlap(one: Floats, other: Floats) -> float:
    """The mean squared cosine of the principal angles between two subspaces, given by orthonormal bases [d, j] and [d,
    k]; the mean is over min(j, k) angles.

    It is 0 for orthogonal subspaces, 1 when one holds the other, and for random ones of sizes j <= k in D dimensions on
    average k/D. A subspace of no direction shares nothing: 0.
    """
    return float(((one.T @ other) ** 2).sum() / max(1, min(one.shape[1], other.shape[1])))
