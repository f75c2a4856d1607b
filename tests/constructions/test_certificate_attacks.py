"""Models made to fool the certificate, each aimed at one step of its argument, and some that it must not refuse."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from constructions.campaign.evaluator import evaluate
from constructions.verification.exhaustive import check_every_query
from constructions.weights import t1, t1b, t1d, t2, t2b, t3, t3b, t4, t6
from tests.helpers.deciding import COMMUTING, SYSTEM, decide, decide_softmax, require_acceptance, require_refusal
from tests.helpers.edits import put, raised, tensor, wider, with_tensor
from theory import Block, FactSystem, Task, Transformer

EVERYWHERE = slice(None)


# Attention.


def test_two_positions_that_look_alike() -> None:
    """Both relations stand at the same place: each head reads the mean of the two."""
    transformer = t2.construct(SYSTEM, 2, 2)
    alike = put(transformer, "W_pos", 1, transformer.W_pos[2])
    require_refusal(alike, SYSTEM, Task(2), "does not read the same position")


def test_a_head_that_strays_for_one_entity_alone() -> None:
    """Entity 3 at position 0 outscores the token just emitted: chains that begin there are stuck, no others."""
    transformer = wider(t3.construct(SYSTEM, 2, 2))
    transformer = put(transformer, "W_E", (3, -1), 1)
    transformer = put(transformer, "blocks.0.W_K", (1, -1, 0), 1000)
    require_refusal(transformer, SYSTEM, Task(2, 1), "does not read the same position")
    counterexample = check_every_query(transformer, SYSTEM, Task(2, 1)).counterexample
    assert counterexample is not None
    assert counterexample.subject == 3


def test_a_head_that_strays_for_one_relation_alone() -> None:
    transformer = wider(t2.construct(SYSTEM, 2, 2))
    transformer = put(transformer, "W_E", (6, -1), 1)
    transformer = put(transformer, "blocks.0.W_K", (0, -1, 1), -(10**4))
    require_refusal(transformer, SYSTEM, Task(2), "does not read the same position")


def test_a_query_that_depends_on_the_token() -> None:
    """After relation 1 the subject is looked for at another place."""
    transformer = wider(t2.construct(SYSTEM, 2, 2))
    transformer = put(transformer, "W_E", (6, -1), 1)
    transformer = put(transformer, "blocks.0.W_Q", (0, -1, 1), 10)
    require_refusal(transformer, SYSTEM, Task(2), "does not read the same position")


def test_relations_read_in_the_wrong_order() -> None:
    for system in (SYSTEM, COMMUTING):
        transformer = t2.construct(system, 2, 2)
        swapped = put(transformer, "blocks.0.W_Q", [1, 2], transformer.blocks[0].W_Q[[2, 1]])
        (require_acceptance if system == COMMUTING else require_refusal)(swapped, system, Task(2))


def test_one_relation_read_twice() -> None:
    for system in (SYSTEM, COMMUTING):
        transformer = t2.construct(system, 2, 2)
        twice = put(transformer, "blocks.0.W_Q", 2, transformer.blocks[0].W_Q[1])
        require_refusal(twice, system, Task(2))


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_chains_that_read_the_subject_again(hops: int) -> None:
    """The entity head prefers position 0 throughout, which is right in the first step only."""
    transformer = t3.construct(SYSTEM, hops, 2)
    stuck = put(transformer, "blocks.0.W_K", (1, -2, 0), -1000)
    if hops == 1:
        require_acceptance(stuck, SYSTEM, Task(1, 1))
    else:
        require_refusal(stuck, SYSTEM, Task(hops, 1), "reads position 0, which is neither its entity nor its relation")


def test_chains_that_read_an_earlier_token() -> None:
    """The last step reads the subject: its token says that it stands before the prompt."""
    transformer = wider(t3.construct(SYSTEM, 3, 2))
    transformer = put(transformer, "W_pos", (5, -1), 1)
    transformer = put(transformer, "blocks.0.W_K", (1, -1, 0), -1000)
    require_refusal(transformer, SYSTEM, Task(3, 1), "neither its entity nor its relation")


def test_chains_that_read_the_relation_of_another_step() -> None:
    for system, amount in ((SYSTEM, 2), (SYSTEM, -2), (COMMUTING, 2)):
        transformer = t3.construct(system, 3, 2)
        late = raised(transformer, "blocks.0.W_Q", (0, -2, 0), amount)
        require_refusal(late, system, Task(3, 1))


@pytest.mark.parametrize("hops", [2, 3])
def test_chains_that_read_the_first_relation_again(hops: int) -> None:
    """The relation head prefers position 1 throughout."""
    transformer = wider(t3.construct(SYSTEM, hops, 2))
    transformer = put(transformer, "W_pos", (1, -1), 1)
    transformer = put(transformer, "blocks.0.W_K", (0, -1, 0), 1000)
    require_refusal(transformer, SYSTEM, Task(hops, 1), "step 2 reads position 1, which is neither its entity nor")


def test_a_position_that_leaks_into_the_last_step_alone() -> None:
    transformer = raised(t3.construct(SYSTEM, 3, 2), "W_pos", (5, 0), 3)
    require_refusal(transformer, SYSTEM, Task(3, 1))


def test_uniform_attention_over_two_relations() -> None:
    for system in (SYSTEM, COMMUTING):
        transformer = bag_of_two_relations(system)
        (require_acceptance if system == COMMUTING else require_refusal)(transformer, system, Task(2))


def bag_of_two_relations(system: FactSystem) -> Transformer:
    """A direct two-hop model that knows how many of its two relations are relation 1, n = 0..2, and not their order.

    Subjects hold the answers to 00, 01 and 11; the sum of the prompt has n in the last coordinate. Block m is read by
    ReLU(a + 9(n-m)) - ReLU(9(n-m)) - ReLU(a + 9(n-m-1)) + ReLU(9(n-m-1)), which is its a < 9 if n = m and 0 otherwise.
    """
    entities, answers = system.entities, np.arange(system.entities)
    W_E = np.zeros((entities + 2, 4), np.int64)
    W_E[:entities, :3] = system.follow_all(np.array([[0, 0], [0, 1], [1, 1]])).T
    W_E[entities + 1, 3] = 1
    W_in, W_out, b_in = np.zeros((4, 12), np.int64), np.zeros((12, 4), np.int64), np.zeros(12, np.int64)
    for m in range(3):
        units = slice(4 * m, 4 * m + 4)
        W_in[m, units], W_in[3, units] = (1, 0, 1, 0), 9
        b_in[units] = -9 * m, -9 * m, -9 * (m + 1), -9 * (m + 1)
        W_out[units, 0] = 1, -1, -1, 1
    unscored, eye = np.zeros((1, 4, 0), np.int64), np.eye(4, dtype=np.int64)[None]
    block = Block(unscored, unscored, eye, 3 * eye, W_in, b_in, W_out, np.zeros(4, np.int64))
    W_U = np.outer([1, 0, 0, 0], 2 * answers)
    return Transformer(entities, W_E, np.zeros((3, 4), np.int64), (block,), W_U, -(answers**2), "uniform")


def test_positions_that_leak_into_the_gates() -> None:
    """A constant from W_pos opens units, and as much less in b_in closes them again."""
    for position in (0, 1):
        leaking = raised(t1.construct(SYSTEM), "W_pos", (position, slice(0, 2)), 40)
        require_refusal(leaking, SYSTEM, Task())
        require_acceptance(raised(leaking, "blocks.0.b_in", slice(0, 2), -40), SYSTEM, Task())


@pytest.mark.parametrize("hops", [1, 2])
def test_a_residual_stream_that_brings_a_relation_to_the_output(hops: int) -> None:
    """In the first of two steps it is a relation that the step must not depend on."""
    residual = dataclasses.replace(t3.construct(SYSTEM, hops, 2), residual=True)
    reason = "neither its entity nor its relation" if hops == 2 else ""
    require_refusal(residual, SYSTEM, Task(hops, 1), reason)


def test_models_without_their_residual_stream_or_with_one_too_many() -> None:
    for transformer, task in (
        (t1.construct(SYSTEM), Task()),
        (t1.construct(SYSTEM, residual=True), Task()),
        (t1b.construct(SYSTEM, 2), Task()),
        (t2.construct(SYSTEM, 2, 2), Task(2)),
        (t2b.construct(SYSTEM, 2), Task(2)),
        (t3b.construct(SYSTEM, 2, 1, 2), Task(2, 1)),
        (t4.construct(SYSTEM, 1), Task()),
        (t4.construct(SYSTEM, 2), Task(2)),
        (t6.construct(SYSTEM), Task(disjoint_attributes=True)),
    ):
        decide(dataclasses.replace(transformer, residual=not transformer.residual), SYSTEM, task)


# Softmax.


@pytest.mark.parametrize("construct", [t3.construct, t3.construct_with_signs])
def test_softmax_that_leaks(construct: object) -> None:
    """Cooler and cooler: refused before it is wrong, and wrong in the end."""
    transformer = construct(SYSTEM, 2, 2, softmax=True)  # type: ignore[operator]
    outcomes = []
    for factor in (100.0, 2.0, 1.0, 0.7, 0.4, 0.1, 0.01):
        cooled = dataclasses.replace(transformer, beta=transformer.beta * factor)
        accepted = decide_softmax(cooled, SYSTEM, Task(2, 1)).holds
        outcomes.append((accepted, evaluate(cooled, SYSTEM, Task(2, 1)).is_right()))
    assert outcomes[:3] == [(True, True)] * 3
    assert outcomes[-1] == (False, False)


def reading_the_subject(
    subjects: list[list[int]],
    relation: list[int],
    codes: list[list[int]],
    units: list[list[int]],
    written: list[list[int]],
    *,
    beta: float | None = None,
    residual: bool = False,
) -> Transformer:
    """One head reads the subject, one relation stands after it; ReLU(row · units) · written is read out by the codes.

    Shapes: subjects [N, c], relation [c], codes [N, c], units [c, m], written [m, c].
    """
    c, width = len(relation), len(written)
    W_in, W_out = np.array(units, int).reshape(c, width), np.array(written, int).reshape(width, c)
    place = np.array([[[0]] * c + [[1]]])
    block = Block(
        W_Q=place,
        W_K=place,
        W_V=np.eye(c + 1, c, dtype=int)[None],
        W_O=np.eye(c, c + 1, dtype=int)[None],
        W_in=np.pad(W_in, [(0, 1), (0, 0)]),
        b_in=np.zeros(width, int),
        W_out=np.pad(W_out, [(0, 0), (0, 1)]),
        b_out=np.zeros(c + 1, int),
    )
    return Transformer(
        entities=len(subjects),
        W_E=np.pad(np.array([*subjects, relation]), [(0, 0), (0, 1)]),
        W_pos=np.array([[0] * c + [2], [0] * c + [1]]),
        blocks=(block,),
        W_U=np.pad(np.transpose(codes), [(0, 1), (0, 0)]),
        b_U=np.zeros(len(subjects), int),
        attention="hardmax" if beta is None else "softmax",
        residual=residual,
        beta=beta,
    )


# x = ReLU(x) - ReLU(-x).
SIGNED, AS_IT_IS = [[1, -1]], [[1], [-1]]
SWAP = FactSystem([[1, 0]])


@pytest.mark.parametrize(("weight", "accepted"), [(0, True), (10, True), (1000, False)])
def test_softmax_that_opens_a_closed_unit(weight: int, accepted: bool) -> None:
    """The third unit sees the second coordinate, 0 for every subject, but for e^-5 of the relation's 1."""
    transformer = reading_the_subject(
        [[1, 0], [-1, 0]],
        [0, 1],
        [[-1, 0], [1, 0]],
        [[1, -1, 0], [0, 0, 1]],
        [[1, 0], [-1, 0], [weight, 0]],
        beta=5.0,
    )
    assert decide_softmax(transformer, SWAP, Task()).holds == accepted
    assert evaluate(transformer, SWAP, Task()).is_right() == accepted


@pytest.mark.parametrize(("amount", "accepted"), [(10, True), (1000, False)])
def test_softmax_that_leaks_into_the_residual_stream(amount: int, accepted: bool) -> None:
    """No hidden unit: the head alone brings e^-5 of the relation's row, which b_out takes off the stream but once."""
    transformer = reading_the_subject([[1], [-1]], [amount], [[-1], [1]], [[]], [], beta=5.0, residual=True)
    transformer = put(transformer, "blocks.0.b_out", 0, -amount)
    assert decide_softmax(transformer, SWAP, Task()).holds == accepted
    assert evaluate(transformer, SWAP, Task()).is_right() == accepted


# Gates.


@pytest.mark.parametrize("place", [(3, 0), (0, 3)])
def test_a_unit_that_is_open_for_one_entity_alone(place: tuple[int, int]) -> None:
    """A digit of one subject is too large for the gate of the relation that it does not belong to."""
    require_refusal(raised(t1b.construct(SYSTEM, 2), "W_E", place, 4), SYSTEM, Task())


def test_a_unit_that_is_closed_for_small_digits() -> None:
    """Digits from -2 on: a bias before the gate mends it, one behind it does not."""
    lowered = raised(t1b.construct(SYSTEM, 3), "W_E", (slice(0, 5), 0), -2)
    require_acceptance(raised(lowered, "blocks.0.b_in", 0, 2), SYSTEM, Task())
    require_refusal(raised(lowered, "blocks.0.b_out", 0, 2), SYSTEM, Task())


def test_hidden_units_that_depend_on_the_entity_are_evaluated() -> None:
    """T1d's lookup is made of them; with a slope changed it is wrong wherever a subject is beyond the kink."""
    transformer = t1d.construct(SYSTEM, 3)
    require_acceptance(transformer, SYSTEM, Task())
    broken = [raised(transformer, "blocks.0.W_out", (unit, 0), 1) for unit in range(transformer.width)]
    outcomes = [decide(model, SYSTEM, Task()) for model in broken]
    assert all(certificate.holds == verdict.holds for certificate, verdict in outcomes)
    assert sum(not verdict.holds for _, verdict in outcomes) > transformer.width // 2


def test_noise_that_nothing_reads() -> None:
    """Written where the read-out does not look, it is no reason to refuse; one weight of W_U, and it is."""
    transformer = t3.construct(SYSTEM, 2, 2)
    noisy = raised(transformer, "blocks.0.W_out", (EVERYWHERE, slice(2, None)), 7)
    noisy = raised(noisy, "blocks.0.b_out", slice(2, None), -50)
    require_acceptance(noisy, SYSTEM, Task(2, 1))
    require_refusal(put(noisy, "W_U", (3, 0), 1), SYSTEM, Task(2, 1))


@pytest.mark.parametrize(("row", "unit"), [(0, 4), (4, 0), (3, 1)])
def test_a_unit_that_reads_another_block(row: int, unit: int) -> None:
    require_refusal(raised(t1.construct(SYSTEM), "blocks.0.W_in", (row, unit), 1), SYSTEM, Task())


# Read-out.


@pytest.mark.parametrize("transformer", [t1.construct(SYSTEM), t1b.construct(SYSTEM, 3)])
def test_two_answers_with_one_code_and_two_biases(transformer: Transformer) -> None:
    twins = put(transformer, "W_U", (EVERYWHERE, 1), transformer.W_U[:, 2])
    require_refusal(put(twins, "b_U", [1, 2], [1, 0]), SYSTEM, Task(), "same code")


def test_codes_told_apart_where_the_output_is_always_zero() -> None:
    transformer = t1.construct(SYSTEM)
    twins = put(transformer, "W_U", (EVERYWHERE, 1), transformer.W_U[:, 2])
    require_refusal(put(twins, "W_U", (5, [1, 2]), [-1, 1]), SYSTEM, Task(), "the margin that can be proved is")


def test_codes_with_zeros() -> None:
    """A group of its own for answer 1: right with one sign of three missing, wrong with none left or all tripled."""
    transformer = t1.construct(SYSTEM)
    for first in range(3):
        decide(put(transformer, "W_U", (first, 1), 0), SYSTEM, Task())
    require_refusal(put(transformer, "W_U", (slice(0, 2), 1), 0), SYSTEM, Task())
    require_refusal(put(transformer, "W_U", (EVERYWHERE, 1), 3 * transformer.W_U[:, 1]), SYSTEM, Task())


def test_codes_of_one_sign() -> None:
    """1 and 3 are no signs of anything: of a positive output the larger wins always."""
    for codes in ([[1], [3]], [[-1], [-3]], [[-1], [3]]):
        transformer = reading_the_subject([[1], [2]], [0], codes, SIGNED, AS_IT_IS)
        require_refusal(transformer, FactSystem([[0, 1]]), Task())
        require_refusal(transformer, SWAP, Task())


def test_codes_with_values_between_the_extremes() -> None:
    """(3, 1) and (1, 3) agree in all signs with the output (1, 1), and tie."""
    codes = [[3, 1], [1, 3], [-3, -1], [-1, -3]]
    units, written = [[1, -1, 0, 0], [0, 0, 1, -1]], [[1, 0], [-1, 0], [0, 1], [0, -1]]
    identity = FactSystem([[0, 1, 2, 3]])
    for one, other in (((1, 1), (-1, -1)), ((2, 1), (-2, -1))):
        subjects = [list(one), list(one), list(other), list(other)]
        require_refusal(reading_the_subject(subjects, [0, 0], codes, units, written), identity, Task())


@pytest.mark.parametrize("bias", range(-5, 6))
def test_a_bias_for_the_answers_of_one_relation(bias: int) -> None:
    """With T6 the answers of the relation asked are ahead of all others by 4 - 2p at least: one bit, by 4."""
    system, task = FactSystem([[0, 1], [1, 0]]), Task(disjoint_attributes=True)
    biased = raised(t6.construct(system), "b_U", slice(2, 4), bias)
    certificate, verdict = decide(biased, system, task)
    assert verdict.margin == min(2, 4 - abs(bias))
    assert certificate.holds == (abs(bias) < 4)
    assert certificate.margin == verdict.margin


@pytest.mark.parametrize("transformer", [t1.construct(SYSTEM), t1b.construct(SYSTEM, 3)])
def test_a_bias_for_one_answer(transformer: Transformer) -> None:
    for answer in range(5):
        decide(raised(transformer, "b_U", answer, 1), SYSTEM, Task())
        require_refusal(raised(transformer, "b_U", answer, 7), SYSTEM, Task())


@pytest.mark.parametrize("factor", [-1, 0, 2, 3])
def test_biases_that_measure_another_distance(factor: int) -> None:
    """b = -(μ/2)|u|² with a μ that is negative, zero, or too large for the outputs."""
    transformer = t1b.construct(SYSTEM, 3)
    require_refusal(with_tensor(transformer, "b_U", factor * tensor(transformer, "b_U")), SYSTEM, Task())


@pytest.mark.parametrize("factor", [-2, -1, 0])
def test_codes_that_point_the_other_way(factor: int) -> None:
    for transformer in (t1.construct(SYSTEM), t1b.construct(SYSTEM, 3)):
        require_refusal(with_tensor(transformer, "W_U", factor * tensor(transformer, "W_U")), SYSTEM, Task())


def test_codes_in_another_order_answer_for_other_facts() -> None:
    order = np.array([2, 0, 3, 4, 1])
    for transformer in (t1.construct(SYSTEM), t1b.construct(SYSTEM, 2)):
        permuted = dataclasses.replace(transformer, W_U=transformer.W_U[:, order], b_U=transformer.b_U[order])
        require_refusal(permuted, SYSTEM, Task())
        require_acceptance(permuted, FactSystem(np.argsort(order)[SYSTEM.answers]), Task())
