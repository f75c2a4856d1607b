"""The evaluator of the campaign against models computed by hand, and its enclosures against digits that are known."""

from __future__ import annotations

import ast
import dataclasses
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constructions.campaign import evaluator as module
from constructions.campaign.evaluator import Evaluator, evaluate
from constructions.campaign.exponential import ONE, exponential, softmax
from constructions.campaign.rows import Affine, Row, exact, inner, relu, total, weighted
from constructions.weights import t1, t3, t6
from tests.helpers.edits import put
from tests.helpers.random_models import FRACTIONS, INTEGERS, Shape, random_model, shapes
from theory import Block, FactSystem, Task, Transformer
from theory.definitions.transformer import run_with_cache

SWAP = FactSystem([[1, 0]])


def model(attention: Any = "hardmax", beta: float | None = None, **switches: Any) -> Transformer:
    """Two entities, 3 and 5, a relation, 1, one coordinate; W_pos adds 0, 1, 2 and ReLU(1 - ·) is written.

    Positions look for the largest product with themselves, so that the last reads the largest value; logits are (x, 7).
    """
    block = Block(W_Q=[[[1]]], W_K=[[[1]]], W_V=[[[1]]], W_O=[[[2]]], W_in=[[-1]], b_in=[1], W_out=[[10]], b_out=[4])
    return Transformer(
        2, [[3], [5], [1]], [[0], [1], [2]], (block,), [[1, 0]], [0, 7], attention, beta=beta, **switches
    )


def test_hardmax_by_hand() -> None:
    """Prompt (1, relation): the stream is 5, 2; 5 is read, doubled: 10; ReLU(1 - 10) = 0; the block hands on b_out."""
    assert Evaluator(model()).logits([1, 2]).values() == [4, 7]
    assert Evaluator(model(residual=True)).logits([1, 2]).values() == [2 + 10 + 4, 7]


def test_a_tie_of_hardmax_reads_the_mean() -> None:
    """Prompt (0, relation, entity 0): 3, 2, 5; made to look alike, all three are read: twice their mean, 20/3."""
    alike = put(model(residual=True), "blocks.0.W_Q", ..., 0)
    assert Evaluator(alike).logits([0, 2, 0]).values() == [5 + Fraction(20, 3) + 4, 7]


def test_causal_positions_see_what_is_before_them() -> None:
    """Two blocks; in the first, position 0 sees 3 alone, or the 3 and the 2, whose mean it reads."""
    twice = dataclasses.replace(model("uniform", residual=True), blocks=model().blocks * 2)
    # Not causal: 3 -> 3 + 5 + 4 = 12, 2 -> 2 + 5 + 4 = 11; the last: 11 + 23 + 4 = 38.
    assert Evaluator(twice).logits([0, 2]).values() == [38, 7]
    # Causal: 3 -> 3 + 6 + 4 = 13, 2 -> 11; the last: 11 + 24 + 4 = 39.
    assert Evaluator(dataclasses.replace(twice, causal=True)).logits([0, 2]).values() == [39, 7]


def test_a_block_without_heads_works_on_the_stream_as_it_is() -> None:
    empty = np.zeros((0, 1, 1), int)
    block = dataclasses.replace(model().blocks[0], W_Q=empty, W_K=empty, W_V=empty, W_O=empty, b_in=[4])
    alone = dataclasses.replace(model(), blocks=(block,))
    assert Evaluator(alone).logits([0, 2]).values() == [10 * (4 - 2) + 4, 7]
    assert Evaluator(dataclasses.replace(alone, blocks=())).logits([0, 2]).values() == [2, 7]


def test_softmax_by_hand() -> None:
    """Prompt (1, relation) again: scores 2·5 and 2·2, so that 5 has the weight 1/(1 + exp(-6β))."""
    ((low, high), (_, bias)) = Evaluator(model("softmax", 0.5, residual=True)).logits([1, 2]).ends()
    weight = 1 / (1 + math.exp(-3))
    assert low <= high
    assert high - low < Fraction(1, 2**240)
    assert float(low) == pytest.approx(2 + 2 * (5 * weight + 2 * (1 - weight)) + 4, rel=1e-15)
    assert bias == 7


def test_softmax_of_equal_scores_is_exact() -> None:
    alike = put(model("softmax", 3.0, residual=True), "blocks.0.W_Q", ..., 0)
    assert Evaluator(alike).logits([0, 2, 0]).values() == [5 + Fraction(20, 3) + 4, 7]


def test_margins_by_hand() -> None:
    """T1 on the swap: one bit, logits (1, -1) and (-1, 1) times one; on other facts they are wrong."""
    transformer = t1.construct(SWAP)
    truth = evaluate(transformer, SWAP, Task())
    assert truth.outcomes.keys() == {(0, (0,)), (1, (0,))}
    assert {outcome.emitted for outcome in truth.outcomes.values()} == {(0,), (1,)}
    assert truth.low == truth.high == 2
    assert (truth.is_right(), truth.is_right(2), truth.is_right(Fraction(5, 2))) == (True, True, False)
    assert truth.wrong(Fraction(5, 2)) == (0, (0,))
    identity = evaluate(transformer, FactSystem([[0, 1]]), Task())
    assert (identity.high, identity.is_right(), identity.wrong()) == (-2, False, (0, (0,)))


def test_a_tie_is_wrong() -> None:
    transformer = t1.construct(SWAP)
    blind = dataclasses.replace(transformer, W_U=0 * transformer.W_U)
    truth = evaluate(blind, SWAP, Task())
    assert (truth.low, truth.high, truth.is_right(), truth.wrong()) == (0, 0, False, (0, (0,)))


def test_chains_are_fed_their_own_tokens() -> None:
    """A model of the quarter turn is right about two turns the other way, though its first tokens are wrong."""
    left, right = FactSystem([[1, 2, 3, 0]]), FactSystem([[3, 0, 1, 2]])
    transformer = t3.construct(left, 2, 1)
    truth = evaluate(transformer, right, Task(2, 1))
    assert truth.is_right()
    assert [outcome.emitted for outcome in truth.outcomes.values()] == [(1, 2), (2, 3), (3, 0), (0, 1)]


def test_a_chain_ends_at_a_tie() -> None:
    transformer = t3.construct(SWAP, 3, 1)
    blind = dataclasses.replace(transformer, W_U=0 * transformer.W_U, b_U=0 * transformer.b_U)
    outcome = evaluate(blind, SWAP, Task(3, 1)).outcomes[0, (0, 0, 0)]
    assert (outcome.margin, outcome.emitted) == (0, ())


def test_disjoint_attributes() -> None:
    system = FactSystem([[1, 0], [0, 1]])
    truth = evaluate(t6.construct(system), system, Task(disjoint_attributes=True))
    assert truth.is_right()
    assert {query: outcome.emitted for query, outcome in truth.outcomes.items()} == {
        (0, (0,)): (1,),
        (0, (1,)): (2,),
        (1, (0,)): (0,),
        (1, (1,)): (3,),
    }


def test_a_vague_enclosure_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were softmax's weights only known to lie between 0 and 1, nothing could be told of a chain that needs them."""
    system = FactSystem.random(3, 2)
    transformer = t3.construct(system, 2, 1, softmax=True)
    assert evaluate(transformer, system, Task(2, 1)).is_right()
    monkeypatch.setattr(module, "softmax", lambda scores: [(0, ONE)] * len(scores))
    vague = evaluate(transformer, system, Task(2, 1))
    assert (vague.low, vague.is_right(), vague.wrong()) == (None, None, None)
    with pytest.raises(ValueError, match="only known to lie in"):
        _ = next(iter(vague.outcomes.values())).margin


def test_the_exponential_has_the_digits_that_are_known() -> None:
    digits = {
        Fraction(-1): "0.36787944117144232159552377016146086744581113103176783450783680",
        Fraction(-1, 2): "0.60653065971263342360379953499118045344191813548718695568289215",
        Fraction(-10): "0.0000453999297624848515355915155605506102379180888665649692590713",
    }
    for argument, known in digits.items():
        low, high = exponential(argument)
        assert 0 < high - low < 2**20
        assert abs(Fraction(low, ONE) - Fraction(known)) < Fraction(1, 10**60)
    assert exponential(Fraction(0)) == (ONE, ONE)
    assert exponential(Fraction(-(10**9))) == (0, 1)
    with pytest.raises(ValueError, match="must not be positive"):
        exponential(Fraction(1))


@given(st.fractions(-300, 0, max_denominator=10**6), st.fractions(0, 50, max_denominator=10**6))
@settings(max_examples=80)
def test_the_exponential_of_a_sum_is_a_product(first: Fraction, second: Fraction) -> None:
    """Enclosures of both sides meet, though the series are different ones."""
    (low, high), (low_first, high_first), (low_second, high_second) = map(exponential, (first - second, first, -second))
    assert low * ONE <= high_first * high_second
    assert low_first * low_second <= high * ONE


def test_softmax_of_vague_scores_encloses_what_they_allow() -> None:
    known = (Fraction(3),) * 2, (Fraction(0),) * 2
    exactly = [softmax(((score, score), *known)) for score in (Fraction(1), Fraction(3, 2), Fraction(2))]
    vague = softmax(((Fraction(1), Fraction(2)), *known))
    for weights in exactly:
        assert all(low <= least and most <= high for (low, high), (least, most) in zip(vague, weights, strict=True))
        assert sum(low for low, _ in weights) <= ONE <= sum(high for _, high in weights)
    assert softmax(((Fraction(-(10**9)), Fraction(10**9)),) * 2) == [(0, ONE)] * 2


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 9)), min_size=3, max_size=3), st.data())
def test_enclosures_hold_what_is_inside(ends: list[tuple[int, int]], data: st.DataObject) -> None:
    """Whatever exact row lies in an enclosed one, its image lies in the image, for every operation."""
    wide = Row(tuple(low for low, _ in ends), tuple(low + width for low, width in ends), 4)
    inside = exact([data.draw(st.integers(low, low + width)) for low, width in ends], 4)
    other = exact([3, -1, 2], 6)
    affine = Affine(np.array([[1, -2], [0, 3], [0.5, 0]]), np.array([1, -1]))
    for change in (affine, relu, lambda row: total([row, other]), lambda row: weighted(row, 1, 3, 4)):
        results = zip(change(wide).ends(), change(inside).ends(), strict=True)
        assert all(low <= least and most <= high for (low, high), (least, most) in results)
    (low, high), (value, _) = inner(wide, other), inner(inside, other)
    assert low <= value <= high


@given(shape=shapes, seed=st.integers(0, 999), beta=st.sampled_from([0.25, 1, 3.5]))
@settings(max_examples=60)
def test_softmax_agrees_with_the_plain_pass(shape: Shape, seed: int, beta: float) -> None:
    transformer = dataclasses.replace(
        random_model(shape, INTEGERS | FRACTIONS, ["small", "quarters"], seed), attention="softmax", beta=beta
    )
    for prompt in ([0, 3], [1, 4, 3]):
        plain, _ = run_with_cache(transformer, np.array([prompt]))
        for (low, high), value in zip(Evaluator(transformer).logits(prompt).ends(), plain[0].tolist(), strict=True):
            slack = Fraction(1, 10**8) * (1 + abs(Fraction(value)))
            assert low - slack <= Fraction(value) <= high + slack
            assert high - low < 1


def test_it_shares_no_code_with_the_checkers() -> None:
    """Its files import the definitions, each other, and Python's own numbers; numpy's arrays only hold the weights."""
    folder = Path(module.__file__).parent
    for name in ("evaluator", "rows", "exponential"):
        for node in ast.walk(ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))):
            sources = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            sources += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for source in sources:
                assert source in (
                    *("__future__", "collections.abc", "dataclasses", "fractions", "functools", "itertools", "math"),
                    *("typing", "numpy.typing", "theory"),
                    *("constructions.campaign.exponential", "constructions.campaign.rows"),
                )
