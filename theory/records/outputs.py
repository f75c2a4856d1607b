"""What a run writes may not be what it reads, nor two of its outputs the same: known before the work begins.

A file is the same under every name: through symbolic links, as a hard link, by another path to its folder. An input may
be a directory, of which files with some names are read; an output may be one, into which files with some names are
written. Streams (`theory.records.writing.is_stream`) replace nothing; but only one output may go to standard output.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import combinations
from pathlib import Path

from theory.errors import InputError
from theory.records.writing import is_standard_output, is_stream


@dataclass(frozen=True)
class Place:
    """A file, or a directory of files with names like `names`, that an option reads or writes."""

    option: str
    path: Path
    names: tuple[str, ...] = ("*",)

    def __str__(self) -> str:
        return f"{self.option} {self.path}"


def require_apart(inputs: Sequence[Place], outputs: Sequence[Place]) -> None:
    """InputError if an output would replace an input, or another output."""
    for output in outputs:
        for read in inputs:
            if _overlap(output, read):
                raise InputError(f"{output} would replace what {read} reads: choose another name")
    for first, second in combinations(outputs, 2):
        if is_standard_output(first.path) and is_standard_output(second.path):
            raise InputError(f"{first.option} and {second.option} cannot both go to standard output")
        if _overlap(first, second):
            raise InputError(f"{first} and {second} would be written to one place: choose another name")


def _overlap(one: Place, other: Place) -> bool:
    """True iff they are one file or directory, or one is among the files of the other's directory."""
    if is_stream(one.path) or is_stream(other.path):
        return False
    return _same(one.path, other.path) or _holds(one, other) or _holds(other, one)


def _same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def _holds(directory: Place, file: Place) -> bool:
    """True iff the file is one of those that are read from, or written into, the directory or a folder below it."""
    inside = Path(os.path.realpath(directory.path)) in Path(os.path.realpath(file.path)).parents
    return inside and any(fnmatch(os.path.basename(os.path.realpath(file.path)), name) for name in directory.names)
