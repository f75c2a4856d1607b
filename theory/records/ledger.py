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
from fractions import Fraction
from typing import Any, Literal, get_args

from theory.definitions.fact_system import FactSystem
from theory.records.work import NO_WORK, Work, announce

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
            values["margin"] = as_number(self.margin)
            values["margin_exact"] = str(self.margin)
        if self.counterexample is not None:
            values["counterexample"] = _counterexample_json(self.counterexample)
        return values


def as_number(value: Fraction) -> int | float | None:
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


def run_all_checks(checks: Sequence[Check]) -> list[Row]:
    """Run the checks in order, with a progress bar on stderr; what takes a minute or more is told before it begins."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from theory.records.console import terminal

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
