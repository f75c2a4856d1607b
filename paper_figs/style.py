"""One style for all figures: sizes, colours, markers and fonts, and how a figure is written.

Widths are those of a paper, 3.4 inches for one column and 7 for two, and no text is smaller than 7 points at that size.
Colours are Okabe and Ito's, which colour-blind readers can tell apart; every series has a marker and a line style of
its own as well, so that a grey print says the same. The style is a dictionary that holds while a figure is drawn and
written (`applied`); nothing global changes, and matplotlib's pyplot is never used. Files hold no date and no version,
so that the same results give the same bytes.

Reference: M. Okabe, K. Ito, Color universal design (2008).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedFormatter, FixedLocator, NullFormatter, NullLocator

from theory.records.writing import Kind, write_atomically

ONE_COLUMN, TWO_COLUMNS = 3.4, 7.0  # inches
SMALLEST_TEXT = 7.0  # points

BLACK, GREY = "#000000", "#777777"
BLUE, SKY, GREEN, ORANGE, RED, PURPLE = "#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00", "#CC79A7"

# From light to dark in a grey print as well.
SHARES = LinearSegmentedColormap.from_list("shares", ["#FFFFFF", "#9CC3DC", BLUE, "#00344F"])

STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same on every machine
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.1,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "legend.columnspacing": 1.4,
    "pdf.fonttype": 42,  # TrueType: embedded, and text stays text
    "svg.fonttype": "path",
    "svg.hashsalt": "geometric-recall",
    "savefig.dpi": 300,
}

# What a file would say about when and with what it was made; None leaves it out.
UNDATED: dict[str, dict[str, Any]] = {
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
}


@dataclass(frozen=True)
class Look:
    """How a series looks, and what the legend calls it."""

    label: str
    colour: str
    marker: str = ""
    line: str | tuple[int, tuple[float, ...]] = "-"
    filled: bool = True
    size: float = 4.0  # of the marker, in points

    @property
    def options(self) -> dict[str, Any]:
        """The options of matplotlib's plotting functions."""
        face = self.colour if self.filled else "white"
        return {
            "color": self.colour,
            "marker": self.marker,
            "linestyle": self.line,
            "markerfacecolor": face,
            "markersize": self.size,
        }

    @property
    def handle(self) -> Line2D:
        """Its entry in a legend."""
        return Line2D([], [], label=self.label, **self.options)


@contextmanager
def applied() -> Iterator[None]:
    """The style, on top of matplotlib's defaults and not of the user's, for as long as the context lasts."""
    with matplotlib.style.context(["default", STYLE]):
        yield


def figure(width: float, height: float) -> Figure:
    """An empty figure of that size in inches, whose parts are laid out so that they do not overlap."""
    return Figure(figsize=(width, height), layout="constrained")


def save(drawn: Figure, path: Path) -> None:
    """Write a figure as .pdf, .png or .svg, whole or not at all. InputError for another suffix."""
    Kind("a figure is", tuple(UNDATED)).require(path)

    def write(file: Path) -> None:
        """Fill the file in the format of the final path's suffix, with no date or program name in its metadata."""
        drawn.savefig(file, format=path.suffix[1:], metadata=UNDATED[path.suffix])

    with applied():
        write_atomically(path, write)


def legend(drawn: Figure, looks: Iterable[Look | Line2D], columns: int) -> None:
    """A legend below all panels, off the data."""
    handles = [look.handle if isinstance(look, Look) else look for look in looks]
    drawn.legend(handles=handles, loc="outside lower center", ncols=columns)


def with_intervals(
    axes: Axes, x: Sequence[float], value: Sequence[float], low: Sequence[float], high: Sequence[float], look: Look
) -> None:
    """A series with a vertical interval at each of its values."""
    errors = [np.subtract(value, low), np.subtract(high, value)]
    axes.errorbar(x, value, yerr=errors, elinewidth=0.7, capsize=1.5, capthick=0.7, **look.options)


def ticks(axis: Axis, places: Sequence[float], labels: Sequence[str] | None = None) -> None:
    """Ticks at these places and no others, written as plain numbers unless they are given labels."""
    axis.set_major_locator(FixedLocator(places))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FixedFormatter(labels or [f"{place:,g}" for place in places]))


def decades(axes: Axes) -> None:
    """A logarithmic vertical axis with powers of ten; the marks between them carry no labels."""
    axes.set_yscale("log")
    axes.yaxis.set_minor_formatter(NullFormatter())


def shares(axes: Axes, values: Sequence[Sequence[float | None]], words: Sequence[Sequence[str]]) -> None:
    """A table of shares, 0 white to 1 dark, with what each cell says; None is left empty."""
    filled = np.array([[np.nan if value is None else value for value in row] for row in values], float)
    axes.imshow(filled, cmap=SHARES, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    for row, line in enumerate(words):
        for column, word in enumerate(line):
            colour = "white" if filled[row, column] > 0.55 else BLACK
            axes.text(column, row, word, ha="center", va="center", color=colour, fontsize=7)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
