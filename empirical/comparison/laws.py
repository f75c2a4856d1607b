"""Laws for thresholds over curves, fitted and compared: E1, E2 and the growth with k.

*What is fitted.* E1 and the growth with k are laws of n*, all scalars that learn at the threshold d*: at width 4d the
MLP has 8d² of them beside the tables' 2·N·d, so that d itself grows slower than what must be stored, and the more so
the larger d is against N. E2 compares dimensions.

*Model.* log n*_i = log f(θ; N_i, R_i, k_i) + error, the errors independent and normal with variance σ_i² + τ². σ_i
comes from the interval of threshold i ((log high - log low) / 2z): sharp thresholds weigh more. τ is the scatter of the
curves about the law, one number, estimated together with θ by maximum likelihood.

*Intervals* are Student's with n - p degrees of freedom, on the covariance of weighted least squares times max(1,
weighted mean square of the residuals): the latter also makes up for τ being estimated (Hartung and Knapp 2001).

*Comparison.* All laws are fitted to the same logarithms, so their AICc = 2P - 2·log L + 2P(P+1)/(n-P-1), P = p + 1
(τ counts), can be compared; Burnham and Anderson's rule of thumb: a difference below 2 decides nothing, above 10 a lot.

Thresholds bounded on one side only (never memorised, or always), and those of curves whose success is not monotone in
d, take part in no fit (`usable`).

References: J. Hartung, G. Knapp, A refined method for the meta-analysis of controlled clinical trials with binary
outcome, Statistics in Medicine 20 (2001); R. DerSimonian, N. Laird, Meta-analysis in clinical trials, Controlled
Clinical Trials 7 (1986); K. P. Burnham, D. R. Anderson, Model Selection and Multimodel Inference (2002).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares, minimize_scalar
from scipy.stats import norm, t

from empirical.comparison.capacity import bits_per_relation, learned_scalars
from empirical.comparison.curves import Curve
from empirical.models.runs import MEMORISED_AT, RunResult
from empirical.statistics.threshold import Threshold, threshold
from theory.errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Measured:
    """A curve and its threshold; `trained_scalars` at the smallest dimension tried that is at least d*."""

    curve: Curve
    threshold: Threshold
    trained_scalars: int | None = None

    @property
    def dimension(self) -> float:
        """d*. InputError where the threshold is bounded on one side only."""
        if self.threshold.dimension is None:
            raise InputError(f"{self.curve.name}: the threshold is bounded on one side only")
        return self.threshold.dimension

    @property
    def deviation(self) -> float:
        """σ, the standard deviation of log d* that the interval stands for."""
        low, high = self.threshold.low, self.threshold.high
        if self.threshold.dimension is None or high is None or low <= 0:
            raise InputError(f"{self.curve.name}: the threshold is bounded on one side only")
        return float(np.log(high / low) / (2 * norm.ppf((1 + self.threshold.confidence) / 2)))

    @property
    def scalars(self) -> float:
        """n*, all scalars that learn at d*. InputError where the threshold is bounded on one side only."""
        return learned_scalars(self.curve, self.dimension)

    @property
    def scalar_deviation(self) -> float:
        """The standard deviation of log n* that the interval of d* stands for."""
        low, high = self.threshold.low, self.threshold.high
        if self.threshold.dimension is None or high is None or low <= 0:
            raise InputError(f"{self.curve.name}: the threshold is bounded on one side only")
        ratio = learned_scalars(self.curve, high) / learned_scalars(self.curve, low)
        return float(np.log(ratio) / (2 * norm.ppf((1 + self.threshold.confidence) / 2)))


def measure(curve: Curve, results: Iterable[RunResult], accuracy: float = MEMORISED_AT) -> Measured:
    """The threshold of a curve from its runs."""
    runs = list(results)
    found = threshold(runs, accuracy)
    at_least = found.dimension or 0
    sizes = {run.config.dimension: run.trained_scalars for run in runs if run.trained_scalars}
    above = [dimension for dimension in sizes if dimension >= at_least]
    return Measured(curve, found, sizes[min(above)] if found.dimension and above else None)


def usable(measured: Iterable[Measured]) -> tuple[Measured, ...]:
    """Those whose threshold is bounded on both sides, and whose success is monotone in d."""
    return tuple(each for each in measured if each.threshold.dimension is not None and each.threshold.monotone)


@dataclass(frozen=True)
class Estimate:
    """A fitted parameter with its interval."""

    name: str
    value: float
    low: float
    high: float

    def contains(self, value: float) -> bool:
        """Whether the interval holds the value."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Law:
    """The logarithm as a function of the parameters and the curves. `start` is a first guess of the parameters.

    `predict` maps (parameters [p], sizes) to logarithms [n]; sizes holds the arrays R, N, k and M = log2 N!, each [n].
    """

    formula: str
    parameters: tuple[str, ...]
    start: tuple[float, ...]
    predict: Callable[[Array, dict[str, Array]], Array]


@dataclass(frozen=True)
class LawFit:
    """A law fitted to n thresholds. `scatter` is τ; `residuals` are log(found/prediction), by curve."""

    formula: str
    estimates: tuple[Estimate, ...]
    scatter: float
    log_likelihood: float
    aicc: float
    residuals: tuple[float, ...]

    def estimate(self, name: str) -> Estimate:
        """The parameter of that name. InputError when there is none."""
        for each in self.estimates:
            if each.name == name:
                return each
        raise InputError(f"the law {self.formula} has no parameter {name!r}")

    def as_json(self) -> dict[str, Any]:
        """The fit as JSON values."""
        return asdict(self)


def fit(law: Law, measured: Sequence[Measured], confidence: float = 0.95) -> LawFit:
    """The law fitted to n*. InputError with fewer than p + 3 thresholds, or if they cannot tell."""
    logs = np.log([each.scalars for each in measured])
    variances = np.array([each.scalar_deviation for each in measured]) ** 2
    return fit_values(law, [each.curve for each in measured], logs, variances, confidence)


def fit_ratio(law: Law, pairs: Sequence[tuple[Measured, Measured]], confidence: float = 0.95) -> LawFit:
    """The law fitted to ratios of dimensions d*, first over second, at the first curve's N, R and k."""
    logs = np.array([np.log(first.dimension / second.dimension) for first, second in pairs])
    variances = np.array([first.deviation**2 + second.deviation**2 for first, second in pairs])
    return fit_values(law, [first.curve for first, _ in pairs], logs, variances, confidence)


def fit_values(law: Law, curves: Sequence[Curve], logs: Array, variances: Array, confidence: float = 0.95) -> LawFit:
    """The law fitted by maximum likelihood to logarithms [n] with known variances [n], as the module's head says."""
    count, unknowns = len(curves), len(law.parameters)
    if count < unknowns + 3:
        raise InputError(f"the law {law.formula} needs at least {unknowns + 3} thresholds, not {count}")
    sizes = _sizes(curves)

    def solve(scatter: float) -> tuple[Any, Array, float]:
        """At a scatter τ between curves: the least-squares fit, the standard deviations [n], and the log-likelihood."""
        deviations = np.sqrt(variances + scatter**2)

        def errors(theta: Array) -> Array:
            """What the law misses each logarithm by, in standard deviations, shape [n]."""
            return (logs - law.predict(theta, sizes)) / deviations

        found = least_squares(errors, law.start)
        return found, deviations, float(norm.logpdf(found.fun).sum() - np.log(deviations).sum())

    best = minimize_scalar(lambda scatter: -solve(np.exp(scatter))[2], bounds=(-9.0, 2.0), method="bounded")
    scatter = 0.0 if solve(0.0)[2] >= -best.fun else float(np.exp(best.x))
    found, deviations, log_likelihood = solve(scatter)
    information = found.jac.T @ found.jac
    if np.linalg.matrix_rank(information) < unknowns:
        raise InputError(f"these thresholds cannot tell the parameters of {law.formula} apart: vary N, R or k")
    inflation = max(1.0, float(found.fun @ found.fun) / (count - unknowns))
    half = t.ppf((1 + confidence) / 2, count - unknowns) * np.sqrt(np.diag(np.linalg.inv(information)) * inflation)
    estimates = tuple(
        Estimate(name, float(value), float(value - h), float(value + h))
        for name, value, h in zip(law.parameters, found.x, half, strict=True)
    )
    terms = unknowns + 1
    aicc = 2 * terms - 2 * log_likelihood + 2 * terms * (terms + 1) / (count - terms - 1)
    residuals = tuple(float(value) for value in found.fun * deviations)
    return LawFit(law.formula, estimates, scatter, log_likelihood, float(aicc), residuals)


def fit_all(laws: Sequence[Law], measured: Sequence[Measured]) -> tuple[LawFit, ...]:
    """The fits of all laws to the same thresholds, the smallest AICc first."""
    return tuple(sorted((fit(law, measured) for law in laws), key=lambda each: each.aicc))


def pooled(name: str, logs: Array, variances: Array, confidence: float = 0.95) -> tuple[Estimate, float]:
    """The mean of logarithms [n], n >= 2, with known variances [n] and unknown scatter, as the exponential; and τ.

    τ² by DerSimonian and Laird's moment estimate, the interval by Hartung and Knapp.
    """
    freedom = len(logs) - 1
    weights = 1 / variances
    excess = weights @ (logs - weights @ logs / weights.sum()) ** 2 - freedom
    scatter2 = max(0.0, excess / (weights.sum() - (weights**2).sum() / weights.sum()))
    weights = 1 / (variances + scatter2)
    mean = weights @ logs / weights.sum()
    square = max(1.0, weights @ (logs - mean) ** 2 / freedom)
    half = t.ppf((1 + confidence) / 2, freedom) * np.sqrt(square / weights.sum())
    value, low, high = (float(np.exp(each)) for each in (mean, mean - half, mean + half))
    return Estimate(name, value, low, high), float(np.sqrt(scatter2))


def _sizes(curves: Sequence[Curve]) -> dict[str, Array]:
    return {
        "R": np.array([float(each.relations) for each in curves]),
        "N": np.array([float(each.entities) for each in curves]),
        "k": np.array([float(each.hops) for each in curves]),
        "M": np.array([bits_per_relation(each.entities) for each in curves]),
    }


# E1. `log c` is the logarithm of the law's constant.
LINEAR = Law("c·R·log2 N!", ("log c",), (-1.0,), lambda p, s: p[0] + np.log(s["R"] * s["M"]))
LINEAR_LOG = Law("c·R·N·log2 N", ("log c",), (-1.0,), lambda p, s: p[0] + np.log(s["R"] * s["N"] * np.log2(s["N"])))
AFFINE = Law(
    "R·N·(slope·log2 N + offset)",
    ("slope", "offset"),
    (0.5, 0.0),
    lambda p, s: np.log(s["R"] * s["N"]) + np.log(np.maximum(p[0] * np.log2(s["N"]) + p[1], 1e-9)),
)
CAPACITY_POWER = Law(
    "c·R^a·(log2 N!)^b",
    ("log c", "a", "b"),
    (-1.0, 1.0, 1.0),
    lambda p, s: p[0] + p[1] * np.log(s["R"]) + p[2] * np.log(s["M"]),
)
POWER = Law(
    "c·R^a·N^b",
    ("log c", "a", "b"),
    (-1.0, 1.0, 1.0),
    lambda p, s: p[0] + p[1] * np.log(s["R"]) + p[2] * np.log(s["N"]),
)
LINEAR_POWER = Law("c·R·N^b", ("log c", "b"), (-1.0, 1.0), lambda p, s: p[0] + np.log(s["R"]) + p[1] * np.log(s["N"]))

# E6. In units of one hop's log2 N!: n* grows with R^(1 + e(k-1)). e = 1 is R^k, e = 0 is R, what a chain of thought
# needs; R^⌈k/2⌉, which T2e allows with a learned read-out, lies between.
GROWTH = Law(
    "c·R^(1 + e(k-1))·log2 N!",
    ("log c", "e"),
    (-1.0, 1.0),
    lambda p, s: p[0] + (1 + p[1] * (s["k"] - 1)) * np.log(s["R"]) + np.log(s["M"]),
)
ALL_WORDS = Law("c·R^k·log2 N!", ("log c",), (-1.0,), lambda p, s: p[0] + s["k"] * np.log(s["R"]) + np.log(s["M"]))
HALF_WORDS = Law(
    "c·R^⌈k/2⌉·log2 N!",
    ("log c",),
    (-1.0,),
    lambda p, s: p[0] + np.ceil(s["k"] / 2) * np.log(s["R"]) + np.log(s["M"]),
)
ONE_HOP = LINEAR
