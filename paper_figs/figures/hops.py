"""E6: what k hops cost, in one pass with a learned, tied or frozen read-out, and by chain of thought.

Thresholds are divided by that of one hop at the same N, R and read-out, and so are the dimensions of the constructions:
T2 grows by R^(k-1), T2e by R^(⌈k/2⌉-1), T3 not at all. (a) Against k, (b) against R at two hops. (c) The exponent e of
R^(1 + e(k-1)) in all scalars that learn, fitted to all curves: 1 is R^k, 0 is R. (d) Training begun at T2e itself,
moved by noise, and at a random start of the same size: how many of the runs end with every query right, at the learning
rate of all other runs and at a gentler one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, hypot, log
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from empirical.comparison.middle import MiddleOutcome
from paper_figs.looks import HOPS
from paper_figs.saved import Point, number, part, points, record
from paper_figs.style import BLACK, GREY, TWO_COLUMNS, Look, figure, legend, shares, ticks, with_intervals
from paper_figs.theory_lines import costs
from theory.errors import InputError

RELATIONS_OVER_HOPS, HOPS_OVER_RELATIONS = 2, 2
SPREAD = 0.06  # intervals of different conditions stand side by side, not on each other
THEORY = {
    "T2": Look("T2: $R^k$", BLACK, "", "-"),
    "T2e": Look(r"T2e: $R^{\lceil k/2 \rceil}$", BLACK, "", "--"),
    "T3": Look("T3: $R$", BLACK, "", ":"),
}

Moving = Callable[[Point], int]


def draw(report: Any) -> Figure:
    """The figure from a comparison's report (`georecall compare --json`)."""
    measured = {name: found for name in HOPS if (found := points(report, name))}
    entities = _most_measured(measured)
    outcomes = [record(MiddleOutcome, values) for values in part(report, "middle", list)]
    drawn = figure(TWO_COLUMNS, 4.7)
    (over_hops, over_relations), (exponents, starts) = drawn.subplots(2, 2)
    _growth(over_hops, _ratios(measured, entities, relations=RELATIONS_OVER_HOPS), lambda each: each.curve.hops)
    _growth(over_relations, _ratios(measured, entities, hops=HOPS_OVER_RELATIONS), lambda each: each.curve.relations)
    over_hops.set_xlabel("hops k")
    over_relations.set_xlabel("relations R")
    over_hops.set_title(f"(a) N = {entities}, R = {RELATIONS_OVER_HOPS}")
    over_relations.set_title(f"(b) N = {entities}, k = {HOPS_OVER_RELATIONS}")
    _exponents(exponents, report, list(measured))
    if outcomes:
        _starts(starts, outcomes)
    else:
        drawn.delaxes(starts)
    legend(drawn, [*(HOPS[name] for name in measured), *THEORY.values()], columns=4)
    return drawn


def _most_measured(measured: dict[str, list[Point]]) -> int:
    """The N of most curves."""
    if not measured:
        raise InputError("the preset asks for no hops: nothing to draw")
    sizes = [each.curve.entities for found in measured.values() for each in found]
    return max(sorted(set(sizes)), key=sizes.count)


@dataclass(frozen=True)
class Ratio:
    """The threshold of a curve over that of one hop, with the interval of a ratio of two."""

    point: Point
    value: float
    low: float
    high: float


def _ratios(measured: dict[str, list[Point]], entities: int, **fixed: int) -> dict[str, list[Ratio]]:
    """For each condition its curves at N with the relations or hops that are fixed."""
    result = {}
    for name, found in measured.items():
        own = [each for each in found if each.curve.entities == entities]
        base = {each.curve.relations: each for each in own if each.curve.hops == 1}
        chosen = [each for each in own if all(getattr(each.curve, key) == value for key, value in fixed.items())]
        result[name] = [_ratio(each, base[each.curve.relations]) for each in chosen if each.curve.relations in base]
    return result


def _ratio(point: Point, base: Point) -> Ratio:
    """Intervals are symmetrical in the logarithm, and add up like those of independent errors."""
    value = point.dimension / base.dimension
    half = 0.0 if point is base else hypot(*(log(each.high / each.low) / 2 for each in (point, base)))
    return Ratio(point, value, value * exp(-half), value * exp(half))


def _growth(axes: Axes, ratios: dict[str, list[Ratio]], moving: Moving) -> None:
    for place, (name, found) in enumerate(ratios.items()):
        ordered = sorted(found, key=lambda each: moving(each.point))
        x = [moving(each.point) + SPREAD * (place - (len(ratios) - 1) / 2) for each in ordered]
        value, low, high = zip(*((each.value, each.low, each.high) for each in ordered), strict=True)
        with_intervals(axes, x, value, low, high, HOPS[name])
    curves = {moving(each.point): each.point.curve for found in ratios.values() for each in found}
    places = sorted(curves)
    sizes = [
        {"entities": curves[place].entities, "relations": curves[place].relations, "hops": curves[place].hops}
        for place in places
    ]
    for theorem, look in THEORY.items():
        growth = np.divide(
            costs(theorem, "dimension", sizes), costs(theorem, "dimension", [{**size, "hops": 1} for size in sizes])
        )
        axes.plot(places, growth, zorder=1, **look.options)
    axes.set_yscale("log")
    ticks(axes.xaxis, places)
    ticks(axes.yaxis, [0.5, 1, 2, 3, 4, 6])
    axes.set_ylabel("d* / d* of one hop")


def _exponents(axes: Axes, report: Any, names: list[str]) -> None:
    """The fitted exponents with their intervals, one below the other."""
    verdicts = [each for each in part(report, "verdicts", list) if part(each, "claim", str) == "E6"]
    for place, name in enumerate(names):
        numbers = [part(each, "numbers", dict) for each in verdicts if part(each, "statement", str).startswith(name)]
        if not numbers:
            raise InputError(f"it has no verdict on the exponent of {name!r}")
        value, low, high = (number(numbers[0], key) for key in ("e", "e, low", "e, high"))
        look = HOPS[name]
        axes.errorbar(
            [value], [-place], xerr=[[value - low], [high - value]], elinewidth=0.9, capsize=2, **look.options
        )
    for place, theorem in ((1, "T2"), (0, "T3")):
        axes.axvline(place, color=GREY, linestyle=THEORY[theorem].line, linewidth=0.9)
    ticks(axes.yaxis, [-place for place in range(len(names))], [HOPS[name].label for name in names])
    ticks(axes.xaxis, [0, 0.5, 1], ["0: $R$", "0.5", "1: $R^k$"])
    axes.set_ylim(0.5 - len(names), 0.5)
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, -0.25), max(high, 1.25))
    axes.set_xlabel("exponent e")
    axes.set_title("(c) learned scalars ~ $R^{1 + e(k-1)}$")


def _starts(axes: Axes, outcomes: list[MiddleOutcome]) -> None:
    """A row for each size and learning rate, a column for each start; the number of runs that end perfect."""
    rows = list(dict.fromkeys(_row(each) for each in outcomes))
    noises = list(dict.fromkeys(each.noise for each in outcomes))
    known = {(_row(each), each.noise): each for each in outcomes}
    table = [[known.get((row, noise)) for noise in noises] for row in rows]
    shares(
        axes,
        [[None if each is None else each.perfect / max(1, each.runs - each.failed) for each in row] for row in table],
        [["" if each is None else f"{each.perfect}/{each.runs - each.failed}" for each in row] for row in table],
    )
    ticks(axes.xaxis, list(range(len(noises))), ["random" if noise is None else f"{noise:g}" for noise in noises])
    ticks(axes.yaxis, list(range(len(rows))), [f"{n}, {r}, {k} at {rate:g}" for n, r, k, rate in rows])
    axes.set_xlabel("start: noise on T2e, or random")
    axes.set_ylabel("N, R, k at learning rate")
    axes.set_title("(d) runs that end perfect")


def _row(outcome: MiddleOutcome) -> tuple[int, int, int, float]:
    return outcome.entities, outcome.relations, outcome.hops, outcome.learning_rate
