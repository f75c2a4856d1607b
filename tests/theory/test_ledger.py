"""The ledger: margins of every size are told, and a refusal is never an empty ledger."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from constructions.suite import checks
from constructions.verification.result import Result
from constructions.weights import t1, t1b
from constructions.weights.catalogue import CATALOGUE, Setting
from theory import FactSystem, InputError, Task
from theory.records.console import (
    LEAST_COVERED,
    as_table,
    closing,
    least_width,
    output,
    print_rows,
    short,
    summary,
    terminal,
)
from theory.records.files import save_model, save_system
from theory.records.ledger import Row, to_json


@pytest.mark.parametrize(
    ("margin", "shown", "number"),
    [
        (None, "", None),
        (Fraction(2), "2", 2),
        (Fraction(0), "0", 0),
        (Fraction(1, 3), "0.3333", 1 / 3),
        (Fraction(10**15), "1e+15", 10**15),
        (Fraction(10**400), "1.000e+400", None),
        (Fraction(-(10**400), 3), "-3.333e+399", None),
        (Fraction(1, 10**400), "1e-400", 0.0),
    ],
)
def test_margins_of_every_size(margin: Fraction | None, shown: str, number: float | None) -> None:
    row = Row("model", "m", "sampled", "holds", "all", margin=margin)
    assert short(margin) == shown
    (found,) = json.loads(to_json([row]))
    assert found["margin"] == number
    assert ("margin_exact" in found) == (margin is not None)
    if margin is not None:
        assert Fraction(found["margin_exact"]) == margin


def test_names_of_files_are_shown_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    row = Row("model", "[red]\x1b[31m\nname", "sampled", "undecided", "[all]", detail="a\nb")
    terminal(width=200).print(as_table([row]))
    for line in summary([row]):
        assert line.isprintable()
    shown = capsys.readouterr().out
    assert "[red]\\x1b[31m\\nname" in shown
    assert "[all]" in shown


ROWS = [
    Row(
        "T1", "plain", "exhaustive queries", "holds", "all queries, all logits", 1000, 8, 1, None, None, 80, 80, 17_000
    ),
    Row(
        "T13",
        "T2 direct",
        "exhaustive queries",
        "holds",
        "every perturbation " * 12,
        12_345_678,
        3,
        margin=Fraction(1, 3),
    ),
    Row("T9", "families", "exhaustive systems", "fails", "every system listed", detail="N = 4: 3 is not 2"),
]


@pytest.mark.parametrize("width", [80, 100, 120, 150, 200, 300])
def test_nothing_is_cut_at_any_width(width: int, capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(ROWS, terminal(width=width), summary(ROWS))
    shown = capsys.readouterr().out
    assert "…" not in shown
    body, _, verdicts = shown.partition("T1: 1 of 1 checks hold")
    assert max(map(len, body.splitlines())) <= width
    words = " ".join(body.replace("│", " ").split())
    for row in ROWS:
        assert row.claim in words
        assert str(row.entities or "") in words
        assert row.construction in words
        assert row.rung in words
    assert words.count("perturbation") == 12
    assert ("Ledger" in body) == (width > 120)
    assert verdicts.splitlines()[-1].endswith("fails: N = 4: 3 is not 2")


def test_a_table_leaves_room_for_what_was_covered() -> None:
    console = terminal(width=300)
    least = least_width(as_table(ROWS), console)
    assert least == least_width(as_table([replace(row, coverage="x") for row in ROWS]), console)
    assert LEAST_COVERED >= 30


@pytest.mark.parametrize(("columns", "width"), [("97", 97), ("", 160), ("wide", 160), (None, 160)])
def test_a_pipe_is_as_wide_as_columns_says(columns: str | None, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    assert output().width == width


def test_what_is_measured_is_counted_apart() -> None:
    rows = [
        Row("E1", "capacity", "measured", "fails", "x"),
        Row("E1", "again", "measured", "holds", "x"),
        Row("T1", "plain", "measured", "holds", "float32"),
        Row("T1", "plain", "certificate", "holds", "x"),
    ]
    first, second, third = summary(rows)
    assert first == "E1: measured: 1 of 2 hold"
    assert second == "T1: 1 of 1 checks hold; stands on: certificate; measured: 1 of 1 hold"
    assert third.startswith("E1 (capacity), measured: fails")


def test_a_run_of_everything_ends_with_what_is_known() -> None:
    measured = Row("E1", "capacity", "measured", "fails", "quick")
    saved = Row("E1", "saved: standard.json", "measured", "holds", "d* grows: supported (a = 1)")
    lines = closing([*ROWS[:2], measured], [saved])
    assert lines[0] == "What is proved and checked:"
    assert lines[1].startswith("T1: 1 of 1 checks hold; stands on: exhaustive queries")
    assert "E1, supported: d* grows: supported (a = 1)" in lines
    assert lines[-1] == "What was measured just now, 1 rows, is too small to decide anything: the report has it."
    assert not any("quick" in line for line in lines)
    failing = closing(ROWS, [])
    assert failing[:2] == [
        "Not everything holds:",
        "T9 (families), exhaustive systems: fails: N = 4: 3 is not 2",
    ]
    assert not any("larger studies" in line or "measured" in line for line in failing)


@pytest.mark.parametrize("takes_fractions", [True, False])
def test_fractions_too_many_to_list_are_certified_or_refused(
    takes_fractions: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never an empty ledger, which would end with status 1."""

    def certify(*arguments: Any) -> Result:
        if not takes_fractions:
            raise InputError("it takes integers")
        return Result("holds", 10, Fraction(1, 2))

    system = FactSystem.random(5, 2)
    weights, facts = tmp_path / "m.safetensors", tmp_path / "g.npy"
    save_model(t1b.construct_circle(system), Task(), weights)
    save_system(system, facts)
    monkeypatch.setattr(checks, "MOST_LOGITS", 0)
    monkeypatch.setattr(checks, "certify", certify)
    if takes_fractions:
        row, *_ = checks.check_model(weights, facts, rational=True)
        assert (row.rung, row.status, row.queries) == ("certificate", "holds", 10)
    else:
        with pytest.raises(InputError, match="it takes integers"):
            checks.check_model(weights, facts, rational=True)


def test_softmax_with_float_weights_is_judged(tmp_path: Path) -> None:
    entry = next(each for each in CATALOGUE if "softmax" in each.name)
    system, setting = FactSystem.random(4, 2), Setting(2, 1, 1)
    model = entry.build(system, setting)
    scaled = replace(model, W_U=model.W_U * 0.3, b_U=model.b_U * 0.3)
    weights, facts = tmp_path / "m.safetensors", tmp_path / "g.npy"
    save_model(scaled, entry.task(setting), weights)
    save_system(system, facts)
    row, *_ = checks.check_model(weights, facts, rational=False)
    assert (row.rung, row.status) == ("exhaustive queries", "holds")


@pytest.mark.parametrize("name", ["hops", "stride"])
def test_more_hops_than_can_be_written_out_are_refused(name: str) -> None:
    """2^(10^12) words would be counted for ever."""
    with pytest.raises(InputError, match=f"{name} is 1000000000000; at most 10000 can be built"):
        Setting(**{name: 10**12})


@pytest.mark.parametrize("maps", [False, True])
def test_facts_that_are_no_bijections_are_told(maps: bool, tmp_path: Path) -> None:
    system = FactSystem.random(9, 2, maps=maps)
    weights, facts = tmp_path / "m.safetensors", tmp_path / "g.json"
    save_model(t1.construct(system), Task(), weights)
    save_system(system, facts)
    for row in checks.check_model(weights, facts, rational=False):
        assert row.status == "holds"
        assert ("not all relations are bijections" in row.coverage) == maps
