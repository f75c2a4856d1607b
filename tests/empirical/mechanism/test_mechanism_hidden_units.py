"""Hidden units: on constructions every number is known, and tables, damage and chance are not taken for selectors."""

import json
from collections.abc import Callable
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from constructions.weights.catalogue import Setting
from constructions.weights.parts import code_bits, signs
from empirical.mechanism.hidden_units import (
    HiddenUnitResult,
    binned,
    gates,
    hidden_units,
    information_about_word,
    with_redrawn_gates,
    without_units,
)
from empirical.mechanism.subject import Studied, accuracy, of_construction, of_run
from empirical.models.runs import RunConfig
from empirical.statistics.shares import Share
from tests.helpers.edits import put, tensor, with_tensor
from tests.helpers.mechanisms import with_subjects
from theory import FactSystem
from theory.definitions.transformer import run_with_cache
from theory.errors import InputError

torch = pytest.importorskip("torch")

LARGE = FactSystem.random(64, 2, seed=3)
SMALL = {
    "uniform": RunConfig(32, 2, 8, 32, steps=400),
    "learned": RunConfig(32, 2, 8, 32, steps=400, attention="learned"),
}


def entropy(p: float) -> float:
    return float(sum(-q * np.log2(q) for q in (p, 1 - p) if q))


def changed(studied: Studied, name: str, array: NDArray[np.float64]) -> Studied:
    return replace(studied, transformer=with_tensor(studied.transformer, name, array))


def t1(system: FactSystem = LARGE, name: str = "plain") -> Studied:
    return of_construction("T1", system, name=name)


def trained(config: RunConfig) -> Studied:
    from empirical.models.training import train

    torch.set_num_threads(1)
    return of_run(train([config])[0].parameters, config)


def untrained(config: RunConfig) -> Studied:
    from empirical.models.model import initial

    return of_run(initial(config), config)


@pytest.mark.parametrize("entities", [128, 96, 84])
def test_one_relation_opens_each_unit_of_t1(entities: int) -> None:
    system = FactSystem.random(entities, 3, seed=1)
    found = hidden_units(t1(system)).gates
    size = code_bits(entities)
    ones = np.tile((signs(np.arange(entities), size) > 0).mean(axis=0), 3)
    own = np.repeat(np.arange(3), size)
    assert (found.opened_by == 1).all()
    assert (found.selectivity == 1).all()
    assert (found.best == own).all()
    assert (found.breadth == ones).all()
    assert (found.open_fraction[np.arange(len(own)), own] == ones).all()
    expected = [entropy(p / 3) - entropy(p) / 3 for p in ones]
    assert found.information == pytest.approx(expected)
    # Open, a unit of T1 has the activation 2 whatever the subject: bins know no more than open and closed.
    assert found.information_binned == pytest.approx(expected)
    assert found.informative.all()
    assert (found.information_shuffled < 0.1 * found.information).all()


def test_gates_of_t1_with_residual_are_open_to_every_subject() -> None:
    system = FactSystem.random(32, 3, seed=1)
    found = hidden_units(t1(system, "residual")).gates
    assert (found.breadth == 1).all()
    assert (found.selectivity == 1).all()
    assert found.information == pytest.approx(entropy(1 / 3))
    # c + 2 is 1 or 3: the activation says something about the subject, and still nothing more about the relation.
    assert found.information_binned == pytest.approx(entropy(1 / 3))


@pytest.mark.parametrize(
    ("theorem", "name", "setting"),
    [
        ("T1", "plain", Setting()),
        ("T1", "residual", Setting()),
        ("T1b", "digits", Setting(bits=2)),
        ("T1b", "circle", Setting()),
        ("T2", "direct", Setting(hops=2)),
        ("T3", "parabola", Setting(hops=3)),
        ("T3", "parabola, softmax", Setting(hops=2)),
    ],
)
def test_ablating_a_block_takes_its_own_answers_alone(theorem: str, name: str, setting: Setting) -> None:
    result = hidden_units(of_construction(theorem, LARGE, setting, name))
    own = np.eye(len(result.words), dtype=bool)
    assert result.accuracy.value == 1
    assert (result.ablated.matrix[~own] == 1).all()
    # What is left without the block is one answer for every subject, the right one for one subject in N.
    assert (result.ablated.matrix[own] == 1 / 64).all()
    assert (result.gates.selectivity == 1).all()
    assert result.control.others.high < 0.9
    assert result.verdict == "supported"
    assert json.loads(json.dumps(result.as_dict(), allow_nan=False))["gates"]["selectivity"] == 1


def test_a_table_is_as_selective_but_not_broad() -> None:
    result = hidden_units(of_construction("T2b", LARGE))
    assert (result.gates.selectivity == 1).all()
    assert (result.gates.breadth == 1 / 64).all()
    assert not result.gates.informative.any()
    assert result.gates.information == pytest.approx(entropy(1 / 128) - entropy(1 / 64) / 2)
    # By ablation alone it would pass: the table of one relation is a group of units like any other.
    assert result.ablated.own.value == 0
    assert result.ablated.others.value == 1
    assert result.verdict == "not supported"


def permuted_gates() -> Studied:
    order = np.random.default_rng(0).permutation(12)
    return changed(t1(), "blocks.0.W_in", tensor(t1().transformer, "blocks.0.W_in")[order])


def shuffled_subjects() -> Studied:
    return with_subjects(t1(), t1().rows[np.random.default_rng(0).permutation(64)])


def broken_gate() -> Studied:
    """T1 whose relation 0 opens the blocks of both relations."""
    return replace(t1(), transformer=put(t1().transformer, "W_E", 64, 1))


def always_open() -> Studied:
    return changed(t1(), "blocks.0.b_in", tensor(t1().transformer, "blocks.0.b_in") + 100)


def redrawn() -> Studied:
    return with_redrawn_gates(t1(), np.random.default_rng(0))


def never_open() -> Studied:
    return changed(t1(), "blocks.0.b_in", tensor(t1().transformer, "blocks.0.b_in") - 100)


DAMAGED = (permuted_gates, shuffled_subjects, broken_gate, always_open, never_open, redrawn)


@pytest.mark.parametrize("build", DAMAGED, ids=lambda build: build.__name__)
def test_damage_is_not_a_selector(build: Callable[[], Studied]) -> None:
    assert hidden_units(build()).verdict == "not supported"


def test_a_gate_left_open_is_seen_at_its_units() -> None:
    result = hidden_units(broken_gate())
    own, other = slice(0, 6), slice(6, 12)
    assert (result.gates.opened_by[own] == 1).all()
    assert (result.gates.selectivity[own] == 1).all()
    assert (result.gates.opened_by[other] == 2).all()
    assert (result.gates.selectivity[other] == 0).all()
    assert (result.gates.best[other] == -1).all()
    assert not result.gates.informative[other].any()


def test_units_that_are_always_or_never_open() -> None:
    found = hidden_units(always_open()).gates
    assert (found.selectivity == 0).all()
    assert (found.best == -1).all()
    assert (found.information == 0).all()
    assert found.as_dict()["always open"] == 12
    found = hidden_units(never_open()).gates
    assert np.isnan(found.selectivity).all()
    assert not found.ever_open.any()
    summary = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert summary["never open"] == 12
    assert summary["selectivity"] is None


@pytest.mark.parametrize("attention", ["uniform", "learned"])
def test_an_untrained_model_is_not_a_selector(attention: str) -> None:
    assert hidden_units(untrained(SMALL[attention])).verdict == "not supported"


@pytest.mark.parametrize("attention", ["uniform", "learned"])
def test_a_trained_model_is_measured(attention: str) -> None:
    studied = trained(SMALL[attention])
    result = hidden_units(studied, seed=5)
    assert isinstance(result, HiddenUnitResult)
    assert result.accuracy.value == accuracy(studied)
    assert result.subjects == 32
    of = result.gates.ever_open
    assert ((result.gates.selectivity[of] >= 0) & (result.gates.selectivity[of] <= 1)).all()
    assert (result.gates.information <= 1 + 1e-12).all()
    assert (result.gates.information_binned >= result.gates.information - 1e-12).all()
    again = hidden_units(studied, seed=5).as_dict()
    assert json.dumps(again, allow_nan=False) == json.dumps(result.as_dict(), allow_nan=False)


def test_activations_are_those_of_the_plain_run() -> None:
    studied = untrained(SMALL["learned"])
    sample = np.arange(32)
    prompts = np.stack([np.repeat(sample, 2), 32 + np.tile([0, 1], 32)], axis=1)
    _, cache = run_with_cache(studied.transformer, prompts)
    hidden = cache["blocks.0.mlp.hook_post"][:, -1].reshape(32, 2, -1)
    found = gates(studied, sample, 2, np.random.default_rng(0))
    assert (found.open_fraction == (hidden > 0).mean(axis=0).T).all()
    assert found.information_binned == pytest.approx(information_about_word(binned(hidden)))


def test_units_taken_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = hidden_units(t1()).as_dict()
    monkeypatch.setattr("empirical.mechanism.hidden_units.ACTIVATIONS", 5 * 64 * 2)
    assert hidden_units(t1()).as_dict() == whole


def test_a_sample_of_the_subjects() -> None:
    result = hidden_units(t1(), subjects=16)
    assert result.subjects == 16
    assert result.ablated.others.low < 0.9
    assert result.verdict == "undecided"


def test_each_part_of_the_verdict_can_refute() -> None:
    found = hidden_units(t1())
    kept, some = Share(0.5, 0.4, 0.6, 64), Share(0.5, 0.05, 0.95, 64)
    narrow = replace(found.gates, open_fraction=found.gates.open_fraction / 64)
    assert found.verdict == "supported"
    assert replace(found, accuracy=kept).verdict == "not supported"
    assert replace(found, ablated=replace(found.ablated, own=kept)).verdict == "not supported"
    assert replace(found, ablated=replace(found.ablated, others=kept)).verdict == "not supported"
    assert replace(found, gates=narrow).verdict == "not supported"
    assert replace(found, redrawn=found.gates).verdict == "not supported"
    assert replace(found, accuracy=some).verdict == "undecided"
    assert replace(found, ablated=replace(found.ablated, own=some)).verdict == "undecided"
    assert replace(found, ablated=replace(found.ablated, others=some)).verdict == "undecided"


def test_without_units() -> None:
    studied = t1()
    units = np.arange(12) < 6
    assert (without_units(studied, units).transformer.blocks[0].W_out[:6] == 0).all()
    assert accuracy(without_units(studied, units)) == pytest.approx((1 / 64 + 1) / 2)
    assert accuracy(without_units(studied, ~units & units)) == 1


@given(arrays(np.int8, st.tuples(st.integers(1, 6), st.integers(2, 4), st.integers(1, 3)), elements=st.integers(0, 4)))
def test_information_is_the_entropy_of_the_word_less_the_rest(states: NDArray[np.int8]) -> None:
    subjects, words, units = states.shape
    for unit in range(units):
        left = 0.0
        for state in set(states[..., unit].flat):
            counts = (states[..., unit] == state).sum(axis=0)
            left += sum(-n * np.log2(n / counts.sum()) for n in counts if n) / (subjects * words)
        found = information_about_word(states)[unit]
        assert found == pytest.approx(np.log2(words) - left, abs=1e-9)


def test_information_at_its_ends() -> None:
    word = np.broadcast_to(np.arange(4, dtype=np.int8)[:, None], (5, 4, 1))
    subject = np.broadcast_to(np.arange(5, dtype=np.int8)[:, None, None], (5, 4, 1))
    assert information_about_word(word) == pytest.approx(2)
    assert information_about_word(subject) == 0


def test_bins() -> None:
    values = np.array([0, 0, 1, 2, 3, 4, 5, 6, 7, 8.0])
    assert binned(values[:, None])[:, 0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert binned(np.array([[0], [2], [2], [2.0]]))[:, 0].tolist() == [0, 1, 1, 1]


def test_redrawn_gates_keep_their_norms() -> None:
    own, other = (np.linalg.norm(each.transformer.blocks[0].W_in, axis=0) for each in (t1(), redrawn()))
    assert own == pytest.approx(other)


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(InputError, match="1 words to ask"):
        hidden_units(t1(FactSystem.random(8, 1)))
    with pytest.raises(InputError, match="subjects must be a whole number"):
        hidden_units(t1(), subjects=0)
