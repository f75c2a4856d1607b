"""The symbolic lemmas of all theorems: what holds for all real (or integer) values and all sizes, each with its proof.

    >>> for lemma in LEMMAS:
    ...     if lemma.theorem == "T1b":
    ...         print(lemma.identifier, lemma.prove().proved)
    T1b.circle-margin True
    T1b.gate True
    T1b.margin True
    T1b.nearest-code True
    T1b.no-gap True

Importing this module loads SymPy and z3; `theory` itself does not. How proofs are made, and how to make your own, is in
`theory.proving`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from theory import (
    lemmas_bounds,
    lemmas_chains,
    lemmas_codes,
    lemmas_gates,
    lemmas_positions,
    lemmas_softmax,
    lemmas_tables,
)
from theory.ledger import Check, Row
from theory.proving import Lemma, Proof

__all__ = ["LEMMAS", "Lemma", "Proof"]

_MODULES = (
    lemmas_codes,
    lemmas_gates,
    lemmas_tables,
    lemmas_positions,
    lemmas_chains,
    lemmas_softmax,
    lemmas_bounds,
)

# Every lemma, sorted by theorem.
LEMMAS: tuple[Lemma, ...] = tuple(
    sorted(
        (value for module in _MODULES for value in vars(module).values() if isinstance(value, Lemma)),
        key=lambda lemma: lemma.identifier.split("."),
    )
)


def checks_of_claims(claims: Sequence[str]) -> list[Check]:
    """One check of the ledger for each lemma of the theorems named."""
    return [
        Check(claim, lemma.identifier.partition(".")[2], "proof", partial(_row, lemma))
        for claim in claims
        for lemma in LEMMAS
        if lemma.theorem == claim
    ]


def _row(lemma: Lemma) -> Row:
    proof = lemma.prove()
    name = lemma.identifier.partition(".")[2]
    coverage = f"{lemma.statement} ({lemma.prover})"
    if proof.proved:
        return Row(lemma.theorem, name, "symbolic", "holds", coverage)
    return Row(lemma.theorem, name, "symbolic", "undecided", coverage, detail=proof.detail)
