"""What a campaign has found so far: counts by construction, and every violation with what is needed to see it again."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from constructions.campaign.judge import Finding
from constructions.campaign.mutants import Mutant
from constructions.weights.catalogue import CATALOGUE
from theory.records.console import least_width, output

if TYPE_CHECKING:
    from rich.table import Table

# The columns of the table, and what a mutant is that counts there.
COLUMNS = {
    "mutants": "any",
    "harmful": "some query is wrong, a tie, or below the margin asked for",
    "caught": "harmful, and found so by the check of every query (for softmax by the intervals)",
    "right": "every query has a positive margin, and the one asked for",
    "accepted": "proved by the certificate",
    "refused": "right, and not proved by the certificate",
    "unknown": "softmax, and too close to call for the evaluator",
    "enclosed": "shown to the intervals",
    "undecided": "enclosed, and the intervals cannot tell",
    "violations": "a checker said what it may not say: how many times",
}


@dataclass(frozen=True)
class Violation:
    """Something that a checker may not say, and the mutant about which it said it."""

    seed: int
    number: int
    construction: str
    size: str
    changes: tuple[str, ...]
    fault: str

    def __str__(self) -> str:
        steps = "; ".join(self.changes) or "nothing was changed"
        return f"mutant({self.seed}, {self.number}), {self.construction}, {self.size}: {self.fault}. Changes: {steps}."


@dataclass(frozen=True)
class Report:
    """Mutants 0 .. mutants-1 of a seed. `counts` has a number for each (construction, column) that is not zero."""

    seed: int
    mutants: int = 0
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    violations: tuple[Violation, ...] = ()

    def __add__(self, later: Report) -> Report:
        """Both reports in one, the second being about the mutants that follow."""
        return Report(
            self.seed,
            self.mutants + later.mutants,
            self.counts + later.counts,
            self.violations + later.violations,
        )

    def total(self, column: str) -> int:
        """The number in a column, over all constructions."""
        return sum(count for (_, name), count in self.counts.items() if name == column)

    def rows(self) -> list[tuple[str, list[int]]]:
        """A row of numbers for each construction of the catalogue, and their sum at the end."""
        names = [f"{entry.theorem} {entry.name}" for entry in CATALOGUE]
        rows = [(name, [self.counts[name, column] for column in COLUMNS]) for name in names]
        return [*rows, ("all", [self.total(column) for column in COLUMNS])]

    def as_table(self) -> Table:
        """The rows as a table for the terminal."""
        from rich.table import Table

        caption = "\n".join(f"{column}: {meaning}" for column, meaning in COLUMNS.items())
        table = Table(title=f"The first {self.mutants} mutants of seed {self.seed}", caption=caption)
        table.caption_justify = "left"
        table.add_column("construction")
        for column in COLUMNS:
            table.add_column(column, justify="right")
        for name, numbers in self.rows():
            table.add_row(name, *map(str, numbers))
        return table

    def to_json(self) -> str:
        """Seed, number of mutants, the rows by construction, and the violations."""
        rows = [{"construction": name, **dict(zip(COLUMNS, numbers, strict=True))} for name, numbers in self.rows()]
        values = {
            "seed": self.seed,
            "mutants": self.mutants,
            "rows": rows,
            "violations": [asdict(violation) for violation in self.violations],
        }
        return json.dumps(values, indent=1, ensure_ascii=False)


def of_one(mutant: Mutant, finding: Finding) -> Report:
    """The report about one mutant."""
    name = mutant.construction
    counts = Counter({(name, column): 1 for column in ("mutants", *finding.columns)})
    counts[name, "violations"] += len(finding.violations)
    violation = Violation(mutant.seed, mutant.number, name, mutant.size, mutant.changes, "")
    return Report(mutant.seed, 1, +counts, tuple(replace(violation, fault=fault) for fault in finding.violations))


def print_report(report: Report, *, aside: bool = False) -> None:
    """Print the table, and a line for each violation; on stderr, if aside."""
    console, table = output(aside=aside), report.as_table()
    console.print(table, width=max(console.width, least_width(table, console)), crop=False)
    for violation in report.violations:
        console.print(str(violation), markup=False, highlight=False, soft_wrap=True)
    console.print(f"{report.mutants} mutants, {len(report.violations)} violations", highlight=False)
