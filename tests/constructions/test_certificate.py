"""The certificate is sound: what it accepts, checking every query accepts, with at least the margin it proves.

Tried on the constructions, on other facts and tasks than theirs, and on damaged ones. The models made to fool it are in
`test_certificate_attacks`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from constructions.verification import certificate, certify_prompts
from constructions.verification.certificate import certify
from constructions.verification.certify_attention import Refused, _winner
from constructions.weights import t1, t1b, t3
from tests.helpers.deciding import SYSTEM, decide, decide_softmax
from tests.helpers.edits import damaged, widened
from tests.helpers.models import EXACT, MODELS, SOFTMAX, Case, Model, cases
from tests.helpers.random_models import INTEGERS, Shape, random_model, shapes
from theory import FactSystem, InputError, Task
from theory.definitions.strategies import fact_systems

every_certified_model = pytest.mark.parametrize("model", EXACT + SOFTMAX, ids=lambda model: model.name)


@every_certified_model
@given(case=cases())
@settings(max_examples=20)
def test_constructions_are_certified(model: Model, case: Case) -> None:
    transformer, task = model.build(case.system, case.hops, case.bits), model.task(case.hops)
    if model in SOFTMAX:
        found = decide_softmax(transformer, case.system, task)
    else:
        found, _ = decide(transformer, case.system, task)
    assert found.holds, certificate.reason
    assert found.margin is not None
    assert found.margin >= model.margin
    assert found.queries == case.system.entities * case.system.relations**task.hops


@every_certified_model
@given(case=cases(relations=3), seed=st.integers(0, 10**6))
@settings(max_examples=10)
def test_other_facts_are_not_certified(model: Model, case: Case, seed: int) -> None:
    """Any other facts: they may agree on words. Facts with two answers of one relation exchanged, on single hops."""
    transformer, task = model.build(case.system, case.hops, case.bits), model.task(case.hops)
    other = FactSystem.random(case.system.entities, case.system.relations, seed)
    (decide_softmax if model in SOFTMAX else decide)(transformer, other, task)
    exchanged = np.array(case.system.answers)
    exchanged[-1, [0, 1]] = exchanged[-1, [1, 0]]
    if task.hops == 1:
        assert not certify(transformer, FactSystem(exchanged), task).holds


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_a_claim_above_the_margin_is_refused(model: Model) -> None:
    transformer, task = model.build(SYSTEM, 2, 2), model.task(2)
    margin = certify(transformer, SYSTEM, task).margin
    assert margin is not None
    assert certify(transformer, SYSTEM, task, margin).holds
    refused = certify(transformer, SYSTEM, task, margin + Fraction(1, 10**40))
    assert not refused.holds
    assert refused.margin == margin
    assert str(margin) in refused.reason


@pytest.mark.parametrize(
    ("argued", "listed", "margin"),
    [
        (2, 7, 2),
        (1, 7, 1),
        (0, 3, 3),
        (-1, 3, 3),
        (-1, -2, -2),
        (0, None, 0),
        (None, 3, 3),
        (None, 0, None),
        (None, None, None),
    ],
)
def test_prompts_are_run_where_no_argument_proves_a_margin(
    argued: int | None, listed: int | None, margin: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`None` is a refusal; what is refused for two reasons has the first."""

    def planted(outcome: int | None, name: str) -> Callable[..., Fraction]:
        def argue(*_: object) -> Fraction:
            if outcome is None:
                raise Refused(name)
            return Fraction(outcome)

        return argue

    monkeypatch.setattr(certificate, "certify_single_block", planted(argued, "no argument"))
    monkeypatch.setattr(certificate, "certify_prompts", planted(listed, "too many"))
    found = certify(t1.construct(SYSTEM), SYSTEM, Task())
    assert (found.holds, found.margin) == (margin is not None and margin > 0, margin)
    assert found.holds == (found.reason == "")
    if not found.holds:
        assert found.reason == (
            "no argument" if margin is None else f"the margin that can be proved is {margin}, not 0"
        )


def test_large_systems_are_certified() -> None:
    system = FactSystem.random(3000, 5)
    exchanged = np.array(system.answers)
    exchanged[4, [17, 2018]] = exchanged[4, [2018, 17]]
    wrong = FactSystem(exchanged)
    for transformer, task in (
        (t1.construct(system), Task()),
        (t1b.construct(system, 3), Task()),
        (t3.construct(system, 500, 3), Task(500, 1)),
        (t3.construct_with_signs(system, 500, 3, softmax=True), Task(500, 1)),
    ):
        assert certify(transformer, system, task).holds
        assert not certify(transformer, wrong, task).holds


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_what_does_not_fit_is_an_input_error(model: Model) -> None:
    with pytest.raises(InputError, match="the model has 5 entities"):
        certify(model.build(SYSTEM, 1, 1), FactSystem.random(6, 2), model.task(1))


@every_certified_model
@given(case=cases(entities=5, relations=3, hops=3, bits=3, queries=60), seed=st.integers(0, 10**6))
@settings(max_examples=50)
def test_damaged_constructions(model: Model, case: Case, seed: int) -> None:
    sound = model.build(case.system, case.hops, case.bits)
    broken = damaged(sound, np.random.default_rng(seed))
    (decide_softmax if model in SOFTMAX else decide)(broken, case.system, model.task(case.hops))


@given(
    model=st.sampled_from(EXACT),
    case=cases(entities=5, relations=3, hops=4, queries=100),
    hops=st.integers(1, 4),
    stride=st.integers(1, 4),
)
@settings(max_examples=150)
def test_models_asked_for_another_task(model: Model, case: Case, hops: int, stride: int) -> None:
    """Fewer hops, or another stride, than the model was built for."""
    transformer, task = model.build(case.system, case.hops, 2), Task(hops, min(stride, hops))
    if transformer.answers == case.system.entities and task.positions <= len(transformer.W_pos):
        decide(transformer, case.system, task)


def test_whole_floats_are_certified() -> None:
    transformer = t1.construct(SYSTEM)
    floats = {name: widened(getattr(transformer, name)).astype(float) for name in ("W_E", "W_U", "b_U")}
    assert certify(dataclasses.replace(transformer, **floats), SYSTEM, Task(), 2).holds


@given(
    shape=shapes,
    kinds=st.lists(st.sampled_from(["small", "mostly zero", "int8 extremes"]), min_size=1, max_size=2),
    system=fact_systems(3, 2),
    task=st.sampled_from([Task(), Task(2), Task(2, 1)]),
    seed=st.integers(0, 999),
)
@settings(max_examples=100)
def test_models_of_every_shape_are_decided(
    shape: Shape, kinds: list[str], system: FactSystem, task: Task, seed: int
) -> None:
    """Without heads, blocks, hidden units, queries or values as well; hardly one of them is right."""
    transformer = random_model(shape, INTEGERS, kinds, seed)
    W_pos = np.concatenate([transformer.W_pos, transformer.W_pos[:1]])
    decide(dataclasses.replace(transformer, W_pos=W_pos), system, task)


def test_prompts_are_not_run_where_an_argument_proves_a_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Fraction:
        raise AssertionError("every prompt was run")

    monkeypatch.setattr(certificate, "certify_prompts", refuse)
    for model, margin in ((t1.construct(SYSTEM), 2), (t1b.construct(SYSTEM, 2), 1)):
        assert certify(model, SYSTEM, Task()).margin == margin


def test_a_claim_of_nothing_is_the_default() -> None:
    assert certify(t1b.construct(SYSTEM, 2), SYSTEM, Task()) == certify(t1b.construct(SYSTEM, 2), SYSTEM, Task(), 1)


def test_the_gaps_of_a_head_are_the_least_by_rank() -> None:
    """Two queries with gaps 1, 5 and 7, 2 to the position read: at least 1 and 5 in every prompt."""
    low = np.array([[10, 10], [0, 0], [0, 0]])
    high = np.array([[10, 10], [9, 3], [5, 8]])
    winner, gaps = _winner(low, high, 0, 0)
    assert (winner, gaps.tolist()) == (0, [1, 5])


def test_the_work_of_running_prompts_is_told_and_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """5 subjects, 2 relations, 2 positions, and the weights of the block that are not 0."""
    model = t1.construct(SYSTEM)
    weights = sum(np.count_nonzero(array) for name, array in model.tensors() if name.startswith("blocks."))
    products = 10 * 2 * weights
    monkeypatch.setattr(certify_prompts, "MOST_PRODUCTS", products)
    assert certify_prompts.certify_prompts(model, SYSTEM, Task()) == 2
    monkeypatch.setattr(certify_prompts, "MOST_PRODUCTS", products - 1)
    with pytest.raises(
        Refused, match=f"10 prompts are too many to run: {products} products, of at most {products - 1}"
    ):
        certify_prompts.certify_prompts(model, SYSTEM, Task())
