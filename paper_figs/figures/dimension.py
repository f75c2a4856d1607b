"""Dimension against N and R: where trained models memorise one hop, beside the lower bound (T8) and T1b.

A panel for every R with three or more N, and one for the largest N with three or more R. Trained thresholds d* are at
accuracy 0.99, with 95 % intervals. The theory is that of universal models, whose read-out is fixed in advance, with
subject entries of b bits: T8's lower bound at the same accuracy, and T1b's dimension.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bounds.lower.information import universal_with_errors
from paper_figs.looks import CONDITIONS
from paper_figs.saved import Point, points
from paper_figs.style import BLACK, GREY, TWO_COLUMNS, Look, figure, legend, ticks, with_intervals
from paper_figs.theory_lines import as_float, costs
from theory.errors import InputError

SHOWN = ("capacity", "frozen subjects", "frozen read-out", "frozen both", "frozen both, selector width")
BITS = {1: BLACK, 4: GREY}  # b of the theory lines
ERROR = Fraction(1, 100)
SPREAD = 1.05  # intervals of different conditions stand side by side, not on each other


def draw(report: Any) -> Figure:
    """The figure from a comparison's report (`georecall compare --json`)."""
    measured = {name: found for name in SHOWN if (found := points(report, name))}
    panels = _panels([each for found in measured.values() for each in found])
    if not panels:
        raise InputError("no relation number with three entity numbers, nor the other way round: nothing to draw")
    drawn = figure(TWO_COLUMNS, 2.75)
    all_axes = drawn.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for letter, axes, (fixed, value) in zip("abcdefgh", all_axes, panels, strict=False):
        chosen = {name: [each for each in found if _size(each, fixed) == value] for name, found in measured.items()}
        _panel(axes, chosen, fixed, value)
        axes.set_title(f"({letter}) {fixed} = {value:,}")
    all_axes[0].set_ylabel("embedding dimension d")
    all_axes[0].set_yscale("log")
    ticks(all_axes[0].yaxis, [1, 2, 5, 10, 20, 50, 100, 200, 500])
    legend(drawn, [CONDITIONS[name] for name in measured] + _theory_looks(), columns=3)
    return drawn


def _panels(found: Sequence[Point]) -> list[tuple[str, int]]:
    """What is fixed in each panel: every R seen with three N, and the largest N seen with three R."""
    seen: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
    for each in found:
        seen["R", _size(each, "R")].add(_size(each, "N"))
        seen["N", _size(each, "N")].add(_size(each, "R"))
    wide = sorted(place for place, others in seen.items() if len(others) >= 3)
    return [each for each in wide if each[0] == "R"] + [each for each in wide if each[0] == "N"][-1:]


def _size(point: Point, name: str) -> int:
    return point.curve.entities if name == "N" else point.curve.relations


def _panel(axes: Axes, chosen: dict[str, list[Point]], fixed: str, value: int) -> None:
    moving = "R" if fixed == "N" else "N"
    places = sorted({_size(each, moving) for found in chosen.values() for each in found})
    sizes = [(value, place) if fixed == "N" else (place, value) for place in places]
    for bits, colour in BITS.items():
        lower = [as_float(universal_with_errors(n, r, ERROR).information) / bits for n, r in sizes]
        upper = costs("T1b", "dimension", [{"entities": n, "relations": r, "bits": bits} for n, r in sizes])
        axes.plot(places, lower, color=colour, linestyle="-", linewidth=0.9)
        axes.plot(places, upper, color=colour, linestyle=(0, (5, 2)), linewidth=0.9)
    for number, (name, found) in enumerate(chosen.items()):
        shift = SPREAD ** (number - (len(chosen) - 1) / 2)
        x = [_size(each, moving) * shift for each in sorted(found, key=lambda each: _size(each, moving))]
        ordered = sorted(found, key=lambda each: _size(each, moving))
        triple = ([each.dimension for each in ordered], [each.low for each in ordered], [each.high for each in ordered])
        with_intervals(axes, x, *triple, CONDITIONS[name])
    axes.set_xscale("log")
    ticks(axes.xaxis, places if len(places) < 5 else places[::2])
    axes.set_xlabel("entities N" if moving == "N" else "relations R")


def _theory_looks() -> list[Look]:
    return [
        look
        for bits, colour in BITS.items()
        for look in (
            Look(f"lower bound T8, b = {bits}", colour, "", "-"),
            Look(f"T1b, b = {bits}", colour, "", (0, (5, 2))),
        )
    ]
