"""Options that several commands share, and how a command that makes a ledger ends."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from theory.errors import InputError

if TYPE_CHECKING:
    from theory.ledger import Check, Row

FC = TypeVar("FC", bound=Callable[..., Any] | click.Command)


def count_option(name: str, help: str, **options: Any) -> Callable[[FC], FC]:
    """An option that is a whole number, at least 1."""
    return click.option(name, type=click.IntRange(min=1), help=help, **options)


class File(click.Path):
    """A path as a pathlib.Path; a name that no file can have is a usage error."""

    name = "path"

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; fails for an empty name, and for one with a NUL."""
        if str(value) == "" or "\0" in str(value):
            self.fail(f"{value!r} is no name of a file", param, ctx)
        return super().convert(value, param, ctx)


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


def file_option(name: str, help: str, **options: Any) -> Callable[[FC], FC]:
    """An option that is a path."""
    return click.option(name, type=File(), help=help, **options)


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
store_option = file_option("--store", "The run store (SQLite).", default="runs.sqlite", show_default=True)


def check_outputs(*files: Path | None, directory: Path | None = None) -> None:
    """InputError for what cannot be written: known before the minutes or hours that it takes to fill it."""
    for path in (*files, directory):
        if path is not None and not os.path.isdir(path.parent):
            raise InputError(f"cannot write {path}: there is no directory {path.parent}")
    for path in files:
        if path is not None and os.path.isdir(path):
            raise InputError(f"cannot write {path}: it is a directory")
    if directory is not None and os.path.exists(directory) and not os.path.isdir(directory):
        raise InputError(f"cannot write into {directory}: it is no directory")


def checks_of_preset(claims: tuple[str, ...], preset: str, seed: int) -> list[Check]:
    """What every package has to check of the claims (all, if none is named), claim by claim."""
    import bounds.checks
    import constructions.suite
    import theory.lemmas
    from theory.registry import in_order

    planned = []
    for claim in in_order(claims):
        planned += constructions.suite.checks_of_preset([claim], preset, seed)
        planned += bounds.checks.checks_of_preset([claim], preset)
        planned += theory.lemmas.checks_of_claims([claim])
    return planned


def print_ledger(rows: list[Row], json: Path | None) -> None:
    """Print the ledger, and at its end what decides; write it, if asked."""
    from theory.files import write_atomically
    from theory.ledger import as_table, summary, terminal, to_json

    console = terminal(width=None if sys.stdout.isatty() else 160)
    console.print(as_table(rows))
    for line in summary(rows):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if json is not None:
        write_atomically(json, lambda file: file.write_text(to_json(rows), encoding="utf-8"))
    decisive = [row for row in rows if row.rung != "measured"]
    if len(decisive) < len(rows):
        held = sum(row.status == "holds" for row in decisive)
        click.echo(f"{held} of {len(decisive)} checks of the theory hold; what is measured decides nothing.")


def finish(rows: list[Row], json: Path | None) -> NoReturn:
    """Print the ledger, write it, and exit with 1 unless everything holds."""
    from theory.ledger import all_hold

    print_ledger(rows, json)
    sys.exit(0 if all_hold(rows) else 1)
