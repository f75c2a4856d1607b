"""E4: change one relation's component of e_x, ask every relation, and see which answers change.

The matrices relation × relation hold on the diagonal the share of answers that become the intended one, off it the
share that stay what they were: 1 everywhere means that every relation has a component of its own. (a) T1, (b) trained
models, the means over the seeds that recall their facts, at the most relations and the largest dimension studied, (c)
the same models under a change of equal length in a random direction, (d) the table T2b. (e) Success and (f) leakage of
trained models against d/d*, one point a seed; hollow ones do not recall their facts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from paper_figs.studies import SIZE_LOOKS, Model, by_ratio, constructions, models, over_dimension, ratio_axis
from paper_figs.style import TWO_COLUMNS, figure, legend, shares, ticks
from theory.errors import InputError

RANDOM = "random, length of maps"


def draw(report: Any) -> Figure:
    """The figure from a study of the mechanism (`georecall mechanism --json`)."""
    found = models(report)
    series = over_dimension(found)
    drawn = figure(TWO_COLUMNS, 4.2)
    panels = drawn.subplot_mosaic([list("aabbccdd"), list("eeeeffff")], height_ratios=(1, 1.15))
    own = _most_obedient(found)
    trained = f"trained, R = {own[0].relations}, d = {own[0].dimension}"
    _matrix(panels["a"], "(a) T1", _mean_matrix(_named(found, "T1"), "ways", "maps"))
    _matrix(panels["b"], f"(b) {trained}", _mean_matrix(own, "ways", "maps"))
    _matrix(panels["c"], "(c) random change", _mean_matrix(own, "controls", RANDOM))
    _matrix(panels["d"], "(d) table T2b", _mean_matrix(_named(found, "T2b"), "ways", "maps"))
    looks = {
        size: replace(look, label=f"N = {size[0]}, R = {size[1]}")
        for size, look in zip(series, SIZE_LOOKS, strict=False)
    }
    for letter, name, title in (("e", "success", "intended answers"), ("f", "leakage", "other answers that change")):
        axes = panels[letter]
        for size, look in looks.items():
            by_ratio(axes, series[size], (*MAPS, name), look)
        ratio_axis(axes, [each for group in series.values() for each in group])
        axes.set_ylim(-0.05, 1.05)
        axes.set_ylabel("share of answers")
        axes.set_title(f"({letter}) {title}")
    legend(drawn, looks.values(), columns=4)
    return drawn


MAPS = ("interventions", "ways", "maps")


def _named(found: list[Model], theorem: str) -> list[Model]:
    """The construction of that theorem."""
    chosen = [each for each in constructions(found) if each.group == theorem]
    if not chosen:
        raise InputError(f"it has no construction {theorem}")
    return chosen


def _most_obedient(found: list[Model]) -> list[Model]:
    """The trained models of the group `dimension` that recall their facts, at the most relations, of the size at which
    most of the changes succeed."""
    chosen: dict[tuple[int, int, int], list[Model]] = {}
    for own in over_dimension(found).values():
        for each in (one for one in own if one.recalls):
            chosen.setdefault((each.relations, each.dimension, each.entities), []).append(each)
    if not chosen:
        raise InputError("no model of the group 'dimension' recalls its facts")
    relations = max(size[0] for size in chosen)
    return max((own for size, own in chosen.items() if size[0] == relations), key=_mean_success)


def _mean_success(own: list[Model]) -> float:
    shares = [each.share(*MAPS, "success") for each in own]
    return sum(share[0] for share in shares if share is not None) / len(own)


def _mean_matrix(own: list[Model], kind: str, way: str) -> NDArray[np.float64]:
    """The mean over models of the matrix of a way or a control."""
    tables = [each.find("interventions", kind, way, "matrix") for each in own]
    try:
        found: NDArray[np.float64] = np.array(tables, float).mean(axis=0)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.ndim != 2 or len(found) != own[0].relations or found.shape[0] != found.shape[1]:
        raise InputError(f"model {own[0].name!r} has no matrix of relations for {way!r}")
    return found


def _matrix(axes: Axes, title: str, matrix: NDArray[np.float64]) -> None:
    shares(axes, matrix.tolist(), [[f"{value:.2f}" for value in row] for row in matrix])
    axes.set_aspect("equal")
    places = list(range(len(matrix)))
    ticks(axes.xaxis, places)
    ticks(axes.yaxis, places)
    axes.set_xlabel("asked")
    axes.set_ylabel("changed")
    axes.set_title(title)
