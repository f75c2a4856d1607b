"""`count` and `bounds`: what they print, what they write, and one line for bad input."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

import georecall
from bounds.counting.answer_vectors import Count
from bounds.counting.kinds import KINDS
from bounds.lower.dichotomy import fixed_readout
from bounds.suite.checks import CLAIMS, checks_of_preset
from bounds.tables import command
from bounds.tables.dimensions import BoundSetting, upper_rows
from theory.records.ledger import run_check


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(georecall.main, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["relabelled", "--entities", "6", "--relations", "2"], "901"),
        (["rooted", "--entities", "5", "--relations", "3"], "68641"),
        (["matchings", "--entities", "8", "--relations", "3"], "86"),
        (["matchings-simple", "--entities", "8", "--relations", "3"], "197820"),
        (["answer-vectors", "--entities", "5", "--relations", "3", "--hops", "2"], "205325"),
        (["relabelled", "--entities", "4", "--relations", "3", "--check"], "681"),
        (["labelled", "--entities", "10", "--relations", "1", "--digits", "4"], "6.5597 .. 6.5598"),
        (["labelled", "--entities", "1000000000000", "--relations", "1", "--digits", "1"],
         "11565705518103.1 .. 11565705518103.2"),
        (["labelled", "--entities", "2", "--relations", "3", "--digits", "2", "--check"], "0.90 .. 0.91"),
    ],
)  # fmt: skip
def test_count_prints_the_number_alone(arguments: list[str], line: str) -> None:
    result = run("count", *arguments)
    assert result.exit_code == 0
    assert result.output == f"{line}\n"


def test_huge_counts_are_printed_in_full() -> None:
    result = run("count", "relabelled", "--entities", "300", "--relations", "9")
    assert result.exit_code == 0
    assert len(result.output.strip()) > 4300
    assert result.output.strip().isdigit()


def test_count_writes_json(tmp_path: Path) -> None:
    path = tmp_path / "count.json"
    assert run("count", "connected", "--entities", "5", "--relations", "2", "--check", "--json", path).exit_code == 0
    found = json.loads(path.read_text())
    assert (found["count"], found["listed"], found["agrees"], found["exact"]) == ("11064", "11064", True, True)


def test_a_disagreement_is_said_and_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "exact_count", lambda *a: Count(44, "exact", "a wrong formula"))
    result = run("count", "relabelled", "--entities", "4", "--relations", "2", "--check")
    assert result.exit_code == 1
    assert result.output == "44 (but listing every object gives 43)\n"


def test_an_upper_bound_says_so() -> None:
    result = run("count", "answer-vectors", "--entities", "40", "--relations", "3", "--hops", "4")
    assert result.exit_code == 0
    assert "(an upper bound: " in result.output


def test_list_explains_every_kind() -> None:
    lines = run("count", "--list").output.splitlines()
    assert [line.split()[0] for line in lines] == list(KINDS)


def test_bounds_in_every_format(tmp_path: Path) -> None:
    arguments = ["bounds", "--entities", "64,100", "--relations", "2:3", "--hops", "1:2", "--bits", "1,2"]
    for layout in ("table", "markdown", "latex"):
        result = run(*arguments, "--format", layout)
        assert result.exit_code == 0
        assert "T2e" in result.output
    rows = json.loads(run(*arguments, "--format", "json").output)
    table = list(csv.DictReader(io.StringIO(run(*arguments, "--format", "csv").output)))
    assert len(rows) == len(table) > 2 * 2 * 2 * 2
    assert [str(row["claim"]) for row in rows] == [row["claim"] for row in table]
    path = tmp_path / "bounds.csv"
    assert run(*arguments, "--format", "csv", "--out", path).output == ""
    assert list(csv.DictReader(io.StringIO(path.read_text()))) == table


def test_depth_has_a_line_for_each_number_of_steps() -> None:
    sizes = ("--relations", "3", "--bits", "4", "--hops", "6")
    rows = json.loads(run("bounds", "--depth", *sizes, "--format", "json").output)
    assert [(row["steps"], row["stride"], row["dimension"]) for row in rows] == [
        (1, 6, 3**6 * 3),
        (2, 3, 3**3 * 3 + 4),
        (3, 2, 3**2 * 3 + 4),
        (6, 1, 3 * 3 + 2),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["count"], "count needs a KIND, --entities and --relations"),
        (["count", "graphs", "--entities", "4", "--relations", "2"], "unknown kind 'graphs'"),
        (["count", "relabelled", "--entities", "0", "--relations", "2"], "0 is not in the range"),
        (["count", "relabelled", "--entities", "2.5", "--relations", "2"], "not a valid integer"),
        (["count", "relabelled", "--entities", "10", "--relations", "3", "--check"], "too many objects to list"),
        (["count", "relabelled", "--entities", str(10**9), "--relations", "3"], "relabelled"),
        (["count", "answer-vectors", "--entities", "4", "--relations", "2"], "needs a number of hops"),
        (["count", "matchings", "--entities", "5", "--relations", "3", "--digits", "2"], "0 has no logarithm"),
        (["bounds", "--relations", "5:2"], "the range '5:2' is empty"),
        (["bounds", "--relations", "0:2"], "relations"),
        (["bounds", "--entities", "-4"], "entities"),
        (["bounds", "--entities", "4.5"], "entities"),
        (["bounds", "--entities", str(10**13)], "entities"),
        (["bounds", "--hops", ""], "hops"),
        (["bounds", "--bits", "1,1"], "names a number twice"),
        (["bounds", "--shared-bits", "1,2"], "shared bits: one number is wanted"),
        (["bounds", "--error", "1.5"], "error rate must be below 1"),
        (["bounds", "--format", "word"], "format must be one of"),
        (["bounds", "--depth", "--error", "0.1"], "takes no error rate"),
        (["bounds", "--entities", "64", "--relations", "2", "--out", "/nowhere/x.csv"], "cannot write"),
    ],
)
def test_bad_input_gets_one_line_and_status_2(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output


@settings(max_examples=40)
@given(
    st.integers(2, 5000),
    st.integers(1, 12),
    st.integers(1, 5),
    st.integers(1, 16),
    st.sampled_from(["fixed", "learned", "tied"]),
)
def test_constructions_never_beat_a_bound(entities: int, relations: int, hops: int, bits: int, readout: str) -> None:
    for row in upper_rows(BoundSetting(entities, relations, hops, bits, readout=readout)):
        assert row.ratio is None or row.ratio >= 1, row


def test_every_lower_bound_has_checks_that_hold() -> None:
    checks = checks_of_preset(CLAIMS, "quick")
    assert {check.claim for check in checks} == set(CLAIMS)
    for check in checks:
        row = run_check(check)
        assert row.status == "holds", row


def test_checks_say_no(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bounds.suite.checks.evaluate", lambda *a, **k: 0)
    monkeypatch.setattr("bounds.suite.checks.brute_force", lambda *a: 10**9)
    monkeypatch.setattr("bounds.suite.checks.check_guessing", lambda *a: iter(()))
    monkeypatch.setattr("bounds.suite.checks.honest_chain", lambda n, r, prefixes: fixed_readout(n, r, 9))
    monkeypatch.setattr("bounds.suite.checks.relabelled", lambda n, r: 1)
    checks = checks_of_preset(["T1c", "T1e", "T2d", "T3c", "T8"], "quick")
    assert run_check(checks[1]).detail == "N = 2, R = 1: 2 classes are listed, but Burnside's lemma counts 1"
    failing = {check.claim: run_check(check) for check in reversed(checks)}
    assert {row.status for row in failing.values()} == {"fails"}
    assert failing["T8"].detail == "there was nothing to count"
