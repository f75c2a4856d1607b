"""The command line: a thin package that knows all others and holds no logic.

Heavy packages are imported inside the commands, so that `georecall --help` answers at once. How a command ends is in
`georecall.statuses`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from georecall import experiments, reproduction, statuses, verification


class Program(click.Group):
    """The group of all commands, which ends with one of the exit statuses of `georecall.statuses`."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Run the command and exit, whatever comes of it; `standalone_mode=False` is click's own, without that."""
        run = partial(super().main, *arguments, **{**options, "standalone_mode": False})
        return statuses.exit_with(run) if options.get("standalone_mode", True) else run()

    # click itself takes a reader that has gone for status 1; both of these may print.
    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Read the options."""
        with statuses.reader_may_go():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with statuses.reader_may_go():
            return super().invoke(ctx)


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]}, epilog=statuses.IN_SHORT)
@click.version_option(package_name="geometric-recall")
def main() -> None:
    """Verify the theory of geometric factual recall in transformers."""


for command in (
    verification.verify,
    verification.construct,
    verification.count,
    verification.bounds,
    verification.campaign,
    experiments.compare,
    experiments.mechanism,
    experiments.probe,
    experiments.runs,
    reproduction.reproduce,
    reproduction.figures,
):
    main.add_command(command)
