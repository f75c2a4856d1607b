"""`georecall reproduce` without training: the ledger, then the page; and what it refuses before it begins."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import georecall
from constructions.suite.presets import checks_of_preset
from empirical.comparison import command
from tests.helpers.places import RESULTS
from theory.records.ledger import Check, Row


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One theorem, nothing trained, and a folder of its own."""
    monkeypatch.setattr("georecall.reproduction.checks_of_preset", lambda *_, **__: checks_of_preset(["T7"], "quick"))
    monkeypatch.setattr(command, "can_train", lambda: False)
    monkeypatch.chdir(tmp_path)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(georecall.main, ["reproduce", *map(str, arguments)])


def test_the_ledger_comes_first_and_the_page_last(tmp_path: Path) -> None:
    pytest.importorskip("jinja2", reason="Jinja is not installed: pip install 'geometric-recall[figures]'")
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'geometric-recall[figures]'")
    found = run("--results", tmp_path / "none", "--json", "ledger.json")
    assert found.exit_code == 0, found.output
    assert found.stdout.index("T7: ") < found.stdout.index("The report: report.html")
    assert "There are no saved results" in found.stderr
    assert "Nothing is trained" in found.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"ledger.json", "report.html"}


def test_a_page_that_cannot_be_written_takes_no_ledger_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("paper_figs.report.can_report", lambda: False)
    found = run("--results", tmp_path, "--json", "ledger.json")
    assert found.exit_code == 0
    assert "T7: " in found.stdout
    assert "No report is written" in found.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"ledger.json"}


def test_a_ledger_may_lie_beside_the_results_and_not_on_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("georecall.reproduction.checks_of_preset", lambda *_, **__: pytest.fail("it was begun"))
    found = run("--results", tmp_path, "--json", "standard.json")
    assert (found.exit_code, found.stderr.count("\n")) == (2, 1)
    assert "would replace what" in found.stderr


def test_a_claim_that_fails_is_the_exit_status(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = Check("T7", "plain", "queries", lambda: Row("T7", "plain", "sampled", "fails", "nothing"))
    monkeypatch.setattr("georecall.reproduction.checks_of_preset", lambda *_, **__: [broken])
    monkeypatch.setattr("paper_figs.report.can_report", lambda: False)
    assert run("--results", tmp_path).exit_code == 1


def test_what_cannot_be_used_is_refused_before_anything_is_checked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("georecall.reproduction.checks_of_preset", lambda *_, **__: pytest.fail("it was begun"))
    (tmp_path / "standard.json").write_text("{}")
    for arguments, message in (
        (("--results", tmp_path), "it has no 'verdicts'"),
        (("--results", RESULTS, "--report", tmp_path), "it is a directory"),
        (("--results", RESULTS, "--json", "nowhere/ledger.json"), "there is no directory nowhere"),
    ):
        found = run(*arguments)
        assert found.exit_code == 2
        assert message in found.stderr
        assert found.stderr.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"standard.json"}
