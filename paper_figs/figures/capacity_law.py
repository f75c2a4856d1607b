"""E8: one β, in bits for each scalar that stores facts, against which all curves are held.

Above, the scalars of the tables that learn are counted; below, every scalar that learns. Left, the share of runs that
memorise against the bits asked of each scalar: R^k·log2 N! (R·log2 N! along a chain) over their number. Points are the
runs of one curve at one dimension; lines pool them, four bins an octave, with Wilson's 95 % intervals: the curves that
β was fitted to, those held out, and apart from these several hops with a tied or frozen read-out. The band is β with
its interval. Right, the bits a scalar of every held-out curve over β, with its interval, and the tolerance of 15 %;
a hollow marker breaks the law. The fit is that of `empirical.comparison.capacity_fit`, to the thresholds of the report.

Reference: E. B. Wilson, Probable inference, Journal of the American Statistical Association 22 (1927).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from math import log2
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import binomtest

from empirical.comparison.capacity import Counting, demand, scalars
from empirical.comparison.capacity_fit import TOLERANCE, distinct, fit_capacity, residuals
from empirical.comparison.curves import Curve
from empirical.comparison.laws import Estimate, Measured
from empirical.comparison.presets import ComparisonPreset
from paper_figs.saved import Trial, measured_of, preset_of, trials_of
from paper_figs.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    TWO_COLUMNS,
    Look,
    figure,
    legend,
    ticks,
    with_intervals,
)

COUNTED: tuple[tuple[Counting, str], ...] = (
    ("tables", "scalar of the tables"),
    ("every scalar", "scalar that learns"),
)
GROUPS: dict[str, Look] = {
    "larger sizes": Look("larger N and R", BLUE, "s", ""),
    "hops learned": Look("k hops, learned read-out", SKY, "D", ""),
    "chain": Look("chain of thought", PURPLE, "P", ""),
    "frozen subjects": Look("frozen subjects", RED, "<", ""),
    "frozen read-out": Look("frozen read-out, one hop", GREEN, "^", ""),
    "hops tied": Look("tied read-out", ORANGE, "v", ""),
    "hops frozen": Look("frozen read-out, k hops", BLACK, "X", ""),
    "frozen both": Look("both frozen", PURPLE, "h", ""),
    "learned, selector width": Look("learned, T1's width", SKY, ">", ""),
    "frozen both, selector width": Look("both frozen, T1's width", GREY, "*", "", size=5),
    "switches": Look("one change of the protocol", BLACK, "1", "", size=5),
}
TIED_OR_FROZEN = ("hops tied", "hops frozen")
POOLED = (
    Look("left: curves that β is fitted to", BLACK, "o", "-"),
    Look("left: held out", GREEN, "p", "--"),
    Look("left: tied or frozen, k > 1", ORANGE, "d", ":"),
)
BINS_AN_OCTAVE = 4
SPREAD = 1.012  # intervals of different groups stand side by side, not on each other


def draw(report: Any, tally: Any) -> Figure:
    """The figure from a comparison's report (`georecall compare --json`) and its trials (`paper_figs.trials`)."""
    chosen, counted, measured = preset_of(report), trials_of(tally, report), measured_of(report)
    pools = [(look, curves) for look, curves in zip(POOLED, _pools(chosen), strict=True) if curves]
    groups = dict(chosen.law_held_out)
    drawn = figure(TWO_COLUMNS, 5.6)
    for line, letters, (counting, words) in zip(drawn.subplots(2, 2), ("ab", "cd"), COUNTED, strict=True):
        fitted = [measured[curve] for curve in chosen.law_fitted if curve in measured]
        beta = fit_capacity(fitted, counting).beta
        for number, (look, curves) in enumerate(pools):
            _shares(line[0], curves, counted, counting, look, SPREAD ** (number - 1))
        _decorate(line[0], beta)
        line[0].set_xlabel(f"bits asked of each {words}")
        line[0].set_title(f"({letters[0]}) β = {beta.value:.2f} [{beta.low:.2f}, {beta.high:.2f}] bits")
        for number, (name, look) in enumerate(GROUPS.items()):
            held_out = [measured[curve] for curve in groups.get(name, ()) if curve in measured]
            _thresholds(line[1], fitted, held_out, counting, look, SPREAD ** (number - len(GROUPS) / 2))
        _decorate_thresholds(line[1])
        line[1].set_title(f"({letters[1]}) held-out curves, {counting} counted")
    shown = [look for look, _ in pools] + [look for name, look in GROUPS.items() if name in groups]
    legend(drawn, shown, columns=4)
    return drawn


def _pools(chosen: ComparisonPreset) -> tuple[Sequence[Curve], ...]:
    """The curves that β was fitted to, those held out, and those that stand apart; each once."""
    known = {curve.trained for curve in chosen.law_fitted}
    own: dict[Curve, tuple[str, Curve]] = {}  # the first of those with the same weights
    for name, curve in ((name, curve) for name, curves in chosen.law_held_out for curve in curves):
        if curve.trained not in known:
            own.setdefault(curve.trained, (name, curve))
    apart = [curve for name, curve in own.values() if name in TIED_OR_FROZEN and curve.hops > 1]
    return chosen.law_fitted, [curve for _, curve in own.values() if curve not in apart], apart


def _shares(
    axes: Axes, curves: Sequence[Curve], counted: dict[Curve, list[Trial]], counting: Counting, look: Look, shift: float
) -> None:
    """The points of the curves, and their pooled line; curves without a counted scalar have none."""
    bins: defaultdict[int, list[tuple[float, Trial]]] = defaultdict(list)
    for curve in (each for each in curves if scalars(each, 1, counting)):
        for trial in counted[curve]:
            bits = demand(curve) / scalars(curve, trial.dimension, counting)
            bins[round(BINS_AN_OCTAVE * log2(bits))].append((bits, trial))
    faint = look.options | {"linestyle": "", "alpha": 0.3, "markersize": 3, "markeredgewidth": 0, "clip_on": False}
    x, share, low, high = [], [], [], []
    for place, members in sorted(bins.items()):
        axes.plot([bits for bits, _ in members], [each.memorised / each.runs for _, each in members], **faint)
        memorised, runs = sum(each.memorised for _, each in members), sum(each.runs for _, each in members)
        interval = binomtest(memorised, runs).proportion_ci(0.95, "wilson")
        x.append(2 ** (place / BINS_AN_OCTAVE) * shift)
        share.append(memorised / runs)
        low.append(min(float(interval.low), share[-1]))  # rounding may put an end of the interval on the wrong side
        high.append(max(float(interval.high), share[-1]))
    with_intervals(axes, x, share, low, high, look)


def _decorate(axes: Axes, beta: Estimate) -> None:
    axes.axvspan(beta.low, beta.high, color=GREY, alpha=0.3, linewidth=0)
    axes.axvline(beta.value, color=GREY, linewidth=0.9)
    axes.set_xscale("log")
    axes.set_ylim(-0.03, 1.03)
    ticks(axes.xaxis, [0.5, 0.7, 1, 1.5, 2, 3, 4, 6, 8])
    axes.set_ylabel("share of runs that memorise")


def _thresholds(
    axes: Axes, fitted: list[Measured], held_out: list[Measured], counting: Counting, look: Look, shift: float
) -> None:
    held_out = [each for each in held_out if scalars(each.curve, 1, counting)]
    law = fit_capacity(fitted, counting)
    for row in residuals(law, [], distinct(held_out, but=fitted)):
        if row.beta is not None and row.low is not None and row.high is not None:
            value, low, high = ([each / law.beta.value] for each in (row.beta, row.low, row.high))
            shown = replace(look, filled=row.outcome != "breaks")
            with_intervals(axes, [row.predicted * shift], value, low, high, shown)


def _decorate_thresholds(axes: Axes) -> None:
    axes.axhspan(1 - TOLERANCE, 1 + TOLERANCE, color=GREY, alpha=0.3, linewidth=0)
    axes.axhline(1, color=GREY, linewidth=0.9)
    axes.set_xscale("log")
    axes.set_yscale("log")
    ticks(axes.xaxis, [2, 3, 5, 10, 20, 30, 60])
    ticks(axes.yaxis, [0.4, 0.5, 0.75, 1, 1.25, 1.5, 2])
    axes.set_xlabel("dimension that β predicts")
    axes.set_ylabel("bits a scalar / β")
