"""What measurement says of an empirical claim: supported, not supported or undecided, by a rule written beforehand.

A verdict carries its rule, the docstring of the function that judges, and the numbers that decided it. In the ledger it
stands at the rung `measured`, where it decides nothing about a theorem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from inspect import cleandoc
from typing import Any, Literal

from theory.records.ledger import Row, Status

Outcome = Literal["supported", "not supported", "undecided"]

STATUS: dict[Outcome, Status] = {"supported": "holds", "not supported": "fails", "undecided": "undecided"}
REASONS: dict[Outcome, str] = {
    "supported": "",
    "not supported": "the rule stated beforehand says no",
    "undecided": "the rule stated beforehand says neither yes nor no",
}


@dataclass(frozen=True)
class Verdict:
    """What was found on one claim. `numbers` decided it; of the `curves` that were measured some were `left_out` (both
    None where a verdict is about no curves); `reason` says why nothing could be decided, where that is so."""

    claim: str
    statement: str
    status: Outcome
    rule: str
    numbers: tuple[tuple[str, float], ...]
    curves: int | None = None
    left_out: int | None = None
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The verdict as JSON values; what does not apply is left out."""
        values = asdict(self) | {"numbers": dict(self.numbers)}
        return {name: value for name, value in values.items() if value is not None}

    def figures(self) -> str:
        """The numbers in words, to three digits."""
        return ", ".join(f"{name} = {value:.3g}" for name, value in self.numbers)


def rule_of(judge: Callable[..., object]) -> str:
    """The rule by which a function judges: its docstring."""
    return cleandoc(judge.__doc__ or "")


def measured_row(claim: str, what: str, status: Outcome, coverage: str, reason: str = "", **sizes: Any) -> Row:
    """A row of the ledger at the rung `measured`, with the reason that its status has unless another is given."""
    return Row(claim, what, "measured", STATUS[status], coverage, detail=reason or REASONS[status], **sizes)
