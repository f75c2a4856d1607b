"""T13: noise on the subjects' rows. The worst perturbation is held against perturbations run from the definition."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from bounds.lower.precision import least_noisy_dimension
from constructions.campaign.evaluator import evaluate
from constructions.noise import perturbation as noises
from constructions.noise.perturbation import Noisy, check_under_noise, largest_noise, row_bits
from constructions.noise.tolerance import six_digits
from constructions.suite import checks
from constructions.suite.checks import Sizes, check_transformer
from constructions.verification.certify_attention import Refused
from constructions.verification.exhaustive import check_every_query
from constructions.weights import t1, t1b, t1d, t2, t2b, t2e, t3, t4, t13
from constructions.weights.catalogue import Setting, entry
from theory import Block, FactSystem, InputError, Task, Transformer

HALF = Fraction(1, 2)
ONE_PASS = Task(2, 2)


def shifted_by(transformer: Transformer, subject: int, change: tuple[Fraction, ...]) -> Transformer:
    """The model with one subject's row changed, in floats, which must hold the change exactly."""
    rows = transformer.W_E.astype(np.float64)
    rows[subject] += [float(each) for each in change]
    assert [Fraction(x) for x in rows[subject].tolist()] == [
        Fraction(int(old)) + new for old, new in zip(transformer.W_E[subject].tolist(), change, strict=True)
    ]
    return dataclasses.replace(transformer, W_E=rows)


def margin_under(
    transformer: Transformer,
    system: FactSystem,
    task: Task,
    query: tuple[int, tuple[int, ...]],
    change: tuple[Fraction, ...],
) -> Fraction:
    """The margin of a query under a perturbation of its subject's row, from the definition."""
    return evaluate(shifted_by(transformer, query[0], change), system, task).outcomes[query].margin


CASES = {
    "T1": (t1.construct(FactSystem.random(5, 3)), FactSystem.random(5, 3), Task()),
    "T1 residual": (t1.construct(FactSystem.random(5, 2), residual=True), FactSystem.random(5, 2), Task()),
    "T1b": (t1b.construct(FactSystem.random(6, 3), 2), FactSystem.random(6, 3), Task()),
    "T1d lookup": (t1d.construct(FactSystem.random(4, 2), 2), FactSystem.random(4, 2), Task()),
    "T1d": (t1d.construct_concatenated(FactSystem.random(5, 2), 2), FactSystem.random(5, 2), Task()),
    "T2": (t2.construct(FactSystem.random(4, 2), 2, 2), FactSystem.random(4, 2), ONE_PASS),
    "T2b": (t2b.construct(FactSystem.random(4, 2), 2), FactSystem.random(4, 2), ONE_PASS),
    "T2e": (t2e.construct(FactSystem.random(4, 2), 2), FactSystem.random(4, 2), ONE_PASS),
    "T13": (t13.construct(FactSystem.random(5, 3), 2), FactSystem.random(5, 3), Task()),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("noise", [Fraction(1, 16), Fraction(3, 8), Fraction(5, 8)], ids=str)
def test_the_upper_end_is_attained_and_no_corner_is_below_the_lower(name: str, noise: Fraction) -> None:
    transformer, system, task = CASES[name]
    noisy = Noisy(transformer, system, task)
    if not noisy.reads_the_same(noise):
        pytest.skip("this noise turns a head")
    generator = np.random.default_rng(3)
    for number, (query, function) in enumerate(noisy.queries()):
        worst = function.worst(noise)
        assert worst.low <= worst.high
        assert max(map(abs, worst.at)) <= noise
        if number % 5:
            continue
        assert margin_under(transformer, system, task, query, worst.at) == worst.high
        for _ in range(3):
            corner = tuple(noise * int(sign) for sign in generator.choice([-1, 0, 1], transformer.dimension))
            assert margin_under(transformer, system, task, query, corner) >= worst.low


@pytest.mark.parametrize("name", ["T1", "T1 residual", "T1b", "T2", "T13"])
def test_where_units_read_one_coordinate_the_minimum_is_exact(name: str) -> None:
    for _, function in Noisy(*CASES[name]).queries():
        worst = function.worst(Fraction(3, 8))
        assert worst.low == worst.high


def one_unit(weights: list[list[int]], bias: list[int], written: list[int], table: list[list[int]]) -> Transformer:
    """Two answers, of which the first gains 8 less what the units write; rows of two coordinates, one relation."""
    width = len(bias)
    identity = np.eye(2, dtype=np.int64)[None]
    nothing = np.zeros((1, 2, 0), np.int64)
    W_out = np.zeros((width, 2), np.int64)
    W_out[:, 0] = written
    block = Block(
        W_Q=nothing,
        W_K=nothing,
        W_V=identity,
        W_O=2 * identity,
        W_in=np.array(weights).T.reshape(2, width),
        b_in=np.array(bias),
        W_out=W_out,
        b_out=np.zeros(2, np.int64),
    )
    return Transformer(
        entities=2,
        W_E=np.array([*table, [0, 0]]),
        W_pos=np.zeros((2, 2), np.int64),
        blocks=(block,),
        W_U=np.array([[1, 0], [0, 0]]),
        b_U=np.array([8, 0]),
        attention="uniform",
    )


SWAP = FactSystem([[0, 0]])


def test_a_kink_inside_the_box_is_found() -> None:
    """8 + |2t| at t in [-1, 1] has its least at the kink, 8 - |2t| at an end."""
    up = one_unit([[2, 0], [-2, 0]], [0, 0], [1, 1], [[0, 0], [0, 0]])
    found = check_under_noise(up, SWAP, Task(), Fraction(1))
    assert (found.low, found.high) == (8, 8)
    down = one_unit([[2, 0], [-2, 0]], [0, 0], [-1, -1], [[0, 0], [0, 0]])
    found = check_under_noise(down, SWAP, Task(), Fraction(1))
    assert (found.low, found.high) == (6, 6)
    off = one_unit([[2, 0], [-2, 0], [1, 0]], [-1, 1, 8], [1, 1, -1], [[0, 0], [0, 0]])
    # 8 + |2t - 1| - (8 + t) has its least at the kink, t = 1/2.
    found = check_under_noise(off, SWAP, Task(), Fraction(1))
    assert (found.low, found.high) == (-HALF, -HALF)
    assert found.status == "fails"


def test_units_that_read_two_coordinates_are_enclosed_and_halving_decides() -> None:
    """4·ReLU(s + t) + ReLU(-s - t) written against the answer: 8 - 4·2 at the worst corner; the interval of each unit
    alone would add 2 for the second, which cannot be open where the first is."""
    model = one_unit([[1, 1], [-1, -1]], [0, 0], [-3, -1], [[0, 0], [0, 0]])
    found = check_under_noise(model, SWAP, Task(), Fraction(1))
    assert found.high == 2
    assert found.low is not None
    assert 0 < found.low <= 2
    assert found.status == "holds"


def test_halving_is_what_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    model = one_unit([[1, 1], [-1, -1]], [0, 0], [-3, -1], [[0, 0], [0, 0]])
    monkeypatch.setattr(noises, "HALVINGS", 0)
    found = check_under_noise(model, SWAP, Task(), Fraction(1))
    assert (found.status, found.low, found.high) == ("undecided", 0, 2)
    assert found.reason == "the least margin under noise 1 is only known to lie between 0 and 2"


def test_a_unit_that_may_just_close_is_enclosed() -> None:
    """z = 3 and a reach of 4 in a box of size 1: the unit 2·(s + t) + 3 is 0 at its least, not -1; and the centre of a
    box counts where the residual stream reads it."""
    model = one_unit([[2, 2]], [3], [-1], [[0, 0], [0, 0]])
    noisy = Noisy(model, SWAP, Task())
    (_, query), *_ = noisy.queries()
    ones = np.ones(2, object)
    box = noises._Box(query, 1, np.int64)
    low, _, tangled = box._below(0 * ones, ones)
    assert tangled.tolist() == [True]
    assert low == 8 - 7
    assert box.least(0 * ones, ones, 0)[1] == 8 - 7
    opened = dataclasses.replace(model, residual=True)
    (_, query), *_ = Noisy(opened, SWAP, Task()).queries()
    box = noises._Box(query, 1, np.int64)
    for centre in ((0, 0), (5, 5), (5, -5)):
        place = np.array(centre, object)
        assert box._below(place, 0 * ones)[0] == box._at(np.array(centre))


def test_large_numbers_are_computed_in_a_type_that_holds_them_though_they_change_no_answer() -> None:
    large = one_unit([[3 * 2**25 + 1, 0]], [5 * 2**25 + 1], [0], [[1, 1], [1, 2]])
    for _, function in Noisy(large, SWAP, Task()).queries():
        assert (function.worst(HALF).low, function.worst(HALF).high) == (8, 8)
    assert largest_noise(large, SWAP, Task()).broken is None


@pytest.mark.parametrize("power", range(4, 40, 5))
def test_what_the_stream_adds_is_computed_in_a_type_that_holds_it(power: int) -> None:
    plain = one_unit([[0, 0]], [0], [0], [[1, 1], [1, 2]])
    slope = 2**power + 1
    model = dataclasses.replace(plain, residual=True, W_U=np.array([[slope, 0], [0, slope]]), b_U=np.array([8, 0]))
    for query, function in Noisy(model, SWAP, Task()).queries():
        worst = function.worst(HALF)
        assert worst.low == worst.high == margin_under(model, SWAP, Task(), query, worst.at)


def test_a_margin_of_nothing_is_told_as_it_is() -> None:
    """2t at most 1/2 off: the margin 8 - 16·(1/2) is 0, which is a tie and not unknown."""
    model = one_unit([[2, 0]], [8], [-1], [[0, 0], [0, 0]])
    found = check_under_noise(model, SWAP, Task(), HALF)
    assert (found.status, found.low, found.high) == ("fails", -1, -1)
    level = one_unit([[2, 0]], [7], [-1], [[0, 0], [0, 0]])
    found = check_under_noise(level, SWAP, Task(), HALF)
    assert (found.status, found.low, found.high) == ("fails", 0, 0)
    assert found.detail == "a perturbation of a row by at most 1/2 leaves a margin of 0"


# What survives which noise.


@pytest.mark.parametrize("relations", [1, 2, 3, 5])
def test_t1_survives_noise_below_one_over_r(relations: int) -> None:
    system = FactSystem.random(16, relations)
    found = largest_noise(t1.construct(system), system, Task())
    assert found.broken is not None
    assert found.survived < Fraction(1, relations) <= found.broken
    assert found.broken - found.survived <= 2 * Fraction(2, noises.STEPS)


@pytest.mark.parametrize("relations", [2, 3, 7])
def test_t1_with_a_residual_stream_survives_noise_below_a_fifth(relations: int) -> None:
    """More than without one where R > 5, less where R < 5."""
    found = largest_noise(t1.construct(system := FactSystem.random(16, relations), residual=True), system, Task())
    assert found.broken is not None
    assert found.survived < Fraction(1, 5) <= found.broken


@pytest.mark.parametrize(
    ("entities", "relations", "hops", "bits"), [(16, 2, 2, 2), (9, 2, 3, 1), (12, 3, 1, 4), (7, 1, 2, 1)]
)
def test_t2_survives_noise_below_one_half_and_not_above(entities: int, relations: int, hops: int, bits: int) -> None:
    system, task = FactSystem.random(entities, relations), Task(hops, hops)
    model = t2.construct(system, hops, bits)
    below, above = Fraction(4999, 10_000), Fraction(5001, 10_000)
    assert check_under_noise(model, system, task, below).margin == 1 - 2 * below
    assert check_under_noise(model, system, task, HALF).margin == 0
    found = check_under_noise(model, system, task, above)
    assert found.status == "fails"
    assert found.high is not None
    assert found.high < 0
    assert found.detail.startswith("a perturbation of a row by at most 5001/10000 leaves a margin of -")


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_t1b_leaks_and_t13_does_not(bits: int) -> None:
    """Subject 0 answers 4 to relation 0 and 7, of the largest digits, to the others: at T1b's gates these leak."""
    system = FactSystem([[4, *range(1, 8)], *[[7, *range(1, 8)]] * 4])
    noise = Fraction(4999, 10_000)
    leaking = check_under_noise(t1b.construct(system, bits), system, Task(), noise)
    assert leaking.status == "fails"
    assert check_under_noise(t13.construct(system, bits), system, Task(), noise).margin == 1 - 2 * noise
    if bits == 3:
        # Five entries add up to 5δ: against the answer 6 that is 4 - 4·5δ.
        assert leaking.high == 4 - 20 * noise


def test_maps_are_no_exception() -> None:
    system = FactSystem.random(9, 3, maps=True)
    assert check_under_noise(t13.construct(system, 2), system, Task(), Fraction(4999, 10_000)).holds


def test_the_check_of_a_claim_fails_for_a_model_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = Sizes(8, 3, Setting(bits=2))
    good = checks.check_noise(entry("T13"), sizes)
    assert (good.claim, good.status, good.margin) == ("T13", "holds", Fraction(1, 2**16))
    assert good.coverage.endswith("; at 1/2 the least margin is 0")
    monkeypatch.setattr("constructions.weights.t13.construct", t1b.construct)
    bad = checks.check_noise(entry("T13"), sizes)
    assert bad.status == "fails"
    assert "leaves a margin of -" in bad.detail


# The bits that a row carries.


@pytest.mark.parametrize(("power", "bits", "relations"), [(4, 1, 2), (4, 2, 3), (6, 3, 1)])
def test_under_noise_one_half_digits_carry_their_bits_and_no_fewer_are_enough(
    power: int, bits: int, relations: int
) -> None:
    system = FactSystem.random(2**power, relations)
    model = t13.construct(system, bits)
    assert row_bits(model, HALF) == pytest.approx(model.dimension * bits)
    assert least_noisy_dimension(2**power, relations, 1, Fraction(2**bits - 1), HALF) == model.dimension


def test_a_coordinate_that_never_changes_carries_nothing() -> None:
    model = one_unit([[1, 0]], [0], [0], [[0, 5], [3, 5]])
    assert row_bits(model, Fraction(1, 4)) == pytest.approx(np.log2(7))


# Heads that noise may turn.


def test_a_head_that_noise_turns_is_no_verdict() -> None:
    system = FactSystem.random(4, 2)
    model = t2.construct(system, 2, 1)
    found = check_under_noise(model, system, ONE_PASS, Fraction(100))
    assert found.status == "undecided"
    assert "does not read the same position for every prompt" in found.detail


def test_the_noise_at_which_a_head_turns_is_that_of_the_definition() -> None:
    """One head aims at the relation: key 1 there, key e at the subject, query 1. It turns where e + δ reaches 1."""
    one, no_units = np.ones((1, 1, 1), np.int64), np.zeros((1, 0), np.int64)
    block = Block(one, one, one, one, no_units, no_units[0], no_units.T, np.zeros(1, np.int64))
    model = Transformer(
        entities=2,
        W_E=np.array([[-2], [-3], [1]]),
        W_pos=np.zeros((2, 1), np.int64),
        blocks=(block,),
        W_U=np.array([[1, 0]]),
        b_U=np.zeros(2, np.int64),
        attention="hardmax",
        residual=True,
    )
    noisy = Noisy(model, SWAP, Task())
    assert noisy.reads_the_same(Fraction(299, 100))
    assert not noisy.reads_the_same(Fraction(3))
    found = largest_noise(model, SWAP, Task())
    assert found.survived == noisy.most == 1  # noise is sought no further than the range of the rows
    assert found.broken is None


def test_a_head_that_aims_at_the_subject_turns_where_noise_brings_its_row_down() -> None:
    """Keys 3 and 7 at the subject and 1 at the relation: the head turns where 3 - δ reaches 1."""
    one, no_units = np.ones((1, 1, 1), np.int64), np.zeros((1, 0), np.int64)
    block = Block(one, one, one, one, no_units, no_units[0], no_units.T, np.zeros(1, np.int64))
    model = Transformer(
        entities=2,
        W_E=np.array([[3], [7], [1]]),
        W_pos=np.zeros((2, 1), np.int64),
        blocks=(block,),
        W_U=np.array([[1, 0]]),
        b_U=np.zeros(2, np.int64),
        attention="hardmax",
    )
    noisy = Noisy(model, SWAP, Task())
    assert noisy.reads_the_same(Fraction(199, 100))
    assert not noisy.reads_the_same(Fraction(2))


# What is refused.


@pytest.mark.parametrize(
    ("model", "task", "reason"),
    [
        (t3.construct(FactSystem.random(4, 2), 2, 1), Task(2, 1), "one pass, and this task is a chain of thought"),
        (t4.construct(FactSystem.random(4, 2), 2), ONE_PASS, "one block, and the model has 3"),
        (t3.construct(FactSystem.random(4, 2), 1, 1, softmax=True), Task(), "uniform and hardmax attention"),
    ],
)
def test_what_noise_is_not_checked_for_is_said(model: Transformer, task: Task, reason: str) -> None:
    found = check_under_noise(model, FactSystem.random(4, 2), task, HALF)
    assert found.status == "undecided"
    assert reason in found.detail
    with pytest.raises(Refused, match="noise is checked"):
        largest_noise(model, FactSystem.random(4, 2), task)


def test_too_many_queries_are_refused_before_they_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noises, "MOST_PRODUCTS", 100)
    with pytest.raises(Refused, match="too many to search"):
        largest_noise(*CASES["T1"])


def test_a_model_that_is_wrong_without_noise_survives_none() -> None:
    with pytest.raises(Refused, match=r"subject 0 and word \[0\] are answered wrongly without any noise"):
        largest_noise(t1.construct(FactSystem([[1, 0]])), FactSystem([[0, 1]]), Task())


def test_a_model_of_another_size_is_bad_input() -> None:
    with pytest.raises(InputError, match="the model has 5 entities"):
        check_under_noise(CASES["T1"][0], FactSystem.random(6, 3), Task(), HALF)


# The row of a user's model.


def test_a_users_model_is_told_its_noise_in_bits() -> None:
    system = FactSystem.random(16, 2)
    rows = check_transformer(t1.construct(system), system, Task())
    assert [row.construction for row in rows] == ["model", "model", "model, noise"]
    assert rows[-1].status == "holds"
    assert rows[-1].coverage.startswith(
        "all queries, every perturbation of a row by at most 0.499998 in each coordinate, under which a row can carry "
        "12.7 bits; one by 0.5 breaks subject "
    )


def test_a_wrong_model_is_told_nothing_of_noise() -> None:
    rows = check_transformer(t1.construct(FactSystem([[1, 0]])), FactSystem([[0, 1]]), Task())
    assert [row.construction for row in rows] == ["model"]


def test_rounding_overstates_neither_end() -> None:
    for noise in (Fraction(1, 3), Fraction(2, 3), Fraction(1, 10**9), Fraction(10**9 - 1, 2), Fraction(2, 7**400)):
        down, up = (Fraction(six_digits(noise, rounding)) for rounding in ("ROUND_DOWN", "ROUND_UP"))
        assert down <= noise <= up
        assert up - down <= noise / 10**5


# Chains.


def test_chains_survive_noise_with_fewer_bits_than_one_pass_needs() -> None:
    """One pass is needed: T3 at N = 64, R = 3, k = 4, b = 1 answers under every perturbation of all rows up to 1/1000,
    with fewer coordinates than any model in one pass. Intervals, step by step: whatever the other tokens of the prompt
    are, each head reads the current entity or the next relation, and the answer of the step has the largest logit.
    """
    system, hops, noise = FactSystem.random(64, 3), 4, 0.001
    model = t3.construct(system, hops, 1)
    assert check_every_query(model, system, Task(hops, 1)).holds
    assert model.dimension == 20
    assert least_noisy_dimension(64, 3, hops, Fraction(1), Fraction(1, 1000)) == 50
    rows, relations = model.W_E[:64].astype(float), model.W_E[64:].astype(float)
    (block,) = model.blocks
    brought_by = [block.W_V[head] @ block.W_O[head] for head in range(block.heads)]

    def through(low: np.ndarray, high: np.ndarray, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The interval of a row times a matrix."""
        middle, radius = (low + high) / 2 @ matrix, (high - low) / 2 @ np.abs(matrix)
        return middle - radius, middle + radius

    def least_gap(query: tuple[Any, Any], key: tuple[Any, Any], other: tuple[Any, Any]) -> float:
        """The least of <query, key - other>."""
        ends = np.array([a * b for a, b in itertools.product(query, (key[0] - other[1], key[1] - other[0]))])
        return float(ends.min(axis=0).sum())

    for step in range(hops):
        last = hops + step
        for current, relation in itertools.product(range(64), range(3)):
            brought_low, brought_high = np.zeros(model.dimension), np.zeros(model.dimension)
            here = {}  # what may stand at each position
            for position in range(last + 1):
                if position == (last if step else 0):
                    options = [(rows[current] - noise, rows[current] + noise)]
                elif position == step + 1:
                    options = [(relations[relation], relations[relation])]
                elif 1 <= position <= hops:
                    options = [(row, row) for row in relations]
                else:
                    options = [(rows.min(axis=0) - noise, rows.max(axis=0) + noise)]
                place = model.W_pos[position]
                here[position] = [(low + place, high + place) for low, high in options]
            for head in range(block.heads):
                queries = [through(*row, block.W_Q[head]) for row in here[last]]
                keys = {place: [through(*row, block.W_K[head]) for row in options] for place, options in here.items()}
                (winner,) = (
                    place
                    for place in ((last if step else 0), step + 1)
                    if all(
                        least_gap(query, keys[place][0], key) > 1e-6
                        for query in queries
                        for other in keys
                        if other != place
                        for key in keys[other]
                    )
                )
                low, high = through(*here[winner][0], brought_by[head])
                brought_low, brought_high = brought_low + low, brought_high + high
            low, high = through(brought_low, brought_high, block.W_in)
            low, high = np.maximum(low + block.b_in, 0), np.maximum(high + block.b_in, 0)
            answer = system.answers[relation, current]
            against = block.W_out @ (model.W_U[:, [answer]] - model.W_U)
            least, _ = through(low, high, against)
            least += block.b_out @ (model.W_U[:, [answer]] - model.W_U) + model.b_U[answer] - model.b_U
            assert np.delete(least, answer).min() > 1e-6
