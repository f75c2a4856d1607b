"""The letters of the formulas: what each of them is, and its value.

Formulas are SymPy expressions in the five that a person chooses and, so that they stay polynomials, in whole numbers
derived from these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import sympy

from theory.definitions.fact_system import check_count
from theory.definitions.task import Task
from theory.statements.powers import bits_of_power

N, R, k, b, j = sympy.symbols("N R k b j", integer=True, positive=True)
p, q, i, t, a, s, rho, h = sympy.symbols("p q i t a s rho h", integer=True, positive=True)
l, g, c, e, m, u = sympy.symbols("l g c e m u", integer=True, nonnegative=True)

CHOSEN: dict[sympy.Symbol, str] = {
    N: "entities",
    R: "relations",
    k: "hops",
    b: "bits of a subject entry",
    j: "hops a step of a chain, the stride",
}

Values = Mapping[sympy.Symbol, int]


@dataclass(frozen=True)
class Derived:
    """A letter, its definition as it is printed, and its value from those of the letters before it."""

    symbol: sympy.Symbol
    definition: str
    value: Callable[[Values], int]


DERIVED = (
    Derived(p, "⌈log2 N⌉", lambda of: (of[N] - 1).bit_length()),
    Derived(q, "⌈p/b⌉", lambda of: -(-of[p] // of[b])),
    Derived(l, "⌈log2 R⌉", lambda of: (of[R] - 1).bit_length()),
    Derived(i, "⌈⌈R·log2 N⌉/b⌉", lambda of: -(-bits_of_power(of[N], of[R]) // of[b])),
    Derived(t, "⌈R·p/b⌉", lambda of: -(-of[R] * of[p] // of[b])),
    Derived(a, "⌈log2 2k⌉", lambda of: (2 * of[k] - 1).bit_length()),
    Derived(h, "⌈k/2⌉", lambda of: -(-of[k] // 2)),
    Derived(g, "⌊k/2⌋", lambda of: of[k] // 2),
    Derived(s, "⌈k/j⌉", lambda of: Task(of[k], of[j]).steps),
    Derived(rho, "k - (s-1)·j", lambda of: Task(of[k], of[j]).first_step),
    Derived(e, "[rho ≠ j]", lambda of: int(of[rho] != of[j])),
    Derived(c, "min(2, R-1)", lambda of: min(2, of[R] - 1)),
    Derived(m, "[R > 1]", lambda of: int(of[R] > 1)),
    Derived(u, "[R > 1 and k > 1]", lambda of: int(of[R] > 1 and of[k] > 1)),
)

LETTERS = (*CHOSEN, *(each.symbol for each in DERIVED))  # in the order of `values`


def values(
    entities: int, relations: int, hops: int = 1, bits: int = 1, stride: int | None = None
) -> dict[sympy.Symbol, int]:
    """The value of every letter (the stride is k unless given). InputError for sizes that no fact system has."""
    check_count("entities", entities, at_least=2)
    check_count("relations", relations)
    check_count("bits", bits)
    found = {N: entities, R: relations, k: hops, b: bits, j: Task(hops, stride or hops).stride}
    for each in DERIVED:
        found[each.symbol] = each.value(found)
    return found


def in_words() -> str:
    """What the derived letters are, in one sentence's list."""
    return ", ".join(f"{each.symbol} = {each.definition}" for each in DERIVED)
