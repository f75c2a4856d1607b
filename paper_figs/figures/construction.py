"""T1 at a glance: one forward pass of the construction on a small system, with the numbers that it computes.

The subject's row holds one block of signs a relation, c(g_0(x)) .. c(g_{R-1}(x)). The relation adds +1 to its own block
and -1 to the others, ReLU closes the others, the MLP adds the blocks up, and the output is c(g_r(x)), which the
read-out names with margin 2. Every number is read off a run of the weights that `constructions.weights.t1` builds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle
from numpy.typing import NDArray

from constructions.weights import t1
from paper_figs.style import BLACK, BLUE, GREY, RED, TWO_COLUMNS, figure
from theory import FactSystem
from theory.definitions.transformer import run_with_cache

ENTITIES, RELATIONS, SEED = 8, 3, 0
SUBJECT, RELATION = 6, 1
GAP = 0.5  # between blocks, in cells
LINES, HEIGHT = (0.0, 1.0, 2.0, 3.0, 4.4), 0.74  # of the cells of each step
SHADES = {-2: "#F0A878", -1: "#F8D3BC", 0: "#FFFFFF", 1: "#BBD9EA", 2: "#76B3D5"}


def draw() -> Figure:
    """The figure; it needs no results."""
    system = FactSystem.random(ENTITIES, RELATIONS, SEED)
    model = t1.construct(system)
    logits, cache = run_with_cache(model, np.array([[SUBJECT, ENTITIES + RELATION]]))
    steps = (
        (f"subject x = {SUBJECT}", cache["blocks.0.hook_resid_pre"][0, 0]),
        (f"relation r = {RELATION}", cache["blocks.0.hook_resid_pre"][0, 1]),
        ("attention: their sum", cache["blocks.0.hook_attn_out"][0, 1]),
        ("hidden units: ReLU", cache["blocks.0.mlp.hook_post"][0, 1]),
        ("MLP out: blocks' sum − 1", cache["blocks.0.hook_resid_post"][0, 1]),
    )
    drawn = figure(TWO_COLUMNS, 2.5)
    numbers, scores = drawn.subplots(1, 2, width_ratios=(2.6, 1))
    _pass(numbers, steps, system.answers[:, SUBJECT])
    _logits(scores, logits[0], int(system.answers[RELATION, SUBJECT]))
    return drawn


def _pass(axes: Axes, steps: tuple[tuple[str, NDArray[Any]], ...], answers: NDArray[np.int64]) -> None:
    """A line of cells for each step, block by block, and the way of the block that stays open."""
    size = len(steps[0][1]) // RELATIONS
    left = [block * (size + GAP) for block in range(RELATIONS)]
    for line, (label, values) in zip(LINES, steps, strict=True):
        axes.text(-0.35, line + HEIGHT / 2, label, ha="right", va="center", fontsize=7)
        for place, value in enumerate(values):
            x = left[place // size] + place % size
            axes.add_patch(Rectangle((x, line), 1, HEIGHT, facecolor=SHADES[value], edgecolor=GREY, linewidth=0.5))
            word = f"{value:+g}".replace("-", "−") if value else "0"
            axes.text(x + 0.5, line + HEIGHT / 2, word, ha="center", va="center", fontsize=7)
    for block, answer in enumerate(answers):
        axes.text(left[block] + size / 2, -0.2, f"code of g{'₀₁₂'[block]}(x) = {answer}", ha="center", fontsize=7)
    # The block of the relation is open in every step; in the last one it stands where the read-out looks.
    for line, block in zip(LINES, (RELATION, RELATION, RELATION, RELATION, 0), strict=True):
        box = Rectangle((left[block], line), size, HEIGHT, fill=False, edgecolor=BLACK, linewidth=1.4, zorder=3)
        axes.add_patch(box)
    start, end = (left[RELATION] + size / 2, LINES[3] + HEIGHT), (left[0] + size / 2, LINES[4])
    axes.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=7, shrinkA=1, shrinkB=1, linewidth=1))
    axes.set_xlim(-5.2, left[-1] + size + 0.1)
    axes.set_ylim(LINES[-1] + HEIGHT + 0.1, -0.7)
    axes.set_axis_off()
    axes.set_title("(a) one forward pass of T1")


def _logits(axes: Axes, logits: NDArray[Any], answer: int) -> None:
    places = np.arange(len(logits))
    colours = [BLUE if place == answer else SHADES[1] for place in places]
    axes.barh(places, logits, color=colours, edgecolor=GREY, linewidth=0.5)
    best, second = sorted(logits)[-1], sorted(logits)[-2]
    for value in (best, second):
        axes.axvline(value, color=RED, linewidth=0.8, linestyle=":")
    axes.set_yticks(places)
    axes.invert_yaxis()
    axes.set_xticks(sorted({int(value) for value in logits}))
    axes.set_xlabel("logit")
    axes.set_ylabel("entity")
    axes.set_title(f"(b) answer {answer}, margin {best - second:g}")
