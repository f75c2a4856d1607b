"""What one bijection costs, and R of them: a one-hot compiler, an associative memory (T2b), and T1 and T1b.

The compiler's figures are quoted (tracr, one bijection on n entities: d = 2n + 3; 26,529 parameters at n = 64); the
others are counted from the weights that are built. T1b's entries have b = ⌈log2 N⌉ bits: one number a relation.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figs.style import BLUE, GREEN, ORANGE, RED, TWO_COLUMNS, Look, decades, figure, legend, ticks
from paper_figs.theory_lines import costs
from theory.statements.registry import Quantity

COMPILED = Look("one-hot compiler (quoted)", RED, "s", "")
MEMORY = Look("associative memory (T2b)", ORANGE, "v", "--", filled=False, size=7)
SIGNS = Look("one-bit entries (T1)", BLUE, "o", "-")
NUMBERS = Look("one number a relation (T1b)", GREEN, "^", "-.")

COMPILED_DIMENSIONS = {64: 131, 1024: 2051, 4096: 8195}  # 2n + 3
COMPILED_PARAMETERS = {64: 26_529}

ENTITIES = (64, 512, 4096)
RELATIONS = (1, 2, 4, 8, 16)
LARGEST = 4096  # N of the panel over R


def draw() -> Figure:
    """The figure; it needs no results."""
    drawn = figure(TWO_COLUMNS, 2.4)
    one = [{"entities": entities, "relations": 1} for entities in ENTITIES]
    many = [{"entities": LARGEST, "relations": relations} for relations in RELATIONS]
    panels: tuple[tuple[str, Quantity, str], ...] = (
        ("(a)", "dimension", "embedding dimension d"),
        ("(b)", "parameters", "parameters"),
        ("(c)", "parameters", "parameters"),
        ("(d)", "width", "MLP width"),
    )
    for axes, (letter, quantity, label) in zip(drawn.subplots(1, 4), panels, strict=True):
        over_entities = letter in ("(a)", "(b)")
        _lines(axes, quantity, ENTITIES if over_entities else RELATIONS, one if over_entities else many)
        axes.set_xlabel("entities N" if over_entities else "relations R")
        axes.set_ylabel(label)
        axes.set_title(f"{letter} R = 1" if over_entities else f"{letter} N = {LARGEST:,}")
        quoted = {"(a)": COMPILED_DIMENSIONS, "(b)": COMPILED_PARAMETERS}.get(letter, {})
        axes.plot(list(quoted), list(quoted.values()), **COMPILED.options)
    legend(drawn, [COMPILED, MEMORY, SIGNS, NUMBERS], columns=4)
    return drawn


def _lines(axes: Axes, quantity: Quantity, places: Sequence[int], sizes: list[dict[str, int]]) -> None:
    numbers = [{**size, "bits": (size["entities"] - 1).bit_length()} for size in sizes]
    axes.plot(places, costs("T2b", quantity, sizes), **MEMORY.options)
    axes.plot(places, costs("T1", quantity, sizes), **SIGNS.options)
    axes.plot(places, costs("T1b", quantity, numbers), **NUMBERS.options)
    axes.set_xscale("log")
    decades(axes)
    ticks(axes.xaxis, places)
