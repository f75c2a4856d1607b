"""How a command ends: what each exit status says, and the one line on stderr that goes with it.

A crash is never a verdict: 0 and 1 are given by the commands alone. Whatever else ends one has a status of its own.

0    every claim holds
1    a claim does not hold, or is undecided
2    the input, the machine or the installation is not what it should be; the line says what would be right
70   a fault of this program (EX_SOFTWARE of sysexits.h), which says nothing about any claim
130  interrupted (128 + SIGINT, as in a shell)
141  whoever reads the output has gone (128 + SIGPIPE)
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import click

from theory.errors import InputError, one_line

UNREADABLE, FAULT, INTERRUPTED, UNREAD = 2, 70, 130, 141
TRACEBACK = "GEORECALL_TRACEBACK"

IN_SHORT = (
    "Exit status: 0 every claim holds; 1 one does not, or is undecided; 2 the input is not what it should be; "
    f"{FAULT} a fault of this program, which says nothing about any claim ({TRACEBACK}=1 shows where); "
    f"{INTERRUPTED} interrupted; {UNREAD} the output's reader has gone."
)


def exit_with(run: Callable[[], Any]) -> NoReturn:
    """Run a command of click's (not in its standalone mode) and exit with its status, or with that of what ended it.

    All that was printed has been written by then, so that a full disk is not a success.
    """
    _replace_closed_streams()
    # A terminal that cannot show a character gets its number: the output of a check must not end it.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # Counts have more digits than Python prints unless told to. Foreign numbers are limited where they are read.
    sys.set_int_max_str_digits(0)
    try:
        if sys.stdout is None:
            raise InputError("standard output is closed: lead it to a file, or to /dev/null")
        try:
            status = run()
        except SystemExit as ended:
            status = ended.code
        with reader_may_go():
            sys.stdout.flush()
    except click.ClickException as error:  # click's own: a command or an option that is wrong
        status = error.exit_code
        _tell(error.show)
    except SystemExit as ended:
        status = ended.code
    except BaseException as error:
        status, line = _status_and_line(error)
        if os.environ.get(TRACEBACK):
            _tell(traceback.print_exception, error)
        _tell(click.echo, f"georecall: {one_line(line)}", err=True)
    sys.exit(status or 0)


def _replace_closed_streams() -> None:
    """Let standard input and error, where they are closed, lead nowhere: no file that is opened may get their number.

    Python has None for a stream that is closed. What would be printed on standard output has no other place.
    """
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115  (for as long as the process lives)
    if sys.stderr is None and sys.stdout is not None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _tell(show: Callable[..., object], *arguments: Any, **options: Any) -> None:
    """Print on standard error; where that cannot be written to, the status alone has to say it."""
    with contextlib.suppress(OSError):
        show(*arguments, **options)


@contextlib.contextmanager
def reader_may_go() -> Iterator[None]:
    """End with status 141 when whoever reads the output has gone, and let Python close it without failing once more."""
    try:
        yield
    except BrokenPipeError:
        with contextlib.suppress(OSError):  # a stream in memory, which has no number
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(UNREAD)


def _status_and_line(error: BaseException) -> tuple[int, str]:
    match error:
        case InputError():
            return UNREADABLE, str(error)
        case click.Abort(__cause__=KeyboardInterrupt()) | KeyboardInterrupt():
            return INTERRUPTED, "interrupted"
        case MemoryError():
            return UNREADABLE, "these sizes need more memory than there is: choose smaller ones"
        case ImportError():
            name = error.name or str(error)
            return UNREADABLE, f"the package {name} cannot be imported ({error}): install it, or the project anew"
        case OSError():
            where = error.filename if error.filename is not None else "the output or a file"
            return UNREADABLE, f"cannot read or write {where}: {error.strerror or error}"
    return FAULT, (
        f"a fault of this program, which says nothing about any claim: {type(error).__name__}"
        f"{_place(error)}: {error}; {TRACEBACK}=1 shows where it comes from"
    )


def _place(error: BaseException) -> str:
    """The file and line where the exception was raised, as " at exact.py:120"."""
    frames = traceback.extract_tb(error.__traceback__)
    return f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
