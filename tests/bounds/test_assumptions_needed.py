"""The assumptions of the lower bounds are needed: without one of them a small model, built and run, refutes the bound.

Each test names the bound, the assumption, and the model that lies below the bound because it does without. The bounds
carry the assumption as an object; the same objects are printed with the statements.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from bounds.enclosure import ceiling
from bounds.lower.bound import Bound
from bounds.lower.chains import any_chain, honest_chain
from bounds.lower.dichotomy import fixed_readout
from bounds.lower.frontier import strongest_for_dimension
from bounds.lower.information import total_information, universal_single_hop, universal_with_errors
from bounds.lower.involutions import involution_bound
from bounds.lower.learned_readout import learned_readout
from bounds.lower.universal import universal_hops, universal_width
from constructions.suite.t5 import differing_tensors
from constructions.verification.certificate import certify
from constructions.verification.exhaustive import check_every_query
from constructions.weights import t1, t1b, t2e, t3, t3b, t4
from constructions.weights.parts import readout_by_distance, uniform_block
from theory import Block, FactSystem, Task, Transformer
from theory.statements.assumptions import (
    BLIND_ATTENTION,
    EXACT,
    HONEST,
    NO_RESIDUAL,
    ONE_BLOCK,
    ONE_PASS,
    UNIVERSAL,
    error_rate,
)
from theory.statements.inequalities import INEQUALITIES, stands_on
from theory.statements.registry import theorem, theorems


def test_one_pass_is_needed_by_the_bound_for_learned_readouts() -> None:
    """T2e asks for 31 coordinates of one bit at N = 120, R = 4, k = 4; T3, a chain, has 30."""
    bound = strongest_for_dimension(learned_readout(120, 4, 4))
    assert bound.smallest_dimension(1) == 31
    assert ONE_PASS in bound.assumptions
    system = FactSystem.random(120, 4)
    chain = t3.construct(system, 4, 1)
    assert chain.dimension == 30
    assert certify(chain, system, Task(4, 1)).holds


def test_one_pass_is_needed_by_the_bound_for_matchings() -> None:
    """T9 asks for 15 at N = 10, R = 3, k = 2 from one root; T3 on three perfect matchings has 14."""
    bound = involution_bound(10, 3, 2, roots=1)
    assert bound.smallest_dimension(1) == 15
    assert ONE_PASS in bound.assumptions
    pairs = np.arange(10).reshape(5, 2)
    matchings = [np.argsort(np.roll(np.arange(10), shift)) for shift in (0, 1, 3)]
    answers = np.empty((3, 10), np.int64)
    for relation, names in enumerate(matchings):
        left, right = names[pairs].T
        answers[relation, left], answers[relation, right] = right, left
    system = FactSystem(answers)
    assert all((row[row] == np.arange(10)).all() and (row != np.arange(10)).all() for row in system.answers)
    chain = t3.construct(system, 2, 1)
    assert chain.dimension == 14
    assert check_every_query(chain, system, Task(2, 1)).holds


def test_a_chain_of_s_tokens_is_bounded_by_its_longest_step_and_no_more() -> None:
    """Four hops in ⌈4/3⌉ = 2 tokens need not take 3 hops in a step: T3b with stride 2 has R²·p + 4 = 31 coordinates of
    one bit at N = 5, R = 3, and (R³ - 1)·log N is above 60. With j = ⌈k/s⌉ = 2 the bound holds."""
    system = FactSystem.random(5, 3)
    chain = t3b.construct(system, 4, 2, 1)
    task = Task(4, 2)
    assert (chain.dimension, task.steps) == (31, 2)
    assert check_every_query(chain, system, task).holds
    assert (3**3 - 1) * np.log2(5) > 60 > chain.dimension
    bound = strongest_for_dimension(any_chain(5, 3, -(-4 // task.steps)))
    assert bound.smallest_dimension(1) <= chain.dimension
    assert HONEST in bound.assumptions
    assert ONE_PASS not in bound.assumptions


def test_an_error_rate_beyond_guessing_bounds_nothing() -> None:
    """At N = 2, R = 1 a constant answers half of the queries; R(log N - h(ε) - ε·log(N-1)) at ε = 1 would be 1 bit."""
    assert universal_with_errors(2, 1, Fraction(1, 2)).value == 0
    assert universal_with_errors(2, 1, Fraction(99, 100)).value == 0
    assert "1 - 1/N" in error_rate().text
    assert EXACT not in stands_on("T8", "universal")


# For each of the 16 systems of two entities and four relations, by whether g_r is the identity (+) or the swap (-): the
# rows of the two entities.
TIED_ROWS = {
    "++++": ((1, -1, 1), (1, -1, -1)),
    "+++-": ((1, -1, 1), (1, 1, -1)),
    "++-+": ((-1, -1, 1), (1, 1, 1)),
    "++--": ((1, 1, 1), (1, -1, 1)),
    "+-++": ((-1, 1, -1), (-1, 1, 1)),
    "+-+-": ((-1, 1, 1), (1, 1, -1)),
    "+--+": ((-1, -1, -1), (-1, 1, 1)),
    "+---": ((1, -1, 1), (-1, 1, 1)),
    "-+++": ((-1, -1, -1), (-1, 1, -1)),
    "-++-": ((1, 1, -1), (-1, -1, -1)),
    "-+-+": ((1, 1, 1), (-1, -1, -1)),
    "-+--": ((1, -1, -1), (1, 1, -1)),
    "--++": ((1, 1, 1), (-1, 1, -1)),
    "--+-": ((1, 1, -1), (-1, 1, -1)),
    "---+": ((-1, -1, 1), (1, -1, -1)),
    "----": ((-1, -1, 1), (1, -1, 1)),
}


def outputs_for(row: tuple[int, ...], relation: int) -> np.ndarray:
    """A vector that names, for every system in which an entity has this row, the right one of the two: even, so that a
    function of the sum of row and relation that takes these values has whole slopes."""
    for vector in product((0, 1, -1, 2, -2), repeat=3):
        right = [
            np.dot(np.subtract(*rows), vector) * (1 if signs[relation] == "+" else -1) * (1 if entity == 0 else -1)
            for signs, rows in TIED_ROWS.items()
            for entity in (0, 1)
            if rows[entity] == row
        ]
        if all(value > 0 for value in right):
            return 2 * np.array(vector)
    raise AssertionError(f"no vector serves row {row} and relation {relation}")


def test_a_read_out_fixed_beforehand_is_needed_by_the_bound_on_the_dimension() -> None:
    """T1c asks for 4 coordinates of one bit at N = 2, R = 4. With a tied read-out 3 do, entries -1 and +1, for all 16
    systems: nothing but the rows depends on the facts, and the rest looks up a function of row and relation."""
    bound = universal_single_hop(2, 4)
    assert bound.smallest_dimension(1) == 4
    assert UNIVERSAL in bound.assumptions
    assert "the read-out is chosen before" in UNIVERSAL.text
    # Row and relation have the sum <(1, 2, 4), row> + 16·relation: odd numbers from -7 to 55, each once.
    weights = np.array([1, 2, 4])
    values = {
        int(weights @ row) + 16 * relation: outputs_for(row, relation)
        for row in product((-1, 1), repeat=3)
        for relation in range(4)
    }
    knots = np.arange(-7, 56, 2)
    looked_up = np.array([values[knot] for knot in knots.tolist()])
    slopes = np.diff(looked_up, axis=0) // 2
    bends = np.diff(slopes, axis=0, prepend=np.zeros((1, 3), np.int64))
    block = uniform_block(np.tile(weights[:, None], len(bends)), -knots[:-1], bends, looked_up[0])
    relations = np.zeros((4, 3), np.int64)
    relations[:, 0] = 16 * np.arange(4)
    models = []
    for signs, rows in TIED_ROWS.items():
        system = FactSystem([[0, 1] if sign == "+" else [1, 0] for sign in signs])
        model = Transformer(
            entities=2,
            W_E=np.concatenate([np.array(rows), relations]),
            W_pos=np.zeros((2, 3), np.int64),
            blocks=(block,),
            W_U=np.array(rows).T,
            b_U=np.zeros(2, np.int64),
            attention="uniform",
        )
        assert check_every_query(model, system, Task(), 2).holds
        models.append(model)
    assert set(np.unique(models[0].W_U)) == {-1, 1}
    assert all(set(differing_tensors(models[0], other)) <= {"W_U"} for other in models)


def pre_activation_values(model: Transformer, system: FactSystem) -> int:
    """The largest number of values that a pre-activation of a model in one pass has, whatever the relation."""
    most = 0
    for relation in range(system.relations):
        prompts = np.array([[x, system.entities + relation] for x in range(system.entities)])
        stream = (model.W_E[prompts] + model.W_pos[:2]).astype(np.int64)
        for block in model.blocks:
            read = stream.copy()
            if block.heads:  # one uniform head over both tokens
                read[:, 1] += stream.sum(axis=1) @ block.W_V[0] @ block.W_O[0] // 2
            units = read[:, 1] @ block.W_in + block.b_in
            most = max(most, *(len(np.unique(unit)) for unit in units.T), 0)
            stream[:, 1] = read[:, 1] + np.maximum(units, 0) @ block.W_out + block.b_out
    return most


def test_one_block_is_needed_by_the_bound_on_the_width() -> None:
    """T1e asks for 8 units of one bit at N = R = 4. T1 with a residual stream, its units shared out to two blocks, has
    4 in each; each pre-activation has two values for a relation."""
    bound = universal_width(4, 4, 1)
    assert bound.smallest_width(1) == 8
    assert {ONE_BLOCK, ONE_PASS, UNIVERSAL, NO_RESIDUAL} <= set(bound.assumptions)
    system = FactSystem.random(4, 4)
    whole = t1.construct(system, residual=True)
    (block,) = whole.blocks
    no_heads = {name: getattr(block, name)[:0] for name in ("W_Q", "W_K", "W_V", "W_O")}
    first = replace(block, W_in=block.W_in[:, :4], b_in=block.b_in[:4], W_out=block.W_out[:4], b_out=0 * block.b_out)
    # The second half reads coordinates that the first does not write to.
    second = replace(block, W_in=block.W_in[:, 4:], b_in=block.b_in[4:], W_out=block.W_out[4:], **no_heads)
    model = replace(whole, blocks=(first, second))
    assert [each.width for each in model.blocks] == [4, 4]
    assert check_every_query(model, system, Task()).holds
    assert pre_activation_values(model, system) == 2


def test_no_residual_stream_is_needed_by_the_bound_on_the_width() -> None:
    """T1e asks for a unit at N = 2, R = 1; where the stream is read out none is needed."""
    assert universal_width(2, 1, 1).smallest_width(1) == 1
    for answers in ([[0, 1]], [[1, 0]]):
        system = FactSystem(answers)
        rows = np.array([[1 - 2 * answer] for answer in answers[0]])
        block = uniform_block(
            np.zeros((1, 0), np.int64), np.zeros(0, np.int64), np.zeros((0, 1), np.int64), np.zeros(1, np.int64)
        )
        model = Transformer(
            entities=2,
            W_E=np.concatenate([rows, [[0]]]),
            W_pos=np.zeros((2, 1), np.int64),
            blocks=(block,),
            W_U=np.array([[1, -1]]),
            b_U=np.zeros(2, np.int64),
            attention="uniform",
            residual=True,
        )
        assert check_every_query(model, system, Task()).holds


def test_blind_attention_is_needed_by_the_bound_on_the_width() -> None:
    """T1e asks for 8 units at N = R = 4. Four hardmax heads, of which head r looks at the subject if the relation is r
    and at the relation, which brings nothing, if not, do with 2: the digits of the answer."""
    bound = universal_width(4, 4, 1)
    assert bound.smallest_width(1) == 8
    assert BLIND_ATTENTION in bound.assumptions
    for seed in range(3):
        system = FactSystem.random(4, 4, seed)
        digits = np.array([[a & 1, a >> 1] for a in range(4)])
        W_E = np.zeros((8, 13), np.int64)
        W_E[:4, :8] = digits[system.answers.T].reshape(4, 8)
        W_E[4:, 8:12] = np.eye(4)
        W_pos = np.zeros((2, 13), np.int64)
        W_pos[0, 12] = 1
        W_Q, W_K = np.zeros((2, 4, 13, 1), np.int64)
        W_V = np.zeros((4, 13, 2), np.int64)
        for head in range(4):
            W_Q[head, 8:12, 0] = 2 * (np.arange(4) == head) - 1
            W_V[head, 2 * head : 2 * head + 2] = np.eye(2)
        W_K[:, 12, 0] = 1
        W_O = np.tile(np.eye(2, 13, dtype=np.int64), (4, 1, 1))
        passed = np.eye(13, 2, dtype=np.int64)
        block = Block(W_Q, W_K, W_V, W_O, passed, np.zeros(2, np.int64), passed.T, np.zeros(13, np.int64))
        W_U, b_U = readout_by_distance(digits, 13)
        model = Transformer(entities=4, W_E=W_E, W_pos=W_pos, blocks=(block,), W_U=W_U, b_U=b_U, attention="hardmax")
        assert model.width == 2
        assert check_every_query(model, system, Task()).holds


def test_the_circle_is_no_superposition_of_sign_codes() -> None:
    """T7 is about digits: on the circle's points at N = 4, R = 1 the sign codes explain half of the variance."""
    system = FactSystem([[1, 2, 3, 0]])
    rows = t1b.construct_circle(system).W_E[:4].astype(np.float64)
    codes = np.array([[2 * (a >> place & 1) - 1 for place in range(2)] for a in system.answers[0].tolist()])
    design = np.column_stack([codes, np.ones(4)])
    missed = rows - design @ np.linalg.lstsq(design, rows, rcond=None)[0]
    centred = rows - rows.mean(axis=0)
    assert 1 - (missed**2).sum() / (centred**2).sum() == pytest.approx(0.5)
    assert theorem("T1b").construction("circle").superposed == ""


def test_one_hop_needs_no_memory_and_two_do() -> None:
    one, other = FactSystem.random(6, 2, seed=0), FactSystem.random(6, 2, seed=1)
    assert differing_tensors(t4.construct(one, 1), t4.construct(other, 1)) == []
    assert differing_tensors(t4.construct(one, 2), t4.construct(other, 2)) != []


def test_odd_hops_pad_the_readout_with_zeros() -> None:
    model = t2e.construct(FactSystem.random(2, 2), 1)
    assert set(np.unique(model.W_U)) == {-1, 0, 1}


def every_bound() -> list[Bound]:
    found = []
    for n, r, k in product((2, 5, 64), (1, 2, 3), (1, 2, 3)):
        found += [universal_hops(n, r, k), universal_width(n, r, k), universal_single_hop(n, r)]
        found += [total_information(n, r, readout) for readout in ("fixed", "learned", "tied")]
        found += [strongest_for_dimension(fixed_readout(n, r, k)), strongest_for_dimension(honest_chain(n, r, (k,)))]
        found += [strongest_for_dimension(learned_readout(n, r, k, tied=tied)) for tied in (False, True)]
        found.append(universal_with_errors(n, r, Fraction(1, 10)))
    return [bound for bound in found if ceiling(bound.information) > 0 and bound.assumptions]


def test_bounds_carry_the_assumptions_that_are_printed() -> None:
    """What a bound was computed under is what an inequality of its theorem says, read-out and error rate filled in."""
    bounds = every_bound()
    assert {bound.theorem for bound in bounds} >= {"T1c", "T1e", "T2c", "T2d", "T2e", "T3c", "T8"}
    filled_in = {"fixed read-out", "learned read-out", "tied read-out", "single hop"}
    for bound in bounds:
        names = {each.name for each in bound.assumptions}
        stated = [{each.name for each in one.assumptions} for one in INEQUALITIES[bound.theorem]]
        assert any(names - one <= filled_in for one in stated)
        assert any(one <= names for one in stated), (bound.theorem, names)


@pytest.mark.parametrize("tied", [False, True])
def test_bounds_of_t2e_say_whether_the_read_out_is_tied(tied: bool) -> None:
    for bound in learned_readout(64, 2, 3, tied=tied).members:
        names = {each.name for each in bound.assumptions}
        assert not names or ("tied read-out" in names, "learned read-out" in names) == (tied, not tied)


def test_the_error_rate_is_said_in_place_of_the_letter_and_nothing_else_is_changed() -> None:
    plain = universal_with_errors(5, 2, Fraction(0)).assumptions
    found = universal_with_errors(5, 2, Fraction(1, 10)).assumptions
    assert error_rate() not in found
    assert [each for each in found if each.name != "error rate"] == [
        each for each in plain if each.name != "error rate"
    ]
    assert [each for each in found if each.name == "error rate"] == [error_rate(Fraction(1, 10))]


def test_every_lower_bound_of_the_registry_has_its_inequalities() -> None:
    assert set(INEQUALITIES) <= set(theorems())
    for identifier in INEQUALITIES:
        assert theorem(identifier).inequalities == INEQUALITIES[identifier]
