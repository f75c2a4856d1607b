"""A short fuzz of the command line finds nothing; and each kind of finding is found where it is planted."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'geometric-recall[empirical]'")

from constructions.suite import checks
from tests import fuzz_command_line
from tests.fuzz_arguments import Arguments
from tests.fuzz_command_line import Findings, Fuzz
from theory.records.ledger import Row


def kinds(findings: Findings) -> set[str]:
    return {kind for kind, *_ in findings.faults}


def test_a_short_fuzz_finds_nothing(tmp_path: Path) -> None:
    findings = Fuzz(tmp_path, seed=0).run(count=100, seconds=float("inf"))
    assert findings.faults == []
    assert findings.confirmed > 3
    assert sum(findings.statuses.values()) == 100
    assert "false holds: 0" in findings.table()


def of_models(fuzz: Fuzz, count: int, monkeypatch: pytest.MonkeyPatch) -> Findings:
    """A run in which every invocation verifies a model."""
    monkeypatch.setattr(Arguments, "made", Arguments.verify_model)
    return fuzz.run(count, 300)


def test_a_false_verdict_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_model = checks.check_model

    def credulous(*arguments: Any, **options: Any) -> list[Row]:
        return [replace(row, status="holds") for row in check_model(*arguments, **options)]

    monkeypatch.setattr(checks, "check_model", credulous)
    assert kinds(of_models(Fuzz(tmp_path, seed=0), 60, monkeypatch)) == {"false holds"}


def test_a_crash_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "load_facts", lambda path, several: [][0])
    assert "traceback" in kinds(of_models(Fuzz(tmp_path, seed=0), 5, monkeypatch))


def test_a_second_line_is_found() -> None:
    verdict_on = fuzz_command_line.verdict_on
    assert verdict_on(2, "", "georecall: one\n") is None
    assert verdict_on(2, "", "Usage: x\n\nError: one\n") is None
    for errors in ("georecall: one\ngeorecall: two\n", "georecall: one\n  more\n", ""):
        assert verdict_on(2, "", errors) == ("lines", errors)
    assert verdict_on(3, "", "") == ("status", "3: ")
    assert verdict_on(1, "Traceback (most recent call last)", "") == ("traceback", "")


def test_a_lost_input_and_a_part_of_a_file_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fuzz = Fuzz(tmp_path, seed=0)

    def careless(weights: Path, facts: Path, **_: Any) -> list[Row]:
        facts.write_text("lost")
        (tmp_path / "scratch" / ".new.json.x").write_text("half")
        return [Row("model", "m", "sampled", "fails", "all")]

    monkeypatch.setattr(checks, "check_model", careless)
    monkeypatch.setattr(Arguments, "file", lambda self, name: str(self.world[name]))
    assert kinds(of_models(fuzz, 5, monkeypatch)) >= {"overwritten", "left behind"}


def test_what_takes_too_long_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz_command_line, "SECONDS_EACH", 0.05)
    monkeypatch.setattr(checks, "load_facts", lambda path, several: time.sleep(30))
    assert kinds(of_models(Fuzz(tmp_path, seed=0), 2, monkeypatch)) == {"too long"}
