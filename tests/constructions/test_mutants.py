"""Mutants are functions of (seed, number) alone, do what their words say, and reach every construction in every way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from constructions.campaign import mutants as module
from constructions.campaign import mutations
from constructions.campaign.evaluator import evaluate
from constructions.campaign.mutants import MOST_QUERIES, Mutant, mutant
from constructions.campaign.mutations import ENTRIES, KINDS, Model, Mutation, refilled, retyped, stored
from constructions.weights import t2, t4
from constructions.weights.catalogue import CATALOGUE
from tests.helpers.models import named
from theory import FactSystem, Task, Transformer

SYSTEM = FactSystem([[1, 2, 0], [2, 1, 0]])


def weights(transformer: Transformer) -> list[Any]:
    """Everything that a transformer computes with."""
    tensors = [(name, array.dtype, array.tolist()) for name, array in transformer.tensors()]
    return [*tensors, transformer.attention, transformer.residual, transformer.causal, transformer.beta]


def content(each: Mutant) -> list[Any]:
    """Everything about a mutant."""
    return [each.construction, each.size, each.changes, each.claimed, each.enclosed, each.task, each.system,
            *weights(each.transformer)]  # fmt: skip


def test_a_mutant_depends_on_seed_and_number_alone() -> None:
    forwards = [content(mutant(5, number)) for number in range(12)]
    assert [content(mutant(5, number)) for number in reversed(range(12))] == forwards[::-1]
    assert all(content(mutant(6, number)) != forwards[number] for number in range(12))
    assert len({str(each) for each in forwards}) == 12


def test_mutants_of_every_construction_and_size() -> None:
    found = [mutant(0, number) for number in range(250)]
    assert {each.construction for each in found} == {f"{entry.theorem} {entry.name}" for entry in CATALOGUE}
    assert {each.system.entities for each in found} == set(range(2, 7))
    assert {each.system.relations for each in found} == {1, 2, 3}
    assert {each.task.hops for each in found} == {1, 2, 3}
    assert {each.task.stride for each in found} == {1, 2, 3}
    assert max(each.system.entities * each.system.relations**each.task.hops for each in found) <= MOST_QUERIES
    assert {each.claimed for each in found} > {0, 2}
    assert {each.enclosed for each in found if each.transformer.attention != "softmax"} == {True, False}
    assert all(each.enclosed for each in found if each.transformer.attention == "softmax")
    assert max(len(each.changes) for each in found) > 20
    tensors = {name.rpartition(".")[2] for each in found for name, _ in each.transformer.tensors()}
    said = " ".join(change for each in found for change in each.changes)
    assert [name for name in tensors if name not in said] == []


@pytest.mark.parametrize(
    ("value", "holding"),
    [
        (-128, {"int8", "int16", "int32", "int64", "float16", "float32", "float64"}),
        (128, {"int16", "int32", "int64", "uint64", "float16", "float32", "float64"}),
        (2049, {"int16", "int32", "int64", "uint64", "float32", "float64"}),
        (2**24 + 1, {"int32", "int64", "uint64", "float64"}),
        (2**53 + 1, {"int64", "uint64"}),
        (2**63, {"uint64", "float32", "float64"}),
        (2**64, {"float32", "float64"}),
        (0.5, {"float16", "float32", "float64"}),
        (1e300, {"float64"}),
        (5e-324, {"float64"}),
        (float("inf"), set()),
        (2**64 + 1, set()),
    ],
)
def test_a_type_that_does_not_hold_a_number_is_not_taken(value: Any, holding: set[str]) -> None:
    assert {kind for kind in mutations.TYPES if stored([value], kind) is not None} == holding
    for kind in holding:
        array = retyped(np.array([[value]], kind), kind)
        assert array is not None
        assert (array.dtype, array.shape, array.tolist()) == (np.dtype(kind), (1, 1), [[value]])


def test_numbers_that_no_type_holds_are_rounded_or_refused() -> None:
    whole = np.array([1, 2], np.int8)
    assert [refilled(whole, [3, each]).dtype for each in (4, 300, 2**63, 0.5)] == [  # type: ignore[union-attr]
        np.int8, np.int64, np.uint64, np.float64,
    ]  # fmt: skip
    rounded = refilled(whole, [0.5, 2**53 + 1])
    assert rounded is not None
    assert rounded.tolist() == [0.5, 2**53]
    assert refilled(whole, [1, float("inf")]) is None


def test_changes_of_entries() -> None:
    assert {name: change(3) for name, change in ENTRIES.items() if not name.startswith("set to")} == {
        "+ 1": 4, "- 1": 2, "+ 3": 6, "+ 1000": 1003, "- 1000": -997, "+ 2^-40": 3 + 2**-40, "- 2^-40": 3 - 2**-40,
        "with its sign changed": -3, "halved": 1.5, "doubled": 6,
    }  # fmt: skip
    for name, change in ENTRIES.items():
        if name.startswith("set to"):
            assert change(3) == eval(name.removeprefix("set to ").replace("^", "**"))


def several(kind: Mutation, model: Model, count: int = 40) -> list[tuple[Model, str]]:
    """What a kind of mutation makes of the model, many times."""
    drawn = [kind(model, np.random.default_rng(number)) for number in range(count)]
    found = [each for each in drawn if each is not None]
    assert found
    return found


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_changes_what_it_says(kind: Mutation) -> None:
    """The tensors that are not named stay as they are; most of the time something does change."""
    sound = Model(t4.construct(SYSTEM, 2), SYSTEM)
    different = 0
    for model, said in several(kind, sound):
        assert model.transformer.parameters == sound.transformer.parameters
        before = dict(sound.transformer.tensors())
        altered = {n for n, a in model.transformer.tensors() if (n, a.dtype, a.tolist()) != (n, before[n].dtype, before[n].tolist())}  # fmt: skip # noqa: E501
        if kind in (mutations.entries, mutations.rows, mutations.scaled_tensor, mutations.shifted_tensor):
            assert all(name in said for name in altered)
            assert len(altered) <= 1
        different += bool(altered) or model.system != sound.system or weights(model.transformer)[-4:] != weights(sound.transformer)[-4:]  # fmt: skip # noqa: E501
    assert different > 10


@pytest.mark.parametrize("kind", [mutations.one_type, mutations.mixed_types], ids=lambda kind: kind.__name__)
def test_another_type_changes_no_value(kind: Mutation) -> None:
    sound = Model(t2.construct(SYSTEM, 2, 1), SYSTEM)
    kinds = set()
    for model, _ in several(kind, sound):
        for (_, before), (_, after) in zip(sound.transformer.tensors(), model.transformer.tensors(), strict=True):
            assert before.tolist() == after.tolist()
            kinds.add(after.dtype.name)
    assert kinds == set(mutations.TYPES)


@pytest.mark.parametrize("name", ["T1 residual", "T2 direct", "T3 signs", "T4 deep", "T6 linear"])
def test_harmless_changes_do_no_harm(name: str) -> None:
    model = named(name)
    sound, task = model.build(SYSTEM, 2, 1), model.task(2)
    margin = evaluate(sound, SYSTEM, task).high
    for changed, said in several(mutations.harmless, Model(sound, SYSTEM), 25):
        truth = evaluate(changed.transformer, SYSTEM, task)
        if "W_U and b_U" in said and "-1" not in said.split():
            assert truth.is_right()
        elif "W_U and b_U" not in said:
            assert truth.low == truth.high == margin, said


def test_facts_change_under_the_same_weights() -> None:
    sound = Model(t2.construct(SYSTEM, 1, 1), SYSTEM)
    for model, _ in several(mutations.facts, sound):
        assert model.transformer is sound.transformer
        assert (model.system.answers != SYSTEM.answers).sum() == 2


def test_a_guided_walk_stays_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the guide, most walks of this length end in a wrong model."""

    class Guided:
        """A generator whose first draw chooses the style of the walk."""

        def __init__(self, seed: int, style: float) -> None:
            self.rest, self.style = np.random.default_rng(seed), [style]

        def random(self) -> float:
            return self.style.pop() if self.style else float(self.rest.random())

        def __getattr__(self, name: str) -> Any:
            return getattr(self.rest, name)

    sound, task = Model(t2.construct(SYSTEM, 2, 1), SYSTEM), Task(2)
    for style, all_right in ((0.95, True), (0.8, False)):
        walks = [module._walk(sound, task, 0, Guided(seed, style)) for seed in range(12)]  # type: ignore[arg-type]
        assert all(evaluate(*model, task).is_right() for model, _ in walks) == all_right
        assert max(len(changes) for _, changes in walks) > 2
