"""What a probe says of E7: supported, not supported or undecided, for this model and these relations and no others.

Three questions: are the relations read linearly, do their components add up in subspaces of their own, and does an
exchange of one component change one relation's answers alone? Each has its rule, the docstring of its function, written
before the data are seen; a claim is judged by intervals (95 %, not corrected for their number) and adjusted p-values,
and what is merely not shown is undecided, not refuted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from empirical.probing.measures.measure import RelationReading
from empirical.probing.measures.superposition import Superposition
from empirical.probing.measures.swap import Swap
from empirical.statistics.verdict import Outcome, Verdict, measured_row, rule_of
from theory.records.ledger import Row

SIGNIFICANT = 0.05
NEGLIGIBLE = 0.1  # of accuracy: a gain over the controls that is surely below this is none
NEGLIGIBLE_R2 = 0.01  # likewise of R²
OBEYED = 0.5  # the exchanged relation's answers that must become the intended ones


def reading_status(found: RelationReading) -> Outcome:
    """One relation: supported if both adjusted p-values of its headline are at most 0.05, not supported if the interval
    of its gain over the strongest control ends below 0.1."""
    best = found.headline
    if max(best.p_controls, best.p_similarity) <= SIGNIFICANT and best.gain.value > 0:
        return "supported"
    return "not supported" if best.gain.high < NEGLIGIBLE else "undecided"


def readable(found: Sequence[RelationReading]) -> Verdict:
    """E7: most of the relations are read linearly from the subject's state.

    A relation is read if the headline accuracy on subjects left out beats the majority, shuffled pairs, the randomised
    copy and plain similarity, each with p at most 0.05 after Holm's correction over the relations; it is not read if
    the 95 % interval of its gain over the strongest of them ends below 0.1. Supported if at least two relations, and
    more than half, are read; not supported if more than half are not read.
    """
    statuses = [reading_status(each) for each in found]
    status = _most(statuses, at_least=2)
    numbers = [("relations", float(len(found))), *_counts(statuses)]
    numbers += [(f"gain, {each.name}", each.headline.gain.value) for each in found]
    return _finding("the relations are read linearly from the subject's state", status, readable, numbers)


def superposed(found: Sequence[Superposition], readings: Sequence[RelationReading]) -> Verdict:
    """E7: the state is a sum of the relations' components, in subspaces of their own.

    Of a family of relations on the same subjects, supported if more than half of them beat the majority, shuffled pairs
    and the randomised copy (they are there to be added), the mean overlap of their maps' subspaces lies below the
    central 95 % of random subspaces of the same ranks, the held-out R² of the sum exceeds that of shuffled subjects
    (interval above 0), and at least two relations add to it (interval of what the sum loses without them above 0). Not
    supported if the overlap lies above the random 95 % and is no smaller than that of maps fitted to shuffled pairs, or
    if the interval of R²'s gain over shuffled subjects ends below 0.01. Supported if every family is; not supported if
    none is and at least one is refuted.
    """
    p_values = {each.name: each.headline.p_controls for each in readings}
    statuses: list[Outcome] = []
    numbers = []
    for each in found:
        gain, spaces = each.explained.gain, each.subspaces
        read = sum(p_values[name] <= SIGNIFICANT for name in each.relations)
        adding = sum(part.lost_without.low > 0 for part in each.parts)
        crowded = spaces.mean > spaces.random_high and spaces.mean >= spaces.shuffled
        if crowded or gain.high < NEGLIGIBLE_R2:
            statuses.append("not supported")
        elif 2 * read > len(each.relations) and spaces.mean < spaces.random_low and gain.low > 0 and adding > 1:
            statuses.append("supported")
        else:
            statuses.append("undecided")
        name = each.relations[0]
        numbers += [(f"overlap ({name} ..)", spaces.mean), (f"random overlap ({name} ..)", spaces.random)]
        numbers += [
            (f"R² ({name} ..)", each.explained.together.value),
            (f"relations adding ({name} ..)", float(adding)),
        ]
    status = _every(statuses)
    reason = "" if found else "no two relations share enough subjects"
    statement = "the state is a sum of the relations' components, in subspaces of their own"
    return _finding(statement, status, superposed, numbers, reason)


def swap_status(found: Swap) -> Outcome:
    """One exchange: see `exchanged`."""
    success = found.through_map.success
    if success.value >= OBEYED and found.gain.low > 0 and found.selective.low > 0:
        return "supported"
    return "not supported" if success.high < OBEYED or found.selective.high < 0 else "undecided"


def exchanged(found: Sequence[Swap], reason: str = "") -> Verdict:
    """E7: exchanging one relation's component changes that relation's answers to the intended ones, and no others.

    An exchange works if at least half of the tested answers become the intended object, more than by the stronger of
    the two controls of equal norm and more than other relations' answers change (both intervals above 0). It does not
    work if the interval of its success ends below one half, or that of success less leakage below 0. Supported if more
    than half of the exchanges work; not supported if more than half do not.
    """
    statuses = [swap_status(each) for each in found]
    numbers = [("exchanges", float(len(found))), *_counts(statuses)]
    for each in found:
        numbers.append((f"success, {each.relation}", each.through_map.success.value))
        numbers.append((f"leakage, {each.relation}", each.through_map.leakage.value))
    why = reason or ("" if found else "there is no relation to exchange a component of")
    statement = "exchanging one relation's component changes that relation's answers, and no others"
    return _finding(statement, _most(statuses, at_least=1), exchanged, numbers, why)


def rows(findings: Sequence[Verdict], model: str, relations: Sequence[str]) -> list[Row]:
    """The findings as rows of the ledger, at the rung `measured`, limited to this model and these relations."""
    scope = f"{model}, relations {', '.join(relations)}"
    found = []
    for each in findings:
        coverage = f"{each.statement}: {each.status}, in {scope} and nothing beyond ({each.figures()})"
        found.append(measured_row(each.claim, model, each.status, coverage, each.reason))
    return found


def _finding(
    statement: str, status: Outcome, rule: Callable[..., object], numbers: Sequence[tuple[str, float]], reason: str = ""
) -> Verdict:
    return Verdict("E7", statement, status, rule_of(rule), tuple(numbers), reason=reason)


def _counts(statuses: Sequence[Outcome]) -> list[tuple[str, float]]:
    return [(name, float(statuses.count(name))) for name in ("supported", "not supported", "undecided")]


def _most(statuses: Sequence[Outcome], at_least: int) -> Outcome:
    yes, no = statuses.count("supported"), statuses.count("not supported")
    if 2 * yes > len(statuses) and yes >= at_least:
        return "supported"
    return "not supported" if 2 * no > len(statuses) else "undecided"


def _every(statuses: Sequence[Outcome]) -> Outcome:
    if statuses and all(each == "supported" for each in statuses):
        return "supported"
    none = not any(each == "supported" for each in statuses)
    return "not supported" if none and "not supported" in statuses else "undecided"
