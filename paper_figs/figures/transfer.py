"""E5: freeze and swap. New random bijections, everything frozen but the subject table: what the frozen part is worth.

(a, b) Accuracy over all facts of new systems against d/d*: rows made of the fitted maps and rows that invert the frozen
MLP, both in closed form with nothing trained, and rows fitted by gradient; the same under an MLP drawn anew. One point
a seed, a line through their means; hollow ones do not recall their own facts. (c) R² of the read-out (E3) against the
accuracy of the maps, of every trained model that recalls its facts. (d) What else changes it: size, width, training
regime, model, the tables that learn, the number of fact systems that share the frozen part; one point a seed.
"""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figs.studies import Model, Triple, by_ratio, models, over_dimension, ratio_axis
from paper_figs.style import BLACK, BLUE, GREEN, GREY, ORANGE, RED, TWO_COLUMNS, Look, figure, legend, ticks

WAYS: dict[tuple[str, str], Look] = {
    ("ways", "maps"): Look("maps (closed form)", BLUE, "o", "-"),
    ("ways", "inverse, again"): Look("inverse (closed form)", GREEN, "^", "-"),
    ("ways", "fitted"): Look("fitted by gradient", ORANGE, "s", "-"),
    ("redrawn", "maps"): Look("maps, MLP redrawn", BLACK, "X", ":"),
    ("redrawn", "fitted"): Look("fitted, MLP redrawn", GREY, "D", ":"),
}
REGIMES = (
    "entities",
    "width",
    "weight decay",
    "training time",
    "learning rate",
    "residual",
    "attention",
    "hops",
    "tables that learn",
    "systems that share",
)
SPREAD = 1.05  # intervals of different ways stand side by side, not on each other
LINE = 0.175  # inches, of a condition in (d)


def draw(report: Any) -> Figure:
    """The figure from a study of the mechanism (`georecall mechanism --json`)."""
    found = models(report)
    shown = list(over_dimension(found).items())[-2:]
    conditions = _conditions(found)
    heights = 2.1, 0.7 + LINE * len(conditions)
    drawn = figure(TWO_COLUMNS, sum(heights) + 0.5)
    grid = drawn.add_gridspec(2, 1, height_ratios=heights)
    above, below = drawn.add_subfigure(grid[0]), drawn.add_subfigure(grid[1])
    *panels, last = above.subplots(1, len(shown) + 1)  # apart from (d), whose long labels must not move them
    letters = iter("abcd")
    for axes, ((entities, relations), own) in zip(panels, shown, strict=True):
        for place, (path, look) in enumerate(WAYS.items()):
            shift = SPREAD ** (place - len(WAYS) // 2)
            by_ratio(axes, own, ("transfer", *path), look, shift)
        ratio_axis(axes, own)
        axes.set_ylim(-0.05, 1.05)
        axes.set_ylabel("accuracy on new facts")
        axes.set_title(f"({next(letters)}) N = {entities}, R = {relations}")
    _against_readout(last, found)
    last.set_title(f"({next(letters)}) trained models")
    regimes = below.subplots()
    _regimes(regimes, conditions)
    regimes.set_title(f"({next(letters)}) conditions")
    legend(drawn, WAYS.values(), columns=3)
    return drawn


def _maps(model: Model) -> Triple | None:
    return model.share("transfer", "ways", "maps")


def _against_readout(axes: Axes, found: list[Model]) -> None:
    for each in found:
        explained, reached = each.share("read_out", "fit", "r_squared"), _maps(each)
        if each.kind == "trained" and each.recalls and explained is not None and reached is not None:
            axes.plot([explained[0]], [reached[0]], markeredgecolor="white", **(POINT.options | {"linestyle": ""}))
    axes.set_xlim(min(-0.05, axes.get_xlim()[0]), 1.05)
    axes.set_ylim(-0.05, 1.05)
    axes.set_xlabel("R² of the read-out")
    axes.set_ylabel("accuracy of the maps")


POINT = Look("", RED, "o", size=5)


def _conditions(found: list[Model]) -> dict[tuple[str, str], list[Model]]:
    """The models of the regimes by group and condition, in the order of the report."""
    result: dict[tuple[str, str], list[Model]] = {}
    for group in REGIMES:
        for each in (one for one in found if one.group == group):
            # The condition's name begins with N, R, d and the width, which is 2d as a rule.
            sizes, changes = each.name.split(", ")[:4], each.name.split(", ")[4:]
            if sizes[3] == f"width {2 * each.dimension}":
                sizes = sizes[:3]
            result.setdefault((group, ", ".join([*sizes, *changes])), []).append(each)
    return result


def _regimes(axes: Axes, conditions: dict[tuple[str, str], list[Model]]) -> None:
    """A line for each condition: the accuracy of each way, a point a seed."""
    for place, own in enumerate(conditions.values()):
        for number, (path, look) in enumerate(WAYS.items()):
            height = 0.15 * (len(WAYS) // 2 - number) - place
            for each in own:
                reached = each.share("transfer", *path)
                if reached is not None:
                    point = Look("", look.colour, look.marker, "", each.recalls)
                    axes.plot([reached[0]], [height], clip_on=False, **point.options)
    groups = [group for group, _ in conditions]
    for place in range(1, len(groups)):
        if groups[place] != groups[place - 1]:
            axes.axhline(0.5 - place, color=GREY, linewidth=0.6)
    ticks(axes.yaxis, [-place for place in range(len(conditions))], [name for _, name in conditions])
    axes.set_ylim(0.5 - max(1, len(conditions)), 0.5)
    axes.set_xlim(-0.03, 1.03)
    axes.set_xlabel("accuracy on new facts")
