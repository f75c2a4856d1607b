"""The report: one self-contained HTML page with the ledger, tables of bounds, figures and where the numbers come from.

The page loads nothing: styles and pictures stand inside it, there is no script, and its content security policy forbids
the network. It reads the rows of the ledger and saved results, and computes nothing that takes long.
"""

from __future__ import annotations

import base64
import importlib.util
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

from bounds.tables.depth import depth_rows
from bounds.tables.dimensions import bound_rows, settings
from bounds.tables.layout import Cell, Table, shown
from bounds.tables.summary import decimal, dimension_table
from paper_figs import catalogue
from paper_figs.verdicts import saved_rows
from theory.errors import InputError
from theory.records.console import short
from theory.records.ledger import RUNGS, Row, Status
from theory.records.writing import write_atomically
from theory.statements.registry import theorems

NO_ROWS = "there is no row to report: check a claim first"
WITHOUT_JINJA = "the report needs Jinja: pip install 'geometric-recall[figures]'"

# Symbol and word, so that no verdict is told by colour alone. The worst comes first.
SYMBOLS: dict[Status, str] = {"fails": "✗", "undecided": "?", "holds": "✓"}

# The setting of the tables; the page says the command that makes others.
ENTITIES, RELATIONS, HOPS, BITS = (4096,), (2, 4, 16), (1, 2, 3), (1, 4)
DEPTH_RELATIONS, DEPTH_HOPS, DEPTH_BITS = 4, 6, 4


@dataclass(frozen=True)
class ReportRow:
    """One row of the ledger as the page shows it: `anchor` is its place, `size` its N, R, k, b, j in words."""

    anchor: str
    row: Row
    size: str
    margin: str

    @property
    def reason(self) -> str:
        """Why the row does not hold; nothing if it does."""
        if self.row.status == "holds" and self.row.rung != "measured":
            return ""
        return str(self.row.counterexample) if self.row.counterexample else self.row.detail


@dataclass(frozen=True)
class Claim:
    """A claim with its entries: of a theorem also title, assumptions, statement and proof, else empty."""

    anchor: str
    identifier: str
    title: str
    assumptions: tuple[str, ...]
    statement: str
    proof: str
    entries: tuple[ReportRow, ...]

    @property
    def status(self) -> Status:
        """The worst status of its entries."""
        return next(status for status in SYMBOLS if any(entry.row.status == status for entry in self.entries))

    @property
    def held(self) -> int:
        """How many of its entries hold."""
        return sum(entry.row.status == "holds" for entry in self.entries)

    @property
    def rungs(self) -> str:
        """What it stands on: the rungs of the entries that hold, strongest first."""
        held = {entry.row.rung for entry in self.entries if entry.row.status == "holds"}
        return ", ".join(rung for rung in reversed(RUNGS) if rung in held)


@dataclass(frozen=True)
class BoundTable:
    """A table of bounds and the command that prints it; the first `heads` cells of a line say its setting."""

    anchor: str
    table: Table
    heads: int
    command: str


@dataclass(frozen=True)
class Picture:
    """A figure of the catalogue: its SVG as a data address, or the reason why it could not be drawn."""

    entry: catalogue.FigureEntry
    address: str
    reason: str


def can_report() -> bool:
    """True iff what the page is made with is installed: Jinja, and matplotlib for the figures."""
    return all(importlib.util.find_spec(name) is not None for name in ("jinja2", "matplotlib"))


def write_report(rows: Sequence[Row], path: Path, results: Path, provenance: Mapping[str, str]) -> None:
    """Write the page, whole or not at all: the ledger's rows, the verdicts of the saved results in the folder `results`
    and the figures that can be drawn from them, and `provenance` as names and values.

    InputError without rows, without Jinja, or where the page cannot be written.
    """
    if not rows:
        raise InputError(NO_ROWS)
    page = as_html([*rows, *saved_rows(results)], pictures(results), provenance)
    write_atomically(path, lambda file: file.write_text(page, encoding="utf-8"))


def as_html(rows: Sequence[Row], figures: Sequence[Picture], provenance: Mapping[str, str]) -> str:
    """The page as text. InputError without rows or without Jinja."""
    if not rows:
        raise InputError(NO_ROWS)
    try:
        import jinja2
    except ImportError:
        raise InputError(WITHOUT_JINJA) from None
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("paper_figs"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"shown": shown, "number": _is_number}
    claims = _claims([row for row in rows if row.rung != "measured"], "")
    measured = _claims([row for row in rows if row.rung == "measured"], "measured-")
    return environment.get_template("report.html.j2").render(
        symbols=SYMBOLS,
        plurals={"fails": "fail", "undecided": "undecided", "holds": "hold"},
        claims=claims,
        measured=measured,
        checked=_counts(claims),
        findings=_counts(measured),
        unsettled=[*_unsettled(claims), *_unsettled(measured)],
        tables=bound_tables(),
        figures=figures,
        bearing={name: [each for each in figures if name in each.entry.claims] for name in {row.claim for row in rows}},
        places={claim.identifier: claim.anchor for claim in (*measured, *claims)},
        provenance=provenance,
    )


def _claims(rows: Sequence[Row], prefix: str) -> list[Claim]:
    """The rows by claim: theorems in the order of their numbers, then whatever else there is, as it comes."""
    known = theorems()
    names = dict.fromkeys(row.claim for row in rows)
    ordered = [*(name for name in known if name in names), *(name for name in names if name not in known)]
    found = []
    for name in ordered:
        anchor = prefix + _slug(name)
        own = [row for row in rows if row.claim == name]
        entries = tuple(_entry(f"{anchor}-{number}", row) for number, row in enumerate(own, start=1))
        theorem = known.get(name)
        if theorem is None:
            found.append(Claim(anchor, name, "", (), "", "", entries))
        else:
            about = (theorem.title, tuple(map(str, theorem.assumptions)), theorem.statement, theorem.proof)
            found.append(Claim(anchor, name, *about, entries))
    return found


def _entry(anchor: str, row: Row) -> ReportRow:
    numbers = {"N": row.entities, "R": row.relations, "k": row.hops, "b": row.bits, "j": row.stride}
    # No-break spaces, so that a line breaks between two numbers only.
    size = ", ".join(
        f"{name}\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{value}" for name, value in numbers.items() if value is not None
    )
    return ReportRow(anchor, row, size, _margin(row.margin))


def _margin(margin: Fraction | None) -> str:
    """The margin exactly where that is short, else to four digits, marked as rounded."""
    if margin is None:
        return ""
    exact, rounded = str(margin), short(margin)
    return exact if len(exact) <= 9 or exact == rounded else f"≈ {rounded}"


def _slug(name: str) -> str:
    return re.sub(r"\W+", "-", name).strip("-")


def _counts(claims: Sequence[Claim]) -> dict[Status, int]:
    """How many entries have each status, the worst first."""
    rows = [entry.row for claim in claims for entry in claim.entries]
    return {status: sum(row.status == status for row in rows) for status in SYMBOLS}


def _unsettled(claims: Sequence[Claim]) -> list[ReportRow]:
    """The entries that do not hold, failures first."""
    entries = [entry for claim in claims for entry in claim.entries]
    return [entry for status in ("fails", "undecided") for entry in entries if entry.row.status == status]


def bound_tables() -> list[BoundTable]:
    """Dimension with a fixed and with a learned read-out, and dimension against tokens, at a modest setting."""
    grid = partial(settings, ENTITIES, RELATIONS, HOPS, BITS)
    fixed, learned = bound_rows(grid()), bound_rows(grid(readout="learned"))
    command = f"georecall bounds --entities {_listed(ENTITIES)} --relations {_listed(RELATIONS)} --hops {_listed(HOPS)}"
    command += f" --bits {_listed(BITS)}"
    return [
        BoundTable("dimension-fixed", _titled(dimension_table(fixed), "fixed read-out"), 4, command),
        BoundTable(
            "dimension-learned",
            _titled(dimension_table(learned), "learned read-out"),
            4,
            f"{command} --readout learned",
        ),
        BoundTable("depth", _depth_table(), 2, _depth_command()),
    ]


def _titled(table: Table, readout: str) -> Table:
    return Table(f"{table.title}, {readout}", table.columns, table.rows, table.notes)


def _listed(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


def _depth_command() -> str:
    return (
        f"georecall bounds --depth --entities {_listed(ENTITIES)} --relations {DEPTH_RELATIONS} --hops {DEPTH_HOPS}"
        f" --bits {DEPTH_BITS}"
    )


def _depth_table() -> Table:
    rows = depth_rows(ENTITIES[0], DEPTH_RELATIONS, [DEPTH_HOPS], DEPTH_BITS)
    heads = ("tokens", "hops a token", "any spacing ≥", "even spacing ≥", "dimension", "width", "theorem", "ratio")
    body = tuple(
        (
            *(row.steps, row.stride, row.least_any_spacing, row.least_even_spacing, row.dimension, row.width),
            *(row.construction, None if row.ratio is None else f"×{decimal(row.ratio, 2)}"),
        )
        for row in rows
    )
    notes = (
        "≥: the least dimension that T3c admits for honest chains of so many tokens, of any spacing and evenly spaced.",
        "Ratio: of the construction's dimension to the bound for even spacing, none where that is 0.",
    )
    title = f"Dimension against tokens, N = {ENTITIES[0]}, R = {DEPTH_RELATIONS}, k = {DEPTH_HOPS}, b = {DEPTH_BITS}"
    return Table(title, heads, body, notes)


def _is_number(cell: Cell) -> bool:
    """Whether a cell is set to the right: a number, or a figure that begins like one."""
    return not isinstance(cell, str) or not cell[:1].isalpha()


def pictures(results: Path) -> list[Picture]:
    """Every figure of the catalogue, drawn from the results in the folder; one that cannot be drawn says why."""
    found = []
    for name, entry in catalogue.FIGURES.items():
        try:
            svg = base64.b64encode(catalogue.as_svg(name, results)).decode("ascii")
            found.append(Picture(entry, f"data:image/svg+xml;base64,{svg}", ""))
        except InputError as error:
            found.append(Picture(entry, "", str(error)))
    return found
