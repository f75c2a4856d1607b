"""Every fault in a single entry that does harm is caught by checking every query, and refused by the certificate.

For every weight tensor of every construction: all entries where there are few, a seeded sample otherwise. The fraction
caught is printed at the end of the run (`conftest.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from constructions.certificate import Certificate
from constructions.exhaustive import Verdict
from tests import faults as experiment
from tests.faults import CHANGES, inject, single_entry_faults
from tests.models import EXACT, MODELS, REAL, Model, named
from theory import FactSystem

# (entities, relations, hops, bits): few queries, every kind of head and block, numbers that are no power of two.
TWO_HOPS, THREE_RELATIONS = (3, 2, 2, 1), (5, 3, 1, 2)


@pytest.mark.parametrize("sizes", [TWO_HOPS, THREE_RELATIONS], ids=["two hops", "three relations"])
@pytest.mark.parametrize("model", [model for model in MODELS if model.stride <= 2], ids=lambda model: model.name)
def test_every_harmful_fault_is_caught(
    model: Model, sizes: tuple[int, int, int, int], record_property: Callable[[str, object], None]
) -> None:
    entities, relations, hops, bits = sizes
    system = FactSystem.random(entities, relations, seed=0)
    result = inject(model, system, hops, bits, most=18 if model in EXACT else 9)
    certifiable = 0 if model in REAL else result.harmful
    found = result.harmful - len(result.missed_by_checking)
    refused = certifiable - len(result.missed_by_certificate)
    record_property("faults", [result.faults, result.harmful, found, certifiable, refused])
    assert result.missed_by_checking == ()
    assert result.missed_by_certificate == ()
    assert result.alarms == ()
    assert result.harmful > result.faults / 4, "too few faults did harm for this to show much"
    assert result.undecided <= result.faults / 20


def test_every_tensor_is_reached_and_every_change_made() -> None:
    transformer = named("T4 deep").build(FactSystem.random(3, 2), 2)
    faults = list(single_entry_faults(transformer, np.random.default_rng(0), most=25))
    assert {fault.tensor for fault in faults} == {name for name, array in transformer.tensors() if array.size}
    assert {fault.change for fault in faults} == set(CHANGES)
    biases = [fault for fault in faults if fault.tensor == "b_U"]
    # Three zeros, each +1, -1 and made large: there is no sign to change, and nothing to clear.
    assert len(set(biases)) == len(biases) == 3 * 3
    for fault in faults:
        before = dict(transformer.tensors())[fault.tensor]
        after = dict(fault.apply(transformer).tensors())[fault.tensor]
        assert np.argwhere(before != after).tolist() == [list(fault.place)]


def test_a_blind_verifier_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The experiment can fail: shown verifiers that accept everything, it lists every harmful fault."""
    monkeypatch.setattr(experiment, "certify", lambda *_: Certificate(True, 0, Fraction(1), ""))
    monkeypatch.setattr(experiment, "check_every_query", lambda *_, **__: Verdict(0, Fraction(1)))
    result = inject(named("T1 plain"), FactSystem.random(3, 2), 1, 1, most=10)
    assert len(result.missed_by_checking) == len(result.missed_by_certificate) == result.harmful > 0


def test_a_suspicious_verifier_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejecting everything catches every fault, and is no check either."""
    alarm = experiment.check_every_query(
        named("T1 plain").build(FactSystem([[0, 1]])), FactSystem([[1, 0]]), named("T1 plain").task()
    )
    monkeypatch.setattr(experiment, "check_every_query", lambda *_, **__: alarm)
    result = inject(named("T1 plain"), FactSystem.random(3, 2), 1, 1, most=10)
    assert result.missed_by_checking == ()
    assert len(result.alarms) == result.faults - result.harmful > 0
