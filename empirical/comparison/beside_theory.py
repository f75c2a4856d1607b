"""Each measured threshold beside the theory, on one axis: bits.

The numerator is T8's at accuracy 1 - ε: R·(log2 N! - N·h(ε) - N·ε·log2(N-1)) bits are known. *Bits per subject
coordinate* divide it by N·d*; *bits per trained scalar* by P, all scalars that were trained. By T1c and T8 no model
with P scalars of fewer bits does it: that figure is itself the lower bound on the precision of the model. For k hops in
one pass the numerator has R^k in place of R, as in E8; it is then a unit of comparison and not a bound, for the answers
are not independent.

*At the same bits*: b is the bits per subject coordinate, rounded up to a whole number. At these b stand the dimension
of the universal construction (T1b; T2 for k hops in one pass; T3 along a chain) and the universal lower bound (T8),
both with a read-out fixed in advance. A model with a learned read-out or MLP may lie below that bound: it is not
universal. For k hops with a learned or tied read-out T2e's dimension (one-bit entries) is there as well.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from math import ceil
from typing import Any

from bounds.lower.beyond import universal_hops_with_errors
from empirical.comparison.capacity import ERROR_RATE, demand
from empirical.comparison.curves import Curve
from empirical.comparison.laws import Measured
from theory.statements.registry import evaluate


@dataclass(frozen=True)
class Comparison:
    """One curve: d* with its interval, bits per coordinate and per scalar, and the theory at `bits` bits an entry.

    None where there is no figure: a threshold bounded on one side, a read-out that T2e does not speak of, a chain whose
    bound would need honest tokens.
    """

    curve: str
    accuracy: float
    dimension: float | None
    low: float
    high: float | None
    bits_per_coordinate: float | None
    bits_per_scalar: float | None
    bits: int | None
    universal_bound: int | None
    universal_construction: int | None
    middle_construction: int | None
    monotone: bool
    left_out: int

    def as_json(self) -> dict[str, Any]:
        """The comparison as JSON values."""
        return asdict(self)


def beside_theory(measured: Measured) -> Comparison:
    """The threshold of one curve beside bound and constructions."""
    found, curve = measured.threshold, measured.curve
    error = 1 - Fraction(str(found.accuracy))
    per_coordinate = bits_per_coordinate(measured, error)
    per_scalar = bits_per_scalar(measured, error)
    bits = None if per_coordinate is None else max(1, ceil(per_coordinate))
    return Comparison(
        curve.name,
        found.accuracy,
        found.dimension,
        found.low,
        found.high,
        per_coordinate,
        per_scalar,
        bits,
        None if bits is None else _bound(curve, bits, error),
        None if bits is None else _construction(curve, bits),
        _middle(curve),
        found.monotone,
        found.left_out,
    )


def bits_per_coordinate(measured: Measured, error: Fraction = ERROR_RATE) -> float | None:
    """The numerator over N·d*; None without an estimate of d*."""
    dimension = measured.threshold.dimension
    return None if dimension is None else demand(measured.curve, error) / (measured.curve.entities * dimension)


def bits_per_scalar(measured: Measured, error: Fraction = ERROR_RATE) -> float | None:
    """The numerator over all trained scalars at the smallest dimension tried that is at least d*."""
    return demand(measured.curve, error) / measured.trained_scalars if measured.trained_scalars else None


def _bound(curve: Curve, bits: int, error: Fraction) -> int | None:
    if curve.condition.chain and curve.hops > 1:
        return None
    return universal_hops_with_errors(curve.entities, curve.relations, curve.hops, error).smallest_dimension(bits)


def _construction(curve: Curve, bits: int) -> int:
    name = "T3" if curve.condition.chain else "T1b" if curve.hops == 1 else "T2"
    return evaluate(name, "dimension", entities=curve.entities, relations=curve.relations, hops=curve.hops, bits=bits)


def _middle(curve: Curve) -> int | None:
    readout = {"learned": "untied", "tied": "tied"}.get(curve.condition.readout)
    if readout is None or curve.condition.chain or curve.condition.subjects == "frozen" or curve.hops == 1:
        return None
    return evaluate(
        "T2e",
        "dimension",
        entities=curve.entities,
        relations=curve.relations,
        hops=curve.hops,
        construction=readout,
    )
