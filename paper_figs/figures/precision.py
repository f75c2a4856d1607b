"""What precision is worth: bits, noise and width against the embedding dimension (T1b, T1c, T1d, T12, T13).

One hop, N = 4096, R = 4, universal models in one pass. (a) The dimension against the bits b of a subject entry: T1b's
digits and T1d's look-up, above T1c. (b) The same entries under noise, as a fraction of their range: T13's digits, and
T1's signs, above T13. (c) The least width of a model with real entries on d coordinates (T12), and what constructions
have there: T1d's look-up of one coordinate, T1d's shared digits, T1b's digits and its circle.
"""

from __future__ import annotations

from fractions import Fraction

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bounds.lower.information import universal_single_hop
from bounds.lower.precision import least_noisy_dimension, least_real_dimension, least_width
from paper_figs.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, TWO_COLUMNS, Look, decades, figure, legend, ticks
from paper_figs.theory_lines import costs
from theory.statements.registry import theorem

ENTITIES, RELATIONS = 4096, 4
LENGTH = (ENTITIES - 1).bit_length()
BITS = range(1, LENGTH + 1)
WIDEST = 10**12

BOUND = Look("lower bound: T1c, T13, T12", BLACK, "", "--")
DIGITS = Look("T1b, T13: digits in blocks", GREEN, "^", "-")
LOOK_UP = Look("T1d: look-up", PURPLE, "D", ":", filled=False, size=5)
SHARED = Look("T1d: shared digits", BLUE, "o", "-")
CIRCLE = Look("T1b: circle", ORANGE, "s", "")
SIGNS = Look("T1: signs", SKY, "P", "", size=6)


def draw() -> Figure:
    """The figure; it needs no results."""
    drawn = figure(TWO_COLUMNS, 2.9)
    by_bits, by_noise, by_width = drawn.subplots(1, 3)
    _bits(by_bits)
    _noise(by_noise)
    _width(by_width)
    legend(drawn, [BOUND, DIGITS, LOOK_UP, SHARED, CIRCLE, SIGNS], columns=3)
    return drawn


def _sizes(bits: range) -> list[dict[str, int]]:
    return [{"entities": ENTITIES, "relations": RELATIONS, "bits": each} for each in bits]


def _bits(axes: Axes) -> None:
    least = universal_single_hop(ENTITIES, RELATIONS)
    axes.plot(BITS, costs("T1b", "dimension", _sizes(BITS), "digits"), **DIGITS.options)
    axes.plot(BITS, costs("T1d", "dimension", _sizes(BITS), "lookup"), **LOOK_UP.options)
    axes.plot(BITS, [least.smallest_dimension(bits) for bits in BITS], **BOUND.options)
    ticks(axes.xaxis, [1, 4, 8, 12])
    axes.set_ylim(0, 52)
    axes.set_xlabel("bits of a subject entry b")
    axes.set_ylabel("embedding dimension d")
    axes.set_title("(a) bits")


def _noise(axes: Axes) -> None:
    """Noise over the range of an entry: digits survive 1/2 of 2^b - 1, signs 1/R of 2."""
    noises = [Fraction(1, 2) / (2**bits - 1) for bits in BITS]
    # No line between the marks: it would say that there is something between them.
    digits = DIGITS.options | {"linestyle": ""}
    axes.plot([float(noise) for noise in noises], costs("T13", "dimension", _sizes(BITS)), **digits)
    signs = theorem("T1").construction("plain").noise
    assert signs is not None
    survived = float(signs.subs({symbol: RELATIONS for symbol in signs.free_symbols})) / 2
    axes.plot([survived], costs("T1", "dimension", _sizes(range(1, 2))), **SIGNS.options)
    below = [Fraction(1, 2) / values for values in sorted({round(1.1**step) for step in range(90)})]
    least = [least_noisy_dimension(ENTITIES, RELATIONS, 1, Fraction(1), noise) for noise in below]
    axes.plot([float(noise) for noise in below], least, **BOUND.options)
    axes.set_xscale("log")
    axes.set_ylim(0, 52)
    axes.set_xlabel("noise survived / range of an entry")
    axes.set_ylabel("embedding dimension d")
    axes.set_title("(b) noise")


def _width(axes: Axes) -> None:
    dimensions = range(1, RELATIONS * LENGTH + 1)
    axes.plot(dimensions, [_least_width(dimension) for dimension in dimensions], **BOUND.options)
    axes.plot(*_costs_beside("digits", "T1b", BITS), **DIGITS.options)
    axes.plot(*_costs_beside("concatenated", "T1d", range(1, RELATIONS * LENGTH + 1)), **SHARED.options)
    (one,) = _sizes(range(RELATIONS * LENGTH, RELATIONS * LENGTH + 1))
    axes.plot(costs("T1d", "dimension", [one], "lookup"), costs("T1d", "width", [one], "lookup"), **LOOK_UP.options)
    axes.plot(costs("T1b", "dimension", [one], "circle"), costs("T1b", "width", [one], "circle"), **CIRCLE.options)
    axes.set_xscale("log")
    decades(axes)
    ticks(axes.xaxis, [1, 2, 4, 8, 16, 48])
    axes.set_ylim(1, WIDEST)
    axes.set_xlabel("embedding dimension d")
    axes.set_ylabel("MLP width")
    axes.set_title("(c) width")


def _costs_beside(name: str, identifier: str, bits: range) -> tuple[list[int], list[int]]:
    """Dimension and width of a construction at so many bits, the narrowest at each dimension, within the picture."""
    narrowest: dict[int, int] = {}
    for dimension, width in zip(
        costs(identifier, "dimension", _sizes(bits), name), costs(identifier, "width", _sizes(bits), name), strict=True
    ):
        narrowest[dimension] = min(width, narrowest.get(dimension, width))
    shown = sorted((dimension, width) for dimension, width in narrowest.items() if width <= WIDEST)
    return [dimension for dimension, _ in shown], [width for _, width in shown]


def _least_width(dimension: int) -> int:
    """T12: the least width at which so many coordinates can be enough, at least 1."""
    if dimension == 1:
        return least_width(ENTITIES, RELATIONS)
    low, high = 0, 1
    while least_real_dimension(ENTITIES, RELATIONS, high) > dimension:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        enough = least_real_dimension(ENTITIES, RELATIONS, middle) <= dimension
        low, high = (low, middle) if enough else (middle, high)
    return high
