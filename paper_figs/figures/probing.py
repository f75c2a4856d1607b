"""E7: how well a linear map reads each relation from a language model's subject states, layer by layer.

A panel for each relation: accuracy on subjects left out, with its 95 % interval, and the controls that it must beat:
the commonest object, maps fitted to shuffled pairs, a copy of the model with random weights, and plain similarity of
the state to the objects' directions. Layer 0 is the input embeddings. Then a panel for each family of relations on the
same subjects: the share of the states' variance (R², subjects left out) that the sum of one component a relation
explains, beside that of shuffled subjects.
"""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from paper_figs.saved import number, part
from paper_figs.style import BLACK, BLUE, GREEN, GREY, ORANGE, RED, TWO_COLUMNS, Look, figure, legend
from theory.errors import InputError

COLUMNS = 4
ACCURACY = Look("linear map", BLUE, "o", "-", size=3)
CONTROLS: dict[str, Look] = {
    "majority": Look("commonest object", BLACK, "", (0, (1, 1))),
    "shuffled": Look("shuffled pairs", GREY, "", "--"),
    "randomised": Look("random weights", RED, "^", "--", size=2.5),
    "similarity": Look("similarity", ORANGE, "v", ":", size=2.5),
}
TOGETHER = Look("sum of components (R²)", GREEN, "s", "-", size=3)


def draw(record: Any) -> Figure:
    """The figure from a probe's record (`georecall probe --json`)."""
    relations, families = part(record, "relations", list), part(record, "superposition", list)
    if not relations:
        raise InputError("it has no relation that was read")
    panels = len(relations) + len(families)
    lines = -(-panels // COLUMNS)
    drawn = figure(TWO_COLUMNS, 0.7 + 1.5 * lines)
    grid = drawn.subplots(lines, COLUMNS, sharex=True, sharey=True, squeeze=False).ravel().tolist()
    for axes, values in zip(grid, relations, strict=False):
        _relation(axes, values)
    for axes, values in zip(grid[len(relations) :], families, strict=False):
        _family(axes, values)
    for axes in grid[panels:]:
        drawn.delaxes(axes)
    for axes in grid[:panels]:
        axes.set_xlabel("layer")
        axes.tick_params(labelbottom=True)
    for axes in grid[:panels:COLUMNS]:
        axes.set_ylabel("accuracy or R²" if families else "accuracy")
    grid[0].xaxis.set_major_locator(MaxNLocator(4, integer=True))  # all panels share it
    grid[0].set_ylim(-0.1, 1.05)
    drawn.suptitle(part(record, "model", str))
    legend(drawn, [ACCURACY, *CONTROLS.values(), *([TOGETHER] if families else [])], columns=3)
    return drawn


def _relation(axes: Axes, values: Any) -> None:
    readings = part(values, "by_layer", list)
    layers = [int(part(each, "layers", list)[0]) for each in readings]
    for name, look in CONTROLS.items():
        axes.plot(layers, [number(part(each, name, dict), "value") for each in readings], **look.options)
    _with_band(axes, layers, [part(each, "accuracy", dict) for each in readings], ACCURACY)
    best = number(part(part(values, "headline", dict), "accuracy", dict), "value")
    axes.set_title(f"{part(values, 'name', str)}: {best:.2f}")


def _family(axes: Axes, values: Any) -> None:
    explained = part(values, "by_layer", list)
    layers = [part(each, "layer", int) for each in explained]
    shuffled = [number(part(each, "shuffled", dict), "value") for each in explained]
    axes.plot(layers, shuffled, **CONTROLS["shuffled"].options)
    _with_band(axes, layers, [part(each, "together", dict) for each in explained], TOGETHER)
    axes.set_title(f"R², sum of {len(part(values, 'relations', list))} relations")


def _with_band(axes: Axes, layers: list[int], shares: list[Any], look: Look) -> None:
    """A share at each layer, in the band of its interval."""
    low, high = ([number(each, end) for each in shares] for end in ("low", "high"))
    axes.fill_between(layers, low, high, color=look.colour, alpha=0.2, linewidth=0)
    axes.plot(layers, [number(each, "value") for each in shares], **look.options)
