"""What a check found, in one form for all rungs: what it says of one system, and why it does not hold."""

from __future__ import annotations

from fractions import Fraction

from constructions.verification.exhaustive import check_every_query
from constructions.verification.result import Result, exact
from constructions.weights import t1
from theory import FactSystem, Task

SYSTEM = FactSystem([[1, 2, 0, 3], [3, 0, 1, 2]])


def test_a_check_speaks_of_one_system_unless_it_says_of_how_many() -> None:
    assert Result("undecided", 8).systems == exact(8, Fraction(2)).systems == 1
    assert exact(16, Fraction(2), systems=2).systems == 2


def test_why_it_does_not_hold_is_the_counterexample_or_the_reason() -> None:
    failing = check_every_query(t1.construct(SYSTEM), FactSystem(SYSTEM.answers[::-1]), Task())
    assert failing.counterexample is not None
    assert (failing.status, failing.detail) == ("fails", str(failing.counterexample))
    assert Result("undecided", 8, reason="too many").detail == "too many"
    found = exact(8, Fraction(2))
    assert (found.holds, found.detail, found.low, found.high, found.margin) == (True, "", 2, 2, 2)
