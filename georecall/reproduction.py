"""Commands about everything at once: verify and measure at small sizes, draw the figures."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from georecall.options import check_outputs, checks_of_preset, file_option, preset_option, print_ledger, store_option

results_option = file_option(
    "--results", "The saved results to draw from.", default="paper_figs/results", show_default=True
)


@click.command()
@preset_option
@store_option
@file_option("--json", "Write the ledger here, as JSON.")
@file_option("--report", "The page to write (HTML).", default="report.html", show_default=True)
@results_option
def reproduce(preset: str, store: Path, json: Path | None, report: Path, results: Path) -> None:
    """Verify every claim, then train the small models and measure (where PyTorch is installed), and write it all on
    one page: ledger, bounds, figures.

    Exit status 0 only if every claim holds; what is measured is reported and decides nothing.
    """
    from empirical import command
    from empirical.mechanism import command as mechanism
    from empirical.provenance import provenance
    from paper_figs.report import can_report, write_report
    from paper_figs.verdicts import saved_rows
    from theory.ledger import all_hold, run_all_checks

    check_outputs(json, report)
    if not results.is_dir():
        click.echo(f"There are no saved results in {results}: most figures will be missing.", err=True)
    saved_rows(results)  # what cannot be read is refused before the minutes that follow
    rows = run_all_checks(checks_of_preset((), preset, seed=0))
    if command.can_train():
        with command.counting("runs") as show:
            compared = command.compare("quick", store, progress=show)
        click.echo(command.text(compared), nl=False)
        with command.counting("models") as show:
            studied = mechanism.mechanism((), "quick", store, progress=show)
        click.echo(mechanism.text(studied), nl=False)
        rows += command.rows(compared) + mechanism.rows(studied)
    else:
        click.echo(f"Nothing is trained: {command.WITHOUT_TORCH}", err=True)
    print_ledger(rows, json)
    if can_report():
        written = {"command": f"georecall reproduce --preset {preset}", **provenance("cpu")}
        write_report(rows, report, results, written)
        click.echo(f"The report: {report}")
    else:
        click.echo("No report is written: pip install 'geometric-recall[figures]'", err=True)
    sys.exit(0 if all_hold(rows) else 1)


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME ...]")
@results_option
@file_option("--out", "The directory to write to.", default="figures", show_default=True)
@click.option("--list", "listed", is_flag=True, help="Explain the figures instead: caption, data, command.")
def figures(names: tuple[str, ...], results: Path, out: Path, listed: bool) -> None:
    """Draw the figures (all, unless named) as PDF and PNG from saved results."""
    from paper_figs import catalogue

    if listed:
        click.echo(catalogue.listing())
        return
    for path in catalogue.figures(names, results, out):
        click.echo(path)
