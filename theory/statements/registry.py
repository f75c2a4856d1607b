"""The theorems: statement, assumptions, formulas, proof. Everything else in the project cites them by identifier.

The letters of the formulas stand in `theory.statements.symbols`.

The paper that the project is about, "Geometric Factual Recall in Transformers" (arXiv 2605.12426), gave the ideas of
claims 1 to 3 and 5; the statements and proofs here are the project's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Literal

import sympy

from theory.errors import InputError
from theory.statements.assumptions import Assumption
from theory.statements.inequalities import INEQUALITIES, Inequality
from theory.statements.symbols import LETTERS, N, R, values

Quantity = Literal["dimension", "width", "parameters"]


@dataclass(frozen=True)
class Construction:
    """What one explicit construction of a theorem costs, for every valid (N, R, k, b, j).

    `margin` is the margin that it claims: every query's is at least that (0: positive). `width` and `parameters` are
    exact unless `width_is_bound`. `universal`: nothing but the subject table depends on the facts. `readout` is fixed,
    learned or tied. `superposed`: subject rows are linear in the codes of the answers to single relations, or to words
    (T7). `noise`: every query survives all noise on its subject's row below that (T13), where it is claimed.
    """

    name: str
    dimension: sympy.Expr
    width: sympy.Expr
    parameters: sympy.Expr | None
    margin: int
    universal: bool
    readout: Literal["fixed", "learned", "tied"] = "fixed"
    width_is_bound: bool = False
    superposed: Literal["", "relations", "words"] = ""
    noise: sympy.Expr | None = None

    def formula(self, quantity: Quantity) -> sympy.Expr:
        """The expression of a quantity; InputError when there is none."""
        expression = {"dimension": self.dimension, "width": self.width, "parameters": self.parameters}.get(quantity)
        if expression is None:
            raise InputError(f"construction {self.name!r} has no formula for {quantity!r}")
        return expression


@dataclass(frozen=True)
class Theorem:
    """A statement with its assumptions and proof: those of all its parts. `constructions` is empty for lower bounds."""

    identifier: str
    title: str
    assumptions: tuple[Assumption, ...]
    statement: str
    proof: str
    constructions: tuple[Construction, ...] = field(default=())

    @property
    def inequalities(self) -> tuple[Inequality, ...]:
        """The lower bounds of the theorem, each with the assumptions that it stands on; empty where it has none."""
        return INEQUALITIES.get(self.identifier, ())

    def construction(self, name: str | None = None) -> Construction:
        """The construction of that name, or the first. InputError when there is none."""
        for candidate in self.constructions:
            if name is None or candidate.name == name:
                return candidate
        names = ", ".join(candidate.name for candidate in self.constructions) or "none"
        raise InputError(f"{self.identifier} has no construction {name!r}; it has: {names}")


def single_block_parameters(
    dimension: sympy.Expr,
    width: sympy.Expr,
    *,
    positions: sympy.Expr,
    heads: sympy.Expr,
    query: sympy.Expr,
    value: sympy.Expr,
    answers: sympy.Expr = N,
    relations: sympy.Expr = R,
) -> sympy.Expr:
    """The number of weights of a single-block transformer: every entry of every tensor."""
    tokens = (N + relations + positions) * dimension
    attention = heads * dimension * (2 * query + 2 * value)
    mlp = 2 * dimension * width + width + dimension
    return tokens + attention + mlp + (dimension + 1) * answers


@cache
def theorems() -> dict[str, Theorem]:
    """All theorems by identifier, in the order of the numbers: every `Theorem` of the modules that state them."""
    from theory.statements import lower_bounds, structured, upper_bounds

    stated = [each for module in (upper_bounds, structured, lower_bounds) for each in vars(module).values()]
    known = {each.identifier: each for each in stated if isinstance(each, Theorem)}
    return {identifier: known[identifier] for identifier in sorted(known, key=numbered)}


def numbered(identifier: str) -> tuple[int, str]:
    """The key that sorts identifiers by their numbers, and then by their letters: T1, T1b, T2, .., T10."""
    digits = "".join(letter for letter in identifier if letter.isdigit())
    return int(digits or 0), identifier


def theorem(identifier: str) -> Theorem:
    """The theorem of that identifier. InputError, listing them, for an unknown one."""
    if identifier not in theorems():
        raise InputError(f"{identifier!r} is no theorem; there are {', '.join(theorems())}")
    return theorems()[identifier]


def in_order(claims: Iterable[str]) -> list[str]:
    """The claims, each once, in the order of the numbers; all theorems if there are none. InputError for an unknown
    one."""
    named = {theorem(claim).identifier for claim in claims}
    return [identifier for identifier in theorems() if identifier in named or not named]


def evaluate(
    identifier: str,
    quantity: Quantity,
    *,
    entities: int,
    relations: int,
    hops: int = 1,
    bits: int = 1,
    stride: int | None = None,
    construction: str | None = None,
) -> int:
    """The dimension, width or number of parameters of a theorem's construction (the first unless named), exactly."""
    expression = theorem(identifier).construction(construction).formula(quantity)
    value = _function(expression)(*map(Fraction, values(entities, relations, hops, bits, stride).values()))
    if not isinstance(value, int | Fraction) or value.denominator != 1:
        raise AssertionError(f"{identifier}'s {quantity}, {expression}, is {value} and no whole number")
    return int(value)


@cache
def _function(expression: sympy.Expr) -> Callable[..., int | Fraction]:
    """The formula as a function of every letter's value, in Python's fractions: SymPy itself takes ten times as
    long."""
    exact = {"Rational": Fraction, "ceiling": math.ceil, "Max": max, "Min": min}
    function: Callable[..., int | Fraction] = sympy.lambdify(list(LETTERS), expression, modules=[exact, "sympy"])
    return function
