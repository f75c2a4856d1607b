"""The exact pass at the edges of its types: 2^24, 2^53, 2^63, 2^64, -128, and arrays of two types that meet."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from constructions.campaign.evaluator import Evaluator
from constructions.verification.exact import ExactModel, Product
from constructions.verification.exhaustive import check_every_query
from constructions.verification.integers import (
    absolute,
    add,
    alike,
    below,
    column_numbers,
    column_sums,
    common_divisor,
    converted,
    distinct_columns,
    divided,
    largest,
    multiplied,
    scaled,
    whole,
)
from theory import Block, FactSystem, Task, Transformer

EDGES = [*(2**power for power in (7, 8, 15, 16, 23, 24, 31, 48, 52, 53, 58, 60, 61, 62)), 2**63 - 1]
EVERY_EDGE = sorted({sign * (edge + step) for edge in EDGES for step in (-1, 0, 1) for sign in (-1, 1)})


def held(value: int) -> list[np.ndarray]:
    """The value in every type that holds it, beside a 1."""
    arrays = [np.array([value, 1], object)]
    for kind in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64):
        if np.iinfo(kind).min <= value <= np.iinfo(kind).max:
            arrays.append(np.array([value, 1], kind))
    arrays += [np.array([value, 1], kind) for kind in (np.float32, np.float64) if int(kind(value)) == value]
    return arrays


@pytest.mark.parametrize("value", [*EVERY_EDGE, 2**63, 2**64 - 1, -(2**63), -128, 127, 255])
def test_arithmetic_at_the_edges_is_that_of_python(value: int) -> None:
    for array in held(value):
        for other in held(value):
            assert whole(add(array, other)[0]) == 2 * value
            assert whole(multiplied(array, other)[0]) == value * value
            one, two = alike(array, other)
            assert one.dtype == two.dtype
            assert [whole(one[0]), whole(two[0])] == [value, value]
        assert whole(scaled(array, 3)[0]) == 3 * value
        assert whole(scaled(array, -1)[0]) == -value
        assert whole(absolute(array)[0]) == abs(value)
        assert largest(array) == max(abs(value), 1)
        assert whole(column_sums(np.stack([array] * 5))[0]) == 5 * value
        assert whole(Product(array[:1, None], array[:1])(array[None])[0, 0]) == value * value + value
        for limit in (value - 1, value, value + 1, 10**400, -(10**400)):
            assert bool(below(array, limit)[0]) == (value < limit)


def test_a_common_divisor_that_the_type_does_not_hold() -> None:
    """-128 is an int8 and 128 is not; -2^63 is an int64 and 2^63 is not."""
    for least, kind in ((-128, np.int8), (-(2**63), np.int64)):
        array = np.array([least, least], kind)
        assert common_divisor(array) == -least
        assert [whole(entry) for entry in divided(array, -least)] == [-1, -1]
    assert common_divisor(np.array([12, 18]), start=8) == 2
    assert common_divisor(np.array([0, 0])) == 1


def test_columns_are_told_apart_at_every_size() -> None:
    for step in (1, 2**40, 2**62):
        for kind in (np.int64, object):
            matrix = np.array([[0, step, 0, step], [0, 0, 0, -step]], kind)
            numbers = column_numbers(matrix)
            assert numbers[0] == numbers[2]
            assert len(set(numbers.tolist())) == 3


def reading_the_largest(keys: list[int], kind: type) -> Transformer:
    """One head whose score at position t is keys[t]; what it reads is told apart by W_U. Entities 0 and 1."""
    one, free = np.ones((1, 1, 1), np.int64), np.zeros((2, 0), np.int64)
    W_Q, W_K = np.zeros((1, 2, 1), np.int64), np.zeros((1, 2, 1), np.int64)
    W_Q[0, 1], W_K[0, 0] = 1, 1
    W_V, W_O = np.array([[[0], [1]]]), one * [[[0, 1]]]
    block = Block(W_Q, W_K, W_V, W_O, free, np.zeros(0, np.int64), free.T, np.zeros(2, np.int64))
    W_pos = np.array([[key, place + 1] for place, key in enumerate(keys)], kind)
    return Transformer(
        entities=2,
        W_E=np.zeros((3, 2), np.int64),
        W_pos=W_pos,
        blocks=(block,),
        W_U=np.array([[0, 0], [1, -1]]),
        b_U=np.zeros(2, np.int64),
        attention="hardmax",
        residual=True,
    )


@pytest.mark.parametrize("large", [2**24, 2**53, 2**54, 2**58, 2**59])
def test_scores_of_several_types_are_compared_exactly(large: int) -> None:
    """A score of 1 beside ones of 2^59 and 2^59 + 1: no two of them are tied, as float64 would have it."""
    transformer = reading_the_largest([1, large, large + 1, -large], np.int64)
    prompt = np.array([[0, 2, 2, 2]])
    logits, denominator = ExactModel(transformer).logits(prompt)
    expected = Evaluator(transformer).logits(prompt[0].tolist()).values()
    assert [Fraction(whole(v), denominator) for v in logits[:, 0]] == expected


def test_a_mean_over_more_positions_than_64_bits_have_a_multiple_of() -> None:
    """Prompts that tie 1, 2 .. 47 positions: the least common multiple of these numbers is beyond 2^63."""
    length = 47
    transformer = reading_the_largest([0] * length, np.int64)
    W_E = np.array([[1, 0], [0, 0], [0, 0]])
    transformer = Transformer(
        2, W_E, transformer.W_pos, transformer.blocks, transformer.W_U, transformer.b_U, "hardmax", residual=True
    )
    prompts = np.array([[0] * count + [2] * (length - count) for count in range(1, length)])
    logits, denominator = ExactModel(transformer).logits(prompts)
    assert denominator > 2**63
    for column, prompt in zip(logits.T, prompts.tolist(), strict=True):
        expected = Evaluator(transformer).logits(prompt).values()
        assert [Fraction(whole(v), denominator) for v in column] == expected


def test_a_claim_beyond_every_type_fails_and_does_not_crash() -> None:
    transformer = reading_the_largest([1, 2], np.int64)
    for claim in (2**53 + 1, 2**64, 10**400, Fraction(10**400, 3)):
        verdict = check_every_query(transformer, FactSystem([[0, 1]]), Task(), claim)
        assert not verdict.holds


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64])
@pytest.mark.parametrize("factor", [1, -1, 2, 127, -128, 2**15, -(2**40)])
@pytest.mark.parametrize("bias", [None, 0, 1, -127, 2**31])
def test_products_with_one_input_an_output_leave_no_type(kind: type, factor: int, bias: int | None) -> None:
    """Outputs that take one input each are not summed, in types as narrow as they are: at every end of these."""
    ends = np.array([[np.iinfo(kind).min, np.iinfo(kind).max, 1], [0, 5, np.iinfo(kind).max]], kind)
    weights = np.array([[0, factor, 0], [factor, 0, 1]])
    product = Product(weights, None if bias is None else np.full(3, bias))
    assert product.only is not None
    expected = weights.astype(object).T @ ends.astype(object) + (bias or 0)
    assert [[whole(v) for v in row] for row in product(ends)] == expected.tolist()


def test_columns_that_are_told_apart() -> None:
    for matrix, distinct in (
        (np.zeros((2, 1), int), True),
        (np.zeros((2, 2), int), False),
        (np.array([[0, 0, 2**62], [1, 0, 1]], object), True),
        (np.array([[-(2**62), 5, -(2**62)], [1, 0, 1]]), False),
        (np.zeros((2, 0), int), True),
    ):
        assert distinct_columns(matrix) == distinct


@pytest.mark.parametrize(("kind", "most"), [(np.float16, 2**11), (np.float32, 2**24), (np.float64, 2**53)])
def test_floats_are_given_what_they_hold_and_no_more(kind: type, most: int) -> None:
    assert converted(np.array([most, -most]), kind).astype(object).tolist() == [most, -most]
    for beyond in (most + 1, -most - 1):
        with pytest.raises(OverflowError):
            converted(np.array([beyond]), kind)
