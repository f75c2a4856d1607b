"""Linear maps between subject rows and the attribute vectors of their answers, by ridge regression, either way.

The penalty is chosen among the subjects that are fitted to, by leaving out one of them at a time; whoever judges a fit
keeps the subjects that it is judged on away from it, penalty and all.

References: Hoerl, Kennard, Technometrics 12 (1970); Allen, Technometrics 16 (1974), for left-out rows in closed form.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


PENALTIES = 10.0 ** np.arange(-9, 4)  # in units of the mean square of the design's singular values
ROUNDING = 1e-6  # singular values below this fraction of the largest are taken for zero


def ridge(design: Floats, targets: Floats) -> Floats:
    """Coefficients [p, t] of ridge regression with a free constant; design [n, p], targets [n, t].

    The penalty is the one of PENALTIES with the least sum of squares over left-out rows, each predicted from all the
    others: a residual over 1 - its leverage, exactly, so that nothing has to be fitted anew.
    """
    left, sizes, right = np.linalg.svd(design - design.mean(axis=0), full_matrices=False)
    if not sizes.any():
        return np.zeros((design.shape[1], targets.shape[1]))
    centred = targets - targets.mean(axis=0)
    seen = left.T @ centred
    least, best = np.inf, np.zeros_like(seen)
    for penalty in PENALTIES * (sizes**2).mean():
        shrinkage = sizes**2 / (sizes**2 + penalty)
        spared = 1 - 1 / len(design) - left**2 @ shrinkage
        missed = (centred - left @ (shrinkage[:, None] * seen)) / np.maximum(spared, 1e-12)[:, None]
        if (missed**2).sum() < least:
            least, best = float((missed**2).sum()), (sizes / (sizes**2 + penalty))[:, None] * seen
    return np.asarray(right.T @ best)


def component_maps(rows: Floats, targets: Floats) -> Floats:
    """A_w [W, d, q] of the fit rows ≈ Σ_w A_w targets[w] + constant; rows [n, d], attribute vectors [W, n, q]."""
    count, subjects, size = targets.shape
    fitted = ridge(targets.transpose(1, 0, 2).reshape(subjects, count * size), rows)
    return fitted.reshape(count, size, rows.shape[1]).transpose(0, 2, 1)


def decoders(rows: Floats, targets: Floats) -> Floats:
    """D_w [W, q, d] of the fits targets[w] ≈ D_w rows + constant, at one penalty; shapes as in `component_maps`."""
    count, subjects, size = targets.shape
    fitted = ridge(rows, targets.transpose(1, 0, 2).reshape(subjects, count * size))
    return fitted.reshape(rows.shape[1], count, size).transpose(1, 2, 0)


def principal_axes(vectors: Floats) -> Floats:
    """Orthonormal axes [q, s] of the span of the centred vectors [N, q]: the rest of the coordinates says nothing."""
    _, sizes, right = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
    return np.asarray(right[sizes > ROUNDING * sizes.max(initial=0.0)].T)
