"""Rung 4: every lemma is proved, every one has a false neighbour that is refuted, and no prover takes a wrong claim."""

import doctest
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
import z3

import theory.lemmas.collection
import theory.lemmas.proving
from constructions.weights import t1, t1d, t3
from constructions.weights.blocks import BlockFamily
from constructions.weights.prompt_reading import read_prompt
from theory import FactSystem
from theory.lemmas.collection import LEMMAS, Lemma, Proof
from theory.lemmas.gates import window
from theory.lemmas.proving import all_of, by_identity, by_invariant, by_limit, by_minimum, by_z3, lemma, relu
from theory.statements.registry import theorems

BY_IDENTIFIER = {each.identifier: each for each in LEMMAS}


@pytest.mark.parametrize("each", LEMMAS, ids=BY_IDENTIFIER)
def test_every_lemma_is_proved(each: Lemma) -> None:
    proof = each.prove()
    assert proof.proved, proof.detail


@pytest.mark.parametrize("each", LEMMAS, ids=BY_IDENTIFIER)
def test_every_false_neighbour_is_refuted_by_a_counterexample(each: Lemma) -> None:
    assert each.false, f"{each.identifier} names no constants that make it false"
    proof = each.prove(**each.false)
    assert not proof.proved
    assert "counterexample: " in proof.detail
    assert "undecided" not in proof.detail


def test_the_list_is_complete_and_well_named() -> None:
    assert len(BY_IDENTIFIER) == len(LEMMAS)
    for each in LEMMAS:
        assert each.theorem in theorems()
        assert each.identifier.startswith(f"{each.theorem}.")
        assert each.statement.endswith(".")
        assert "  " not in each.statement
    # T5, transfer, is no statement about numbers: that nothing else depends on the facts is checked on the weights.
    constructed = {name for name, theorem in theorems().items() if theorem.constructions}
    assert constructed - {each.theorem for each in LEMMAS} <= {"T5"}


def test_the_examples_in_the_docstrings() -> None:
    for module in (theory.lemmas.proving, theory.lemmas.collection):
        result = doctest.testmod(module)
        assert result.attempted > 0
        assert result.failed == 0


# The provers: what they prove, and that each can say no, and why.

X, Y = z3.Reals("x y")
T, COUNT, ADDED = z3.Ints("t count added")


def test_z3_proves_and_refutes() -> None:
    assert by_z3(X * X + Y * Y >= 2 * X * Y).proved
    assert by_z3(X * X >= X, X >= 0) == Proof(False, "counterexample: x = 1/2")
    assert by_z3(z3.BoolVal(False)) == Proof(False, "counterexample: any values")


def test_contradictory_assumptions_prove_nothing() -> None:
    assert by_z3(X > 0, X > 1, X < 1) == Proof(False, "the assumptions contradict each other, so they prove nothing")


def test_what_z3_does_not_know_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, c, n = z3.Ints("a b c n")
    monkeypatch.setattr(theory.lemmas.proving, "RESOURCE_LIMIT", 1000)
    fermat = by_z3(a**n + b**n != c**n, a > 0, b > 0, c > 0, n > 2)
    assert not fermat.proved
    assert fermat.detail.startswith("undecided")
    unknown = by_z3(a > 0, a**n + b**n == c**n, a > 0, b > 0, c > 0, n > 2)
    assert not unknown.proved
    assert unknown.detail.startswith("undecided: whether the assumptions can hold")


def count_up(invariant: Any, claim: Any, first: int = 0) -> Proof:
    """A loop that adds an even number to `count`, t times."""
    return by_invariant(
        invariant,
        [(COUNT, z3.IntVal(first), COUNT + ADDED), (T, z3.IntVal(0), T + 1)],
        claim,
        each_step=[ADDED % 2 == 0],
    )


def test_invariants() -> None:
    even = COUNT % 2 == 0
    assert count_up(even, COUNT != 1).proved
    assert count_up(even, COUNT != 1, first=1).detail.startswith("at first: counterexample")
    assert count_up(z3.And(even, COUNT < 5), COUNT != 1).detail.startswith("step: counterexample")
    assert count_up(even, COUNT != 2).detail.startswith("claim: counterexample")


def test_all_variables_of_a_step_change_at_once() -> None:
    loop = [(X, z3.RealVal(1), Y), (Y, z3.RealVal(2), X)]
    assert by_invariant(X + Y == 3, loop, X + Y == 3).proved
    assert not by_invariant(X <= Y, loop, X <= Y).proved


def test_parameters_may_not_be_assumed_away() -> None:
    proof = by_invariant(COUNT >= 0, [(COUNT, z3.IntVal(0), COUNT + 1)], COUNT >= 0, always=[T > 0, T < 1])
    assert not proof.proved
    assert "contradict" in proof.detail


def test_identities() -> None:
    x, f, g = sympy.Symbol("x", positive=True), sympy.Function("f"), sympy.Function("g")
    assert by_identity(sympy.log(x**2), 2 * sympy.log(x)).proved
    assert by_identity((x + 1) ** 2, x**2 + 1).detail == "counterexample: x = 2"
    assert by_identity(sympy.Integer(2), sympy.Integer(1)).detail == "counterexample: the difference is 1"
    assert by_identity(f(x), g(x)) == Proof(False, "undecided: whether f(x) - g(x) is 0")


def test_limits() -> None:
    x, a, f = sympy.Symbol("x", positive=True), sympy.Symbol("a", positive=True), sympy.Function("f")
    assert by_limit(x * sympy.log(x), x, 0, 0).proved
    assert by_limit((x + a) / x, x, sympy.oo, 1).proved
    assert by_limit(2 * x, x, sympy.oo, sympy.oo).proved
    assert by_limit((x + a) / x, x, sympy.oo, 2) == Proof(False, "counterexample: the limit is 1, not 2")
    assert by_limit(f(x), x, sympy.oo, 0).detail.startswith("undecided")
    assert by_limit(x ** -sympy.floor(a / 2), x, sympy.oo, 0).detail.startswith("undecided")


def test_minima() -> None:
    x = sympy.Symbol("x", real=True)
    assert by_minimum(x**2 - 2 * x, x, sympy.Interval(0, 3), -1).proved
    assert by_minimum(x**2 - 2 * x, x, sympy.Interval(0, 3), 0).detail.startswith("counterexample: the minimum is -1")
    assert by_minimum(sympy.sin(x) / x, x, sympy.Interval(1, 2), 0).detail.startswith("undecided")


def test_all_parts_must_be_proved_and_the_others_are_named() -> None:
    good, bad = Proof(True, "yes"), Proof(False, "no")
    assert all_of({"a": good, "b": good}).proved
    assert all_of({"a": bad, "b": good, "c": bad}) == Proof(False, "a: no; c: no")
    assert not all_of({}).proved


def test_a_lemma_is_stated_by_its_docstring() -> None:
    def prove() -> Proof:
        """For all x,
        x = x.

        By reflection.
        """
        return Proof(True, "")

    made = lemma("T1.own", "z3", false={"x": 1})(prove)
    assert made == Lemma("T1.own", "T1", "For all x, x = x.", "z3", prove, {"x": 1})


# The lemmas speak of the constructions as they are built: their constants are these.


def value(expression: Any) -> int:
    return int(z3.simplify(expression).as_long())


def test_the_windows_are_those_that_are_built() -> None:
    family = BlockFamily(relations=2, prefix=1, suffix=1)
    W_in, b_in, W_out = family.windows(1)
    for s in range(-12, 3 * family.places - 1):
        hidden = np.maximum(np.array([s, -2]) @ W_in + b_in, 0)
        built = hidden @ W_out
        assert built.tolist() == [value(window(z3.IntVal(s), z3.IntVal(j))) for j in range(family.places)]


@pytest.mark.parametrize(("hops", "largest"), [(1, 1), (2, 7), (5, 3)])
def test_the_overlaid_heights_are_those_that_are_built(hops: int, largest: int) -> None:
    reading = read_prompt(relations=3, hops=hops, dimension=9, code_columns=2, largest=largest)
    assert reading.W_pos[0, -1] == -(hops**2 + 2 * (hops + 1) * largest + 1)
    assert reading.W_pos[1:, -1].tolist() == [-(t**2) for t in range(1, hops + 1)]


def test_the_residual_constants_are_those_that_are_built() -> None:
    block = t1.construct(FactSystem.random(5, 2), residual=True).blocks[0]
    assert set(np.unique(block.W_out)) == {0, 4}
    assert block.b_out.tolist() == [-8, -8, -8, 0, 0, 0]


@pytest.mark.parametrize(("entities", "relations"), [(2, 1), (2, 3), (3, 2), (5, 2), (7, 1), (3, 4)])
def test_the_lookup_has_the_width_of_the_lemma(entities: int, relations: int) -> None:
    width = t1d.construct(FactSystem.random(entities, relations), bits=2).width
    assert width == 2 * entities ** (relations - 1) - 1 + 2 * sum(entities**i for i in range(1, relations))


@pytest.mark.parametrize("build", [t3.construct, t3.construct_with_signs])
@pytest.mark.parametrize(
    ("entities", "relations", "hops", "bits"), [(2, 1, 1, 1), (5, 1, 3, 3), (6, 3, 2, 1), (9, 2, 7, 2)]
)
def test_the_chain_has_the_offset_of_the_lemma(
    build: Callable[..., Any], entities: int, relations: int, hops: int, bits: int
) -> None:
    transformer = build(FactSystem.random(entities, relations), hops, bits, softmax=True)
    size = -(-(entities - 1).bit_length() // bits)
    entries, largest = relations * size, relations * size * (2**bits - 1)
    length = (2 * hops - 1).bit_length()
    signed = build is t3.construct_with_signs
    total = 2 * (-(-largest // 2) + 1) * length + 2 if signed else (largest + 1) * hops + 1
    rows = transformer.W_E[entities:, :entries].astype(int)
    offset = int(transformer.blocks[0].b_in[0])
    assert (-rows.sum(axis=1) >= total).all()
    assert offset == 0 or (-rows.sum(axis=1) - entries < total).all()
    spread = offset + 2 ** (bits + 1) - 1
    assert transformer.W_E[:, :entries].max() - transformer.W_E[:, :entries].min() <= spread
    if signed:
        assert transformer.beta == pytest.approx(math.log(8 * (2 * hops - 1) * spread) / 2, rel=1e-15)
    else:
        assert offset <= 2**bits * hops + 1
        assert transformer.beta == pytest.approx(math.log(9 * (2 ** (bits + 1) - 1)), rel=1e-15)


def test_relu_of_the_lemmas() -> None:
    assert [value(relu(z3.IntVal(v))) for v in (-2, 0, 3)] == [0, 0, 3]
    assert z3.simplify(relu(z3.Q(1, 2))).as_fraction() == Fraction(1, 2)
