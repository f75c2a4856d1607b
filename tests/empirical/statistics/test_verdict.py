"""Verdicts of measurement: as JSON, in words, and as rows of the ledger."""

from __future__ import annotations

import pytest

from empirical.statistics.verdict import Outcome, Verdict, measured_row, rule_of
from theory.records.ledger import Row, Status


@pytest.mark.parametrize(
    ("outcome", "status", "reason"),
    [
        ("supported", "holds", ""),
        ("not supported", "fails", "the rule stated beforehand says no"),
        ("undecided", "undecided", "the rule stated beforehand says neither yes nor no"),
    ],
)
def test_a_row_is_measured_and_has_a_reason_unless_it_holds(outcome: Outcome, status: Status, reason: str) -> None:
    row = measured_row("E1", "a law", outcome, "3 curves", entities=5)
    assert row == Row("E1", "a law", "measured", status, "3 curves", detail=reason, entities=5)
    assert measured_row("E1", "a law", outcome, "3 curves", "too few").detail == "too few"


def test_a_verdict_leaves_out_what_does_not_apply() -> None:
    verdict = Verdict("E1", "it grows", "supported", "the rule", (("slope", 0.12345), ("p", 2e-9)))
    assert verdict.as_dict() == {
        "claim": "E1",
        "statement": "it grows",
        "status": "supported",
        "rule": "the rule",
        "numbers": {"slope": 0.12345, "p": 2e-9},
        "reason": "",
    }
    assert verdict.figures() == "slope = 0.123, p = 2e-09"


def test_the_rule_is_what_the_function_says_of_itself() -> None:
    def judge() -> None:
        """Above 1.

        In every curve.
        """

    assert rule_of(judge) == "Above 1.\n\nIn every curve."
