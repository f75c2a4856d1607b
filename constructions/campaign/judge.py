"""What the checkers say about a mutant, held against the truth. Whatever they may not say is a violation.

* The certificate may refuse anything. What it accepts is right, and the margin that it claims not above the true one.
* Checking every query calls a model right if and only if it is. Its margin is the true one, and its counterexample the
  least query that fails, with that query's margin and tokens. (At a tie a chain has no next token: what follows it is
  the checker's choice, and can only lower the margin.)
* Intervals may be undecided. What they call right is right, with the true margin in the enclosure; what they call
  failing fails at the query that they name.
* None of them raises anything or warns.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from constructions.campaign.evaluator import Truth, evaluate
from constructions.campaign.mutants import Mutant
from constructions.verification import certificate, exhaustive, interval
from constructions.verification.result import Result
from theory import Transformer

Found = TypeVar("Found")


@dataclass(frozen=True)
class Finding:
    """What was found out about a mutant: the columns of the table in which it counts, and what was violated."""

    columns: tuple[str, ...]
    violations: tuple[str, ...]


def judge(mutant: Mutant) -> Finding:
    """Ask the certificate, the check of every query (unless attention is softmax) and, where the mutant is to be
    enclosed, the intervals.
    """
    model, asked = mutant.transformer, (mutant.transformer, mutant.system, mutant.task, mutant.claimed)
    truth, rational = evaluate(*asked[:3]), has_fractions(model)
    right = truth.is_right(mutant.claimed)
    columns = [{True: "right", False: "harmful", None: "unknown"}[right]]
    violations: list[str] = []

    def ask(name: str, check: Callable[[], Found]) -> Found | None:
        """What the check says, None when it raised an exception, which is a violation."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                return check()
        except Exception as error:
            violations.append(f"{name} raised {type(error).__name__}: {error}")
            return None

    proof = ask("the certificate", lambda: certificate.certify(*asked))
    accepted = proof is not None and proof.holds
    columns += ["accepted"] if accepted else ["refused"] if right else []
    violations += faults_of_certificate(proof, truth, mutant.claimed) if proof is not None else []

    caught = False
    if model.attention != "softmax":
        checked = ask("checking every query", lambda: exhaustive.check_every_query(*asked, rational=rational))
        if checked is not None:
            caught = not checked.holds
            violations += faults_of_checking(checked, truth, mutant.claimed)
    if mutant.enclosed:
        enclosed = ask("the intervals", lambda: interval.check_every_query_by_intervals(*asked))
        columns.append("enclosed")
        if enclosed is not None:
            caught |= enclosed.status == "fails" and model.attention == "softmax"
            columns += ["undecided"] if enclosed.status == "undecided" else []
            violations += faults_of_intervals(enclosed, truth, mutant.claimed)
    columns += ["caught"] if caught and right is False else []
    return Finding(tuple(columns), tuple(violations))


def has_fractions(transformer: Transformer) -> bool:
    """Whether some weight is no whole number."""
    return any(value % 1 != 0 for _, array in transformer.tensors() for value in array.ravel().tolist())


def faults_of_certificate(proof: Result, truth: Truth, claimed: int) -> list[str]:
    """What the certificate may not say."""
    if not proof.holds:
        return []
    faults = []
    if truth.is_right(claimed) is False:
        faults.append(f"the certificate accepts, but query {truth.wrong(claimed)} is wrong")
    elif proof.margin is None or proof.margin <= 0 or proof.margin < claimed:
        faults.append(f"the certificate accepts with the margin {proof.margin}, and {claimed} was asked for")
    elif proof.margin > truth.high:
        faults.append(f"the certificate claims the margin {proof.margin}, but it is {truth.high}")
    if proof.queries != len(truth.outcomes):
        faults.append(f"the certificate speaks of {proof.queries} queries, but there are {len(truth.outcomes)}")
    return faults


def faults_of_checking(verdict: Result, truth: Truth, claimed: int) -> list[str]:
    """What the check of every query may not say."""
    faults = []
    wrong, found = truth.wrong(claimed), verdict.counterexample
    if verdict.holds != (wrong is None):
        faults.append(f"checking every query calls it {'right' if verdict.holds else 'wrong'}, but it is not")
    cut = any(outcome.cut for outcome in truth.outcomes.values())
    if verdict.margin is None or verdict.margin > truth.high or (verdict.margin < truth.high and not cut):
        faults.append(f"checking every query finds the margin {verdict.margin}, but it is {truth.high}")
    if verdict.queries != len(truth.outcomes):
        faults.append(f"checking every query counts {verdict.queries}, but there are {len(truth.outcomes)}")
    if found is not None and wrong is not None:
        outcome = truth.outcomes[wrong]
        if (found.subject, found.word) != wrong:
            faults.append(f"the first query that fails is {wrong}, not {found.subject, found.word}")
        elif not outcome.cut and found.margin != outcome.margin:
            faults.append(f"query {wrong} has the margin {outcome.margin}, not {found.margin}")
        elif outcome.margin != 0 and found.emitted != outcome.emitted:
            faults.append(f"query {wrong} emits {outcome.emitted}, not {found.emitted}")
    return faults


def faults_of_intervals(verdict: Result, truth: Truth, claimed: int) -> list[str]:
    """What the intervals may not say."""
    faults = []
    right, found = truth.is_right(claimed), verdict.counterexample
    if (verdict.status == "holds" and right is False) or (verdict.status == "fails" and right):
        faults.append(f"the intervals say that it {verdict.status}, but it is {'right' if right else 'wrong'}")
    low, high = verdict.low, verdict.high
    if verdict.status == "holds" and (
        low is None or low > truth.high or (high is not None and truth.low is not None and high < truth.low)
    ):
        faults.append(f"the margin {truth.high} is not in [{verdict.low}, {verdict.high}]")
    if verdict.status == "holds" and verdict.queries != len(truth.outcomes):
        faults.append(f"the intervals count {verdict.queries} queries, but there are {len(truth.outcomes)}")
    if found is not None:
        least = truth.outcomes[found.subject, found.word].low
        if least is not None and least > 0 and least >= claimed:
            faults.append(f"the intervals call query {found.subject, found.word} failing, but its margin is {least}")
    return faults
