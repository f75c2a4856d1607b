"""The command that does everything at small sizes."""

from __future__ import annotations

from pathlib import Path

import click

from georecall.options import checks_of_preset, file_option, finish, preset_option, store_option


@click.command()
@preset_option
@store_option
@file_option("--json", "Write the ledger here, as JSON.")
def reproduce(preset: str, store: Path, json: Path | None) -> None:
    """Verify every claim, then train the small models and measure (where PyTorch is installed): the whole ledger.

    Exit status 0 only if every claim holds; what is measured is reported and decides nothing.
    """
    from empirical import command
    from theory.ledger import run_all_checks

    rows = run_all_checks(checks_of_preset((), preset, seed=0))
    if command.can_train():
        with command.counting_runs() as show:
            report = command.compare("quick", store, progress=show)
        click.echo(command.text(report), nl=False)
        rows += command.rows(report)
    else:
        click.echo(f"Nothing is trained: {command.WITHOUT_TORCH}", err=True)
    finish(rows, json)
