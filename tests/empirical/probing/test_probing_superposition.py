"""Superposition and exchange of components, where the answers are known: yes for T1, no for a memory and for chance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from constructions.weights import t1, t1b, t2b, t4
from empirical.probing.facts.probed import Patch, Probed, Relation
from empirical.probing.measures.families import families
from empirical.probing.measures.maps import fit_chosen
from empirical.probing.measures.measure import facts_of, states_of
from empirical.probing.measures.superposition import superpose
from empirical.probing.measures.swap import swap
from tests.helpers.probed_models import Stub, noise, relation
from tests.helpers.theory_model import TheoryModel, relations_of
from theory import FactSystem, InputError

SYSTEM = FactSystem.random(64, 3, seed=1)


def asked(model: Probed, relations: tuple[Relation, ...]):
    facts = [each for each in (facts_of(model, one) for one in relations) if not isinstance(each, str)]
    return facts, states_of(model, relations, tuple(range(model.layers + 1)), 0)


def sums(model: Probed, relations: tuple[Relation, ...], layer: int = 0):
    facts, states = asked(model, relations)
    (family,) = families(facts)
    at = states.of(family.subjects)[0][layer]
    pairs = zip(family.facts, family.objects, strict=True)
    return superpose(family, states, [fit_chosen(at, each.found, objects, 0) for each, objects in pairs], layer)


def swaps(model: Probed, relations: tuple[Relation, ...]):
    facts, states = asked(model, relations)
    (family,) = families(facts)
    return swap(model, family, states)


@pytest.mark.parametrize("build", [t1.construct, t1b.construct_circle], ids=["T1", "T1b on a circle"])
def test_blocks_are_a_superposition_in_disjoint_subspaces(build):
    found = sums(TheoryModel("blocks", build(SYSTEM)), relations_of(SYSTEM))
    assert found.subspaces.mean < 1e-9
    assert found.subspaces.random_low > 0.1
    assert found.explained.together.low > 1 - 1e-9
    assert found.explained.shuffled.high < 0.1
    assert all(part.lost_without.low > 0.2 and part.alone.value < 0.5 for part in found.parts)


@pytest.mark.parametrize("model", ["memory", "random weights"])
def test_a_memory_and_random_weights_are_none(model):
    models = {
        "memory": TheoryModel("memory", t2b.construct(SYSTEM)),
        "random weights": TheoryModel("T1", t1.construct(SYSTEM)).randomised(3),
    }
    found = sums(models[model], relations_of(SYSTEM))
    assert found.explained.together.high < 0.05
    assert found.explained.gain.high < 0.05
    assert found.subspaces.mean > found.subspaces.random_low


def test_two_relations_in_one_subspace_overlap():
    objects = np.arange(60) % 10
    other = (3 * objects + 1) % 10
    rows = noise(10, 20)
    states = rows[objects] @ noise(20, 20, seed=1)
    model = Stub(states[None], rows, {})
    found = sums(model, (relation(objects), relation(other, "shape")))
    assert found.subspaces.mean > found.subspaces.random_high
    # Either alone explains the state: neither adds anything to the other.
    assert found.parts[0].alone.low > 0.99
    assert max(part.lost_without.high for part in found.parts) < 0.01


def test_from_states_that_are_all_alike_nothing_is_read():
    objects = np.arange(60) % 7
    model = Stub(np.ones((1, 60, 20)), noise(10, 20), {})
    found = sums(model, (relation(objects), relation(objects[::-1], "shape")))
    (pair,) = found.subspaces.pairs
    assert (pair.ranks, pair.overlap, pair.largest_cosine) == ((0, 0), 0, 0)
    assert found.subspaces.random_high == found.explained.together.high == 0


def test_a_relation_that_does_not_vary_among_the_common_subjects_is_in_no_family():
    model = Stub(noise(1, 70, 20), noise(10, 20), {})
    constant = relation(np.concatenate([np.zeros(50, int), np.arange(20) % 5 + 1]))
    shape, size = relation(np.arange(50) % 7, "shape"), relation(np.arange(50) % 3, "size")
    (family,) = families([facts_of(model, each) for each in (constant, shape, size)])
    assert family.names == ("shape", "size")
    assert family.objects.shape == family.correct.shape == (2, 50)
    assert families([facts_of(model, each) for each in (constant, shape)]) == ()


@pytest.mark.parametrize("residual", [False, True])
def test_exchanging_a_block_changes_one_relation_as_intended_and_no_other(residual):
    found = swaps(TheoryModel("T1", t1.construct(SYSTEM, residual=residual)), relations_of(SYSTEM))
    assert len(found) == 3
    for each in found:
        assert (each.layer, each.strength) == (0, 1)
        assert each.through_map.success.low == 1
        assert each.through_map.leakage.high == 0
        assert max(each.random.success.value, each.shuffled.success.value) < 0.2
        assert min(each.random.leakage.value, each.shuffled.leakage.value) > 0.2
        assert each.gain.low > 0.5
        assert each.selective.low == 1


def test_nothing_can_be_exchanged_in_a_memory():
    for each in swaps(TheoryModel("memory", t2b.construct(SYSTEM)), relations_of(SYSTEM)):
        assert each.through_map.success.high < 0.3
        assert each.gain.low <= 0


def test_too_few_tested_subjects_are_no_exchange():
    """Of two objects, one that the model answers wrongly leaves no other to go to."""
    objects = np.arange(60) % 2
    said = np.where(np.arange(60) < 4, objects, 1 - objects)
    model = Stub(noise(2, 60, 20), noise(10, 20), {"colour": said.tolist()})
    found = swaps(model, (relation(objects), relation(np.arange(60) % 7, "shape")))
    assert [each.relation for each in found] == ["shape"]


def test_states_of_other_subjects_give_no_map_to_exchange_by():
    class Mixed(TheoryModel):
        def states(self, subjects):
            return np.roll(super().states(subjects), 17, axis=1)

    for each in swaps(Mixed("mixed", t1.construct(SYSTEM)), relations_of(SYSTEM)):
        assert each.through_map.success.high < 0.5


def test_relations_of_the_same_subjects_are_a_family_and_others_are_not():
    rows, objects = noise(10, 20), np.arange(60) % 10
    model = Stub(noise(1, 60, 20), rows, {})
    three = [relation(objects), relation(objects[:50], "shape"), relation(objects, "element", subject="other")]
    found = families([facts_of(model, each) for each in three])
    assert [family.names for family in found] == [("colour", "shape")]
    assert len(found[0].subjects) == 50
    assert (found[0].objects[0] == found[0].objects[1]).all()
    assert families([facts_of(model, three[0])]) == ()


def test_a_patched_stream_goes_on_through_the_blocks_that_are_left():
    system = FactSystem.random(6, 3, seed=2)
    model = TheoryModel("T4", t4.construct(system, hops=2))
    asked_for = relations_of(system)[1]
    plain = model.scores(asked_for, asked_for.subjects)
    assert model.layers > 1
    for layer in range(model.layers + 1):
        change = np.zeros((6, model.transformer.dimension))
        np.testing.assert_allclose(model.scores(asked_for, asked_for.subjects, Patch(layer, change)), plain)
    single = TheoryModel("T1", t1.construct(system))
    rows = single.states(asked_for.subjects)[0]
    patched = single.scores(asked_for, asked_for.subjects, Patch(0, np.roll(rows, 1, axis=0) - rows))
    np.testing.assert_allclose(patched, np.roll(single.scores(asked_for, asked_for.subjects), 1, axis=0))
    # After the last block nothing of the subject's position is read any more.
    late = single.scores(asked_for, asked_for.subjects, Patch(1, 100 + rows))
    np.testing.assert_allclose(late, single.scores(asked_for, asked_for.subjects))


def test_strangers_are_refused():
    model = TheoryModel("T1", t1.construct(SYSTEM))
    with pytest.raises(InputError, match=r"entity 0 \.\. entity 63"):
        model.states(["entity 64"])
    with pytest.raises(InputError, match=r"relation 0 \.\. relation 2"):
        model.scores(replace(relations_of(SYSTEM)[0], name="relation 3"), ["entity 0"])
