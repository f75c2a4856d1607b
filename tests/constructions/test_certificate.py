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
from constructions.verification.certify_step import words_and_answers
from constructions.verification.exact import ARRAY, products
from constructions.verification.exhaustive import check_every_query
from constructions.weights import t1, t1b, t3
from tests.helpers.deciding import SYSTEM, decide, decide_softmax
from tests.helpers.edits import damaged, widened
from tests.helpers.models import EXACT, MODELS, SOFTMAX, Case, Model, cases
from tests.helpers.random_models import INTEGERS, Shape, random_model, shapes
from theory import Block, FactSystem, InputError, Task, Transformer
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


def test_the_work_of_a_prompt_is_that_of_its_blocks() -> None:
    """The last position alone reads in the last block, and both in another."""
    model = t1.construct(SYSTEM)
    weights = sum(np.count_nonzero(getattr(model.blocks[0], name)) for name in Block.AXES)
    embedding, batch = 2 * model.dimension, (1 + 2) * ARRAY
    block = weights + 2 * model.dimension
    for blocks, runs in ((0, 0), (1, 1), (2, 3)):
        deeper = dataclasses.replace(model, blocks=model.blocks * blocks)
        assert products(deeper, 2, 10, 4) == 10 * embedding + runs * (10 * block + 4 * batch)


def test_two_prompts_of_thousands_of_tokens_are_too_many_to_run() -> None:
    """Every position of the first block sees every other: 4 million sums, for the few weights that there are."""
    with pytest.raises(Refused, match="2 prompts are too many to run"):
        certify_prompts.certify_prompts(all_ones(1, blocks=2, hops=2000), FactSystem([[0, 1]]), Task(2000))


def test_words_are_gone_through_one_by_one() -> None:
    """There are 2^27 of them, more than may be listed; the second is wrong already."""
    swap = FactSystem([[0, 1], [1, 0]])
    with pytest.raises(Refused, match=r"2\^27 words of a step are too many to go through; at most 100000000 are"):
        next(words_and_answers(swap, Task(27), 27))
    words = words_and_answers(swap, Task(26), 26)
    assert [(word[-1], answers.tolist()) for word, answers in (next(words), next(words))] == [(0, [0, 1]), (1, [1, 0])]


@pytest.mark.parametrize("blocks", [0, 1, 2])
def test_a_model_without_dimensions_is_judged_by_its_biases(blocks: int) -> None:
    model = all_ones(0, blocks=blocks, hops=1)
    assert check_every_query(model, FactSystem([[1, 1]]), Task()).holds
    assert certify(model, FactSystem([[1, 1]]), Task()).status == "undecided"


def all_ones(size: int, *, blocks: int, hops: int) -> Transformer:
    """Two entities, one relation, and ones for weights; every axis has this size, and answer 1 the larger bias."""
    block = Block(**{name: np.ones([size] * len(axes.split())) for name, axes in Block.AXES.items()})
    W_E, W_pos, W_U = np.ones((3, size)), np.zeros((hops + 1, size)), np.ones((size, 2))
    return Transformer(2, W_E, W_pos, (block,) * blocks, W_U, np.array([0, 1]), "uniform")
