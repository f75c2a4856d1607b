"""All systems of a size, one of each class, and systems drawn at random: what is covered, and what is caught."""

from __future__ import annotations

import dataclasses
import math

import hypothesis
import numpy as np
import pytest

from constructions.verification import systems
from constructions.verification.exhaustive import check_every_query
from constructions.verification.result import Result
from constructions.verification.systems import (
    Construction,
    check_all_classes,
    check_all_systems,
    check_systems,
    search_systems,
)
from constructions.weights import t1, t2, t3, t3b, t6
from tests.helpers.models import EXACT, Model
from theory import FactSystem, InputError, Task, Transformer, all_systems

# Classes of pairs of permutations of 3, 4, 5 entities under relabelling (OEIS A110143).
CLASSES_OF_PAIRS = {3: 11, 4: 43, 5: 161}
# The system that the constructions with a fault get wrong.
UNLUCKY = FactSystem([[1, 2, 0], [0, 2, 1]])


@pytest.mark.parametrize("model", EXACT, ids=lambda model: model.name)
def test_every_construction_on_every_small_system(model: Model) -> None:
    verdict = check_all_systems(lambda system: model.build(system, 2, 1), 3, 2, model.task(2), model.margin)
    assert verdict.holds, str(verdict.counterexample)
    assert verdict.systems == math.factorial(3) ** 2
    assert verdict.queries == verdict.systems * 3 * 2 ** model.task(2).hops
    assert verdict.margin >= model.margin


@pytest.mark.parametrize("model", EXACT, ids=lambda model: model.name)
def test_every_construction_on_one_system_of_each_class(model: Model) -> None:
    verdict = check_all_classes(lambda system: model.build(system, 2, 2), 4, 2, model.task(2), model.margin)
    assert verdict.holds, str(verdict.counterexample)
    assert verdict.systems == CLASSES_OF_PAIRS[4]


def test_the_least_margins_of_all_systems_and_of_all_classes_agree() -> None:
    """T1 claims nothing of names, so that relabelling the entities changes no least margin over all of its systems."""
    everything = check_all_systems(t1.construct, 4, 2, Task(), 2)
    classes = check_all_classes(t1.construct, 4, 2, Task(), 2)
    assert everything.systems == math.factorial(4) ** 2
    assert everything.margin == classes.margin == 2
    assert everything.holds
    assert classes.holds


@pytest.mark.parametrize("entities", CLASSES_OF_PAIRS)
def test_as_many_classes_as_burnside_counts(entities: int) -> None:
    verdict = check_all_classes(t1.construct, entities, 2, Task(), 2)
    assert verdict.systems == CLASSES_OF_PAIRS[entities]
    assert verdict.queries == verdict.systems * entities * 2


def unlucky(system: FactSystem) -> Transformer:
    """T1, but for one system of all: there the answer to (2, relation 1) is spoilt."""
    transformer = t1.construct(system)
    if system != UNLUCKY:
        return transformer
    W_E = np.array(transformer.W_E)
    W_E[2, 2:4] *= -1
    return dataclasses.replace(transformer, W_E=W_E)


def test_a_fault_for_one_system_alone_is_caught_and_reported() -> None:
    verdict = check_all_systems(unlucky, 3, 2, Task(), 2)
    assert not verdict.holds
    failure = verdict.counterexample
    assert failure is not None
    assert failure.system == UNLUCKY
    assert (failure.subject, failure.word, failure.expected) == (2, (1,), 1)
    assert failure.got != 1
    assert failure.margin < 0
    # It stops there: systems in lexicographic order, as many as come before and the unlucky one.
    before = list(all_systems(3, 2)).index(UNLUCKY)
    assert verdict.systems == before + 1
    assert verdict.queries == 6 * verdict.systems
    assert str(UNLUCKY) in str(failure)


def test_a_fault_for_other_systems_goes_unnoticed() -> None:
    """What is not covered is not claimed."""
    assert check_systems(unlucky, [FactSystem([[1, 2, 0], [0, 1, 2]])], Task(), 2).holds
    assert not check_systems(unlucky, [FactSystem([[1, 2, 0], [0, 1, 2]]), UNLUCKY], Task(), 2).holds


def test_a_fault_for_one_class_is_found_whatever_the_names() -> None:
    """Wrong wherever relation 0 is a transposition of 4 entities, which is one class of permutations."""

    def construct(system: FactSystem) -> Transformer:
        transposition = int((system.answers[0] == np.arange(4)).sum()) == 2
        transformer = t1.construct(system)
        return dataclasses.replace(transformer, W_U=-transformer.W_U) if transposition else transformer

    failure = check_all_classes(construct, 4, 1, Task()).counterexample
    assert failure is not None
    assert sorted(failure.system.answers[0] == np.arange(4)) == [False, False, True, True]


def test_a_claim_above_the_margin_is_caught() -> None:
    assert not check_all_systems(t1.construct, 3, 1, Task(), 5).holds


def doubled(system: FactSystem) -> Transformer:
    """T1, whose margin is 2, with the read-out doubled unless relation 0 leaves 0 where it is."""
    transformer = t1.construct(system)
    return transformer if system.answers[0, 0] == 0 else dataclasses.replace(transformer, W_U=2 * transformer.W_U)


def test_the_margin_of_many_systems_is_the_least() -> None:
    home, away = FactSystem([[0, 1, 2], [1, 2, 0]]), FactSystem([[1, 0, 2], [1, 2, 0]])
    for order in ([home, away], [away, home]):
        found = check_systems(doubled, order, Task(), 2)
        assert (found.holds, found.low, found.high, found.queries, found.systems) == (True, 2, 2, 12, 2)
    assert check_systems(doubled, [away], Task(), 4).low == 4
    assert search_systems(doubled, Task(), 2).low == 2


def test_no_more_than_a_positive_margin_is_asked_for_unless_it_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    claims: list[int] = []

    def check(transformer: Transformer, system: FactSystem, task: Task, claimed_margin: int) -> Result:
        claims.append(claimed_margin)
        return check_every_query(transformer, system, task, claimed_margin)

    monkeypatch.setattr(systems, "check_every_query", check)
    monkeypatch.setattr(systems, "STACK", 1)
    for claimed in ((), (2,)):
        claims.clear()
        check_systems(t1.construct, [UNLUCKY], Task(), *claimed)
        check_all_systems(t1.construct, 3, 1, Task(), *claimed)
        check_all_classes(t1.construct, 3, 1, Task(), *claimed)
        search_systems(t1.construct, Task(), *claimed, examples=3)
        assert set(claims) == set(claimed or (0,))
        assert len(claims) >= 1 + 6 + 3 + 3


@pytest.mark.parametrize("claimed", [0, 2, 3])
@pytest.mark.parametrize(
    ("construct", "task"),
    [
        (t1.construct, Task()),
        (unlucky, Task()),
        (doubled, Task()),
        (lambda system: t2.construct(system, 2, 2), Task(2)),
        (lambda system: t3.construct(system, 2, 2), Task(2, 1)),
        (t6.construct, Task(disjoint_attributes=True)),
    ],
)
def test_systems_that_are_stacked_are_judged_as_one_by_one(
    construct: Construction, task: Task, claimed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for stack in (1, 7, 1024):
        monkeypatch.setattr(systems, "STACK", stack)
        found.append(check_all_systems(construct, 3, 2, task, claimed))
    assert found[0] == found[1] == found[2]


def test_a_stack_that_holds_is_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(*_: object) -> Result:
        raise AssertionError("a system was run alone")

    monkeypatch.setattr(systems, "check_every_query", check)
    assert check_all_systems(t1.construct, 3, 2, Task(), 2).holds
    assert check_all_systems(lambda system: t2.construct(system, 2, 2), 3, 2, Task(2), 1).holds
    with pytest.raises(AssertionError, match="a system was run alone"):
        check_all_systems(t1.construct, 3, 2, Task(), 3)


def test_only_the_rows_of_the_subjects_may_differ_in_a_stack() -> None:
    one = t1.construct(UNLUCKY)
    assert [len(stack) for stack in systems._stacks((t1.construct(each), each) for each in all_systems(3, 1))] == [6]
    rows = np.array(one.W_E)
    rows[-1, 0] += 1
    block = one.blocks[0]
    others = [
        dataclasses.replace(one, W_E=rows),
        dataclasses.replace(one, W_E=one.W_E.astype(np.int64)),
        dataclasses.replace(one, W_pos=one.W_pos + 1),
        dataclasses.replace(one, W_U=-one.W_U),
        dataclasses.replace(one, b_U=one.b_U + 1),
        dataclasses.replace(one, residual=True),
        dataclasses.replace(one, causal=True),
        dataclasses.replace(one, attention="hardmax"),
        dataclasses.replace(one, blocks=(block, block)),
        dataclasses.replace(one, blocks=(dataclasses.replace(block, b_out=block.b_out + 1),)),
    ]
    for other in others:
        assert len(list(systems._stacks([(one, UNLUCKY), (other, UNLUCKY)]))) == 2


def mixed_up(system: FactSystem) -> Transformer:
    """T1, with relations 0 and 1 exchanged."""
    order = np.arange(system.relations)
    order[:2] = order[:2][::-1]
    return t1.construct(FactSystem(system.answers[order]))


def test_searching_shrinks_to_the_smallest_failing_system() -> None:
    """Two relations that are exchanged fail first on two entities that they map differently."""
    verdict = search_systems(mixed_up, Task())
    failure = verdict.counterexample
    assert failure is not None
    assert failure.system in (FactSystem([[0, 1], [1, 0]]), FactSystem([[1, 0], [0, 1]]))
    assert (failure.subject, failure.word) == (0, (0,))


def test_searching_does_not_depend_on_the_profile_that_is_loaded() -> None:
    before, found = hypothesis.settings.get_current_profile_name(), search_systems(mixed_up, Task())
    hypothesis.settings.register_profile("other", phases=[hypothesis.Phase.explicit], max_examples=1)
    hypothesis.settings.load_profile("other")
    try:
        assert search_systems(mixed_up, Task()) == found
    finally:
        hypothesis.settings.load_profile(before)


def test_searching_sound_constructions() -> None:
    for construct, task in (
        (t1.construct, Task()),
        (lambda system: t2.construct(system, 2, 2), Task(2)),
        (lambda system: t3b.construct_learned(system, 3, 2), Task(3, 2)),
    ):
        verdict = search_systems(construct, task, 1, examples=15)
        assert verdict.holds
        assert verdict.systems >= 10
        again = search_systems(construct, task, 1, examples=15)
        assert (again.queries, again.systems, again.margin) == (verdict.queries, verdict.systems, verdict.margin)


def test_nothing_to_check_is_an_input_error() -> None:
    with pytest.raises(InputError, match="no system to check"):
        check_systems(t1.construct, [], Task())
