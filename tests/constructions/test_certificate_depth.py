"""Deep models made to fool the certificate of deep models."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from constructions.verification import certify_attention, certify_depth
from constructions.verification.certify_attention import Refused, _winner
from constructions.verification.certify_depth import States, certify_deep
from constructions.verification.exhaustive import check_every_query
from constructions.weights import t4
from tests.helpers.deciding import COMMUTING, SYSTEM, require_acceptance, require_refusal
from tests.helpers.edits import put, raised, wider
from theory import Block, FactSystem, Task, Transformer

EVERYWHERE = slice(None)


def test_deep_models_that_read_a_relation_twice() -> None:
    for system in (SYSTEM, COMMUTING):
        transformer = t4.construct(system, 2)
        wrong = put(transformer, "blocks.2.W_Q", 0, transformer.blocks[0].W_Q[1])
        require_refusal(wrong, system, Task(2), "only the next relation")


def test_deep_models_that_read_the_relations_in_the_wrong_order() -> None:
    """Right about relations that commute: only the next relation is followed, but the prompts are few enough to run."""
    for system in (SYSTEM, COMMUTING):
        transformer = t4.construct(system, 2)
        first, second = transformer.blocks[0].W_Q[1], transformer.blocks[2].W_Q[0]
        swapped = put(put(transformer, "blocks.0.W_Q", 1, second), "blocks.2.W_Q", 0, first)
        if system == COMMUTING:
            require_acceptance(swapped, system, Task(2))
        else:
            require_refusal(swapped, system, Task(2), "only the next relation")


def test_deep_models_whose_attention_looks_at_the_state() -> None:
    """The second selection seeks a position that depends on the entity reached."""
    wrong = put(t4.construct(SYSTEM, 2), "blocks.2.W_Q", (0, 0, 0), 100)
    require_refusal(wrong, SYSTEM, Task(2), "W_Q of block 2 reads coordinates that an earlier block has written")


def test_deep_models_whose_attention_looks_at_what_a_bias_has_written() -> None:
    """The first block moves every position by -100, and the queries of the third change their sign."""
    transformer = t4.construct(SYSTEM, 2)
    wrong = raised(transformer, "blocks.0.b_out", 7, -100)
    assert transformer.W_pos[:, 7].tolist() == [0, 1, 2]
    require_refusal(wrong, SYSTEM, Task(2), "of block 2 reads coordinates that an earlier block has written")


@pytest.mark.parametrize("coordinate", [0, 2, 5])
def test_deep_models_that_keep_a_trace_of_an_entity(coordinate: int) -> None:
    wrong = raised(t4.construct(SYSTEM, 3), "blocks.1.W_out", (2, coordinate), 2)
    require_refusal(wrong, SYSTEM, Task(3))


def test_deep_models_that_remember_the_first_relation() -> None:
    """Its code goes to a coordinate of its own; the read-out may leave it there, or prefer answer 0 for it."""
    plain = wider(t4.construct(SYSTEM, 2))
    d, code = plain.dimension, 6
    assert plain.W_E[5:, code].tolist() == [0, 1]
    remembering = put(plain, "blocks.0.W_O", (1, 0, d - 1), 1)
    assert certify_deep(remembering, SYSTEM, Task(2)) == 2
    wrong = put(remembering, "W_U", (d - 1, 0), 50)
    assert certify_deep(wrong, SYSTEM, Task(2)) <= 0
    require_refusal(wrong, SYSTEM, Task(2))


def test_deep_models_that_are_right_only_where_both_relations_are_the_same() -> None:
    """The code of the first relation is remembered, and the read-out prefers answer 0 by how far the last one is below
    it: every first relation must be followed with every last one.
    """
    plain = wider(t4.construct(SYSTEM, 2))
    remembering = put(plain, "blocks.0.W_O", (1, 0, plain.dimension - 1), 1)
    comparing = put(put(remembering, "W_U", (plain.dimension - 1, 0), 50), "W_U", (6, 0), -50)
    assert certify_deep(comparing, SYSTEM, Task(2)) <= 0
    failing = check_every_query(comparing, SYSTEM, Task(2)).counterexample
    assert failing is not None
    assert failing.word in ((0, 1), (1, 0))
    require_refusal(comparing, SYSTEM, Task(2))


def test_deep_models_without_a_residual_stream_have_no_embedding_left_to_read() -> None:
    without = dataclasses.replace(t4.construct(SYSTEM, 2), residual=False)
    with pytest.raises(Refused, match=r"W_Q of block \d reads coordinates that an earlier block has written"):
        certify_deep(without, SYSTEM, Task(2))
    require_refusal(without, SYSTEM, Task(2))


def test_deep_models_that_remember_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certify_depth, "MOST_NUMBERS", 300)
    plain = wider(t4.construct(SYSTEM, 3))
    remembering = put(plain, "blocks.0.W_O", (1, 0, plain.dimension - 1), 1)
    assert certify_deep(plain, SYSTEM, Task(3)) == 2
    with pytest.raises(Refused, match="more than the last relation and the entity reached"):
        certify_deep(remembering, SYSTEM, Task(3))


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_deep_models_that_depend_on_the_last_relation(hops: int) -> None:
    """Its code is in the stream from the beginning; the read-out prefers answer 0 for it."""
    transformer = t4.construct(SYSTEM, hops)
    require_refusal(put(transformer, "W_U", (6, 0), 5), SYSTEM, Task(hops))
    require_acceptance(put(transformer, "W_U", (6, EVERYWHERE), 5), SYSTEM, Task(hops))


@pytest.mark.parametrize("hops", [2, 3])
def test_deep_models_with_a_block_missing(hops: int) -> None:
    transformer = t4.construct(SYSTEM, hops)
    for number in range(len(transformer.blocks)):
        blocks = transformer.blocks[:number] + transformer.blocks[number + 1 :]
        require_refusal(dataclasses.replace(transformer, blocks=blocks), SYSTEM, Task(hops))


def test_deep_models_that_stop_too_early() -> None:
    """After the first hop, whatever the second relation is."""
    transformer = t4.construct(SYSTEM, 2)
    early = dataclasses.replace(transformer, blocks=transformer.blocks[:1])
    require_refusal(early, SYSTEM, Task(2))
    early = dataclasses.replace(transformer, blocks=(early.blocks[0], idle(transformer)))
    require_refusal(early, SYSTEM, Task(2), "read 1 of 2 relations")


def idle(transformer: Transformer) -> Block:
    """A block without heads and hidden units, which leaves the stream as it is."""
    d = transformer.dimension
    nothing, heads = np.zeros((d, 0), int), np.zeros((0, d, 0), int)
    return Block(heads, heads, heads, np.zeros((0, 0, d), int), nothing, np.zeros(0, int), nothing.T, np.zeros(d, int))


def test_the_gaps_to_the_winner_are_the_least_in_order_of_size() -> None:
    """Two queries whose gaps are (7, 5) and (2, 9): the nearest is 2 away at least, and the next 7."""
    low, high = np.array([[10, 10], [0, 0], [0, 0]]), np.array([[12, 12], [3, 8], [5, 1]])
    for order in ([0, 1, 2], [1, 0, 2], [2, 1, 0]):
        winner, gaps = _winner(low[order], high[order], 0, 0)
        assert (winner, gaps.tolist()) == (order.index(0), [2, 7])
    with pytest.raises(Refused, match="head 3 does not read the same position for every prompt in step 2"):
        _winner(low, np.array([[12, 12], [3, 10], [5, 1]]), 3, 1)


def test_attention_with_too_many_scores_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certify_attention, "MOST_SCORES", 0)
    with pytest.raises(Refused, match="head 0 of the attention depends on the tokens in too many ways"):
        certify_deep(t4.construct(SYSTEM, 2), SYSTEM, Task(2))


def test_models_without_blocks() -> None:
    transformer = t4.construct(SYSTEM, 1)
    for residual in (True, False):
        require_refusal(dataclasses.replace(transformer, blocks=(), residual=residual), SYSTEM, Task())


def test_without_a_residual_stream_everything_was_written_over() -> None:
    """Block 0 leaves zeros at every position, also of the relation, which block 1 reads as if it were still there."""
    ONE = np.eye(2, dtype=int)[None, :, :1]
    nothing = Block(*(np.zeros((0, 2, 1), int),) * 3, np.zeros((0, 1, 2), int), *map(np.zeros, [(2, 0), 0, (0, 2), 2]))
    reading = Block(
        W_Q=ONE[:, ::-1],
        W_K=ONE[:, ::-1],
        W_V=ONE,
        W_O=ONE.transpose(0, 2, 1),
        W_in=np.array([[1, -1], [0, 0]]),
        b_in=np.zeros(2, int),
        W_out=np.array([[1, 0], [-1, 0]]),
        b_out=np.zeros(2, int),
    )
    model = Transformer(
        entities=2,
        W_E=np.array([[0, 0], [0, 0], [-1, 0], [1, 0]]),
        W_pos=np.array([[0, 0], [0, 1]]),
        blocks=(reading,),
        W_U=np.array([[-1, 1], [0, 0]]),
        b_U=np.zeros(2, int),
        attention="hardmax",
    )
    system = FactSystem([[0, 0], [1, 1]])
    require_acceptance(model, system, Task())
    require_refusal(dataclasses.replace(model, blocks=(nothing, reading)), system, Task())


def test_the_relations_are_followed_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    places: list[int] = []
    follow = certify_depth._follow

    def followed(system: FactSystem, task: Task, states: States, hop: int) -> States:
        places.append(hop)
        return follow(system, task, states, hop)

    monkeypatch.setattr(certify_depth, "_follow", followed)
    system = FactSystem.random(5, 2)
    assert certify_deep(t4.construct(system, 3), system, Task(3, 3)) == 2
    assert places == [1, 2, 3]
