"""The certificate and checking every query, held against each other."""

from __future__ import annotations

from constructions.campaign.evaluator import evaluate
from constructions.verification.certificate import certify
from constructions.verification.exhaustive import check_every_query
from constructions.verification.result import Result
from theory import FactSystem, Task, Transformer

SYSTEM = FactSystem([[1, 2, 3, 4, 0], [2, 0, 1, 4, 3]])
# Two relations that commute, so that the order in a word does not matter.
COMMUTING = FactSystem([[1, 2, 3, 4, 0], [2, 3, 4, 0, 1]])


def decide(transformer: Transformer, system: FactSystem, task: Task) -> tuple[Result, Result]:
    """The certificate and the exhaustive verdict, which must not contradict each other."""
    certificate = certify(transformer, system, task)
    verdict = check_every_query(transformer, system, task)
    if certificate.holds:
        assert certificate.margin is not None
        assert 0 < certificate.margin <= verdict.margin
        assert verdict.holds, str(verdict.counterexample)
        assert verdict.queries == certificate.queries
    else:
        assert certificate.reason
    return certificate, verdict


def decide_softmax(transformer: Transformer, system: FactSystem, task: Task) -> Result:
    """The certificate, which must not contradict the true margin."""
    certificate = certify(transformer, system, task)
    if certificate.holds:
        assert certificate.margin is not None
        assert 0 < certificate.margin <= evaluate(transformer, system, task).high
    else:
        assert certificate.reason
    return certificate


def require_refusal(transformer: Transformer, system: FactSystem, task: Task, reason: str = "") -> None:
    """The model is wrong, and the certificate refuses it, for a reason that says so."""
    certificate, verdict = decide(transformer, system, task)
    assert not verdict.holds
    assert not certificate.holds
    assert reason in certificate.reason


def require_acceptance(transformer: Transformer, system: FactSystem, task: Task) -> None:
    certificate, _ = decide(transformer, system, task)
    assert certificate.holds, certificate.reason
