"""The exact forward pass against the plain one in float64 and against fractions, on models of every shape."""

import dataclasses
from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from constructions.campaign.evaluator import Evaluator, evaluate
from constructions.verification.exact import ExactModel, Product
from constructions.verification.exhaustive import check_every_query
from constructions.verification.integers import add, numerators, scaled, transposed
from constructions.weights import t1, t3
from tests.helpers.models import EXACT, Case, Model, cases
from tests.helpers.random_models import FRACTIONS, INTEGERS, Shape, random_model, shapes
from theory import Block, FactSystem, InputError, Task, Transformer, all_words
from theory.definitions.transformer import run_with_cache


def require_agreement(transformer: Transformer, *, rational: bool = False) -> None:
    """All logits of all prompts of two and three tokens are those of the fractions."""
    model, evaluator = ExactModel(transformer, rational=rational), Evaluator(transformer)
    for length in (2, 3):
        words = all_words(2, length - 1)
        prompts = np.array([[x, *(3 + word)] for x in range(3) for word in words])
        logits, denominator = model.logits(prompts)
        assert logits.shape == (3, len(prompts))
        for column, prompt in zip(logits.T.tolist(), prompts.tolist(), strict=True):
            assert all(value == int(value) for value in column)
            assert [Fraction(int(value), denominator) for value in column] == evaluator.logits(prompt).values()


@given(shape=shapes, kinds=st.lists(st.sampled_from(list(INTEGERS)), min_size=1, max_size=3), seed=st.integers(0, 999))
@settings(max_examples=150)
def test_integer_models_agree_with_fractions(shape: Shape, kinds: list[str], seed: int) -> None:
    require_agreement(random_model(shape, INTEGERS, kinds, seed))


@given(shape=shapes, kinds=st.lists(st.sampled_from(list(FRACTIONS)), min_size=1, max_size=2), seed=st.integers(0, 999))
@settings(max_examples=60)
def test_float_models_agree_with_fractions(shape: Shape, kinds: list[str], seed: int) -> None:
    require_agreement(random_model(shape, FRACTIONS, kinds, seed), rational=True)


def test_deep_float_models_agree_with_fractions() -> None:
    """Eight blocks of float64 weights: the common denominator leaves float64's range far behind."""
    shape = Shape(8, 1, 1, 2, 3, "uniform", residual=True, causal=False, dead=False)
    transformer = random_model(shape, FRACTIONS, ["float64"], seed=0)
    require_agreement(transformer, rational=True)
    assert ExactModel(transformer, rational=True).logits(np.array([[0, 3]]))[1] > 2**1100


@given(shape=shapes, seed=st.integers(0, 999))
@settings(max_examples=80)
def test_small_models_agree_with_the_plain_pass(shape: Shape, seed: int) -> None:
    """Hardmax on two tokens only: means of three are rounded in float64, and a later tie might be lost."""
    transformer = random_model(shape, INTEGERS, ["small"], seed)
    prompts = np.array([[x, 3 + r, 3 + s] for x in range(3) for r in range(2) for s in range(2)])
    prompts = prompts[:, :2] if shape.attention == "hardmax" else prompts
    logits, denominator = ExactModel(transformer).logits(prompts)
    plain, _ = run_with_cache(transformer, prompts)
    np.testing.assert_allclose(logits.T.astype(float) / denominator, plain, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("model", EXACT, ids=lambda model: model.name)
@given(case=cases(entities=4, relations=2, hops=3, bits=3, queries=24))
@settings(max_examples=4)
def test_margins_agree_with_fractions(model: Model, case: Case) -> None:
    system, task = case.system, model.task(case.hops)
    transformer = model.build(system, case.hops, case.bits)
    verdict = check_every_query(transformer, system, task)
    truth = evaluate(transformer, system, task)
    assert isinstance(verdict.margin, Fraction)
    assert verdict.margin == truth.low == truth.high


@pytest.mark.parametrize(
    ("size", "kind"), [(1, np.float32), (2**23, np.float64), (2**52, np.int64), (2**62, np.dtype(object))]
)
def test_products_use_the_fastest_type_that_is_exact(size: int, kind: Any) -> None:
    """Every type is reached, and in the type below the last unit would be lost."""
    weights, bias = np.array([[size, 3], [1, -1], [0, 0]]), np.array([1, 0])
    values = np.array([[1, 2], [1, 0], [7, 7]])
    result = Product(weights, bias)(values, denominator=5)
    assert result.dtype == kind
    assert [[int(v) for v in row] for row in result] == [[size + 6, 2 * size + 5], [2, 6]]


def test_sparse_products_are_exact_at_every_size() -> None:
    generator = np.random.default_rng(0)
    for size in (1, 2**25, 2**55, 2**62):
        weights = np.where(generator.random((40, 50)) < 0.03, generator.integers(-size, size, (40, 50)), 0)
        values = generator.integers(-4, 5, (40, 7))
        expected = weights.astype(object).T @ values.astype(object)
        assert (Product(weights)(values).astype(object) == expected).all()


def test_a_sum_of_float32_whole_numbers_is_not_rounded() -> None:
    """2^24 + 1 is no float32, 2^53 + 1 no float64."""
    for large in (2**24, 2**53, 2**62):
        result = Product(np.array([[1], [1]]))(np.array([[large], [1]]))
        assert int(result[0, 0]) == large + 1
        assert int(add(np.array([[large]]), np.array([[1]]))[0, 0]) == large + 1
        assert int(scaled(np.array([[large // 2 + 1]]), 3)[0, 0]) == 3 * (large // 2 + 1)


def test_float64_values_grow_into_whole_numbers_without_end() -> None:
    """A product held in float64, exactly, goes on in Python's integers and not in Python's floats."""
    held = Product(np.array([[2**50 + 1]]))(np.array([[1]]))
    assert held.dtype == np.float64
    expected = (2**50 + 1) * (2**40 + 1)
    assert int(Product(np.array([[2**40 + 1]]))(held)[0, 0]) == expected
    assert int(scaled(held, 2**40 + 1)[0, 0]) == expected
    assert int(add(held, np.array([[2**80 + 1]], dtype=object))[0, 0]) == 2**80 + 2**50 + 2


@pytest.mark.parametrize(
    ("values", "power"),
    [
        (np.array([6e4, 1e-4], np.float16), 24),
        (np.array([2.0**-149, -3.5], np.float32), 149),
        (np.array([5e-324, 1.0]), 1074),
        (np.array([1e300, -(2.0**-30), 0.0]), 30),
        (np.array([-(2.0**63), 0.75]), 2),
        (np.array([1.0, -7.0]), 0),
        (np.zeros((2, 0)), 0),
    ],
)
def test_floats_are_the_fractions_that_they_are(values: NDArray[Any], power: int) -> None:
    """Also where float16 and float32 would overflow on the way, and in the denormal range."""
    (whole,), scale = numerators(values)
    assert scale <= 2**power
    for number, value in zip(whole.ravel().tolist(), values.ravel().tolist(), strict=True):
        assert Fraction(int(number), scale) == Fraction(value)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="long double is float64 on this machine")
def test_extended_precision_is_refused_and_not_rounded() -> None:
    with pytest.raises(InputError, match="no float64"):
        numerators(np.ones(1, np.longdouble) + np.longdouble(2.0) ** -60)


def test_transposing_in_pieces() -> None:
    matrix = np.arange(3000 * 700, dtype=np.int32).reshape(3000, 700)
    assert np.array_equal(transposed(matrix), matrix.T)
    assert transposed(matrix).flags.c_contiguous


def test_a_tie_is_a_failure_with_margin_zero() -> None:
    system = FactSystem([[0, 1, 2]])
    transformer = t1.construct(system)
    twin = np.array(transformer.W_U)
    twin[:, 2] = twin[:, 0]
    verdict = check_every_query(dataclasses.replace(transformer, W_U=twin), system, Task())
    assert not verdict.holds
    assert verdict.margin == 0
    assert verdict.counterexample is not None
    assert verdict.counterexample.subject == 0


def test_tied_scores_attend_to_the_mean() -> None:
    """Three positions, no query: the mean of the prompt, in thirds."""
    nothing = np.zeros((1, 1, 0), np.int64)
    one = np.ones((1, 1, 1), np.int64)
    free = np.zeros((1, 0), np.int64)
    block = Block(nothing, nothing, one, one, free, np.zeros(0, np.int64), free.T, np.zeros(1, np.int64))
    transformer = Transformer(
        entities=2,
        W_E=np.array([[0], [1], [0], [0]]),
        W_pos=np.zeros((3, 1), np.int64),
        blocks=(block,),
        W_U=np.array([[-2, 2]]),
        b_U=np.array([1, 0]),
        attention="hardmax",
        residual=True,
    )
    logits, denominator = ExactModel(transformer).logits(np.array([[1, 2, 3], [0, 2, 3]]))
    assert [[Fraction(int(v), denominator) for v in row] for row in logits] == [
        [Fraction(1, 3), Fraction(1)],
        [Fraction(2, 3), Fraction(0)],
    ]
    verdict = check_every_query(transformer, FactSystem([[0, 1], [0, 1]]), Task(2, 2))
    assert verdict.margin == Fraction(1, 3)
    assert verdict.holds


def test_a_margin_below_the_claim_by_a_third_is_noticed() -> None:
    system = FactSystem([[0, 1]])
    transformer = t1.construct(system)
    block = dataclasses.replace(transformer.blocks[0], W_out=np.array([[2 / 3]]), b_out=np.array([-2 / 3]))
    transformer = dataclasses.replace(transformer, blocks=(block,))
    exact = check_every_query(transformer, system, Task(), rational=True).margin
    assert exact == 2 * Fraction(2 / 3)
    assert check_every_query(transformer, system, Task(), exact, rational=True).holds
    assert not check_every_query(transformer, system, Task(), exact + Fraction(1, 10**30), rational=True).holds


def test_fractions_are_taken_only_when_asked() -> None:
    transformer = t1.construct(FactSystem([[0, 1], [1, 0]]))
    W_in = np.array(transformer.blocks[0].W_in, float)
    W_in[1, 0] = 0.5
    broken = dataclasses.replace(transformer, blocks=(dataclasses.replace(transformer.blocks[0], W_in=W_in),))
    with pytest.raises(InputError, match=r"blocks.0.W_in\[1, 0\] is 0.5, a fraction"):
        ExactModel(broken)
    ExactModel(broken, rational=True)


def test_softmax_and_long_prompts_are_refused() -> None:
    system = FactSystem([[0, 1], [1, 0]])
    with pytest.raises(InputError, match="irrational"):
        ExactModel(t3.construct(system, 1, softmax=True))
    with pytest.raises(InputError, match="3 tokens, but W_pos has 2 positions"):
        ExactModel(t1.construct(system)).logits(np.array([[0, 2, 3]]))
