"""Ridge regression with a free constant, in the two forms that the experiments need.

* `leave_one_out_ridge` chooses its penalty itself, by the squared error over left-out rows, in closed form. It is for
  maps between subject rows and attribute vectors, either way, where a squared error is what counts.
* `KernelRidge` leaves the penalty to the caller, who chooses it on folds by what the fit is for (answers decoded right,
  say). All is done in the space of the training subjects, which are fewer than a language model's dimensions, and
  decomposed once for every penalty, target and shuffle.

Whoever judges a fit keeps the subjects that it is judged on away from it, penalty and all.

References: Hoerl, Kennard, Technometrics 12 (1970); Allen, Technometrics 16 (1974), for left-out rows in closed form.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PENALTIES = 10.0 ** np.arange(-9, 4)  # in units of the mean square of the design's singular values


def leave_one_out_ridge(design: Floats, targets: Floats) -> Floats:
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
    fitted = leave_one_out_ridge(targets.transpose(1, 0, 2).reshape(subjects, count * size), rows)
    return fitted.reshape(count, size, rows.shape[1]).transpose(0, 2, 1)


def decoders(rows: Floats, targets: Floats) -> Floats:
    """D_w [W, q, d] of the fits targets[w] ≈ D_w rows + constant, at one penalty; shapes as in `component_maps`."""
    count, subjects, size = targets.shape
    fitted = leave_one_out_ridge(rows, targets.transpose(1, 0, 2).reshape(subjects, count * size))
    return fitted.reshape(rows.shape[1], count, size).transpose(1, 2, 0)


class KernelRidge:
    """The centred kernel of the training subjects, decomposed once for every penalty and target.

    `kernel` [n, n] holds inner products of all subjects' states, `train` [j] the places of the training subjects. A
    prediction at penalty λ is rows(test) · (filter(λ) ∘ within(targets)) + mean of the targets.
    """

    def __init__(self, kernel: Floats, train: Integers) -> None:
        block = kernel[np.ix_(train, train)]
        self.train, self.mean, self.total = train, block.mean(axis=0), block.mean()
        values, self.vectors = np.linalg.eigh(block - self.mean - self.mean[:, None] + self.total)
        self.values = np.maximum(values, 0)
        self.unit = self.values.mean() or 1.0

    def rows(self, kernel: Floats, test: Integers) -> Floats:
        """The test subjects in the eigenvectors' coordinates, shape [i, j]."""
        block = kernel[np.ix_(test, self.train)]
        return (block - block.mean(axis=1, keepdims=True) - self.mean + self.total) @ self.vectors

    def within(self, targets: Floats) -> Floats:
        """Targets [.., j, r] less their mean, in the eigenvectors' coordinates."""
        return self.vectors.T @ (targets - targets.mean(axis=-2, keepdims=True))

    def filter(self, penalty: ArrayLike) -> Floats:
        """1 / (eigenvalue + penalty), shape [.., j] for penalties [..]."""
        return 1 / (self.values + np.asarray(penalty, float)[..., None] * self.unit)
