"""Verdicts of saved results as rows of the ledger: the real files, and files that are not what their command writes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from paper_figs.judged_again import judged_again, main
from paper_figs.verdicts import saved_rows
from tests.helpers.places import RESULTS
from theory import InputError


def condition(claim: str, name: str, status: str, known: bool | None = None) -> dict[str, Any]:
    return {"claim": claim, "condition": name, "status": status, "as known": known}


def rows_of(verdicts: list[dict[str, Any]], folder: Path) -> dict[str, tuple[str, str]]:
    """Status and coverage, by check, of a study of the mechanism."""
    (folder / "mechanism.json").write_text(json.dumps({"verdicts": verdicts}), encoding="utf-8")
    return {row.construction: (row.status, row.coverage) for row in saved_rows(folder)}


def test_every_saved_file_brings_its_verdicts() -> None:
    rows = saved_rows(RESULTS)
    assert {row.rung for row in rows} == {"measured"}
    for name in ("standard.json", "smollm2.json"):
        saved = json.loads((RESULTS / name).read_text(encoding="utf-8"))["verdicts"]
        own = [row for row in rows if row.construction == f"saved: {name}"]
        assert [row.claim for row in own] == [each["claim"] for each in saved]
        said = Counter(each["status"] for each in saved)
        told = Counter(row.status for row in own)
        assert (told["holds"], told["fails"]) == (said["supported"], said["not supported"])
        assert all(each["statement"] in row.coverage for each, row in zip(saved, own, strict=True))
    assert {row.claim for row in rows} >= {"E1", "E2", "E3", "E4", "E5", "E6", "E7", "E8"}


def test_a_study_says_where_a_claim_is_supported(tmp_path: Path) -> None:
    built = [condition("E5", "T1", "supported", True), condition("E5", "T2b", "not supported", True)]
    mixed = [condition("E5", "wide", "supported"), condition("E5", "narrow", "not supported"), *built]
    found = rows_of(mixed, tmp_path)
    status, coverage = found["saved: mechanism.json"]
    assert status == "undecided"
    assert coverage == "1 supported, 1 not supported, 0 undecided of 2 conditions; supported: wide"
    assert found["saved: mechanism.json, constructions"][0] == "holds"
    assert rows_of([mixed[1], *built], tmp_path)["saved: mechanism.json"][0] == "fails"
    assert rows_of([mixed[0], *built], tmp_path)["saved: mechanism.json"][0] == "holds"
    wrong = condition("E5", "T2b", "supported", False)
    assert rows_of([mixed[0], built[0], wrong], tmp_path)["saved: mechanism.json, constructions"][0] == "fails"


def test_without_results_there_is_no_row(tmp_path: Path) -> None:
    assert saved_rows(tmp_path) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("{}", "it has no 'verdicts'"),
        ('{"verdicts": [{"claim": "E1"}]}', "it has no 'status'"),
        ('{"verdicts": [{"claim": "E1", "status": "proved"}]}', "a verdict with the status 'proved'"),
        ('{"verdicts": [{"claim": "E1", "status": "supported"}]}', "it has no 'numbers'"),
    ],
)
def test_a_foreign_file_is_one_line_with_the_command_that_makes_it(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "standard.json").write_text(text)
    with pytest.raises(InputError, match=message) as refused:
        saved_rows(tmp_path)
    assert "georecall compare --preset standard" in str(refused.value)


def test_the_committed_verdicts_are_those_of_the_rules_on_the_committed_thresholds() -> None:
    """Nothing is typed by hand, and no rule changes without its verdicts."""
    committed = json.loads((RESULTS / "standard.json").read_text(encoding="utf-8"))
    found = judged_again(committed)
    assert [(each["claim"], each["statement"], each["status"], each["rule"]) for each in found["verdicts"]] == [
        (each["claim"], each["statement"], each["status"], each["rule"]) for each in committed["verdicts"]
    ]
    for ours, theirs in zip(found["verdicts"], committed["verdicts"], strict=True):
        assert ours["numbers"] == pytest.approx(theirs["numbers"], rel=1e-6, abs=1e-12)
    assert [row["outcome"] for row in found["capacity_law"]] == [row["outcome"] for row in committed["capacity_law"]]


def test_a_saved_comparison_is_judged_again_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "standard.json"
    committed = json.loads((RESULTS / "standard.json").read_text(encoding="utf-8"))
    path.write_text(json.dumps(committed | {"verdicts": [], "capacity_law": []}), encoding="utf-8")
    assert main([str(path)]) == 0
    again = json.loads(path.read_text(encoding="utf-8"))
    assert again["thresholds"] == committed["thresholds"]
    assert [each["status"] for each in again["verdicts"]] == [each["status"] for each in committed["verdicts"]]
    assert again["judged by"]["geometric-recall"]
    path.write_text(json.dumps(committed | {"complete": False}), encoding="utf-8")
    assert main([str(path)]) == main([]) == main([str(tmp_path / "none.json")]) == 2
    assert "not complete" in capsys.readouterr().err
