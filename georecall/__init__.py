"""The command line, and the vocabulary of the library: a thin package that knows all others and holds no logic.

`import georecall` gives what is in `georecall.library` (`FactSystem`, `construct`, `verify`, `certify`, `count`,
`bounds` and their like), loaded when it is asked for. Heavy packages are imported inside the commands, so that
`georecall --help` answers at once. How a command ends is in `georecall.statuses`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from georecall import experiments, options, reproduction, statuses, verification

if TYPE_CHECKING:
    from georecall.library import (
        Block,
        FactSystem,
        InputError,
        Task,
        Transformer,
        bounds,
        certify,
        construct,
        count,
        task_of,
        verify,
    )

__all__ = [
    "Block",
    "FactSystem",
    "InputError",
    "Task",
    "Transformer",
    "bounds",
    "certify",
    "construct",
    "count",
    "main",
    "task_of",
    "verify",
]


def __getattr__(name: str) -> Any:
    """What is in `georecall.library`, loaded when it is first asked for."""
    if name in __all__:
        from georecall import library

        return getattr(library, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Program(click.Group):
    """The group of all commands, which ends with one of the exit statuses of `georecall.statuses`."""

    def main(self, *arguments: Any, **extra: Any) -> Any:
        """Run the command and exit, whatever comes of it; `standalone_mode=False` is click's own, without that."""
        run = partial(super().main, *arguments, **{**extra, "standalone_mode": False})
        return statuses.exit_with(run) if extra.get("standalone_mode", True) else run()

    # click itself takes a reader that has gone for status 1; both of these may print.
    def make_context(self, *arguments: Any, **extra: Any) -> click.Context:
        """Read the options."""
        with statuses.reader_may_go():
            return super().make_context(*arguments, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with statuses.reader_may_go():
            return super().invoke(ctx)


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]}, epilog=statuses.IN_SHORT)
@click.version_option(package_name="geometric-recall")
def main() -> None:
    """Verify the theory of geometric factual recall in transformers."""
    options.show_notices()


for command in (
    verification.verify,
    verification.construct,
    verification.ask,
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
