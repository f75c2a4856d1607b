"""Figures can be read: no text is small, cut off or covered, panels stay apart, and series differ without colour."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'geometric-recall[figures]'")

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from paper_figs import catalogue, style
from tests.helpers.places import RESULTS

SLACK = 0.5  # pixels at 100 dots an inch by which boxes may touch


COMMITTED = [
    name for name, each in catalogue.FIGURES.items() if all((RESULTS / one.file).is_file() for one in each.sources)
]


@cache
def drawn(name: str) -> Figure:
    return catalogue.draw(name, RESULTS)


def words_of(axis: Axis) -> Iterator[Text]:
    """The axis label, and the labels of the ticks that are in view."""
    yield axis.label
    low, high = sorted(axis.get_view_interval())
    yield from (tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high)


def words(figure: Figure) -> list[Text]:
    """All text that is seen."""
    found = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    for axes in figure.axes:
        found += axes.texts
        if axes.axison:
            found += [*words_of(axes.xaxis), *words_of(axes.yaxis)]
        found += [axes.title, axes._left_title, axes._right_title]  # type: ignore[attr-defined]
        legend = axes.get_legend()
        found += legend.get_texts() if legend else []
    return [each for each in found if each.get_visible() and each.get_text().strip()]


def overlap(first: Bbox, second: Bbox) -> bool:
    return (
        min(first.x1, second.x1) - max(first.x0, second.x0) > SLACK
        and min(first.y1, second.y1) - max(first.y0, second.y0) > SLACK
    )


def faults(figure: Figure) -> list[str]:
    """What a reader of the printed figure would stumble over."""
    figure.set_dpi(100)
    with style.applied():
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        renderer = canvas.get_renderer()
        boxes = [(each, each.get_window_extent(renderer)) for each in words(figure)]
        legends = [each.get_window_extent(renderer) for each in figure.legends]
        found = [f"small: {each.get_text()}" for each, _ in boxes if each.get_fontsize() < style.SMALLEST_TEXT]
        page = figure.bbox.expanded(1, 1).padded(SLACK)
        outside = [each for each, box in boxes if not (page.contains(*box.min) and page.contains(*box.max))]
        found += [f"cut off: {each.get_text()}" for each in outside]
        for (one, first), (two, second) in combinations(boxes, 2):
            if overlap(first, second):
                found.append(f"on each other: {one.get_text()} and {two.get_text()}")
        found += ["legend on a panel" for box in legends for axes in figure.axes if overlap(box, axes.bbox)]
        found += [f"line through: {text}" for axes in figure.axes for text in crossed(axes, boxes)]
        found += [f"alike without colour: {pair}" for legend in figure.legends for pair in alike(legend)]
    return found


def crossed(axes: Axes, boxes: list[tuple[Text, Bbox]]) -> list[str]:
    """The words written into a panel that one of its lines goes through."""
    own = [(each.get_text(), box) for each, box in boxes if each in axes.texts]
    paths = [
        line.get_transform().transform_path(line.get_path()) for line in axes.lines if line.get_linestyle() != "None"
    ]
    return [text for text, box in own if any(path.intersects_bbox(box, filled=False) for path in paths)]


def alike(legend: Legend) -> list[tuple[str, str]]:
    """Series of a legend with the same marker, filling and line."""
    looks = {}
    for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
        hollow = handle.get_markerfacecolor() == "white"  # type: ignore[union-attr]
        dashes = handle._dash_pattern if handle.get_linestyle() != "None" else None  # type: ignore[union-attr]
        looks[text.get_text()] = (handle.get_marker(), hollow, dashes, shade(handle.get_color()))  # type: ignore[union-attr]
    return [pair for pair in combinations(looks, 2) if looks[pair[0]] == looks[pair[1]]]


def shade(colour: str) -> str:
    """Black, grey and colours: the two of a line without a marker that a grey print tells apart."""
    return "grey" if colour == style.GREY else "dark"


@pytest.mark.parametrize("name", COMMITTED)
def test_figure_can_be_read(name: str) -> None:
    assert faults(drawn(name)) == []


@pytest.mark.parametrize("name", COMMITTED)
def test_figure_has_the_width_of_a_column_or_of_two(name: str) -> None:
    assert drawn(name).get_figwidth() in (style.ONE_COLUMN, style.TWO_COLUMNS)
    assert drawn(name).get_figheight() <= 9


@pytest.mark.parametrize("name", COMMITTED)
def test_every_axis_says_what_it_is(name: str) -> None:
    for axes in (each for each in drawn(name).axes if each.axison):
        assert axes.get_xlabel()
        shared = axes.get_shared_y_axes().get_siblings(axes)
        categories = any(tick.label1.get_text()[:1].isalpha() for tick in axes.yaxis.get_major_ticks())
        assert categories or any(each.get_ylabel() for each in shared)


def spoiled() -> tuple[Figure, Axes]:
    with style.applied():
        figure = style.figure(3, 2)
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1])
    assert faults(figure) == []
    return figure, axes


def test_small_text_is_noticed() -> None:
    figure, axes = spoiled()
    axes.set_xlabel("dimension", fontsize=5)
    assert faults(figure) == ["small: dimension"]


def test_text_outside_is_noticed() -> None:
    figure, axes = spoiled()
    text = axes.annotate("far away", (1.2, 0.5), xycoords="axes fraction", fontsize=8)
    text.set_in_layout(False)
    assert faults(figure) == ["cut off: far away"]


def test_tick_labels_on_each_other_are_noticed() -> None:
    figure, axes = spoiled()
    style.ticks(axes.xaxis, [0.5, 0.51], ["one half", "more"])
    assert faults(figure) == ["on each other: one half and more"]


def test_a_line_through_a_word_is_noticed() -> None:
    figure, axes = spoiled()
    axes.text(0.5, 0.5, "word", fontsize=8, ha="center", va="center")
    assert faults(figure) == ["line through: word"]


def test_a_legend_on_a_panel_is_noticed() -> None:
    figure, _ = spoiled()
    with style.applied():
        figure.legend(handles=[style.Look("series", style.BLUE).handle], loc="center")
    assert faults(figure) == ["legend on a panel"]


def test_series_that_differ_in_colour_alone_are_noticed() -> None:
    figure, _ = spoiled()
    with style.applied():
        style.legend(figure, [style.Look("one", style.BLUE, "o"), style.Look("two", style.RED, "o")], columns=2)
    assert faults(figure) == ["alike without colour: ('one', 'two')"]
