"""E9 and T13: the bits that trained weights need, against the bits that they store.

(a) Bits of each tensor's entries that a run needs, against what its facts hold in bits a scalar that learns: a point is
the mean over the runs of one family, size, dimension and condition; the line is that of independent bijections.
(b) What each family needs beyond the line, at what its facts hold and at what as many independent bijections would
hold, with 95 % intervals: the one that is 0 says how the family is stored.
"""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from empirical.comparison.quantised import INDEPENDENT, Beyond, Line, RunPrecision
from paper_figs.saved import part, record
from paper_figs.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, TWO_COLUMNS, Look, figure, legend, ticks
from theory.errors import InputError

INDEPENDENTS = Look("independent bijections, and their line", BLACK, "o", "-", size=3)
FAMILIES = {
    "synonyms": Look("synonyms", GREEN, "^", "", size=4),
    "inverses": Look("inverses", ORANGE, "s", "", size=4),
    "compositions": Look("compositions", BLUE, "D", "", filled=False, size=4),
}
OTHERS = Look("other families", GREY, "x", "", size=3)
AT_STORED = Look("at what the facts hold", PURPLE, "v", "")
AT_INDEPENDENT = Look("at what independent facts would hold", SKY, "P", "", size=5)


def draw(found: Any) -> Figure:
    """The figure from a record of `georecall runs precision --json`."""
    runs = [record(RunPrecision, each) for each in part(found, "measured", list)]
    if not isinstance(found.get("line"), dict):
        raise InputError("it has no line of independent bijections")
    line = record(Line, found["line"])
    families = [record(Beyond, each) for each in part(found, "beyond", list)]
    drawn = figure(TWO_COLUMNS, 3.4)
    needed, beyond = drawn.subplots(1, 2, width_ratios=[1, 1.1])
    _needed(needed, runs, line)
    _beyond(beyond, sorted(families, key=lambda each: each.at_independent[0]))
    legend(drawn, [INDEPENDENTS, *FAMILIES.values(), OTHERS, AT_STORED, AT_INDEPENDENT], columns=3)
    return drawn


def _needed(axes: Axes, runs: list[RunPrecision], line: Line) -> None:
    groups: dict[tuple[Any, ...], list[RunPrecision]] = defaultdict(list)
    for each in runs:
        groups[each.family, each.entities, each.relations, each.dimension, each.condition].append(each)
    points = [(own[0].family, own[0].stored, fmean(each.needed for each in own)) for own in groups.values()]
    shown = {INDEPENDENT: INDEPENDENTS, **FAMILIES}
    for look, of in [(OTHERS, [p for p in points if p[0] not in shown])] + [
        (look, [p for p in points if p[0] == family]) for family, look in shown.items()
    ]:
        axes.plot([x for _, x, _ in of], [y for _, _, y in of], **{**look.options, "linestyle": ""})
    ends = [min(x for _, x, _ in points), max(x for _, x, _ in points)]
    axes.plot(ends, [line.intercept[0] + line.slope[0] * x for x in ends], **{**INDEPENDENTS.options, "marker": ""})
    axes.set_xlabel("stored: bits of the facts a scalar that learns")
    axes.set_ylabel("needed: bits of an entry")
    axes.set_title("(a) bits needed against bits stored")


def _beyond(axes: Axes, families: list[Beyond]) -> None:
    for row, each in enumerate(families):
        for shift, look, (value, low, high) in (
            (0.15, AT_STORED, each.at_stored),
            (-0.15, AT_INDEPENDENT, each.at_independent),
        ):
            bars = [[value - low], [high - value]]
            axes.errorbar([value], [row + shift], xerr=bars, elinewidth=0.7, capsize=1.5, **look.options)
    axes.axvline(0, linewidth=0.9, color=BLACK, zorder=1)
    ticks(axes.yaxis, range(len(families)), [each.family for each in families])
    axes.set_xlabel("bits needed beyond the line")
    axes.set_title("(b) stored as what?")
