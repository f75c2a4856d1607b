"""Every fault in a single entry that does harm is caught by checking every query, and refused by the certificate.

For every weight tensor of every construction: all entries where there are few, a seeded sample otherwise. The campaign
(`test_campaign`) goes further from the constructions; here no tensor is left out. What was found is printed at the end
of the run (`conftest.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from constructions.campaign.judge import judge
from constructions.campaign.mutants import Mutant
from constructions.campaign.mutations import ENTRIES, refilled, with_tensors
from constructions.suite.checks import claimed_margin
from tests.helpers import models
from tests.helpers.models import MODELS, SOFTMAX, named
from theory import FactSystem, Transformer

# (entities, relations, hops, bits): few queries, every kind of head and block, numbers that are no power of two.
TWO_HOPS, THREE_RELATIONS = (3, 2, 2, 1), (5, 3, 1, 2)
CHANGES = ("+ 1", "- 1", "+ 1000", "with its sign changed", "set to 0", "halved", "set to 2^53", "set to 2^63")


def single_entry_faults(
    transformer: Transformer, generator: np.random.Generator, most: int
) -> Iterator[tuple[str, tuple[int, ...], str, Transformer]]:
    """Tensor, place, change, and what comes of it, for every tensor: all that there are, or `most` drawn at random."""
    for name, array in transformer.tensors():
        total = array.size * len(CHANGES)
        drawn = range(total) if total <= most else generator.choice(total, size=most, replace=False).tolist()
        for number in drawn:
            place, change = number // len(CHANGES), CHANGES[number % len(CHANGES)]
            values = array.ravel().tolist()
            if values[place] == 0 and change in ("with its sign changed", "set to 0", "halved"):
                continue
            values[place] = ENTRIES[change](values[place])
            faulty = refilled(array, values)
            assert faulty is not None
            indices = tuple(int(i) for i in np.unravel_index(place, array.shape))
            yield name, indices, change, with_tensors(transformer, {name: faulty})


@pytest.mark.parametrize("sizes", [TWO_HOPS, THREE_RELATIONS], ids=["two hops", "three relations"])
@pytest.mark.parametrize("model", [model for model in MODELS if model.stride <= 2], ids=lambda model: model.name)
def test_every_harmful_fault_is_caught(
    model: models.Model, sizes: tuple[int, int, int, int], record_property: Callable[[str, object], None]
) -> None:
    entities, relations, hops, bits = sizes
    system, generator = FactSystem.random(entities, relations, seed=0), np.random.default_rng(0)
    sound, task, claimed = model.build(system, hops, bits), model.task(hops), claimed_margin(model.entry)
    faults = harmful = caught = right = accepted = 0
    for name, place, change, transformer in single_entry_faults(sound, generator, most=4):
        mutant = Mutant(0, faults, model.name, "", (), transformer, system, task, claimed, model in SOFTMAX)
        finding = judge(mutant)
        assert finding.violations == (), (name, place, change)
        faults += 1
        harmful += "harmful" in finding.columns
        caught += "caught" in finding.columns
        right += "right" in finding.columns
        accepted += "accepted" in finding.columns
    record_property("faults", [faults, harmful, caught, right, accepted])
    assert caught == harmful > faults / 5, "too few faults did harm for this to show much"
    assert harmful + right >= 0.95 * faults


def test_every_tensor_is_reached_and_every_change_made() -> None:
    transformer = named("T4 deep").build(FactSystem.random(3, 2), 2)
    faults = list(single_entry_faults(transformer, np.random.default_rng(0), most=40))
    assert {name for name, *_ in faults} == {name for name, array in transformer.tensors() if array.size}
    assert {change for _, _, change, _ in faults} == set(CHANGES)
    # Three zeros: there is no sign to change, and nothing to clear or to halve.
    assert len([name for name, *_ in faults if name == "b_U"]) == 3 * (len(CHANGES) - 3)
    for name, place, _, faulty in faults:
        before, after = dict(transformer.tensors())[name], dict(faulty.tensors())[name]
        assert np.argwhere(before != after).tolist() == [list(place)]
