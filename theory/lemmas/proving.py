"""Proofs by machine, for all real or all integer values and all sizes: rung 4 of the ladder.

z3 proves a claim by finding no values that satisfy its assumptions and its negation, over the unbounded reals and
integers. SymPy proves exact identities, limits and minima. A statement about any number of coordinates, blocks or
tokens is proved as the invariant of a loop over them (`by_invariant`): it holds before the first, each step keeps it,
and it implies the claim.

Nothing is taken on trust: assumptions that contradict each other prove nothing, z3's "unknown" proves nothing, and an
expression that SymPy cannot reduce proves nothing. A false claim comes with a counterexample wherever one is found.

The same functions serve for lemmas of your own:

    >>> import z3
    >>> x, y = z3.Reals("x y")
    >>> by_z3(x * x + y * y >= 2 * x * y).proved
    True
    >>> by_z3(x * x >= x, x >= 0)
    Proof(proved=False, detail='counterexample: x = 1/2')

References: de Moura and Bjørner, "Z3: an efficient SMT solver" (TACAS 2008); Jovanović and de Moura, "Solving
non-linear arithmetic" (IJCAR 2012); Gruntz, "On computing limits in a symbolic manipulation system" (1996), SymPy's
method for limits.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sympy
import z3
from sympy.calculus.util import minimum

# An expression of z3 or of SymPy: neither library has types.
Term = Any

Prover = Literal["z3", "sympy", "sympy and z3"]

# In z3's own units of work, not in seconds, so that the verdict does not depend on the machine.
RESOURCE_LIMIT = 20_000_000


@dataclass(frozen=True)
class Proof:
    """Whether the claim was proved, and in `detail` how, or the counterexample or reason why not."""

    proved: bool
    detail: str


@dataclass(frozen=True)
class Lemma:
    """A statement that a theorem rests on, and the function that proves it.

    `identifier` is the theorem's with a word of its own ("T1.gate"), `theorem` the theorem's ("T1"). The statement
    holds for all values and sizes that it names. `prove()` runs the proof anew; where it takes arguments these are the
    constants of the construction, by default as they are, so that wrong constants can be seen to fail: `false` are
    such, its false neighbour.
    """

    identifier: str
    theorem: str
    statement: str
    prover: Prover
    prove: Callable[..., Proof]
    false: Mapping[str, Any]


def lemma(identifier: str, prover: Prover, *, false: Mapping[str, Any]) -> Callable[[Callable[..., Proof]], Lemma]:
    """Make a Lemma of the decorated function: its docstring's first paragraph is the statement, the rest is on the
    proof. `false` has constants that are wrong by as little as makes the lemma false; a test sees them refuted.
    """

    def decorate(prove: Callable[..., Proof]) -> Lemma:
        """The Lemma that `prove` proves, with the first paragraph of its docstring on one line as the statement."""
        statement = " ".join((inspect.getdoc(prove) or "").split("\n\n")[0].split())
        return Lemma(identifier, identifier.split(".")[0], statement, prover, prove, false)

    return decorate


def relu(value: Term) -> Term:
    """ReLU of a z3 number."""
    return z3.If(value > 0, value, 0)


def between(low: Term, value: Term, high: Term) -> Term:
    """low <= value <= high, for z3 numbers."""
    return z3.And(low <= value, value <= high)


def by_z3(claim: Term, *assumptions: Term) -> Proof:
    """The claim holds for all values of its variables that satisfy the assumptions: no counterexample exists."""
    verdict, found = _search(assumptions)
    if verdict == z3.unsat:
        return Proof(False, "the assumptions contradict each other, so they prove nothing")
    if verdict == z3.unknown:
        return Proof(False, f"undecided: whether the assumptions can hold ({found})")
    verdict, found = _search([*assumptions, z3.Not(claim)])
    if verdict == z3.unsat:
        return Proof(True, "no counterexample exists (unsatisfiable)")
    return Proof(False, f"{'counterexample' if verdict == z3.sat else 'undecided'}: {found}")


def by_invariant(
    invariant: Term,
    loop: Sequence[tuple[Term, Term, Term]],
    claim: Term,
    *,
    always: Sequence[Term] = (),
    each_step: Sequence[Term] = (),
) -> Proof:
    """The claim holds after any number of steps of a loop, by induction on that number.

    `loop` lists (variable, first value, next value), the next value in terms of all variables before the step.
    Assumptions `always` hold of the parameters, which no step changes, and `each_step` of a step's inputs, which are
    new in every step. The invariant holds at first, a step keeps it, and it implies the claim. (A counterexample to
    "step" is a state that satisfies the invariant, whether or not the loop reaches it.)
    """
    variables = [variable for variable, _, _ in loop]
    at_first = z3.substitute(invariant, *zip(variables, [first for _, first, _ in loop], strict=True))
    after_step = z3.substitute(invariant, *zip(variables, [after for _, _, after in loop], strict=True))
    return all_of(
        {
            "at first": by_z3(at_first, *always),
            "step": by_z3(after_step, invariant, *always, *each_step),
            "claim": by_z3(claim, invariant, *always),
        }
    )


def by_identity(left: Term, right: Term) -> Proof:
    """The two SymPy expressions are equal: their difference simplifies to 0."""
    difference = sympy.simplify(sympy.expand(left - right))
    if difference == 0:
        return Proof(True, "the difference of the two sides simplifies to 0")
    symbols = sorted(difference.free_symbols, key=str)
    for start in range(1, 20):
        values = {symbol: sympy.prime(start + place) for place, symbol in enumerate(symbols)}
        if difference.subs(values).equals(0) is False:
            shown = ", ".join(f"{symbol} = {value}" for symbol, value in values.items())
            return Proof(False, f"counterexample: {shown or f'the difference is {difference}'}")
    return Proof(False, f"undecided: whether {difference} is 0")


def by_limit(expression: Term, variable: Term, point: Term, value: Term) -> Proof:
    """The SymPy expression tends to the value as the variable tends to the point (from above, for a finite one)."""
    try:
        limit = sympy.limit(expression, variable, point)
    except NotImplementedError as reason:
        return Proof(False, f"undecided: {reason}")
    if limit == value or sympy.simplify(limit - value) == 0:
        return Proof(True, f"the limit is {limit}")
    if limit.has(sympy.Limit):
        return Proof(False, f"undecided: {limit}")
    return Proof(False, f"counterexample: the limit is {limit}, not {value}")


def by_minimum(expression: Term, variable: Term, domain: Term, at_least: Term) -> Proof:
    """The SymPy expression is at least `at_least` on the domain (a SymPy set): its exact minimum is."""
    try:
        least = minimum(expression, variable, domain)
    except NotImplementedError as reason:
        return Proof(False, f"undecided: {reason}")
    if least >= at_least:
        return Proof(True, f"the minimum is {least}")
    return Proof(False, f"counterexample: the minimum is {least}, not {at_least} or more")


def all_of(parts: Mapping[str, Proof]) -> Proof:
    """All the named parts are proved; otherwise the details of those that are not."""
    failed = [f"{name}: {proof.detail}" for name, proof in parts.items() if not proof.proved]
    if failed:
        return Proof(False, "; ".join(failed))
    return Proof(bool(parts), f"proved in {len(parts)} parts: {', '.join(parts)}")


def _search(constraints: Sequence[Term]) -> tuple[Any, str]:
    """z3's verdict on whether the constraints can hold together, and the values or the reason why it is not known."""
    solver = z3.Solver()
    solver.set("rlimit", RESOURCE_LIMIT)
    solver.add(*constraints)
    verdict = solver.check()
    if verdict == z3.unknown:
        return verdict, solver.reason_unknown()
    if verdict == z3.unsat:
        return verdict, ""
    model = solver.model()
    return verdict, ", ".join(sorted(f"{name} = {model[name]}" for name in model.decls())) or "any values"
