"""Dimension against tokens, hops and depth, and the two dichotomies (T2c, T2e) in the plane of dimension and memory.

All at N = 4096, R = 4, one-bit entries. (a) k hops in s emitted tokens: T2, T3b and T3 with a fixed read-out, T2e and
T3b with a learned one, and from below T3c for every honest chain of at most s tokens. (b) k hops: T2, T2e
and, with 2k - 1 blocks and a memory, T4; from below T2c and T2e. T3's chain is drawn beside them. (c) What T2c and T2e
leave: models with a row of d·b bits and B bits elsewhere lie above the lines.
"""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bounds.lower.dichotomy import fixed_readout
from bounds.lower.frontier import BoundFamily, frontier, smallest_dimension
from bounds.lower.learned_readout import learned_readout
from bounds.tables.depth import DepthRow, depth_rows
from paper_figs.style import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    TWO_COLUMNS,
    Look,
    decades,
    figure,
    legend,
    ticks,
)
from paper_figs.theory_lines import as_float, costs

ENTITIES, RELATIONS = 4096, 4
TOKEN_HOPS = 6
HOPS = range(1, 7)
PLANE_HOPS = 3
BITS = 1  # one-bit entries throughout: those of T2e's construction

FIXED = Look("fixed read-out: T2, T3b, T3", GREEN, "^", "-")
LEARNED = Look("learned read-out: T2e, T3b, T3", BLUE, "o", "-")
FIXED_BOUND = Look("lower bound, fixed: T2c, T3c", BLACK, "", "--")
LEARNED_BOUND = Look("lower bound, learned: T2e, T3c", BLACK, "", ":")
DEEP = Look("T4: 2k - 1 blocks, and a memory", PURPLE, "D", ":", filled=False, size=6)
CHAIN = Look("T3: chain of k tokens", ORANGE, "P", "-")


def draw() -> Figure:
    """The figure; it needs no results."""
    drawn = figure(TWO_COLUMNS, 3.0)
    by_tokens, by_hops, plane = drawn.subplots(1, 3)
    _tokens(by_tokens)
    _hops(by_hops)
    _plane(plane)
    legend(drawn, [FIXED, FIXED_BOUND, LEARNED, LEARNED_BOUND, DEEP, CHAIN], columns=3)
    return drawn


def _tokens(axes: Axes) -> None:
    for readout, built, below in (("fixed", FIXED, FIXED_BOUND), ("learned", LEARNED, LEARNED_BOUND)):
        rows: list[DepthRow] = depth_rows(ENTITIES, RELATIONS, [TOKEN_HOPS], BITS, readout)
        steps = [row.steps for row in rows]
        axes.plot(steps, [row.dimension for row in rows], **built.options)
        axes.plot(steps, [row.least_any_spacing for row in rows], **below.options)
    decades(axes)
    axes.set_xscale("log")
    ticks(axes.xaxis, steps)
    axes.set_xlabel("tokens emitted s")
    axes.set_ylabel("embedding dimension d")
    axes.set_title(f"(a) k = {TOKEN_HOPS} hops in s tokens")


def _hops(axes: Axes) -> None:
    sizes = [{"entities": ENTITIES, "relations": RELATIONS, "hops": hops, "bits": BITS} for hops in HOPS]
    axes.plot(HOPS, costs("T2", "dimension", sizes), **FIXED.options)
    axes.plot(HOPS, [_meet_in_the_middle(size) for size in sizes], **LEARNED.options)
    axes.plot(HOPS, costs("T4", "dimension", sizes), **DEEP.options)
    axes.plot(HOPS, costs("T3", "dimension", sizes), **CHAIN.options)
    for family, look in ((fixed_readout, FIXED_BOUND), (learned_readout, LEARNED_BOUND)):
        below = [smallest_dimension(family(ENTITIES, RELATIONS, hops), BITS) for hops in HOPS]
        axes.plot(HOPS, below, **look.options)
    decades(axes)
    ticks(axes.xaxis, list(HOPS))
    axes.set_xlabel("hops k")
    axes.set_ylabel("embedding dimension d")
    axes.set_title("(b) k hops")


def _meet_in_the_middle(size: dict[str, int]) -> int:
    """The smaller of T2e's dimensions; the middle relation can be split for odd k."""
    names = ("untied", "split") if size["hops"] % 2 else ("untied",)
    return min(costs("T2e", "dimension", [size], name)[0] for name in names)


def _plane(axes: Axes) -> None:
    length = (ENTITIES - 1).bit_length()
    unit = ENTITIES * RELATIONS * length
    size = {"entities": ENTITIES, "relations": RELATIONS, "hops": PLANE_HOPS, "bits": BITS}
    _frontier(axes, fixed_readout(ENTITIES, RELATIONS, PLANE_HOPS), FIXED_BOUND, GREEN, unit)
    _frontier(axes, learned_readout(ENTITIES, RELATIONS, PLANE_HOPS), LEARNED_BOUND, BLUE, unit)
    built = (
        (costs("T2", "dimension", [size])[0], 0, "T2", FIXED, (-4, 6), "right"),
        (_meet_in_the_middle(size), 0, "T2e", LEARNED, (2, 6), "left"),
        (costs("T4", "dimension", [size])[0], unit, "T4", DEEP, (6, -2), "left"),
    )
    for dimension, memory, name, look, shift, side in built:
        axes.plot([dimension], [memory / unit], clip_on=False, zorder=4, **look.options)
        axes.annotate(
            name, (dimension, memory / unit), shift, textcoords="offset points", ha=side, fontsize=7, color=BLACK
        )
    axes.set_xlim(0, 820)
    axes.set_ylim(0, 1.1)
    axes.set_xlabel("bits of a row d·b")
    axes.set_ylabel("B / (N·R·log N)")
    axes.set_title(f"(c) k = {PLANE_HOPS} hops in one pass")


def _frontier(axes: Axes, family: BoundFamily, look: Look, shade: str, unit: int) -> None:
    corners = frontier(family)
    x = [as_float(corner.dimension_bits) for corner in corners]
    y = [as_float(corner.shared_bits) / unit for corner in corners]
    axes.plot(x, y, **look.options)
    axes.fill_between(x, y, color=shade, alpha=0.15, linewidth=0)
