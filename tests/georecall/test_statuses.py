"""Exit statuses: a crash is never a verdict, and every end of a command has its own number and one line."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

import georecall
from georecall import Program
from theory import InputError
from theory.errors import MOST_CHARACTERS

ROOT = Path(georecall.__file__).resolve().parent.parent


def ended_by(error: BaseException | None, status: int = 0) -> Result:
    @click.group(cls=Program)
    def group() -> None:
        """A group with one command."""

    @group.command()
    def command() -> None:
        """Raise, or exit."""
        if error is not None:
            raise error
        sys.exit(status)

    return CliRunner().invoke(group, ["command"])


@pytest.mark.parametrize("status", [0, 1])
def test_verdicts_are_passed_on(status: int) -> None:
    assert ended_by(None, status).exit_code == status


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (InputError("facts.npy: a line\nof two"), 2, "georecall: facts.npy: a line\\nof two"),
        (MemoryError(), 2, "more memory than there is"),
        (OSError(28, "No space left on device"), 2, "No space left on device"),
        (PermissionError(13, "Permission denied", "x\n.npy"), 2, "cannot read or write x\\n.npy: Permission denied"),
        (ModuleNotFoundError("No module named 'z3'", name="z3"), 2, "the package z3 cannot be imported"),
        (IndexError("list index out of range"), 70, "a fault of this program, which says nothing about any claim"),
        (RecursionError("too deep"), 70, "RecursionError at test_statuses.py"),
        (AssertionError(), 70, "a fault of this program"),
        (EOFError("no more"), 70, "a fault of this program"),
        (KeyboardInterrupt(), 130, "georecall: interrupted"),
        (BrokenPipeError(32, "Broken pipe"), 141, ""),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_every_end_has_its_status_and_one_line(error: BaseException, status: int, line: str) -> None:
    result = ended_by(error)
    assert result.exit_code == status
    assert line in result.stderr
    assert len(result.stderr.strip().splitlines()) == (1 if line else 0)
    assert "Traceback" not in result.stderr


def test_the_traceback_is_shown_to_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEORECALL_TRACEBACK", "1")
    result = ended_by(IndexError("list index out of range"))
    assert result.exit_code == 70
    assert "Traceback" in result.stderr


def test_long_lines_lose_their_middle_and_control_characters() -> None:
    error = str(InputError("\x1b[31m" + "a" * 5000 + "end\r\n"))
    assert len(error) < MOST_CHARACTERS + 100
    assert error.startswith("\\x1b[31maaa")
    assert error.endswith("end\\r\\n")


def georecall_process(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "georecall", *arguments], stderr=subprocess.PIPE, text=True, cwd=ROOT, **options
    )


def test_a_full_disk_is_no_success() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "w") as full:
        process = georecall_process("bounds", "--relations", "2", stdout=full)
        _, errors = process.communicate()
    assert process.returncode == 2
    assert "No space left on device" in errors


def test_a_reader_that_has_gone_is_no_refutation() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = georecall_process("verify", "T1", "--entities", "5", "--relations", "2", stdout=writing)
    os.close(writing)
    _, errors = process.communicate()
    assert process.returncode == 141
    assert "Traceback" not in errors


@pytest.mark.parametrize("bad", [["count", "--entities", "0"], ["verify", "--weights", "none", "--system", "none"]])
def test_bad_input_is_no_refutation_where_nobody_can_be_told(bad: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    told = [writing] if not os.path.exists("/dev/full") else [writing, os.open("/dev/full", os.O_WRONLY)]
    for errors in told:
        process = subprocess.run([sys.executable, "-m", "georecall", *bad], stderr=errors, cwd=ROOT, check=False)
        os.close(errors)
        assert process.returncode == 2


COUNT = "count relabelled --entities 6 --relations 2"


@pytest.mark.parametrize(
    ("command", "status", "printed", "told"),
    [
        (f"{COUNT} <&- 2>&-", 0, "901\n", ""),
        (f"{COUNT} --entities 0 <&- 2>&-", 2, "", ""),
        (f"{COUNT} >&-", 2, "", "georecall: standard output is closed: lead it to a file, or to /dev/null\n"),
        (f"{COUNT} >&- 2>&-", 2, "", ""),
    ],
)
def test_a_stream_that_is_closed_is_no_fault(command: str, status: int, printed: str, told: str) -> None:
    process = subprocess.run(
        f"{shlex.quote(sys.executable)} -m georecall {command}",
        shell=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert (process.returncode, process.stdout, process.stderr) == (status, printed, told)


SLEEPING = """
import time, georecall, theory.statements.registry
def sleep(claims):
    print("at work", flush=True)
    time.sleep(60)
theory.statements.registry.in_order = sleep
georecall.main(["verify"])
"""


def test_an_interruption_is_no_refutation() -> None:
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", SLEEPING], stdout=pipe, stderr=pipe, text=True, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == "at work\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130, errors
    assert errors.splitlines()[-1] == "georecall: interrupted"
    assert "Traceback" not in errors


def test_what_a_terminal_cannot_show_ends_nothing() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    process = georecall_process("bounds", "--relations", "2", stdout=subprocess.DEVNULL, env=environment)
    _, errors = process.communicate()
    assert process.returncode == 0, errors


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1", "soon"])
def test_a_time_budget_is_a_number_of_seconds(seconds: str) -> None:
    result = CliRunner().invoke(georecall.main, ["compare", "--time-budget", seconds])
    assert result.exit_code == 2
    assert "--time-budget" in result.stderr


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_no_file_has_such_a_name(name: str) -> None:
    result = CliRunner().invoke(georecall.main, ["verify", "--weights", name, "--system", "x.npy"])
    assert result.exit_code == 2
    assert "is no name of a file" in result.stderr
