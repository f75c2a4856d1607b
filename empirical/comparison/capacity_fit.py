"""E8 put to the test: one β fitted on some curves and held against others, and whether there is one β at all.

*Fit.* Curve i says β_i = demand / scalars at d*_i, with standard deviation σ_i in log β_i from the interval of d*_i.
The β_i are taken as log-normal about one β with scatter τ between curves besides σ_i (`laws.pooled`). A small β
interval with a large τ says that the mean is well known and the law is not one.

*Held out.* Errors are of β, not of d: a quarter of d is half of the MLP's scalars, which grow like d². A curve *holds*
if β_i is within the tolerance of β, *breaks* if the whole interval of β_i lies outside, and is *unclear* otherwise. For
a threshold that was only bounded on one side, the bound alone can break the law. A curve whose success is not monotone
in d has no threshold, and is unclear. Curves whose runs have the same weights (`Curve.trained`) are one curve: none is
held out from another.

*One β?* Cochran's Q, the squared distances of log β_i from their weighted mean in units of σ_i, is χ² with n - 1
degrees of freedom if all curves have one β.

*Two rates*: demand = β_T·(scalars outside the MLP) + β_M·(the MLP's), fitted to log demand with the same σ_i by least
squares; its Q says how much of the scatter of one β is that of two.

References: W. G. Cochran, The combination of estimates from different experiments, Biometrics 10 (1954).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import least_squares
from scipy.stats import chi2, norm, t

from empirical.comparison.capacity import Counting, demand, mlp_scalars, predicted_dimension, scalars
from empirical.comparison.curves import Curve
from empirical.comparison.laws import Array, Estimate, Measured, pooled, usable
from theory.errors import InputError

LAW_LEAST = 3  # thresholds that β is fitted to
TOLERANCE = 0.15  # relative error of β that still counts as right


@dataclass(frozen=True)
class Capacity:
    """β in bits a scalar with its interval, the scatter τ of log β over curves, and how many curves it is from."""

    counting: Counting
    beta: Estimate
    scatter: float
    curves: int


@dataclass(frozen=True)
class Residual:
    """One threshold beside the law: the dimension that it predicts, d*, and the curve's own β with its interval.

    `relative_error` is that of the curve's β; it and β are None without an estimate of d*, an end of the interval where
    d* is not bounded on that side.
    """

    curve: str
    counting: Counting
    role: Literal["fitted", "held out"]
    predicted: float
    dimension: float | None
    beta: float | None
    low: float | None
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
    found, beta = each.threshold, law.beta.value
    own, low, high = (_beta_at(each.curve, d, law.counting) for d in (found.dimension, found.high, found.low))
    error = None if own is None else own / beta - 1
    outcome: Literal["holds", "breaks", "unclear"] = "unclear"
    below = high is not None and high < beta * (1 - tolerance)
    above = low is not None and low > beta * (1 + tolerance)
    if found.monotone and error is not None and abs(error) <= tolerance:
        outcome = "holds"
    elif found.monotone and (above or below):
        outcome = "breaks"
    predicted = predicted_dimension(each.curve, beta, law.counting)
    return Residual(each.curve.name, law.counting, role, predicted, found.dimension, own, low, high, error, outcome)


def _beta_at(curve: Curve, dimension: float | None, counting: Counting) -> float | None:
    """The bits asked of each counted scalar at a dimension; None without one, or where nothing is counted there."""
    count = 0.0 if dimension is None else scalars(curve, dimension, counting)
    return demand(curve) / count if count else None


def distinct(measured: Iterable[Measured], but: Iterable[Measured] = ()) -> tuple[Measured, ...]:
    """Those whose runs have weights of their own: the first of each `Curve.trained`, and none that `but` has."""
    known = {each.curve.trained for each in but}
    found: dict[Curve, Measured] = {}
    for each in measured:
        if each.curve.trained not in known:
            found.setdefault(each.curve.trained, each)
    return tuple(found.values())


@dataclass(frozen=True)
class Scatter:
    """Cochran's Q of log β over curves, and the probability of as much or more were β one number."""

    q: float
    freedom: int
    p_value: float


def scatter_of(measured: Sequence[Measured], counting: Counting, maps: bool = False) -> Scatter:
    """Q of the usable curves; with `maps` as if each answer took log2 N bits, as arbitrary maps do."""
    curves = usable(measured)
    if len(curves) < LAW_LEAST:
        raise InputError(f"the scatter of β needs at least three thresholds, not {len(curves)}")
    logs, variances = np.transpose([_log_beta(each, counting) for each in curves])
    if maps:
        logs = logs + np.log([_as_maps(each.curve) / demand(each.curve) for each in curves])
    mean = (logs / variances).sum() / (1 / variances).sum()
    q = float(((logs - mean) ** 2 / variances).sum())
    return Scatter(q, len(curves) - 1, float(chi2.sf(q, len(curves) - 1)))


@dataclass(frozen=True)
class Rates:
    """β of the scalars outside the MLP and of those in it, their ratio, and Q of the fit."""

    tables: Estimate
    mlp: Estimate
    ratio: Estimate
    q: float
    freedom: int


def fit_rates(measured: Sequence[Measured], confidence: float = 0.95) -> Rates:
    """The two rates of the usable curves, with Student's intervals, widened where Q is above its degrees of freedom.

    InputError with fewer than four curves, or where they cannot tell the rates apart.
    """
    curves = usable(measured)
    if len(curves) < LAW_LEAST + 1:
        raise InputError(f"two rates need at least four thresholds, not {len(curves)}")
    in_mlp = np.array([mlp_scalars(each.curve, each.dimension) for each in curves])
    outside = np.array([each.scalars for each in curves]) - in_mlp
    wanted = np.log([demand(each.curve) for each in curves])
    deviations = np.array([each.scalar_deviation for each in curves])

    def errors(logs: Array) -> Array:
        """What the rates miss each logarithm by, in standard deviations, shape [n]."""
        return (wanted - np.log(np.exp(logs[0]) * outside + np.exp(logs[1]) * in_mlp)) / deviations

    found = least_squares(errors, (np.log(2.0), np.log(2.0)))
    jacobian = np.asarray(found.jac)
    information = jacobian.T @ jacobian
    if np.linalg.cond(information) > 1e12:
        raise InputError("these thresholds cannot tell the rate of the MLP from that of the rest")
    freedom = len(curves) - 2
    q = float(found.fun @ found.fun)
    covariance = np.linalg.inv(information) * max(1.0, q / freedom)
    spread = t.ppf((1 + confidence) / 2, freedom)

    def estimate(name: str, direction: Array) -> Estimate:
        """The exponential of a linear function of the logarithms of the rates."""
        mean, half = float(direction @ found.x), float(spread * np.sqrt(direction @ covariance @ direction))
        return Estimate(name, *(float(np.exp(each)) for each in (mean, mean - half, mean + half)))

    tables, mlp, ratio = (np.array(each) for each in ((1.0, 0.0), (0.0, 1.0), (-1.0, 1.0)))
    return Rates(
        estimate("β outside the MLP", tables), estimate("β of the MLP", mlp), estimate("ratio", ratio), q, freedom
    )


def _as_maps(curve: Curve) -> float:
    """The bits of as many arbitrary maps, N·log2 N each."""
    return float(curve.answers_per_subject * curve.entities * np.log2(curve.entities))


def _log_beta(each: Measured, counting: Counting) -> tuple[float, float]:
    """(log β, its variance) of one curve."""
    counts = [scalars(each.curve, d, counting) for d in (each.dimension, each.threshold.low, each.threshold.high or 0)]
    if not counts[0]:
        raise InputError(f"{each.curve.name}: no counted scalar learns; count every scalar")
    deviation = np.log(counts[2] / counts[1]) / (2 * norm.ppf((1 + each.threshold.confidence) / 2))
    return float(np.log(demand(each.curve) / counts[0])), float(deviation**2)
