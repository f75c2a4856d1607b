"""The code blocks of a Markdown page: found, run in order in one folder, and their output compared with the page's."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import shlex
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

import georecall
from tests.helpers.places import ROOT

LANGUAGES = {"python", "console", "text", "json"}

# A command whose comment has one of these words is parsed and not run, and so is Python whose first line is such a
# comment; the page shows the comment.
NOT_RUN = re.compile(r"\b(minutes?|hours?|index|store|GPUs?|cluster)\b")


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, and the line on which its text begins."""

    language: str
    text: str
    line: int


def blocks(page: str) -> list[Block]:
    """Every fenced block, in order."""
    found = re.finditer(r"^```(\w*)[^\n]*\n(.*?)^```$", page, flags=re.M | re.S)
    return [Block(each[1], each[2], page[: each.start()].count("\n") + 2) for each in found]


def run_page(path: Path) -> list[str]:
    """Run every block of a page in the current folder; what is not as the page says, a line each."""
    faults: list[str] = []
    names: dict[str, Any] = {"__name__": "__main__"}
    found = blocks(path.read_text(encoding="utf-8"))
    for number, block in enumerate(found):
        following = found[number + 1] if number + 1 < len(found) else None
        place = f"{path.name}:{block.line}"
        if block.language not in LANGUAGES:
            faults.append(f"{place}: no language that the tests know: {block.language!r}")
        if block.language not in ("python", "console"):
            continue
        shown = following.text if following is not None and following.language == "text" else None
        if block.language == "python" and _is_long(block.text):
            imports = [each for each in ast.parse(block.text).body if isinstance(each, ast.Import | ast.ImportFrom)]
            run_python("\n".join(map(ast.unparse, imports)), place, names)
        elif block.language == "python":
            printed = run_python(block.text, place, names)
            faults += _compare(place, printed, shown if shown is not None else expected_by_comments(block.text))
        else:
            printed, failed = run_commands(block.text, place)
            faults += failed + (_compare(place, printed, shown) if shown is not None else [])
    return faults


def _is_long(code: str) -> bool:
    """Whether the first line is a comment that says so; then only its imports are tried."""
    return code.startswith("#") and bool(NOT_RUN.search(code.partition("\n")[0]))


def run_python(code: str, place: str, names: dict[str, Any]) -> str:
    """What the code prints, run on top of `names`."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, place, "exec"), names)
    return printed.getvalue()


def expected_by_comments(code: str) -> str:
    """The output that comments promise: one line for each line with a `print` and a comment."""
    return "".join(f"{each}\n" for each in re.findall(r"^\s*print\(.*\)  # (.+)$", code, flags=re.M))


def run_commands(text: str, place: str) -> tuple[str, list[str]]:
    """What the commands print, and a line for each that is wrong: its options, or its exit status."""
    printed, faults = "", []
    for line in filter(None, map(str.strip, text.splitlines())):
        command, _, comment = line.partition(" #")
        words = shlex.split(command)
        check = PROGRAMS.get(words[0])
        if check is None:
            faults.append(f"{place}: {words[0]} is no program that the tests know")
            continue
        try:
            check(words[1:])
        except (AssertionError, click.ClickException, click.exceptions.Exit) as error:
            faults.append(f"{place}: {command}: {error}")
            continue
        if words[0] != "georecall" or NOT_RUN.search(comment):
            continue
        run = CliRunner().invoke(georecall.main, words[1:])
        promised = re.search(r"exit status (\d)", comment)
        if run.exit_code != (int(promised[1]) if promised else 0):
            faults.append(f"{place}: {command}: exit status {run.exit_code}: {run.output[-500:]}{run.exception or ''}")
        printed += run.stdout
    return printed, faults


def _compare(place: str, printed: str, shown: str) -> list[str]:
    """Nothing if the output is what is shown; a line "…" stands for any number of lines."""
    lines = [re.escape(line.rstrip()) + r"\n" if line.strip() != "…" else r"(?:.*\n)*" for line in shown.splitlines()]
    actual = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
    return [] if re.fullmatch("".join(lines), actual) else [f"{place}: it prints {actual!r}, the page says {shown!r}"]


def check_georecall(words: list[str]) -> None:
    """A ClickException or Exit unless the command exists and takes these options. Nothing is run but an option that
    prints and ends, as --list does.
    """
    command: click.Command = georecall.main
    context = click.Context(command, info_name="georecall")
    while isinstance(command, click.Group):
        name, found, words = command.resolve_command(context, words)
        assert name is not None
        assert found is not None
        try:
            command, context = found, found.make_context(name, list(words), parent=context)
        except click.exceptions.Exit as ended:
            if ended.exit_code:
                raise
            return
        words = [*context._protected_args, *context.args] if isinstance(command, click.Group) else []


def check_pip(words: list[str]) -> None:
    """The project itself, with extras that it has, or a package that an extra names."""
    (target,) = [word for word in words if not word.startswith("-") and word != "install"]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert words[0] == "install", f"pip {words[0]}"
    if target in [package for extra in extras.values() for package in extra]:
        return
    match = re.fullmatch(r"\.(?:\[([\w,-]+)\])?", target)
    assert match, f"{target} is not the project"
    unknown = {*filter(None, (match[1] or "").split(","))} - {*extras}
    assert not unknown, f"there is no extra {unknown}"


def check_make(words: list[str]) -> None:
    """Targets that the Makefile has."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for word in words:
        assert "=" in word or re.search(rf"^{re.escape(word)}:", makefile, flags=re.M), f"there is no target {word}"


def check_ray(words: list[str]) -> None:
    """Only what starts a cluster: Ray's own options are Ray's."""
    assert words == ["start", "--head"], "another command of Ray"


def check_python(words: list[str]) -> None:
    """A module of the project or a file in it; or pytest on a file that exists."""
    if words[:2] == ["-m", "pytest"]:
        tests = [word for before, word in pairwise(words) if not word.startswith("-") and before != "-m"]
        assert all((ROOT / word).exists() for word in tests), "there is no such test"
    elif words[0] == "-m":
        assert (ROOT / (words[1].replace(".", "/") + ".py")).is_file() or words[1] == "build", "there is no such module"
    else:
        assert (ROOT / words[0]).is_file(), f"there is no {words[0]}"


PROGRAMS: dict[str, Callable[[list[str]], None]] = {
    "georecall": check_georecall,
    "make": check_make,
    "pip": check_pip,
    "python": check_python,
    "ray": check_ray,
}
