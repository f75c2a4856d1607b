"""Bits for each coordinate and for each trained scalar: what a trained model holds at its threshold.

Both divide what is known at accuracy 0.99 (T8's R·(log2 N! - N·h(ε) - N·ε·log2(N-1))): (a) by the N·d* coordinates of
the subject table, (b) by all scalars that are trained at d*. One hop, a line for each R; intervals are those of d*.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from empirical.comparison.capacity import ERROR_RATE, demand, scalars
from empirical.comparison.curves import Curve
from paper_figs.looks import CONDITIONS
from paper_figs.saved import Point, Trial, points, trials_of
from paper_figs.style import TWO_COLUMNS, figure, legend, ticks, with_intervals

SPREAD = 1.04  # intervals of different conditions stand side by side, not on each other
Triple = tuple[float, float, float]  # value, low, high


def draw(report: Any, tally: Any) -> Figure:
    """The figure from a comparison's report (`georecall compare --json`) and its trials (`paper_figs.trials`)."""
    counted = trials_of(tally, report)
    measured = {name: found for name in CONDITIONS if (found := points(report, name))}
    drawn = figure(TWO_COLUMNS, 3.2)
    coordinate, scalar = drawn.subplots(1, 2, sharey=True)
    for name, found in measured.items():
        for relations in sorted({each.curve.relations for each in found}):
            own = sorted((each for each in found if each.curve.relations == relations), key=_entities)
            _series(coordinate, name, own, [_per_coordinate(each) for each in own])
            _series(scalar, name, own, [_per_scalar(each, counted) for each in own])
    sizes = sorted({_entities(each) for found in measured.values() for each in found})
    for axes in (coordinate, scalar):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(sizes[0] / 1.3, sizes[-1] * 1.3)
        ticks(axes.xaxis, sizes)
        ticks(axes.yaxis, [0.2, 0.5, 1, 2, 5, 10])
        axes.set_xlabel("entities N")
    coordinate.set_ylabel("bits")
    coordinate.set_title("(a) for each coordinate of a subject")
    scalar.set_title("(b) for each trained scalar")
    legend(drawn, [CONDITIONS[name] for name in measured], columns=3)
    return drawn


def _entities(point: Point) -> int:
    return point.curve.entities


def _per_coordinate(point: Point) -> Triple:
    """A smaller dimension means more bits."""
    known = demand(point.curve, ERROR_RATE) / point.curve.entities
    return known / point.dimension, known / point.high, known / point.low


def _per_scalar(point: Point, counted: dict[Curve, list[Trial]]) -> Triple:
    known = demand(point.curve, ERROR_RATE)
    trained = _trained_scalars(point.curve, counted)
    return known / trained(point.dimension), known / trained(point.high), known / trained(point.low)


def _trained_scalars(curve: Curve, counted: dict[Curve, list[Trial]]) -> Callable[[float], float]:
    """All trained scalars at a dimension that need not be whole: tables and MLP by E8's count; the rest, relation rows
    and the bias of the read-out, is linear in d, and known at the dimensions that were tried.
    """
    first, last = counted[curve][0], counted[curve][-1]  # a threshold has runs on both sides of it
    rest = [each.trained_scalars - scalars(curve, each.dimension, "tables and MLP") for each in (first, last)]
    slope = (rest[1] - rest[0]) / (last.dimension - first.dimension)
    return lambda d: scalars(curve, d, "tables and MLP") + rest[0] + slope * (d - first.dimension)


def _series(axes: Axes, name: str, own: list[Point], triples: list[Triple]) -> None:
    order = list(CONDITIONS).index(name)
    shift = SPREAD ** (order - (len(CONDITIONS) - 1) / 2)
    x = [_entities(each) * shift for each in own]
    value, low, high = zip(*triples, strict=True)
    with_intervals(axes, x, value, low, high, CONDITIONS[name])
