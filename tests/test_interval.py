"""Ball arithmetic: agrees with the exact pass, decides softmax and the circle, and says so when it cannot decide."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constructions import t1, t1b, t3
from constructions.catalogue import CATALOGUE, Entry, Setting
from constructions.certificate import certify
from constructions.exhaustive import check_every_query
from constructions.interval import check_every_query_by_intervals, circle_margin
from theory import FactSystem, Task
from theory.strategies import fact_systems
from theory.transformer import run_with_cache

SMALL = Setting(hops=2, bits=2, stride=1)


@settings(max_examples=30)
@given(st.sampled_from([e for e in CATALOGUE if e.exact]), fact_systems(st.integers(2, 4), st.integers(1, 2)))
def test_agrees_with_the_exact_pass(entry: Entry, system: FactSystem) -> None:
    model, task = entry.build(system, SMALL), entry.task(SMALL)
    exact = check_every_query(model, system, task)
    found = check_every_query_by_intervals(model, system, task)
    assert (found.status, found.low, found.high) == ("holds", exact.margin, exact.margin)
    assert found.queries == exact.queries


@given(fact_systems(st.integers(2, 4), st.integers(1, 2)), st.integers(1, 3), st.integers(1, 3))
def test_softmax_margin_lies_above_the_certificate_and_agrees_with_float64(
    system: FactSystem, hops: int, bits: int
) -> None:
    task = Task(hops, 1)
    for construct in (t3.construct, t3.construct_with_signs):
        model = construct(system, hops, bits, softmax=True)
        proved = certify(model, system, task)
        found = check_every_query_by_intervals(model, system, task)
        assert proved.accepted
        assert proved.margin is not None
        assert found.status == "holds"
        assert 0 < proved.margin <= found.low <= found.high
        assert float(found.high - found.low) < 1e-20
        if hops == 1:
            relation, subject = np.divmod(np.arange(system.answers.size), system.entities)
            logits, _ = run_with_cache(model, np.stack([subject, system.entities + relation], axis=1))
            own = logits[np.arange(len(logits)), system.answers.ravel()].copy()
            logits[np.arange(len(logits)), system.answers.ravel()] = -np.inf
            assert float((own - logits.max(axis=1)).min()) == pytest.approx(float(found.low), rel=1e-9)


@pytest.mark.parametrize("entities", [2, 3, 7, 16, 60])
def test_circle_has_the_margin_of_the_theorem(entities: int) -> None:
    system = FactSystem.random(entities, 2)
    model = t1b.construct_circle(system)
    found = check_every_query_by_intervals(model, system, Task(), weight_errors=t1b.circle_errors(system))
    low, high = circle_margin(entities)
    assert found.status == "holds"
    assert found.low <= high
    assert low <= found.high
    assert float(high) == pytest.approx(1 - np.cos(2 * np.pi / entities), rel=1e-12)
    # The weights as they are, rounded, taken as fractions: the margin is exact and within rounding of the real one.
    rounded = check_every_query(model, system, Task(), rational=True)
    assert rounded.holds
    assert abs(rounded.margin - low) < Fraction(1, 10**14)


def test_a_wrong_answer_fails_with_a_counterexample() -> None:
    system = FactSystem.random(4, 2)
    other = FactSystem.random(4, 2, seed=1)
    model = t3.construct(system, 1, softmax=True)
    found = check_every_query_by_intervals(model, other, Task(1, 1))
    assert found.status == "fails"
    assert found.counterexample is not None
    bad = found.counterexample
    assert bad.expected == other.answers[bad.word[0], bad.subject]
    assert bad.got == system.answers[bad.word[0], bad.subject]
    assert bad.margin < 0


def test_weak_softmax_fails_and_wide_balls_are_undecided() -> None:
    system = FactSystem([[1, 2, 0], [2, 1, 0]])
    weak = dataclasses.replace(t3.construct(system, 3, softmax=True), beta=1e-3)
    assert check_every_query_by_intervals(weak, system, Task(3, 1)).status == "fails"
    assert not certify(weak, system, Task(3, 1)).accepted
    circle = t1b.construct_circle(system)
    wide = {name: np.ones_like(errors) for name, errors in t1b.circle_errors(system).items()}
    assert check_every_query_by_intervals(circle, system, Task(), weight_errors=wide).status == "undecided"


def test_a_tie_is_no_success() -> None:
    system = FactSystem.random(4, 1)
    model = t1.construct(system)
    tied = dataclasses.replace(model, W_U=np.zeros_like(model.W_U))
    assert check_every_query_by_intervals(tied, system, Task()).status == "fails"


def test_claimed_margin_is_required() -> None:
    system = FactSystem.random(4, 2)
    model = t1.construct(system)
    assert check_every_query_by_intervals(model, system, Task(), 2).status == "holds"
    assert check_every_query_by_intervals(model, system, Task(), 3).status == "fails"
