"""E3: subject rows as superpositions of the attribute vectors of their answers (T7), beside controls.

(a) Held-out R² of e_x ≈ Σ_r A_r·u_{g_r(x)} + c and (b) accuracy of decoding the answers from e_x, of trained models
against d/d* (d* by the capacity law at 2 bits a scalar of the tables), one point a seed; a hollow one does not recall
its facts. Controls: answers shuffled within each relation, and normal random rows. (c) The same for constructions: of
T1, T1b, T2 and T3 everything is explained, of the table T2b nothing is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figs.studies import SIZE_LOOKS, Model, by_ratio, constructions, models, over_dimension, ratio_axis
from paper_figs.style import GREY, PURPLE, RED, TWO_COLUMNS, Look, figure, legend, ticks, with_intervals

CONTROLS = {
    "shuffled answers": Look("shuffled answers", RED, "x", ":"),
    "random rows": Look("random rows", GREY, "+", "--"),
}
SPREAD = 1.05  # controls stand beside what they control
R_SQUARED = Look("(c) R²", PURPLE, "P", "")
DECODED = Look("(c) decoded", PURPLE, "v", "", filled=False)


def draw(report: Any) -> Figure:
    """The figure from a study of the mechanism (`georecall mechanism --json`)."""
    found = models(report)
    series = over_dimension(found)
    looks = {
        size: replace(look, label=f"N = {size[0]}, R = {size[1]}")
        for size, look in zip(series, SIZE_LOOKS, strict=False)
    }
    drawn = figure(TWO_COLUMNS, 2.75)
    explained, decoded, built = drawn.subplots(1, 3)
    for axes, quantity in ((explained, "r_squared"), (decoded, "decoded")):
        for size, look in looks.items():
            by_ratio(axes, series[size], ("read_out", "fit", quantity), look)
            for control, faint in CONTROLS.items():
                by_ratio(axes, series[size], ("read_out", control, quantity), faint, SPREAD)
        ratio_axis(axes, [each for own in series.values() for each in own])
        axes.set_ylim(min(-0.05, axes.get_ylim()[0]), 1.05)
    explained.set_ylabel("R², held out")
    explained.set_title("(a) rows explained")
    decoded.set_ylabel("accuracy, held out")
    decoded.set_title("(b) answers decoded")
    _constructions(built, constructions(found))
    legend(drawn, [*looks.values(), *CONTROLS.values(), R_SQUARED, DECODED], columns=3)
    return drawn


def _constructions(axes: Axes, found: list[Model]) -> None:
    """A line for each construction: R² and decoding, and the controls of R²."""
    for place, each in enumerate(found):
        for quantity, look, shift in (("r_squared", R_SQUARED, -0.12), ("decoded", DECODED, 0.12)):
            for source, own in (("fit", look), *((name, CONTROLS[name]) for name in CONTROLS)):
                share = each.share("read_out", source, quantity)
                if share is not None:
                    value, low, high = share
                    dot = replace(own, line="")
                    with_intervals(axes, [place + shift], [value], [min(low, value)], [max(high, value)], dot)
    ticks(axes.xaxis, list(range(len(found))), [each.group for each in found])
    axes.set_ylim(min(-0.05, axes.get_ylim()[0]), 1.05)
    axes.set_xlabel("theorem")
    axes.set_ylabel("R² or accuracy")
    axes.set_title("(c) constructions")
