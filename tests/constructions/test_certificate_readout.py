"""The bounds of the read-out against all logits, on random codes of every kind; and models whose codes are unusual."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from constructions.verification import certify_readout
from constructions.verification.certificate import certify
from constructions.verification.certify_attention import Refused
from constructions.verification.certify_readout import Codes, Readout
from tests.helpers.deciding import decide
from theory import Block, FactSystem, Task, Transformer

Array = NDArray[Any]


def worst_margin(codes: Array, bias: Array, outputs: Array, answers: Array, noise: Fraction) -> Fraction:
    """The least difference of the right logit and another, in the worst noise: Python's integers, pair by pair."""
    margins = []
    for output, right in zip(outputs.T.tolist(), answers.tolist(), strict=True):
        for other in set(range(codes.shape[1])) - {right}:
            apart = [int(u) - int(v) for u, v in zip(codes[:, right], codes[:, other], strict=True)]
            gain = sum(int(o) * d for o, d in zip(output, apart, strict=True)) + int(bias[right]) - int(bias[other])
            margins.append(gain - noise * sum(abs(d) for d in apart))
    return min(margins)


def drawn(seed: int, kind: str, size: int) -> tuple[Array, Array, Array, Array, Fraction] | None:
    """Codes, biases, outputs near the codes, answers and noise, all times `size`; None when two codes are the same."""
    g = np.random.default_rng(seed)
    coordinates, count = int(g.integers(1, 5)), int(g.integers(2, 7))
    codes = {
        "signs": lambda: g.choice([-1, 1], (coordinates, count)),
        "digits": lambda: g.integers(0, 4, (coordinates, count)),
        "one-hot": lambda: np.eye(count, dtype=int)[:, : int(g.integers(2, count + 1))],
        "zeros": lambda: g.choice([-1, 0, 1], (coordinates, count)),
        "any": lambda: g.integers(-3, 4, (coordinates, count)),
    }[kind]()
    if len(np.unique(codes, axis=1).T) < codes.shape[1]:
        return None
    bias = g.choice([0, 1], codes.shape[1]) * g.integers(-2, 3) - int(g.integers(0, 3)) * (codes**2).sum(axis=0)
    answers = g.permutation(codes.shape[1])
    scale = int(g.integers(1, 4))
    outputs = scale * codes[:, answers] + g.integers(-1, 2, codes[:, answers].shape) * int(g.integers(0, 2))
    noise = Fraction(int(g.integers(0, 3)), int(g.integers(2, 9)))
    exact = object if size > 1 else np.int64
    return codes, bias.astype(exact) * size, outputs.astype(exact) * size, answers, noise * size


@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(["signs", "digits", "one-hot", "zeros", "any"]),
    size=st.sampled_from([1, 2**40, 2**70]),
    few=st.sampled_from([0, 8]),
    listed=st.booleans(),
)
@settings(max_examples=400)
def test_bounds_are_bounds(seed: int, kind: str, size: int, few: int, listed: bool) -> None:
    case = drawn(seed, kind, size)
    if case is None:
        return
    codes, bias, outputs, answers, noise = case
    truth = worst_margin(codes, bias, outputs, answers, noise)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certify_readout, "FEW_VALUES", few)
        patch.setattr(certify_readout, "MOST_LOGITS", 10**6 if listed else 20)
        try:
            bound = Readout(codes, bias, len(answers)).margin(outputs, answers, noise)
        except Refused:
            return
    assert bound <= 0 or bound <= truth
    if listed and noise == 0:
        assert (bound > 0) == (truth > 0)


def test_every_argument_proves_something() -> None:
    """Signs, nearest codes, one-hot codes: by coordinates; with noise; and for one-hot codes the best curvature."""
    for codes, bias, outputs, expected, farthest in (
        (np.array([[1, 1, -1], [1, -1, 1]]), [0, 0, 0], np.array([[3, 4, -3], [5, -3, 3]]), 6, 2),
        (np.array([[0, 1, 2, 5]]), [0, -1, -4, -25], np.array([[0, 2, 4, 10]]), 1, 3),
        (np.eye(5, dtype=int), [0] * 5, 4 * np.eye(5, dtype=int), 4, 2),
        (np.eye(5, dtype=int), [0] * 5, 4 * np.eye(5, dtype=int) + 1, 4, 2),
    ):
        found = Codes(codes, np.array(bias))
        assert found.margin(outputs, np.arange(len(bias)), Fraction(0)) == expected
        assert found.margin(outputs, np.arange(len(bias)), Fraction(1, 8)) == expected - Fraction(farthest, 8)


@pytest.mark.parametrize(("bias", "expected"), [([0, 1, 4], -5), ([0, -1, -4], 1), ([0, -2, -4], 0), ([0, 0, -4], 0)])
def test_biases_that_no_curvature_fits(bias: list[int], expected: int) -> None:
    """What they deviate by is taken off: 5 from no curvature at all, 1 from 2 or -1."""
    codes = np.array([[0, 1, 2]])
    assert Codes(codes, np.array(bias)).margin(2 * codes, np.arange(3), Fraction(0)) <= expected


def test_biases_that_are_rounded_cost_what_they_are_rounded_by() -> None:
    codes, outputs = 1000 * np.array([[0, 1, 2, 3]]), np.array([[0, 2000, 4000, 6000]])
    bias = -(codes[0] ** 2) + np.array([0, 3, -4, 0])
    assert Codes(codes, bias).margin(outputs, np.arange(4), Fraction(0)) == 10**6 - 7


def one_hot(system: FactSystem, weight: int = 1) -> Transformer:
    """A table: the mean of (x, r) opens one unit for the fact, which writes the answer's coordinate. d = N + R."""
    entities, relations = system.entities, system.relations
    dimension = entities + relations
    W_in = np.zeros((dimension, entities * relations), np.int64)
    W_out = np.zeros((entities * relations, dimension), np.int64)
    for relation in range(relations):
        for subject, answer in enumerate(system.answers[relation].tolist()):
            unit = relation * entities + subject
            W_in[[subject, entities + relation], unit] = 1
            W_out[unit, answer] = weight
    unscored, eye = np.zeros((1, dimension, 0), np.int64), np.eye(dimension, dtype=np.int64)
    width = entities * relations
    block = Block(
        unscored, unscored, eye[None], 2 * eye[None], W_in, -np.ones(width, int), W_out, np.zeros(dimension, int)
    )
    return Transformer(
        entities=entities,
        W_E=eye,
        W_pos=np.zeros((2, dimension), np.int64),
        blocks=(block,),
        W_U=eye[:, :entities],
        b_U=np.zeros(entities, np.int64),
        attention="uniform",
    )


@pytest.mark.parametrize("entities", [5, 100, 300])
def test_one_hot_read_outs_of_any_size(entities: int, monkeypatch: pytest.MonkeyPatch) -> None:
    system = FactSystem.random(entities, 2)
    model = one_hot(system, 3)
    exchanged = np.array(system.answers)
    exchanged[1, [2, 4]] = exchanged[1, [4, 2]]
    monkeypatch.setattr(certify_readout, "MOST_LOGITS", 0)
    found = certify(model, system, Task())
    assert found.holds
    assert found.margin == 3
    assert not certify(model, FactSystem(exchanged), Task()).holds


def test_a_few_answers_are_told_apart_by_all_their_logits() -> None:
    """Codes that no argument about coordinates covers: (3, 0), (0, 3), (2, 2) with outputs the same."""
    codes = np.array([[3, 0, 2], [0, 3, 2]])
    readout = Readout(codes, np.array([0, 0, 0]), 3)
    assert Codes(codes, np.zeros(3, int)).margin(codes, np.arange(3), Fraction(0)) <= 0
    assert readout.margin(codes, np.arange(3), Fraction(0)) == 2
    assert decide(one_hot(FactSystem.random(4, 2)), FactSystem.random(4, 2), Task())[0].holds


def test_codes_with_zeros_in_other_places_are_told_apart_group_by_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers (±1, ±1, 0, 0) and (0, 0, ±1, ±1), outputs that are large also in a place of the others: no curvature
    does for all coordinates, but 6 parts the answers of a group, and 6 - 4 a group from the other.
    """
    pairs = np.array([[1, 1, -1, -1], [1, -1, 1, -1]])
    codes = np.block([[pairs, 0 * pairs], [0 * pairs, pairs]])
    outputs = 3 * codes + 4 * np.repeat(np.array([[0, 1], [0, 0], [1, 0], [0, 0]]), 4, axis=1)[[0, 1, 2, 3]]
    monkeypatch.setattr(certify_readout, "MOST_LOGITS", 2 * 8)
    readout = Readout(codes, np.zeros(8, int), 8)
    assert readout.margin(outputs, np.arange(8), Fraction(0)) == 2
    monkeypatch.setattr(certify_readout, "MOST_LOGITS", 2 * 8 - 1)
    assert readout.margin(outputs, np.arange(8), Fraction(0)) <= 0


def test_the_curvature_of_the_biases_is_enough_where_it_proves_something() -> None:
    """Outputs off the codes have a curvature that is better for them, and that the biases do not have."""
    codes = np.array([[0, 1, 3, 6]])
    assert Codes(codes, -(codes[0] ** 2)).margin(np.array([[0, 3, 6, 11]]), np.arange(4), Fraction(0)) == 1


def test_codes_of_one_sum_differ_in_two_places() -> None:
    """One-hot codes lose in two coordinates, and codes of several sums perhaps in one."""
    eye = np.eye(4, dtype=int)
    assert Codes(eye, np.zeros(4, int)).margin(6 * eye, np.arange(4), Fraction(0)) == 6
    uneven = np.array([[1, 1, 0], [0, 1, 1]])
    truth = worst_margin(uneven, np.array([0, -1, 0]), 3 * uneven, np.arange(3), Fraction(0))
    assert Codes(uneven, np.array([0, -1, 0])).margin(3 * uneven, np.arange(3), Fraction(0)) <= truth
