"""For the reference: docstrings are shown as they are written, so that Markdown takes no formula for a mark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import griffe

from theory.statements.document import without_marks


class PlainDocstrings(griffe.Extension):
    """Escapes the text of every docstring; code, between backticks or indented by four spaces, stays."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for every object once it has been read."""
        if obj.docstring is not None:
            obj.docstring.value = "\n".join(_lines(obj.docstring.value.split("\n")))


def _lines(lines: list[str]) -> Iterator[str]:
    """The lines, with examples, from >>> to the next empty line, as code."""
    example = False
    for line in lines:
        example = line.startswith(">>>") or (example and bool(line))
        yield f"    {line}" if example else _line(line)


def _line(line: str) -> str:
    if line.startswith("    "):
        return line
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(part if part.startswith("`") else without_marks(part).replace("[", r"\[") for part in parts)
