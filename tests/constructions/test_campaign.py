"""The campaign: a short run without violations, and every way in which a checker can be wrong is found out as such."""

from __future__ import annotations

import dataclasses
import json
import warnings
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import georecall
from constructions.campaign import run as running
from constructions.campaign.judge import judge
from constructions.campaign.mutants import Mutant, mutant
from constructions.campaign.report import COLUMNS, Report, of_one
from constructions.campaign.run import judge_batch, reports
from constructions.verification import certificate, exhaustive, interval
from constructions.verification.certificate import certify
from constructions.verification.exhaustive import check_every_query
from constructions.verification.interval import check_every_query_by_intervals
from constructions.verification.result import Result, exact
from constructions.weights import t1, t3
from constructions.weights.catalogue import CATALOGUE
from tests.helpers.edits import put
from theory import FactSystem, InputError, Task, Transformer

SYSTEM = FactSystem([[1, 2, 0], [2, 1, 0]])
OTHER = FactSystem([[1, 2, 0], [2, 0, 1]])


def of_model(
    transformer: Transformer, system: FactSystem = SYSTEM, task: Task | None = None, claimed: int = 0
) -> Mutant:
    """A mutant that is this model."""
    return Mutant(0, 0, "T1 plain", "", (), transformer, system, task or Task(), claimed, enclosed=True)


SOUND = of_model(t1.construct(SYSTEM))  # margin 2
WRONG = of_model(t1.construct(SYSTEM), OTHER)
CHAIN = of_model(t3.construct(SYSTEM, 2, 1), SYSTEM, Task(2, 1))
SOFT = of_model(t3.construct(SYSTEM, 2, 1, softmax=True), SYSTEM, Task(2, 1))


def test_a_short_campaign_has_no_violations() -> None:
    report = judge_batch(0, range(200))
    assert report.violations == (), "\n".join(map(str, report.violations))
    assert report.total("mutants") == report.mutants == 200
    assert report.total("harmful") + report.total("right") + report.total("unknown") == 200
    assert report.total("accepted") + report.total("refused") >= report.total("right")
    assert min(report.total(column) for column in ("harmful", "right", "accepted", "enclosed")) > 40
    softmax = sum(report.counts[name, "harmful"] for name in ("T3 parabola, softmax", "T3 signs, softmax"))
    assert report.total("harmful") - softmax <= report.total("caught") <= report.total("harmful")


def test_judged_rightly() -> None:
    assert judge(SOUND).columns == ("right", "accepted", "enclosed")
    assert judge(WRONG).columns == ("harmful", "enclosed", "caught")
    assert judge(CHAIN).columns == ("right", "accepted", "enclosed")
    assert judge(SOFT).columns == ("right", "accepted", "enclosed")
    assert judge(dataclasses.replace(SOUND, claimed=3)).columns == ("harmful", "enclosed", "caught")
    assert judge(dataclasses.replace(SOFT, system=OTHER)).columns == ("harmful", "enclosed", "caught")
    assert judge(dataclasses.replace(SOUND, enclosed=False)).columns == ("right", "accepted")
    assert {finding.violations for finding in map(judge, (SOUND, WRONG, CHAIN, SOFT))} == {()}


def test_a_tie_is_harm_whatever_the_checker_makes_of_what_follows() -> None:
    """The chain has no next token after a tie; the check of every query goes on with one of them."""
    blind = put(put(CHAIN.transformer, "W_U", ..., 0), "b_U", ..., 0)
    finding = judge(dataclasses.replace(CHAIN, transformer=blind))
    assert "harmful" in finding.columns
    assert finding.violations == ()


def accepting(*_: Any, **__: Any) -> Result:
    return Result("holds", 6, Fraction(1))


def changed(check: Callable[..., Any], **changes: Callable[[Any], Any]) -> Callable[..., Any]:
    """The checker with some fields of its verdict changed."""

    def lie(*arguments: Any, **options: Any) -> Any:
        verdict = check(*arguments, **options)
        return dataclasses.replace(verdict, **{k: change(getattr(verdict, k)) for k, change in changes.items()})

    return lie


def raising(error: Exception) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


def warning(*_: Any, **__: Any) -> Result:
    warnings.warn("overflow encountered in multiply", RuntimeWarning, stacklevel=2)
    return accepting()


def mistaken(found: Any, **changes: Any) -> Any:
    return dataclasses.replace(found, **changes)


@pytest.mark.parametrize(
    ("lie", "mutant", "said"),
    [
        (accepting, WRONG, "the certificate accepts, but query (1, (1,)) is wrong"),
        (accepting, dataclasses.replace(SOUND, claimed=2), "with the margin 1, and 2 was asked for"),
        (changed(certify, low=lambda margin: margin + 1), SOUND, "claims the margin 3, but it is 2"),
        (changed(certify, low=lambda margin: None), SOUND, "with the margin None, and 0 was asked for"),
        (changed(certify, queries=lambda queries: queries + 1), SOUND, "speaks of 7 queries, but there are 6"),
        (changed(certify, low=lambda margin: Fraction(1)), SOFT, "claims the margin 1, but it is"),
        (raising(OverflowError("too large")), SOUND, "the certificate raised OverflowError: too large"),
        (raising(InputError("a fraction")), SOUND, "the certificate raised InputError: a fraction"),
        (warning, SOUND, "the certificate raised RuntimeWarning: overflow"),
    ],
)
def test_a_certificate_that_lies_is_found_out(
    lie: Callable[..., Any], mutant: Mutant, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificate, "certify", lie)
    (violation,) = judge(mutant).violations
    assert said in violation


@pytest.mark.parametrize(
    ("lie", "mutant", "said"),
    [
        (changed(check_every_query, status=lambda found: "holds"), WRONG, "calls it right, but it is not"),
        (changed(check_every_query, status=lambda found: "fails"), SOUND, "calls it wrong, but it is not"),
        (changed(check_every_query, low=lambda margin: margin + 1), SOUND, "finds the margin 3, but it is 2"),
        (changed(check_every_query, low=lambda margin: margin - 1), CHAIN, "finds the margin 0, but it is 1"),
        (changed(check_every_query, queries=lambda queries: queries - 1), SOUND, "counts 5, but there are 6"),
        (
            changed(check_every_query, counterexample=lambda found: mistaken(found, subject=2)),
            WRONG,
            "the first query that fails is (1, (1,)), not (2, (1,))",
        ),
        (
            changed(check_every_query, counterexample=lambda found: mistaken(found, margin=found.margin - 1)),
            WRONG,
            "query (1, (1,)) has the margin",
        ),
        (
            changed(check_every_query, counterexample=lambda found: mistaken(found, emitted=(0, 1))),
            WRONG,
            "query (1, (1,)) emits (1,), not (0, 1)",
        ),
        (raising(ValueError("no query")), SOUND, "checking every query raised ValueError: no query"),
        (raising(InputError("no fit")), SOUND, "checking every query raised InputError: no fit"),
    ],
)
def test_a_check_of_every_query_that_lies_is_found_out(
    lie: Callable[..., Any], mutant: Mutant, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exhaustive, "check_every_query", lie)
    (violation,) = judge(mutant).violations
    assert said in violation


INTERVALS = check_every_query_by_intervals


@pytest.mark.parametrize(
    ("lie", "mutant", "said"),
    [
        (
            lambda *_: Result("holds", 6, Fraction(-9), Fraction(9)),
            WRONG,
            "say that it holds, but it is wrong",
        ),
        (lambda *_: Result("fails", 6, Fraction(2), Fraction(2)), SOUND, "say that it fails, but it is right"),
        (changed(INTERVALS, low=lambda _: Fraction(5, 2)), SOUND, "the margin 2 is not in [5/2, 2]"),
        (changed(INTERVALS, high=lambda _: Fraction(3, 2)), SOUND, "the margin 2 is not in [2, 3/2]"),
        (changed(INTERVALS, low=lambda low: low * 2, high=lambda high: high * 2), SOFT, "is not in ["),
        (changed(INTERVALS, queries=lambda _: 1), SOUND, "count 1 queries, but there are 6"),
        (
            changed(INTERVALS, counterexample=lambda found: mistaken(found, subject=0)),
            WRONG,
            "call query (0, (1,)) failing, but its margin is 2",
        ),
        (raising(ZeroDivisionError("by zero")), SOFT, "the intervals raised ZeroDivisionError: by zero"),
    ],
)
def test_intervals_that_lie_are_found_out(
    lie: Callable[..., Any], mutant: Mutant, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interval, "check_every_query_by_intervals", lie)
    (violation,) = judge(mutant).violations
    assert said in violation


def test_refusing_everything_is_no_violation_of_the_certificate_and_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificate, "certify", lambda *_: Result("undecided", 6, reason="I do not like it"))
    assert judge(SOUND).columns == ("right", "refused", "enclosed")
    assert judge(WRONG).columns == ("harmful", "enclosed", "caught")
    assert judge(SOUND).violations == ()


def test_blind_checkers_miss_every_harmful_mutant(monkeypatch: pytest.MonkeyPatch) -> None:
    """All three accept everything: no harmful mutant goes unnoticed, and none is counted as caught."""
    sound = judge_batch(0, range(30))
    assert sound.total("harmful") > 10
    assert sound.violations == ()
    monkeypatch.setattr(certificate, "certify", accepting)
    monkeypatch.setattr(exhaustive, "check_every_query", lambda *_, **__: exact(6, Fraction(1)))
    monkeypatch.setattr(
        interval, "check_every_query_by_intervals", lambda *_: Result("holds", 6, Fraction(1), Fraction(1))
    )
    blind = judge_batch(0, range(30))
    assert (blind.total("harmful"), blind.total("caught")) == (sound.total("harmful"), 0)

    def numbers(said: str) -> set[int]:
        """The mutants about which this was said."""
        return {violation.number for violation in blind.violations if said in violation.fault}

    harmful = numbers("the certificate accepts, but query")
    soft = {number for number in range(30) if mutant(0, number).transformer.attention == "softmax"}
    assert len(harmful) == blind.total("harmful")
    assert numbers("checking every query calls it right, but it is not") == harmful - soft
    assert numbers("the intervals say that it holds, but it is wrong") >= harmful & soft != set()
    assert numbers("raised") == set()


def test_a_violation_says_how_to_see_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificate, "certify", raising(IndexError("out of range")))
    each = mutant(3, 17)
    (violation,) = of_one(each, judge(each)).violations
    assert str(violation).startswith(f"mutant(3, 17), {each.construction}, {each.size}: the certificate raised Ind")
    assert str(violation).endswith(f"Changes: {'; '.join(each.changes)}.")


def test_the_same_mutants_give_the_same_report_in_any_number_of_processes() -> None:
    *_, alone = reports(4, mutants=60)
    *_, together = reports(4, mutants=60, workers=2)
    assert alone == together == judge_batch(4, range(60))
    assert alone.mutants == 60


def test_the_time_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch is begun while there is time; the first one always is."""
    now = [0.0]
    monkeypatch.setattr(running.time, "monotonic", lambda: now[0])

    def slow(seed: int, numbers: range) -> Report:
        now[0] += 10
        return Report(seed, len(numbers))

    monkeypatch.setattr(running, "judge_batch", slow)
    assert [report.mutants for report in reports(0, seconds=25)] == [25, 50, 75]
    assert [report.mutants for report in reports(0, seconds=0.001)] == [25]
    assert [report.mutants for report in reports(0, mutants=40)] == [25, 40]
    assert [report.mutants for report in reports(0, mutants=40, seconds=5)] == [25]


@pytest.mark.parametrize("options", [{"mutants": 0}, {"workers": 0}, {"seed": -1}])
def test_bad_numbers_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(InputError, match="must be a whole number"):
        next(reports(**{"seed": 0, "mutants": 5, **options}))


def test_rows_add_up() -> None:
    report = judge_batch(0, range(20))
    *rows, (_, total) = report.rows()
    assert len(rows) == len(CATALOGUE)
    assert [sum(numbers) for numbers in zip(*(numbers for _, numbers in rows), strict=True)] == total
    assert total == [report.total(column) for column in COLUMNS]


def command(*arguments: str | Path) -> Any:
    return CliRunner().invoke(georecall.main, ["campaign", *map(str, arguments)])


def test_the_command_prints_the_table_and_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    result = command("--mutants", 30, "--seed", 0, "--json", path)
    assert result.exit_code == 0, result.output
    assert "30 mutants, 0 violations" in result.stdout
    assert "T3 parabola, softmax" in result.stdout
    saved = json.loads(path.read_text())
    assert (saved["seed"], saved["mutants"], saved["violations"]) == (0, 30, [])
    report = judge_batch(0, range(30))
    assert [list(row.values())[1:] for row in saved["rows"]] == [numbers for _, numbers in report.rows()]
    assert set(saved["rows"][0]) == {"construction", *COLUMNS}


def test_the_command_fails_when_there_is_a_violation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificate, "certify", raising(IndexError("out of range")))
    path = tmp_path / "table.json"
    result = command("--mutants", 2, "--json", path)
    assert result.exit_code == 1
    assert "2 mutants, 2 violations" in result.stdout
    assert f"mutant(0, 1), {mutant(0, 1).construction}" in result.stdout
    first, _ = json.loads(path.read_text())["violations"]
    assert (first["seed"], first["number"], first["fault"]) == (0, 0, "the certificate raised IndexError: out of range")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), BrokenProcessPool("a worker died")])
def test_what_is_interrupted_has_found_something_too(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(seed: int, numbers: range) -> Report:
        if numbers.start == 50:
            raise error
        return Report(seed, len(numbers))

    monkeypatch.setattr(running, "judge_batch", ended)
    path = tmp_path / "table.json"
    result = command("--seconds", 1000, "--json", path)
    assert result.exit_code not in (0, 2)
    assert "50 mutants, 0 violations" in result.stdout
    assert json.loads(path.read_text())["mutants"] == 50
