"""Weights of 2^63 and more, in floats: no conversion on the way to the certificate's margin may change one of them."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from constructions.verification.certificate import certify
from constructions.verification.exhaustive import check_every_query
from constructions.verification.integers import converted
from constructions.weights import t4
from theory import Block, FactSystem, Task, Transformer

HUGE = (2.0**63, -(2.0**64))


def mutants(transformer: Transformer, every: int) -> Iterator[Transformer]:
    """The model with one entry of one tensor huge, that tensor being in float64: one in `every` entries and values."""
    places = (
        (name, array, place, value)
        for name, array in transformer.tensors()
        for place in np.ndindex(array.shape)
        for value in HUGE
    )
    for name, array, place, value in itertools.islice(places, 0, None, every):
        changed = array.astype(np.float64)
        changed[place] = value
        yield replaced(transformer, name, changed)


def replaced(transformer: Transformer, name: str, array: np.ndarray) -> Transformer:
    tensors = {**dict(transformer.tensors()), name: array}
    blocks = tuple(
        Block(**{field: tensors[f"blocks.{number}.{field}"] for field in Block.AXES})
        for number in range(len(transformer.blocks))
    )
    outer = {field: tensors[field] for field in ("W_E", "W_pos", "W_U", "b_U")}
    return dataclasses.replace(transformer, blocks=blocks, **outer)


@pytest.mark.parametrize(
    ("system", "every"),
    [(FactSystem([[1, 0]]), 1), (FactSystem.random(3, 2), 11)],
    ids=["one relation", "two relations"],
)
def test_no_wrong_deep_model_is_accepted_for_a_huge_weight(system: FactSystem, every: int) -> None:
    task, harmful = Task(2), 0
    for mutant in mutants(t4.construct(system, 2), every):
        verdict = check_every_query(mutant, system, task)
        harmful += not verdict.holds
        certificate = certify(mutant, system, task)
        if certificate.holds:
            assert verdict.holds
            assert certificate.margin is not None
            assert certificate.margin <= verdict.margin
    assert harmful


@pytest.mark.parametrize(
    ("value", "source", "target"),
    [
        (2.0**63, np.float64, np.int64),
        (-(2.0**64), np.float64, np.int64),
        (2**53 + 1, np.int64, np.float64),
        (2**24 + 1, np.int32, np.float32),
        (2**63, np.uint64, np.int64),
        (2**63, object, np.int64),
        (2**200, object, np.float64),
        (0.5, np.float64, np.int64),
        (0.5, np.float64, object),
        (0.5, object, np.int64),
        (np.nan, np.float64, np.int64),
        (np.inf, np.float64, np.float32),
        (128, np.int64, np.int8),
        (2**11 + 1, np.int64, np.float16),
    ],
)
def test_a_conversion_that_would_change_a_value_is_an_error(value: object, source: type, target: type) -> None:
    with pytest.raises(OverflowError):
        converted(np.array([0, value], dtype=source), target)


@pytest.mark.parametrize(
    ("value", "source", "target"),
    [
        (-(2.0**63), np.float64, np.int64),
        (2**53, np.int64, np.float64),
        (2.0**80, np.float64, object),
        (2**64 - 1, np.uint64, object),
        (-128, np.int64, np.int8),
        (2**24, object, np.float32),
        (2**11, np.int64, np.float16),
        (2.0**80, np.dtype(np.float64).newbyteorder(), np.float64),
    ],
)
def test_a_conversion_keeps_every_value_that_fits(value: int | float, source: type, target: type) -> None:
    result = converted(np.array([value, 0], dtype=source), target)
    assert result.dtype == target
    assert [int(entry) for entry in result] == [int(value), 0]
