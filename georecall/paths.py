"""Types of parameters that are paths: what a command reads, and what it writes.

Each value registers itself, and is held against those before it, while the command line is parsed: so a command needs
no check of its own, and what cannot be written, or would replace what is read, is known before the work begins. Every
path is of one of these types; a test goes through all parameters of all commands.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from theory.records.outputs import Place, require_apart
from theory.records.writing import (
    STANDARD_OUTPUT,
    Kind,
    is_standard_output,
    require_writable,
    require_writable_directory,
)

READ, WRITTEN = f"{__name__}.read", f"{__name__}.written"


def _registered(ctx: click.Context | None, kind: str) -> list[Place]:
    """The places of a kind that the command line has named so far."""
    places: list[Place] = [] if ctx is None else ctx.meta.setdefault(kind, [])
    return places


def _register(ctx: click.Context | None, kind: str, *places: Place) -> None:
    """Add the places, and refuse them where they and those before do not go together."""
    if ctx is not None and not ctx.resilient_parsing:
        _registered(ctx, kind).extend(places)
        require_apart(_registered(ctx, READ), _registered(ctx, WRITTEN))


def _name(param: click.Parameter | None) -> str:
    if param is None:
        return "the path"
    return max(param.opts, key=len) if isinstance(param, click.Option) else param.human_readable_name


class Named(click.Path):
    """A path as a pathlib.Path; a name that no file can have is a usage error."""

    name = "path"

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def named(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path; fails for an empty name, and for one with a NUL."""
        if str(value) == "" or "\0" in str(value):
            self.fail(f"{value!r} is no name of a file", param, ctx)
        return Path(value)


class Read(Named):
    """A file, or a directory of files with these `names`, that is read; `beside` gives what is read along with it."""

    def __init__(self, names: tuple[str, ...] = ("*",), beside: Callable[[Path], Iterable[Path]] = lambda path: ()):
        super().__init__()
        self.names, self.beside = names, beside

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path."""
        path = self.named(value, param, ctx)
        places = [Place(_name(param), each, self.names) for each in (path, *self.beside(path))]
        _register(ctx, READ, *places)
        return path


class ReadOrNamed(Read):
    """The same, or the name of something that `find` knows, or nobody: kept as the text that it is."""

    def __init__(
        self,
        names: tuple[str, ...] = ("*",),
        beside: Callable[[Path], Iterable[Path]] = lambda path: (),
        find: Callable[[str], Path | None] = lambda name: None,
    ):
        super().__init__(names, beside)
        self.find = find

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The text."""
        path = value if os.path.exists(value) else self.find(value)
        if path is not None:
            super().convert(path, param, ctx)
        return value


class Write(Named):
    """A file that is written, of a kind (of any, unless given); "-" is standard output."""

    def __init__(self, kind: Kind | None = None):
        super().__init__()
        self.kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path, if it can be written."""
        path = STANDARD_OUTPUT if value == "-" else self.named(value, param, ctx)
        if ctx is None or not ctx.resilient_parsing:
            if self.kind is not None:
                self.kind.require(path)
            _register(ctx, WRITTEN, Place(_name(param), path))
            require_writable(path)
        return path


class WriteInto(Named):
    """A directory into which files with these names are written; it is made where it is not there."""

    def __init__(self, *names: str):
        super().__init__()
        self.names = names

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path, if files can be written into it."""
        path = self.named(value, param, ctx)
        if ctx is None or not ctx.resilient_parsing:
            _register(ctx, WRITTEN, Place(_name(param), path, self.names))
            require_writable_directory(path)
        return path


def echo(text: str, *, nl: bool = True) -> None:
    """Print for a person: on standard output, unless an output of this command goes there; then on stderr."""
    click.echo(text, nl=nl, err=prints_aside())


def prints_aside() -> bool:
    """True iff an output of the command under way goes to standard output, where nothing else may then be said."""
    return any(is_standard_output(place.path) for place in _registered(click.get_current_context(silent=True), WRITTEN))
