"""The registry's formulas are those of the weights that are built, and its errors are clear."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.suite.checks import formulas
from constructions.suite.t5 import differing_tensors
from constructions.weights.catalogue import CATALOGUE, STRUCTURED, Entry, Setting, entry
from theory import FactSystem, InputError
from theory.statements.powers import bits_of_power
from theory.statements.registry import Quantity, evaluate, in_order, theorem, theorems
from theory.statements.symbols import CHOSEN, DERIVED, values

EVERY = (*CATALOGUE, *STRUCTURED)
QUANTITIES: tuple[Quantity, ...] = ("dimension", "width", "parameters")


@given(
    st.sampled_from(EVERY),
    st.integers(2, 12),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 5),
    st.integers(1, 3),
)
def test_formulas_are_those_of_the_weights(
    made: Entry, entities: int, relations: int, hops: int, bits: int, stride: int
) -> None:
    if entities * relations**hops <= 300 and (made.name != "lookup" or entities**relations <= 2000):
        assert_formulas(made, entities, relations, hops, bits, stride)


def assert_formulas(made: Entry, entities: int, relations: int, hops: int, bits: int, stride: int) -> None:
    setting = Setting(hops, bits, stride)
    model = made.build(FactSystem.random(entities, relations), setting)
    task = made.task(setting)
    for quantity in QUANTITIES:
        value = evaluate(
            made.theorem,
            quantity,
            entities=entities,
            relations=relations,
            hops=task.hops,
            bits=bits,
            stride=task.stride,
            construction=formulas(made).name,
        )
        if formulas(made).width_is_bound and quantity != "dimension":
            assert getattr(model, quantity) <= value
        else:
            assert getattr(model, quantity) == value, quantity


@pytest.mark.parametrize("made", EVERY, ids=lambda made: f"{made.theorem} {made.name}")
def test_formulas_are_those_of_the_weights_on_a_grid(made: Entry) -> None:
    """Every construction with every number of relations and hops, and with strides that divide the hops and do not."""
    for entities, relations, hops, bits in product((2, 5), range(1, 6), range(1, 4), (1, 2)):
        if entities * relations**hops > 150 or (made.name == "lookup" and entities**relations > 700):
            continue
        for stride in range(1, hops + 1):
            assert_formulas(made, entities, relations, hops, bits, stride)


@pytest.mark.parametrize("made", EVERY, ids=lambda made: f"{made.theorem} {made.name}")
def test_a_construction_is_universal_iff_nothing_but_its_subject_table_depends_on_the_facts(made: Entry) -> None:
    setting = Setting(2, 1, 2)
    one, other = (made.build(FactSystem.random(6, 3, seed), setting) for seed in (0, 1))
    assert (differing_tensors(one, other) == []) == formulas(made).universal


def test_every_construction_is_in_the_registry_and_the_other_way_round() -> None:
    ours = {(e.theorem, formulas(e).name) for e in EVERY if "softmax" not in e.name}
    theirs = {(t.identifier, c.name) for t in theorems().values() for c in t.constructions}
    assert ours == theirs


def test_huge_sizes_are_exact() -> None:
    size = {"entities": 10**12, "relations": 1000, "hops": 64}
    assert evaluate("T2", "dimension", **size, bits=7) == 1000**64 * 6  # 40 bits in digits of 7
    assert evaluate("T2e", "dimension", **size) == 1000**32 * 40
    assert evaluate("T1d", "dimension", entities=10**12, relations=1000) == (10**12000 - 1).bit_length()


def test_derived_numbers() -> None:
    found = {str(symbol): value for symbol, value in values(100, 3, 5, 2, 2).items()}
    assert found == {
        **{"N": 100, "R": 3, "k": 5, "b": 2, "j": 2, "p": 7, "q": 4, "l": 2, "i": 10, "t": 11, "a": 4},
        **{"s": 3, "rho": 1, "e": 1, "h": 3, "g": 2, "c": 2, "m": 1, "u": 1},
    }


def test_every_letter_of_a_formula_is_defined() -> None:
    used = {
        symbol
        for each in theorems().values()
        for construction in each.constructions
        for part in (construction.dimension, construction.width, construction.parameters)
        if part is not None
        for symbol in part.free_symbols
    }
    assert used == {*CHOSEN, *(each.symbol for each in DERIVED)}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theorem("T99"), "'T99' is no theorem; there are T1, T1b"),
        (lambda: theorem("T1c").construction(), "T1c has no construction None; it has: none"),
        (lambda: theorem("T2e").construction("both"), "it has: untied, tied"),
        (lambda: evaluate("T1", "dimension", entities=1, relations=2), "entities must be a whole number of at least 2"),
        (lambda: evaluate("T1", "dimension", entities=4, relations=2, bits=0), "bits must be a whole number"),
        (lambda: entry("T2e", "both"), "T2e has no construction 'both'; it has: untied, tied"),
        (lambda: entry("T5"), "T5 has no construction"),
    ],
)
def test_errors_say_what_would_be_right(call: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        call()  # type: ignore[operator]
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_theorem_has_a_statement_assumptions_and_a_proof() -> None:
    for each in theorems().values():
        assert each.statement
        assert each.assumptions
        assert len(each.proof) > 60


@given(st.one_of(st.integers(2, 70), st.integers(2, 2**70)), st.integers(1, 300))
def test_bits_of_a_power_are_those_of_the_power(base: int, exponent: int) -> None:
    assert bits_of_power(base, exponent) == (base**exponent - 1).bit_length()


def test_bits_of_a_power_that_no_memory_holds() -> None:
    """log2 3 = 1.58496250072115618145.., log2 (2^64 - 1) = 64 - 7.8e-20."""
    assert bits_of_power(3, 10**18) == 1584962500721156182
    assert bits_of_power(2**64 - 1, 10**10) == 64 * 10**10
    assert bits_of_power(2**64 + 1, 10**10) == 64 * 10**10 + 1
    assert bits_of_power(2**64, 10**30) == 64 * 10**30
    assert values(5, 10**12)  # which ran for ever


def test_claims_are_put_in_order_each_once_and_none_means_all() -> None:
    assert in_order(["T4", "T1", "T4", "T2b"]) == ["T1", "T2b", "T4"]
    assert in_order([]) == list(theorems())
    with pytest.raises(InputError, match="'T0' is no theorem; there are T1, T1b"):
        in_order(["T1", "T0"])


def test_a_construction_without_a_formula_says_so() -> None:
    one = theorem("T1").construction()
    with pytest.raises(InputError, match="has no formula for 'parameters'"):
        replace(one, parameters=None).formula("parameters")
    assert one.formula("width") == one.width
