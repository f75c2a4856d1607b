"""Options that several commands share, and how a command that makes a ledger ends."""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from georecall.paths import Read, Write, WriteInto, echo, prints_aside
from theory.records.work import LOG
from theory.records.writing import Kind

if TYPE_CHECKING:
    from theory.records.ledger import Check, Row

FC = TypeVar("FC", bound=Callable[..., Any] | click.Command)


MOST_HOPS = 10_000  # numbers of k digits are computed with, and no check of longer words ends


def count_option(name: str, help: str, *, most: int | None = None, **options: Any) -> Callable[[FC], FC]:
    """An option that is a whole number, at least 1 (and at most `most`)."""
    return click.option(name, type=click.IntRange(1, most), help=help, **options)


class Seconds(click.FloatRange):
    """A number of seconds, 0 or more: not NaN, which compares with nothing, and no infinity."""

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; fails for one that is not finite."""
        seconds = super().convert(value, param, ctx)
        if not math.isfinite(seconds):
            self.fail(f"{value!r} is no number of seconds", param, ctx)
        return seconds


def read_option(name: str, help: str, *, type: Read | None = None, **options: Any) -> Callable[[FC], FC]:
    """An option that is a path which is read."""
    return click.option(name, type=type or Read(), help=help, **options)


def facts_option(help: str) -> Callable[[FC], FC]:
    """The options that name a file of facts, or a folder, and say what several objects of a subject mean."""
    choice = click.option(
        "--several",
        type=click.Choice(["refuse", "any"]),
        default="refuse",
        show_default=True,
        help="A subject with several objects of a relation: refused, or any of them is right.",
    )
    kinds = "a table, edges, a graph, relations or numbers (docs/facts.md)"
    option = click.option("--system", "--facts", type=Read(), help=f"{help}: {kinds}.")
    return lambda command: option(choice(command))


def write_option(name: str, help: str, *, kind: Kind | None = None, **options: Any) -> Callable[[FC], FC]:
    """An option that is a file which is written."""
    return click.option(name, type=Write(kind), help=help, **options)


def directory_option(name: str, help: str, *names: str, **options: Any) -> Callable[[FC], FC]:
    """An option that is a directory into which files with these names are written."""
    return click.option(name, type=WriteInto(*names), help=help, **options)


def list_option(help: str, text: Callable[[], str]) -> Callable[[FC], FC]:
    """A flag --list, which prints a text and ends, whatever else is on the command line."""

    def show(ctx: click.Context, param: click.Parameter, listed: bool) -> None:
        """Print the text, if asked."""
        if listed and not ctx.resilient_parsing:
            click.echo(text())
            ctx.exit()

    return click.option("--list", is_flag=True, is_eager=True, expose_value=False, callback=show, help=help)


preset_option = click.option(
    "--preset",
    type=click.Choice(["quick", "full"]),
    default="quick",
    show_default=True,
    help="Which sizes to check.",
)
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the random systems."
)


def _belongings(store: Path) -> list[Path]:
    from empirical.execution.database import belongings

    return belongings(store)


store_option = read_option(
    "--store", "The run store (SQLite).", type=Read(beside=_belongings), default="runs.sqlite", show_default=True
)


class _Notices(logging.Handler):
    """Shows what a library says of the work ahead, a line on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        """Show one."""
        click.echo(f"georecall: {record.getMessage()}", err=True)


def show_notices() -> None:
    """Show, on stderr, what will take long."""
    if not any(isinstance(each, _Notices) for each in LOG.handlers):
        LOG.addHandler(_Notices())
    LOG.setLevel(logging.INFO)


def checks_of_preset(claims: tuple[str, ...], preset: str, seed: int) -> list[Check]:
    """What every package has to check of the claims (all, if none is named), claim by claim."""
    import bounds.suite.checks
    import constructions.suite.presets
    import theory.lemmas.collection
    from theory.statements.registry import in_order

    named = in_order(claims)
    proofs = theory.lemmas.collection.checks_of_claims(named)
    planned = []
    for claim in named:
        planned += constructions.suite.presets.checks_of_preset([claim], preset, seed)
        planned += bounds.suite.checks.checks_of_preset([claim], preset)
        planned += [check for check in proofs if check.claim == claim]
    return planned


def print_ledger(rows: list[Row], json: Path | None, lines: Sequence[str] | None = None) -> None:
    """Print the ledger, and at its end what it comes to, or these lines; write it, if asked."""
    from theory.records.console import output, print_rows, summary
    from theory.records.ledger import to_json
    from theory.records.writing import write_atomically

    print_rows(rows, output(aside=prints_aside()), summary(rows) if lines is None else lines)
    if json is not None:
        write_atomically(json, lambda file: file.write_text(to_json(rows), encoding="utf-8"))
    decisive = [row for row in rows if row.rung != "measured"]
    if len(decisive) < len(rows):
        held = sum(row.status == "holds" for row in decisive)
        echo(f"{held} of {len(decisive)} checks of the theory hold; what is measured decides nothing.")


def finish(rows: list[Row], json: Path | None) -> NoReturn:
    """Print the ledger, write it, and exit with 1 unless everything holds."""
    from theory.records.ledger import all_hold

    print_ledger(rows, json)
    sys.exit(0 if all_hold(rows) else 1)
