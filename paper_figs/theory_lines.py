"""Theory as it is drawn: every line comes from a theorem's formula or from a bound, none is drawn by hand."""

from __future__ import annotations

from collections.abc import Iterable

from bounds.enclosure import Logarithm
from theory.statements.registry import Quantity, evaluate


def as_float(logarithm: Logarithm) -> float:
    """The logarithm, to the nearest float."""
    value = logarithm.value()
    return float(value) if isinstance(value, int) else float((value.low + value.high) / 2)


def costs(
    theorem: str, quantity: Quantity, sizes: Iterable[dict[str, int]], construction: str | None = None
) -> list[int]:
    """The dimension, width or number of parameters of a construction at each of the sizes (N, R, k, b by name)."""
    return [evaluate(theorem, quantity, construction=construction, **size) for size in sizes]
