"""What a check of a model found: one answer of all rungs, whether queries are run, enclosed or proved at once."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from theory.records.ledger import Counterexample, Status


@dataclass(frozen=True)
class Result:
    """Whether all `queries` queries of `systems` systems are answered with the margin asked for.

    The least margin of these lies between `low` and `high`, None where no bound is known: they are equal where every
    query was run exactly, bounds rounded outwards where it was enclosed, and `high` is None where it was proved. A
    check that ends with the first `counterexample` speaks of the queries up to it. `undecided` proves nothing, for the
    `reason` that is given.
    """

    status: Status
    queries: int
    low: Fraction | None = None
    high: Fraction | None = None
    counterexample: Counterexample | None = None
    systems: int = 1
    reason: str = ""

    @property
    def holds(self) -> bool:
        """True iff every query was shown to be right."""
        return self.status == "holds"

    @property
    def margin(self) -> Fraction | None:
        """What the least margin is known to be at least."""
        return self.low

    @property
    def detail(self) -> str:
        """Why it does not hold, in words; "" if it does."""
        return str(self.counterexample) if self.counterexample else self.reason


def exact(queries: int, margin: Fraction, counterexample: Counterexample | None = None, systems: int = 1) -> Result:
    """The result of running queries exactly: it holds unless one of them is a counterexample."""
    return Result("fails" if counterexample else "holds", queries, margin, margin, counterexample, systems)
