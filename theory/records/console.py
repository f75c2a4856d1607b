"""The ledger as a person reads it: a table where there is room for one, two short lines a check where there is not; and
what it comes to, claim by claim. Nothing is cut at any width from 80 columns on.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from theory.errors import one_line
from theory.records.ledger import RUNGS, Row, as_number

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PIPED_WIDTH = 160  # where neither a terminal nor COLUMNS says how wide the output is
LEAST_COVERED = 30  # the columns that a table leaves for what was covered
CAPTION = "margin: least over all queries and steps; N entities, R relations, k hops, b bits"
COLOURS = {"holds": "green", "fails": "bold red", "undecided": "yellow"}


def terminal(**options: Any) -> Console:
    """A console of rich's that leaves it to the command how it ends when whoever reads the output has gone: rich itself
    exits with status 1, which says that a claim does not hold.
    """
    import rich.console

    class Terminal(rich.console.Console):
        def on_broken_pipe(self) -> None:
            """Raise the BrokenPipeError on."""
            raise

    return Terminal(**options)


def printed_width() -> int:
    """How wide the output is: as the terminal or COLUMNS says."""
    return output().width


def output(*, aside: bool = False) -> Console:
    """The console of a command's output, on stderr if aside: as wide as the terminal or COLUMNS says."""
    known = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return terminal(width=None if known else PIPED_WIDTH, stderr=aside)


def print_rows(rows: Sequence[Row], console: Console, lines: Sequence[str]) -> None:
    """The ledger, in the form for which there is room, and then these lines."""
    from rich.padding import Padding

    table = as_table(rows)
    if least_width(table, console) <= console.width:
        console.print(table)
    else:
        for row in rows:
            first, second = as_lines(row)
            console.print(first, highlight=False)
            console.print(Padding(second, (0, 0, 0, 4)), highlight=False)
        console.print(CAPTION, style="dim")
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def least_width(table: Table, console: Console) -> int:
    """The columns that a table needs so that nothing of it is cut."""
    return console.measure(table, options=console.options.update(width=10_000)).minimum


def as_table(rows: Sequence[Row]) -> Table:
    """The rows as a table, of which only what was covered may be folded."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title="Ledger", caption=CAPTION)
    for name in ("claim", "construction", "rung", "status", "N", "R", "k", "b", "d", "width"):
        words = name in ("claim", "construction", "rung", "status")
        table.add_column(name, justify="left" if words else "right", no_wrap=True)
    table.add_column("margin", justify="right", no_wrap=True)
    table.add_column("covered", overflow="fold", min_width=LEAST_COVERED)
    table.add_column("s", justify="right", no_wrap=True)
    for row in rows:
        numbers = (row.entities, row.relations, row.hops, row.bits, row.dimension, row.width)
        table.add_row(
            escape(one_line(row.claim)),
            escape(one_line(row.construction)),
            row.rung,
            _coloured(row),
            *("" if number is None else str(number) for number in numbers),
            short(row.margin),
            escape(row.coverage),
            f"{row.seconds:.2f}",
        )
    return table


def as_lines(row: Row) -> tuple[str, str]:
    """A row as two lines, in rich's markup: what was checked and whether it holds; at which sizes, and what was
    covered."""
    from rich.markup import escape

    name = escape(one_line(f"{row.claim} {row.construction}"))
    margin = f", margin {short(row.margin)}" if row.margin is not None else ""
    letters = ("N", row.entities), ("R", row.relations), ("k", row.hops), ("b", row.bits), ("d", row.dimension)
    sizes = ", ".join(f"{letter} = {number}" for letter, number in letters if number is not None)
    first = f"{name}, {row.rung}: {_coloured(row)}{margin}"
    return first, f"{sizes + ': ' if sizes else ''}{escape(row.coverage)} ({row.seconds:.2f} s)"


def _coloured(row: Row) -> str:
    return f"[{COLOURS[row.status]}]{row.status}[/]"


def short(margin: Fraction | None) -> str:
    """The margin to four digits, or whole where it is a whole number below 10^15; "" for None."""
    if margin is None:
        return ""
    if margin.denominator == 1 and abs(margin) < 10**15:
        return str(margin)
    nearest = as_number(margin)
    if nearest:
        return f"{float(nearest):.4g}"
    return f"{Decimal(margin.numerator) / margin.denominator:.4g}"  # beyond or below every float


def summary(rows: Sequence[Row]) -> list[str]:
    """A line for each claim, with the rungs it stands on, and what was measured apart, which decides nothing; then one
    for each check that does not hold."""
    return _by_claim(rows) + _not_holding(rows)


def _by_claim(rows: Sequence[Row]) -> list[str]:
    lines = []
    for claim in dict.fromkeys(row.claim for row in rows):
        own = [row for row in rows if row.claim == claim]
        parts = []
        if decisive := [row for row in own if row.rung != "measured"]:
            held = [row for row in decisive if row.status == "holds"]
            rungs = [rung for rung in RUNGS if any(row.rung == rung for row in held)]
            parts.append(f"{len(held)} of {len(decisive)} checks hold; stands on: {', '.join(rungs) or 'nothing'}")
        if len(decisive) < len(own):
            measured = [row.status for row in own if row.rung == "measured"]
            parts.append(f"measured: {measured.count('holds')} of {len(measured)} hold")
        lines.append(f"{claim}: {'; '.join(parts)}")
    return lines


def _not_holding(rows: Sequence[Row]) -> list[str]:
    reasons = ((row, row.detail or str(row.counterexample or "")) for row in rows)
    return [
        one_line(f"{row.claim} ({row.construction}), {row.rung}: {row.status}: {reason}")
        for row, reason in reasons
        if row.status != "holds"
    ]


def closing(rows: Sequence[Row], saved: Sequence[Row]) -> list[str]:
    """How a run of everything ends: theorems that do not hold, where there are any; the others, and what they stand on;
    what saved studies have found; and that what was measured just now is too small to decide.
    """
    decisive = [row for row in rows if row.rung != "measured"]
    failing = _not_holding(decisive)
    lines = ["Not everything holds:", *failing, ""] if failing else []
    lines += ["What is proved and checked:", *_by_claim(decisive)]
    if saved:
        words = {"holds": "supported", "fails": "not supported", "undecided": "undecided"}
        lines += ["", "What larger studies found (saved results; each by a rule written beforehand):"]
        lines += [one_line(f"{row.claim}, {words[row.status]}: {row.coverage}") for row in saved]
    if measured := len(rows) - len(decisive):
        lines += [
            "",
            f"What was measured just now, {measured} rows, is too small to decide anything: the report has it.",
        ]
    return lines
