"""Interventions: exact on the constructions, without effect on a table, and damage is found where it was done."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest

from constructions.weights import t1
from constructions.weights.catalogue import Setting
from empirical.mechanism import interventions as module
from empirical.mechanism.hidden_units import with_redrawn_gates
from empirical.mechanism.interventions import (
    CONTROLS,
    WAYS,
    interventions,
    room,
    through_decoders,
)
from empirical.mechanism.subject import Studied, accuracy, of_construction, of_run
from empirical.models.runs import RunConfig
from empirical.statistics.regression import PENALTIES, component_maps, decoders, leave_one_out_ridge
from empirical.statistics.shares import clopper_pearson, exact_share
from empirical.statistics.subspaces import principal_axes
from tests.helpers.edits import put, tensor, with_tensor
from tests.helpers.mechanisms import with_subjects
from theory import FactSystem
from theory.errors import InputError

torch = pytest.importorskip("torch")

LARGE = FactSystem.random(64, 2, seed=3)
UNIFORM = RunConfig(32, 2, 8, 32, steps=400)
SMALL = {"uniform": UNIFORM, "learned": replace(UNIFORM, attention="learned")}


def plain(system: FactSystem = LARGE) -> Studied:
    return of_construction("T1", system)


def trained(config: RunConfig) -> Studied:
    from empirical.models.training import train

    torch.set_num_threads(1)
    return of_run(train([config])[0].parameters, config)


def untrained(config: RunConfig) -> Studied:
    from empirical.models.model import initial

    return of_run(initial(config), config)


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
def test_constructions_answer_as_intended_and_leak_nothing(theorem: str, name: str, setting: Setting) -> None:
    result = interventions(of_construction(theorem, LARGE, setting, name))
    assert result.accuracy.value == 1
    assert result.subjects == 64
    assert result.room > 0
    assert result.misread < 1e-9
    for way in WAYS:
        effect = result.ways[way]
        assert (effect.matrix == 1).all()
        assert effect.success.value == 1
        assert effect.leakage.value == 0
        assert result.verdict(way) == "supported"
    for control in CONTROLS:
        assert result.controls[control].success.value < 0.1
    assert result.controls["no change"].leakage.value == 0
    assert all(result.controls[control].leakage.value > 0.2 for control in CONTROLS[:3])
    assert json.loads(json.dumps(result.as_dict(), allow_nan=False))["ways"]["maps"]["success"]["value"] == 1


def test_the_change_is_that_of_the_construction() -> None:
    """Swapping two answers of relation 0 in the system changes two rows of T1: the change of each, to its rounding."""
    answers = LARGE.answers.copy()
    answers[0, [5, 9]] = answers[0, [9, 5]]
    studied = plain()
    others = np.setdiff1d(np.arange(64), [5, 9])
    vectors = studied.attribute_vectors
    targets = vectors[studied.answers[:, others]]
    turn = vectors[answers[0, [5, 9]]] - vectors[LARGE.answers[0, [5, 9]]]
    expected = t1.construct(FactSystem(answers)).W_E[[5, 9]] - studied.rows[[5, 9]]
    maps = component_maps(studied.rows[others], targets)
    assert turn @ maps[0].T == pytest.approx(expected, abs=1e-6)
    readers = decoders(studied.rows[others], targets)
    both = np.stack([turn, np.zeros_like(turn)])
    assert through_decoders(readers, both)[0] == pytest.approx(expected, abs=1e-6)


def table() -> Studied:
    return of_construction("T2b", LARGE)


def permuted_gates() -> Studied:
    order = np.random.default_rng(0).permutation(12)
    own = plain().transformer
    return replace(plain(), transformer=with_tensor(own, "blocks.0.W_in", tensor(own, "blocks.0.W_in")[order]))


def shuffled_subjects() -> Studied:
    return with_subjects(plain(), plain().rows[np.random.default_rng(0).permutation(64)])


def redrawn_gates() -> Studied:
    return with_redrawn_gates(plain(), np.random.default_rng(0))


def wrong_facts() -> Studied:
    return replace(plain(), system=FactSystem.random(64, 2, seed=4))


def untrained_uniform() -> Studied:
    return untrained(SMALL["uniform"])


def untrained_learned() -> Studied:
    return untrained(SMALL["learned"])


NOT_SO = (table, permuted_gates, shuffled_subjects, redrawn_gates, wrong_facts, untrained_uniform, untrained_learned)


@pytest.mark.parametrize("build", NOT_SO, ids=lambda build: build.__name__)
def test_what_is_no_superposition_or_no_selector_fails(build: Callable[[], Studied]) -> None:
    result = interventions(build())
    for way in WAYS:
        assert result.ways[way].success.value < 0.2
        assert result.verdict(way) == "not supported"


def test_a_gate_left_open_shows_where_it_leaks() -> None:
    """Relation 0 opens the blocks of both: its answers change with either component, relation 1's as intended."""
    studied = replace(plain(), transformer=put(plain().transformer, "W_E", 64, 1))
    for way in WAYS:
        effect = interventions(studied).ways[way]
        assert effect.matrix[1, 1] == 1
        assert effect.matrix[0, 1] == 1
        assert effect.matrix[0, 0] < 0.5
        assert effect.matrix[1, 0] < 0.5
        assert effect.low[1, 0] < effect.matrix[1, 0] < effect.high[1, 0]


def test_subjects_that_are_changed_take_no_part_in_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = component_maps
    seen: list[NDArray[Any]] = []

    def recording(rows: NDArray[Any], targets: NDArray[Any]) -> NDArray[Any]:
        seen.append(rows)
        return fit(rows, targets)

    monkeypatch.setattr(module, "component_maps", recording)
    result = interventions(plain())
    assert result.subjects == 64
    rows = plain().rows
    left_out = [{tuple(row) for row in rows.tolist()} - {tuple(row) for row in part.tolist()} for part in seen[::2]]
    assert set.union(*left_out) == {tuple(row) for row in rows.tolist()}
    assert sum(len(part) for part in left_out) == 64


def test_a_tie_is_no_answer() -> None:
    own = plain().transformer
    silent = with_tensor(own, "blocks.0.W_out", np.zeros((12, 12), np.int8))
    silent = with_tensor(silent, "blocks.0.b_out", np.zeros(12, np.int8))
    result = interventions(replace(plain(), transformer=silent))
    assert result.accuracy.value == 0
    for effect in (result.ways | result.controls).values():
        assert effect.success.value == 0
        assert effect.leakage.value == 1
    assert result.verdict() == "not supported"


def test_few_subjects_leave_it_undecided() -> None:
    result = interventions(plain(), subjects=8)
    assert result.ways["maps"].success.value == 1
    assert result.ways["maps"].success.low < 0.9
    assert result.verdict() == "undecided"


def test_no_verdict_without_a_control_that_fails() -> None:
    result = interventions(plain())
    as_good = replace(result, controls=result.controls | {"no change": result.ways["maps"]})
    assert result.verdict() == "supported"
    assert as_good.verdict() == "undecided"


@pytest.mark.parametrize("attention", ["uniform", "learned"])
def test_a_trained_model_is_measured(attention: str) -> None:
    studied = trained(SMALL[attention])
    result = interventions(studied, seed=5)
    assert result.accuracy.value == accuracy(studied)
    assert result.subjects == 32
    for effect in (result.ways | result.controls).values():
        assert ((effect.low <= effect.matrix) & (effect.matrix <= effect.high)).all()
        assert np.diag(effect.matrix).mean() == pytest.approx(effect.success.value)
        assert (effect.matrix.sum() - np.trace(effect.matrix)) / 2 == pytest.approx(1 - effect.leakage.value)
    assert result.controls["random, length of maps"].length == pytest.approx(result.ways["maps"].length)
    assert result.controls["shuffled answers"].length == pytest.approx(result.ways["maps"].length)
    assert result.controls["random, length of decoders"].length == pytest.approx(result.ways["decoders"].length)
    assert json.dumps(interventions(studied, seed=5).as_dict()) == json.dumps(result.as_dict(), allow_nan=False)


def test_decoders_without_a_null_space() -> None:
    generator = np.random.default_rng(0)
    readers = generator.standard_normal((3, 4, 6))
    turn = np.zeros((3, 1, 4))
    turn[1] = generator.standard_normal(4)
    assert room(readers) == 0
    change = through_decoders(readers, turn)[1, 0]
    stacked, wanted = readers.reshape(12, 6), np.concatenate([np.zeros(4), turn[1, 0], np.zeros(4)])
    assert change == pytest.approx(np.linalg.lstsq(stacked, wanted, rcond=None)[0])


def test_decoders_with_a_null_space() -> None:
    generator = np.random.default_rng(0)
    readers = generator.standard_normal((3, 2, 8))
    turn = generator.standard_normal((3, 5, 2))
    assert room(readers) == 4
    for word, change in enumerate(through_decoders(readers, turn)):
        for other in range(3):
            wanted = turn[word] if other == word else np.zeros((5, 2))
            assert change @ readers[other].T == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_ridge_takes_the_penalty_that_predicts_left_out_rows_best(seed: int) -> None:
    generator = np.random.default_rng(seed)
    design = generator.standard_normal((7, 4)) + 3
    targets = design @ generator.standard_normal((4, 2)) + generator.standard_normal((7, 2)) - 5

    def fit(rows: list[int], penalty: float) -> tuple[NDArray[Any], NDArray[Any]]:
        """By the normal equations, with a column of ones that is not penalised."""
        wide = np.pad(design[rows], [(0, 0), (0, 1)], constant_values=1)
        found = np.linalg.solve(wide.T @ wide + penalty * np.diag([1.0] * 4 + [0]), wide.T @ targets[rows])
        return found[:-1], found[-1]

    def left_out(penalty: float) -> float:
        total = 0.0
        for row in range(7):
            slope, constant = fit([other for other in range(7) if other != row], penalty)
            total += ((targets[row] - design[row] @ slope - constant) ** 2).sum()
        return total

    unit = np.linalg.norm(design - design.mean(axis=0)) ** 2 / 4
    best = min(PENALTIES * unit, key=left_out)
    assert leave_one_out_ridge(design, targets) == pytest.approx(fit(list(range(7)), best)[0])


def test_maps_of_an_exact_superposition_are_recovered_either_way() -> None:
    generator = np.random.default_rng(2)
    maps, targets = generator.standard_normal((2, 5, 3)), generator.standard_normal((2, 40, 3))
    rows = np.einsum("wdq,wnq->nd", maps, targets) + 7
    assert component_maps(rows, targets) == pytest.approx(maps, abs=1e-6)
    wide = generator.standard_normal((2, 8, 3))
    rows = np.einsum("wdq,wnq->nd", wide, targets) - 2
    found = decoders(rows, targets)
    assert found.shape == (2, 3, 8)
    centred = targets - targets.mean(axis=1, keepdims=True)
    assert np.einsum("wqd,nd->wnq", found, rows - rows.mean(axis=0)) == pytest.approx(centred, abs=1e-6)


def test_principal_axes_span_the_centred_vectors_and_no_more() -> None:
    generator = np.random.default_rng(3)
    vectors = generator.standard_normal((30, 2)) @ generator.standard_normal((2, 5)) + 4
    axes = principal_axes(vectors)
    centred = vectors - vectors.mean(axis=0)
    assert axes.shape == (5, 2)
    assert axes.T @ axes == pytest.approx(np.eye(2), abs=1e-12)
    assert centred @ axes @ axes.T == pytest.approx(centred, abs=1e-12)
    assert principal_axes(np.ones((4, 3))).shape == (3, 0)
    for smallest, directions in ((1e-5, 2), (1e-7, 1)):
        assert principal_axes(np.array([[1, 0], [-1, 0], [0, smallest], [0, -smallest]])).shape == (2, directions)


def test_ridge_on_subjects_that_are_all_alike() -> None:
    assert (leave_one_out_ridge(np.ones((5, 3)), np.eye(5)) == 0).all()


def test_intervals_are_clopper_pearsons() -> None:
    hits = np.array([0, 1, 7, 12])
    low, high = clopper_pearson(hits, 12)
    for place, each in enumerate(hits.tolist()):
        expected = binomtest(each, 12).proportion_ci(0.95, "exact")
        assert (low[place], high[place]) == pytest.approx((expected.low, expected.high))


def test_a_share_counts_subjects_not_answers() -> None:
    hits = np.array([[True, False, True, True]])
    assert exact_share(np.repeat(hits, 5, axis=0)) == exact_share(hits)
    assert exact_share(hits).value == 0.75
    assert exact_share(np.ones((3, 2, 7), bool)).high == 1


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(InputError, match="has one word to ask"):
        interventions(plain(FactSystem.random(8, 1)))
    with pytest.raises(InputError, match="subjects must be a whole number"):
        interventions(plain(), subjects=0)
