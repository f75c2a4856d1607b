"""Verdicts on E3, E4 and E5, by rules written before the data are seen: the docstrings below.

A rule judges one model by intervals (95 %): supported only if every interval lies within its bound, not supported if
one of them lies beyond it, undecided otherwise. Of hidden units the selectivity and breadth have no intervals, and can
refuse alone. Seeds of one condition are judged together: what they all say, and undecided if they differ. A model that
does not recall its facts (0.99 of them) is left out and counted. Each verdict carries its numbers, means over the seeds
with their t-intervals (of one model: its own), and its controls. A verdict is about a condition: that a claim is
supported in one and not in another is what the map is for.

*Constructions* are judged by the same rules, and there the answer is known: T1, T1b, T2 and T3 must be supported, the
table T2b must not. In the ledger their rows hold iff the analyses say what is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

from empirical.mechanism.readout import FOLDS
from empirical.mechanism.study import Analysis, recalls
from empirical.statistics.verdict import REASONS, STATUS, Outcome, rule_of
from theory.records.ledger import Row, Status

CLEAR = 0.9  # what "reads out", "changes" and "transfers" mean, as a fraction of answers
EXPLAINED = 0.5  # E3: of the rows' variance; a superposition explains more than half
CONTROL = 0.1  # what a control may reach at most

REFUSED = ("T2b",)  # the constructions of which every claim is false

STATEMENTS = {
    "E3": "subject rows are superpositions from which every answer can be read linearly",
    "E4": "a change of one component changes this answer alone, to the intended one",
    "E4, units": "the MLP is a selector: a word's units answer this word alone",
    "E5": "new rows made of the fitted maps answer new facts under the frozen MLP",
}


@dataclass(frozen=True)
class ConditionVerdict:
    """What the models of one condition say about one claim; `numbers` are (name, mean, low, high)."""

    claim: str
    group: str
    condition: str
    kind: str
    status: Outcome
    rule: str
    numbers: tuple[tuple[str, float, float, float], ...]
    models: int
    left_out: int
    sizes: Mapping[str, int]

    @property
    def as_known(self) -> bool | None:
        """Whether a construction is judged as it must be; None for a trained or given model."""
        if self.kind != "construction":
            return None
        return self.status == ("not supported" if self.group in REFUSED else "supported")

    def as_dict(self) -> dict[str, Any]:
        """The verdict as JSON values."""
        numbers = {name: {"value": value, "low": low, "high": high} for name, value, low, high in self.numbers}
        return {**asdict(self), "numbers": numbers, "as known": self.as_known}


NumberWithInterval = Mapping[str, float]


def superposition(analysis: Analysis) -> tuple[Outcome, dict[str, NumberWithInterval]]:
    """E3: supported if held-out subjects have their answers decoded at 0.9 or more and their rows explained with R² of
    0.5 or more, while shuffled answers and random rows have at most 0.1 of either. A fit that falls short decides
    nothing where the maps have as many directions as there are subjects to fit them to.
    """
    found = analysis["read_out"]
    numbers = {"decoded": found["fit"]["decoded"], "R²": found["fit"]["r_squared"]}
    for control in ("shuffled answers", "random rows"):
        numbers |= {f"{control}: decoded": found[control]["decoded"], f"{control}: R²": found[control]["r_squared"]}
    wanted = [(numbers["decoded"], CLEAR), (numbers["R²"], EXPLAINED)]
    status = _judge(wanted, [value for name, value in numbers.items() if ":" in name])
    few = sum(found["geometry"]["rank"]) >= found["subjects"] * (1 - 1 / FOLDS)
    return ("undecided" if few and status == "not supported" else status), numbers


def intervention(analysis: Analysis) -> tuple[Outcome, dict[str, NumberWithInterval]]:
    """E4, components moved along the fitted maps, by the rule of `interventions.InterventionResult.verdict`: success of
    0.9 or more, leakage of 0.1 or less, no control as successful.
    """
    found = analysis["interventions"]
    numbers = {name: found["ways"]["maps"][name] for name in ("success", "leakage")}
    numbers |= {f"{name}: success": effect["success"] for name, effect in found["controls"].items()}
    return found["verdicts"]["maps"], numbers


def selector(analysis: Analysis) -> tuple[Outcome, dict[str, NumberWithInterval]]:
    """E4, hidden units, by the rule of `hidden_units.HiddenUnitResult.verdict`: without a word's units at most 0.1 of
    its answers are left and 0.9 of the others', and the units are broader than a table's.
    """
    found = analysis["hidden_units"]
    numbers = {"own word, ablated": found["ablated"]["own"], "other words, ablated": found["ablated"]["others"]}
    random = found["as many random units ablated"]
    return found["verdict"], {**numbers, "own word, random units ablated": random["own"]}


def generic(analysis: Analysis) -> tuple[Outcome, dict[str, NumberWithInterval]]:
    """E5: supported if rows made in closed form of the fitted maps answer 0.9 or more of all new facts, and at most 0.1
    under an MLP drawn anew. The other ways are reported beside it, each with its own control.
    """
    found = analysis["transfer"]
    numbers = {way: value for way, value in found["ways"].items() if value is not None}
    numbers |= {f"{way}, MLP redrawn": value for way, value in found["redrawn"].items() if value is not None}
    return _judge([(numbers["maps"], CLEAR)], [numbers["maps, MLP redrawn"]]), numbers


RULES: tuple[tuple[str, str, Callable[[Analysis], tuple[Outcome, dict[str, NumberWithInterval]]]], ...] = (
    ("E3", "read_out", superposition),
    ("E4", "interventions", intervention),
    ("E4, units", "hidden_units", selector),
    ("E5", "transfer", generic),
)


def _judge(wanted: Sequence[tuple[NumberWithInterval, float]], controls: Sequence[NumberWithInterval]) -> Outcome:
    """Intervals that must reach their bounds, and controls that must stay below CONTROL."""
    if any(one["high"] < bound for one, bound in wanted) or any(one["low"] > CONTROL for one in controls):
        return "not supported"
    clear = all(one["low"] >= bound for one, bound in wanted) and all(one["high"] <= CONTROL for one in controls)
    return "supported" if clear else "undecided"


def verdicts(analyses: Sequence[Analysis]) -> tuple[ConditionVerdict, ...]:
    """Every claim on every condition, the seeds of one taken together."""
    conditions: dict[tuple[str, str, str], list[Analysis]] = {}
    for each in analyses:
        conditions.setdefault((each["kind"], each["group"], each["name"]), []).append(each)
    found = []
    for (kind, group, name), own in conditions.items():
        for claim, part, rule in RULES:
            if own[0][part] is None:
                continue
            judged = [rule(each) for each in own if recalls(each)]
            statuses = {status for status, _ in judged}
            status: Outcome = statuses.pop() if len(statuses) == 1 else "undecided"
            numbers = _means([numbers for _, numbers in judged])
            text, left_out = rule_of(rule), len(own) - len(judged)
            sizes = own[0]["sizes"]
            found.append(
                ConditionVerdict(claim, group, name, kind, status, text, numbers, len(judged), left_out, sizes)
            )
    return tuple(found)


def _means(found: Sequence[Mapping[str, NumberWithInterval]]) -> tuple[tuple[str, float, float, float], ...]:
    """The mean of each number over the models, with its 95 % t-interval within [0, 1] (R² has no least value); of one
    model its own interval.
    """
    result = []
    for name in found[0] if found else ():
        values = np.array([each[name]["value"] for each in found if name in each])
        if len(found) == 1:
            result.append((name, float(values[0]), found[0][name]["low"], found[0][name]["high"]))
            continue
        half = float(student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
        mean, least = float(values.mean()), -np.inf if name.endswith("R²") else 0.0
        result.append((name, mean, float(max(mean - half, least)), min(mean + half, 1.0)))
    return tuple(result)


def rows(found: Sequence[ConditionVerdict]) -> list[Row]:
    """The verdicts as rows of the ledger. A construction's row holds iff the analyses say what is known of it."""
    result = []
    for each in found:
        # Of several seeds each was judged by its own interval; that of their mean would seem to contradict them.
        shown = "{0} {1:.3f} ({2:.3f} .. {3:.3f})" if each.models == 1 else "{0} {1:.3f}"
        numbers = ", ".join(shown.format(*number) for number in each.numbers)
        seeds = "one model" if each.models == 1 else f"means of {each.models} seeds, each judged by its own intervals"
        known = each.as_known
        outcome: Status = STATUS[each.status] if known is None else "holds" if known else "fails"
        expected = "" if known is None else f"; {each.status}, as {'known' if known else 'it must not be'}"
        detail = REASONS[each.status] if known is None else "" if known else "the analysis does not say what is known"
        if not each.models:
            detail = "no model of it recalls its facts"
        result.append(
            Row(
                each.claim.split(",")[0],
                each.condition,
                "measured",
                outcome,
                f"{STATEMENTS[each.claim]}{expected}: {numbers}; {seeds}, {each.left_out} left out",
                entities=each.sizes["entities"],
                relations=each.sizes["relations"],
                hops=each.sizes["hops"],
                dimension=each.sizes["dimension"],
                width=each.sizes["width"],
                detail=detail,
            )
        )
    return result
