"""E8 put to the test: one β fitted on some curves, and its predictions held against others.

*Fit.* Curve i says β_i = demand / scalars at d*_i, with standard deviation σ_i in log β_i from the interval of d*_i.
The β_i are taken as log-normal about one β with scatter τ between curves besides σ_i (`laws.pooled`). A small β
interval with a large τ says that the mean is well known and the law is not one.

*Test.* A prediction is the d at which β scalars suffice (`capacity.predicted_dimension`). Thresholds are whole-number
affairs at small d, so each is judged by its interval too: it *holds* if d* lies within the tolerance of the prediction,
*breaks* if its whole interval lies outside, and is *unclear* otherwise. For a threshold that was only bounded on one
side, the bound alone can break the law. A curve whose success is not monotone in d has no threshold, and is unclear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from scipy.stats import norm

from empirical.comparison.capacity import Counting, demand, predicted_dimension, scalars
from empirical.comparison.curves import Curve
from empirical.comparison.laws import Estimate, Measured, pooled, usable
from theory.errors import InputError

LAW_LEAST = 3  # thresholds that β is fitted to
TOLERANCE = 0.25  # relative error of a prediction that still counts as right


@dataclass(frozen=True)
class Capacity:
    """β in bits a scalar with its interval, the scatter τ of log β over curves, and how many curves it is from."""

    counting: Counting
    beta: Estimate
    scatter: float
    curves: int


@dataclass(frozen=True)
class Residual:
    """One threshold beside its prediction. `relative_error` is d*/predicted - 1, None without an estimate of d*."""

    curve: str
    counting: Counting
    role: Literal["fitted", "held out"]
    predicted: float
    dimension: float | None
    low: float
    high: float | None
    relative_error: float | None
    outcome: Literal["holds", "breaks", "unclear"]

    def as_json(self) -> dict[str, Any]:
        """The residual as JSON values."""
        return asdict(self)


def fit_capacity(measured: Sequence[Measured], counting: Counting = "tables", confidence: float = 0.95) -> Capacity:
    """β of the curves. InputError with fewer than three usable thresholds, or a curve without a counted scalar."""
    curves = usable(measured)
    if len(curves) < LAW_LEAST:
        raise InputError(f"β is fitted to at least three thresholds bounded on both sides, not {len(curves)}")
    logs, variances = np.transpose([_log_beta(each, counting) for each in curves])
    beta, scatter = pooled("β", logs, variances, confidence)
    return Capacity(counting, beta, scatter, len(curves))


def counted_exponents(law: Capacity, curves: Sequence[Curve]) -> tuple[float, float]:
    """The exponents (a, b) of c·R^a·N^b that the law's own predictions for these curves have, by least squares."""
    design = np.array([[1.0, np.log(each.relations), np.log(each.entities)] for each in curves])
    if np.linalg.matrix_rank(design) < 3:
        raise InputError("exponents in R and N need curves of which both vary")
    logs = np.log([predicted_dimension(each, law.beta.value, law.counting) for each in curves])
    _, in_relations, in_entities = np.linalg.lstsq(design, logs, rcond=None)[0]
    return float(in_relations), float(in_entities)


def residuals(
    law: Capacity, fitted: Sequence[Measured], held_out: Sequence[Measured], tolerance: float = TOLERANCE
) -> tuple[Residual, ...]:
    """Every curve beside the prediction, the fitted ones first."""
    return tuple(_residual(law, each, "fitted", tolerance) for each in fitted) + tuple(
        _residual(law, each, "held out", tolerance) for each in held_out
    )


def _residual(law: Capacity, each: Measured, role: Literal["fitted", "held out"], tolerance: float) -> Residual:
    predicted = predicted_dimension(each.curve, law.beta.value, law.counting)
    found = each.threshold
    error = None if found.dimension is None else found.dimension / predicted - 1
    outcome: Literal["holds", "breaks", "unclear"] = "unclear"
    above = found.low > predicted * (1 + tolerance)
    below = found.high is not None and found.high < predicted * (1 - tolerance)
    if found.monotone and error is not None and abs(error) <= tolerance:
        outcome = "holds"
    elif found.monotone and (above or below):
        outcome = "breaks"
    return Residual(
        each.curve.name, law.counting, role, predicted, found.dimension, found.low, found.high, error, outcome
    )


def _log_beta(each: Measured, counting: Counting) -> tuple[float, float]:
    """(log β, its variance) of one curve."""
    counts = [scalars(each.curve, d, counting) for d in (each.dimension, each.threshold.low, each.threshold.high or 0)]
    if not counts[0]:
        raise InputError(f"{each.curve.name}: no counted scalar learns; count the MLP too")
    deviation = np.log(counts[2] / counts[1]) / (2 * norm.ppf((1 + each.threshold.confidence) / 2))
    return float(np.log(demand(each.curve) / counts[0])), float(deviation**2)
