"""Commands about everything at once: verify and measure at small sizes, draw the figures."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from georecall.options import (
    checks_of_preset,
    directory_option,
    list_option,
    preset_option,
    print_ledger,
    read_option,
    store_option,
    write_option,
)
from georecall.paths import Read, echo


def _saved(results: Path) -> list[Path]:
    from paper_figs.catalogue import FIGURES

    return sorted({results / source.file for each in FIGURES.values() for source in each.sources})


results_option = read_option(
    "--results",
    "The saved results to draw from.",
    type=Read((), beside=_saved),
    default="paper_figs/results",
    show_default=True,
)


def _figures() -> str:
    from paper_figs.catalogue import listing

    return listing()


@click.command(short_help="Verify everything, measure at small sizes, write one page.")
@preset_option
@store_option
@write_option("--json", "Write the ledger here, as JSON.")
@write_option("--report", "The page to write (HTML).", default="report.html", show_default=True)
@results_option
def reproduce(preset: str, store: Path, json: Path | None, report: Path, results: Path) -> None:
    """Verify every claim, then train the small models and measure (where PyTorch is installed), and write it all on
    one page: ledger, bounds, figures.

    Exit status 0 only if every claim holds; what is measured is reported and decides nothing.
    """
    from empirical.comparison import command
    from empirical.execution.provenance import provenance
    from empirical.mechanism import command as mechanism
    from paper_figs.report import can_report, write_report
    from paper_figs.verdicts import saved_rows
    from theory.records.console import closing
    from theory.records.ledger import all_hold, run_all_checks
    from theory.records.stamp import read_stamp

    if not results.is_dir():
        click.echo(f"There are no saved results in {results}: most figures will be missing.", err=True)
    saved = saved_rows(results)  # what cannot be read is refused before the minutes that follow
    rows = run_all_checks(checks_of_preset((), preset, seed=0))
    if command.can_train():
        with command.counting("runs") as show:
            compared = command.compare("quick", store, progress=show)
        echo(command.text(compared), nl=False)
        with command.counting("models") as show:
            studied = mechanism.mechanism((), "quick", store, progress=show)
        echo(mechanism.text(studied), nl=False)
        rows += command.rows(compared) + mechanism.rows(studied)
    else:
        click.echo(f"Nothing is trained: {command.WITHOUT_TORCH}", err=True)
    print_ledger(rows, json, closing(rows, saved))
    if can_report():
        command_line = f"georecall reproduce --preset {preset}"
        written = {"command": command_line, **provenance("cpu"), "Coq proofs": str(read_stamp())}
        write_report(rows, report, results, written)
        echo(f"The report: {report}")
    else:
        click.echo("No report is written: pip install 'geometric-recall[figures]'", err=True)
    sys.exit(0 if all_hold(rows) else 1)


@click.command(short_help="Draw the figures as PDF and PNG.")
@click.argument("names", nargs=-1, metavar="[NAME ...]")
@results_option
@directory_option("--out", "The directory to write to.", "*.pdf", "*.png", default="figures", show_default=True)
@list_option("Explain the figures instead: caption, data, command.", _figures)
def figures(names: tuple[str, ...], results: Path, out: Path) -> None:
    """Draw the figures (all, unless named) as PDF and PNG from saved results."""
    from paper_figs import catalogue

    for path in catalogue.figures(names, results, out):
        echo(str(path))
