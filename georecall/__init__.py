"""The command line: a thin package that knows all others and holds no logic.

Heavy packages are imported inside the commands, so that `georecall --help` answers at once.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from georecall import experiments, options, reproduction, verification
from theory.errors import InputError


class ErrorsInOneLine(click.Group):
    """Bad input, and sizes beyond the memory, end with one line on stderr and exit status 2."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an InputError becomes its line."""
        try:
            return super().invoke(ctx)
        except InputError as error:
            message = str(error)
        except MemoryError:
            message = "these sizes need more memory than there is: choose smaller ones"
        click.echo(f"georecall: {message}", err=True)
        sys.exit(2)


@click.group(cls=ErrorsInOneLine, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="geometric-recall")
def main() -> None:
    """Verify the theory of geometric factual recall in transformers."""
    options.show_notices()


for command in (
    verification.verify,
    verification.construct,
    verification.count,
    verification.bounds,
    experiments.compare,
    experiments.mechanism,
    experiments.probe,
    experiments.runs,
    reproduction.reproduce,
    reproduction.figures,
):
    main.add_command(command)
