"""T13: what noise a model survives, as a row of the ledger."""

from __future__ import annotations

import decimal
from dataclasses import replace
from fractions import Fraction

from constructions.noise.perturbation import largest_noise, row_bits
from constructions.verification.certify_attention import Refused
from theory import FactSystem, Task, Transformer
from theory.records.ledger import Row


def tolerated(row: Row, transformer: Transformer, system: FactSystem, task: Task, note: str) -> list[Row]:
    """The row that says which noise on the subjects' rows a model survives, if that can be said: none where it cannot,
    for noise is no part of what was asked. `note` is said with what was covered."""
    try:
        found = largest_noise(transformer, system, task)
    except Refused:
        return []
    if not found.survived:
        return []
    survived = six_digits(found.survived, "ROUND_DOWN")
    coverage = f"all queries{note}, every perturbation of a row by at most {survived} in each coordinate, under which "
    coverage += f"a row can carry {row_bits(transformer, found.survived):.1f} bits"
    if found.broken is not None and found.query is not None:
        subject, word = found.query
        coverage += f"; one by {six_digits(found.broken, 'ROUND_UP')} breaks subject {subject}, word {list(word)}"
    return [replace(row, coverage=coverage)]


def six_digits(noise: Fraction, rounding: str) -> str:
    """A noise above 0 in six digits, rounded so that nothing is overstated: ROUND_DOWN what is survived, ROUND_UP what
    breaks."""
    context = decimal.Context(prec=6, rounding=rounding)
    return str(context.divide(decimal.Decimal(noise.numerator), decimal.Decimal(noise.denominator)))
