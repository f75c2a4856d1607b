"""`count` and `bounds`: what they print, what they write, and one line for bad input."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

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
from bounds.tables.command import Counted
from bounds.tables.dimensions import upper_rows
from bounds.tables.rows import BoundSetting
from theory.errors import InputError
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
        (["relabelled", "--entities", "4", "--relations", "3", "--check"], "681 (listing every object gives 681)"),
        (["labelled", "--entities", "10", "--relations", "1", "--digits", "4"], "6.5597 .. 6.5598"),
        (["labelled", "--entities", "1000000000000", "--relations", "1", "--digits", "1"],
         "11565705518103.1 .. 11565705518103.2"),
        (
            ["labelled", "--entities", "2", "--relations", "3", "--digits", "2", "--check"],
            "0.90 .. 0.91 (listing every object gives 8)",
        ),
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


def test_checks_say_how_many_sizes_they_took() -> None:
    # 1 to 40 have 158 divisors together (A006218), and there are five numbers of relations.
    coverage = {check.construction: check for check in checks_of_preset(["T1c", "T8"], "quick")}
    assert run_check(coverage["no gap"]).coverage.endswith(f"at {158 * 5} sizes")
    assert run_check(coverage["no errors"]).coverage.endswith(f"at {28 * 5} sizes")


@pytest.mark.parametrize(
    ("kind", "off", "status"),
    [
        ("exact", 0, "holds"), ("exact", 1, "fails"), ("exact", -1, "fails"),
        ("upper bound", 0, "holds"), ("upper bound", 1, "holds"), ("upper bound", -1, "fails"),
    ],
)  # fmt: skip
def test_a_count_of_answer_vectors_is_held_against_the_list(
    kind: str, off: int, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bounds.suite.checks._listable", lambda *sizes: sizes == (3, 2, 2))
    monkeypatch.setattr(
        "bounds.suite.checks.answer_vectors", lambda *sizes: Count(25 + off, kind, "planted")
    )  # T_2 = 25
    (check,) = checks_of_preset(["T2d"], "quick")
    assert run_check(check).status == status


def counted(**changes: Any) -> Counted:
    return replace(Counted("answer-vectors", 3, 2, 2, Count(25, "exact", "a formula"), None, 25), **changes)


@pytest.mark.parametrize(
    ("found", "agrees", "line"),
    [
        (counted(), True, "25 (listing every object gives 25)"),
        (counted(listed=24), False, "25 (but listing every object gives 24)"),
        (counted(listed=None), True, "25"),
        (
            counted(count=Count(30, "upper bound", "a sum")),
            True,
            "30 (an upper bound: a sum) (listing every object gives 25)",
        ),
        (
            counted(count=Count(25, "upper bound", "a sum")),
            True,
            "25 (an upper bound: a sum) (listing every object gives 25)",
        ),
        (
            counted(count=Count(24, "upper bound", "a sum")),
            False,
            "24 (an upper bound: a sum) (but listing every object gives 25)",
        ),
        (counted(logarithm=("1.39", "1.40")), True, "1.39 .. 1.40 (listing every object gives 25)"),
        (counted(count=None, logarithm=("1.40", "1.40"), listed=None), True, "1.40"),
    ],
)
def test_a_count_agrees_with_the_list_or_is_above_it(found: Counted, agrees: bool, line: str) -> None:
    assert (found.agrees, found.line) == (agrees, line)


def test_a_count_is_json_with_digits_as_text() -> None:
    assert json.loads(counted().as_json()) == {
        "kind": "answer-vectors", "entities": 3, "relations": 2, "hops": 2, "count": "25", "exact": True,
        "method": "a formula", "log10": None, "listed": "25", "agrees": True,
    }  # fmt: skip
    bare = json.loads(counted(count=None, logarithm=("1.39", "1.40"), listed=None).as_json())
    assert (bare["count"], bare["exact"], bare["method"]) == (None, None, "logarithm of a factorial")
    assert (bare["log10"], bare["listed"], bare["agrees"]) == (["1.39", "1.40"], None, True)
    assert json.loads(counted(count=Count(30, "upper bound", "a sum")).as_json())["exact"] is False


def test_kinds_are_explained_in_one_column() -> None:
    width = max(map(len, KINDS))
    for line, name in zip(command.explanations(), KINDS, strict=True):
        assert line[: width + 2] == name.ljust(width + 2)
        assert line[width + 2] != " "


@pytest.mark.parametrize(
    ("option", "least", "most"), [("entities", 2, 10**12), ("relations", 1, 1000), ("hops", 1, 64), ("bits", 1, 10**6)]
)
def test_sizes_are_taken_up_to_their_limits(option: str, least: int, most: int) -> None:
    sizes = {"entities": "4", "relations": "2", "hops": "1", "bits": "1"}
    for size in (least, most):
        command.table(**(sizes | {option: str(size)}))
    for size in (least - 1, most + 1):
        with pytest.raises(InputError, match=f"{option} must be whole numbers from {least} to {most}"):
            command.table(**(sizes | {option: str(size)}))
    assert command.table(**sizes, shared_bits=str(10**30)).startswith("Embedding dimension\n")
    assert command.table(**sizes, depth=True).startswith("Capacity against depth\n")
    with pytest.raises(InputError, match="shared bits must be whole numbers"):
        command.table(**sizes, shared_bits=str(10**30 + 1))


def test_rows_of_depth_are_counted_before_they_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row for every number of tokens that a stride of k hops gives: 1, 2, 3, 4, 6, 12 of 12, and 1, 2 of 2."""
    monkeypatch.setattr(command, "MOST_ROWS", 2 * 3 * (6 + 2))
    sizes = {"entities": "4,8", "relations": "1:3", "bits": "1", "depth": True}
    rows = json.loads(command.table(**sizes, hops="2,12", layout="json"))
    assert len(rows) == 48
    with pytest.raises(InputError, match="54 rows are too many for one table of depth; at most 48 are computed"):
        command.table(**sizes, hops="1,2,12")


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


def test_a_bound_above_the_answers_of_all_matchings_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    _, check = checks_of_preset(["T9"], "quick")
    assert run_check(check).status == "holds"
    monkeypatch.setattr("bounds.suite.checks.answers_of_all_matchings", lambda *a: 2)
    row = run_check(check)
    assert (row.status, row.detail) == ("fails", "N = 4, R = 1, k = 3, 1 roots: 2 vectors of answers")
