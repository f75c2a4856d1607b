"""What is proved by machine: the symbolic lemmas of all theorems, for all real (or integer) values and all sizes, each
with its proof; and beside them the statements that Coq has checked as a whole (`theory.records.stamp`).

    >>> for lemma in LEMMAS:
    ...     if lemma.theorem == "T1b":
    ...         print(lemma.identifier, lemma.prove().proved)
    T1b.circle-margin True
    T1b.gate True
    T1b.margin True
    T1b.nearest-code True
    T1b.no-gap True

Importing this module loads SymPy and z3; `theory` itself does not. How proofs are made, and how to make your own, is in
`theory.lemmas.proving`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from theory.lemmas import bounds as lemmas_bounds
from theory.lemmas import chains as lemmas_chains
from theory.lemmas import codes as lemmas_codes
from theory.lemmas import gates as lemmas_gates
from theory.lemmas import positions as lemmas_positions
from theory.lemmas import softmax as lemmas_softmax
from theory.lemmas import tables as lemmas_tables
from theory.lemmas.proving import Lemma, Proof
from theory.records.ledger import Check, Row
from theory.records.stamp import Statement, read_stamp
from theory.records.work import LOG

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
    """One check of the ledger for each lemma of the theorems named, and one for each theorem that is machine-checked.

    A stamp of the Coq proofs that counts for nothing is told as a notice, and changes nothing else.
    """
    stamp = read_stamp()
    if stamp.fault:
        LOG.warning(stamp.fault)
    lemmas = [
        Check(claim, lemma.identifier.partition(".")[2], "proof", partial(_row, lemma))
        for claim in claims
        for lemma in LEMMAS
        if lemma.theorem == claim
    ]
    return lemmas + [
        Check(each.identifier, each.theorems[0], "Coq", partial(machine_checked, each))
        for each in stamp.statements
        if each.identifier in claims
    ]


def machine_checked(statement: Statement) -> Row:
    """The row of a statement that the stamp says is proved in Coq, with what its theorems leave out."""
    coverage = f"all sizes, by the Coq theorems {', '.join(statement.theorems)}"
    if statement.missing:
        coverage += f"; not checked of it: {statement.missing}"
    return Row(statement.identifier, statement.theorems[0], "machine-checked", "holds", coverage)


def _row(lemma: Lemma) -> Row:
    proof = lemma.prove()
    name = lemma.identifier.partition(".")[2]
    coverage = f"{lemma.statement} ({lemma.prover})"
    if proof.proved:
        return Row(lemma.theorem, name, "symbolic", "holds", coverage)
    return Row(lemma.theorem, name, "symbolic", "undecided", coverage, detail=proof.detail)
