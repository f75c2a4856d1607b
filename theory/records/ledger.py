"""The ledger: what each claim stands on. One row a claim and setting, machine-readable and readable.

The rungs, weakest first: measured, sampled, exhaustive queries, exhaustive systems, certificate, symbolic,
machine-checked. A row `holds`, `fails` (with a counterexample or a reason), or is `undecided`: a refused certificate,
an enclosure too wide, a proof not found.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, get_args

from theory.definitions.fact_system import FactSystem
from theory.errors import one_line
from theory.records.work import NO_WORK, Work, announce

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Rung = Literal[
    "measured", "sampled", "exhaustive queries", "exhaustive systems", "certificate", "symbolic", "machine-checked"
]
Status = Literal["holds", "fails", "undecided"]

RUNGS: tuple[Rung, ...] = get_args(Rung)


@dataclass(frozen=True)
class Counterexample:
    """A query that a model gets wrong: the least (subject, word) among those checked.

    `expected` and `got` are answers; `margin` is the least over the steps, <= 0 or below the margin claimed; `emitted`
    is what the model emitted, step by step.
    """

    system: FactSystem
    subject: int
    word: tuple[int, ...]
    expected: int
    got: int
    margin: Fraction
    emitted: tuple[int, ...]

    def __str__(self) -> str:
        return (
            f"system {self.system}, query (subject {self.subject}, word {list(self.word)}): "
            f"expected {self.expected}, got {self.got}, margin {self.margin}"
        )


@dataclass(frozen=True)
class Row:
    """One check. `margin` is the least margin found or proved, None where a claim has none; `coverage` says what was
    covered in words; `detail` why it does not hold. Numbers that do not apply are None; `seconds` is wall-clock time.
    """

    claim: str
    construction: str
    rung: Rung
    status: Status
    coverage: str
    entities: int | None = None
    relations: int | None = None
    hops: int | None = None
    bits: int | None = None
    stride: int | None = None
    dimension: int | None = None
    width: int | None = None
    parameters: int | None = None
    queries: int | None = None
    systems: int | None = None
    margin: Fraction | None = None
    seconds: float = 0.0
    seed: int | None = None
    detail: str = ""
    counterexample: Counterexample | None = None

    def as_json(self) -> dict[str, Any]:
        """The row as JSON values; the margin exactly, as a string, and as a number, unless it is beyond every float."""
        values = {name: value for name, value in asdict(self).items() if name != "counterexample"}
        values["seconds"] = round(self.seconds, 3)
        if self.margin is not None:
            values["margin"] = _number(self.margin)
            values["margin_exact"] = str(self.margin)
        if self.counterexample is not None:
            values["counterexample"] = _counterexample_json(self.counterexample)
        return values


def _number(value: Fraction) -> int | float | None:
    """The value as a number that other readers of JSON can hold; None where it is beyond every float."""
    try:
        nearest = float(value)
    except OverflowError:
        return None
    return int(value) if value.denominator == 1 else nearest


def _counterexample_json(found: Counterexample) -> dict[str, Any]:
    return {
        "system": found.system.answers.tolist(),
        "subject": found.subject,
        "word": list(found.word),
        "expected": found.expected,
        "got": found.got,
        "margin": str(found.margin),
        "emitted": list(found.emitted),
    }


@dataclass(frozen=True)
class Check:
    """A check that can be run: `run()` gives its row, without the time that it took; `work` is estimated."""

    claim: str
    construction: str
    kind: str
    run: Callable[[], Row]
    work: Work = NO_WORK

    @property
    def label(self) -> str:
        """What a progress bar shows."""
        return f"{self.claim} {self.construction}: {self.kind}"


def run_check(check: Check) -> Row:
    """Run one check and time it."""
    start = time.perf_counter()
    row = check.run()
    return replace(row, seconds=time.perf_counter() - start)


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


def run_all_checks(checks: Sequence[Check]) -> list[Row]:
    """Run the checks in order, with a progress bar on stderr; what takes a minute or more is told before it begins."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    total = Work(sum(check.work.nanoseconds for check in checks), max((c.work.memory for c in checks), default=0))
    longest = max(checks, key=lambda check: check.work.nanoseconds, default=None)
    if longest is not None:
        announce(f"{len(checks)} checks, {longest.label} ({longest.work}) the longest: all", total)
    rows = []
    with Progress(*columns, console=terminal(stderr=True)) as progress:
        bar = progress.add_task("", total=len(checks))
        for check in checks:
            progress.update(bar, description=check.label)
            rows.append(run_check(check))
            progress.advance(bar)
    return rows


def to_json(rows: Sequence[Row]) -> str:
    """The rows as a JSON list of objects."""
    return json.dumps([row.as_json() for row in rows], indent=1, ensure_ascii=False)


def all_hold(rows: Sequence[Row]) -> bool:
    """True iff there are rows and every one of them holds; what was only measured is a finding, and decides nothing."""
    judged = [row for row in rows if row.rung != "measured"]
    return bool(judged) and all(row.status == "holds" for row in judged)


def as_table(rows: Sequence[Row]) -> Table:
    """The rows as a table for the terminal."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(
        title="Ledger", caption="margin: least over all queries and steps; N entities, R relations, k hops, b bits"
    )
    for name in ("claim", "construction", "rung", "status", "N", "R", "k", "b", "d", "width"):
        table.add_column(name, justify="left" if name in ("claim", "construction", "rung", "status") else "right")
    table.add_column("margin", justify="right")
    table.add_column("covered", overflow="fold")
    table.add_column("s", justify="right")
    colours = {"holds": "green", "fails": "bold red", "undecided": "yellow"}
    for row in rows:
        numbers = (row.entities, row.relations, row.hops, row.bits, row.dimension, row.width)
        table.add_row(
            escape(one_line(row.claim)),
            escape(one_line(row.construction)),
            row.rung,
            f"[{colours[row.status]}]{row.status}[/]",
            *("" if number is None else str(number) for number in numbers),
            short(row.margin),
            escape(row.coverage),
            f"{row.seconds:.2f}",
        )
    return table


def short(margin: Fraction | None) -> str:
    """The margin to four digits, or whole where it is a whole number below 10^15; "" for None."""
    if margin is None:
        return ""
    if margin.denominator == 1 and abs(margin) < 10**15:
        return str(margin)
    nearest = _number(margin)
    if nearest:
        return f"{float(nearest):.4g}"
    return f"{Decimal(margin.numerator) / margin.denominator:.4g}"  # beyond or below every float


def summary(rows: Sequence[Row]) -> list[str]:
    """A line for each claim, with the rungs it stands on; then one for each check that does not hold."""
    lines = []
    for claim in dict.fromkeys(row.claim for row in rows):
        own = [row for row in rows if row.claim == claim]
        held = [row for row in own if row.status == "holds"]
        rungs = [rung for rung in RUNGS if any(row.rung == rung for row in held)]
        lines.append(f"{claim}: {len(held)} of {len(own)} checks hold; stands on: {', '.join(rungs) or 'nothing'}")
    for row in rows:
        if row.status != "holds":
            reason = str(row.counterexample) if row.counterexample else row.detail
            lines.append(one_line(f"{row.claim} ({row.construction}), {row.rung}: {row.status}: {reason}"))
    return lines
