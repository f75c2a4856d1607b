"""E8, the capacity law as arithmetic: what a curve has to store, how many scalars may store it, and the d* it predicts.

*The law.* Each scalar that learns stores β bits, and answers of k hops in one pass are stored as if they were
independent facts: the threshold d* is where

    R^k·log2 N! = β·(number of scalars that learn, at dimension d)          (R in place of R^k along a chain)

*Every scalar* counts the tables, relation embeddings, the read-out's bias, attention matrices and the MLP, as far as
they learn. Counting the *tables* alone, N·d scalars for each of subject table and read-out that learns (one table if
tied), the law is

    d* = R^k·(log2 N!)/N / (2β)    with both learned, and twice that with one of them frozen or tied.

Counting *tables and MLP*, 2dm + m + d weights and biases more, serves to choose dimensions alone. Is β one number?
`empirical.comparison.capacity_fit` asks, and the thresholds say no: β depends on what learns and on the budget of
steps. The left side is not known to be log2 N! bits either: arbitrary maps, which have N·log2 N, need the same d (E9).

At an error rate ε the left side is T8's, R^k·(log2 N! - N·h(ε) - N·ε·log2(N-1)): Fano's inequality for one relation,
times the number of answers.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Literal

from bounds.lower.information import total_information_with_errors
from empirical.comparison.curves import Curve
from empirical.models.runs import MEMORISED_AT
from theory.errors import InputError

Counting = Literal["tables", "tables and MLP", "every scalar"]
COUNTINGS: tuple[Counting, ...] = ("tables", "every scalar")  # those that E8 is tested with

PILOT_BETA = 2.0  # bits a scalar of the tables; only where a search begins, never part of a fit
ERROR_RATE = 1 - Fraction(str(MEMORISED_AT))  # of a run that has memorised


@cache
def bits_per_relation(entities: int, error: Fraction = Fraction(0)) -> float:
    """log2 N! at ε = 0, else T8's log2 N! - N·h(ε) - N·ε·log2(N-1), to the nearest float."""
    value = total_information_with_errors(entities, 1, error).value
    return float(value) if isinstance(value, int) else float((value.low + value.high) / 2)


def demand(curve: Curve, error: Fraction = Fraction(0)) -> float:
    """The bits to be stored: R^k·log2 N!, R·log2 N! along a chain, at error rate ε by T8."""
    return curve.answers_per_subject * bits_per_relation(curve.entities, error)


def tables_learned(curve: Curve) -> int:
    """How many tables of N rows learn: subject table and read-out, one if they are tied."""
    return int(curve.condition.subjects == "learned") + int(curve.condition.readout == "learned")


def scalars(curve: Curve, dimension: float, counting: Counting) -> float:
    """The scalars that are counted, at a dimension that need not be whole."""
    tables = tables_learned(curve) * curve.entities * dimension
    if counting == "tables":
        return tables
    return learned_scalars(curve, dimension) if counting == "every scalar" else tables + mlp_scalars(curve, dimension)


def mlp_scalars(curve: Curve, dimension: float) -> float:
    """The weights and biases of the MLP, 2dm + m + d, at a dimension that need not be whole."""
    width = 4 * dimension if curve.width == "4d" else curve.width_at(1)
    return 2 * dimension * width + width + dimension


def learned_scalars(curve: Curve, dimension: float) -> float:
    """Every scalar that learns, at a dimension that need not be whole: tables, relation embeddings, the read-out's
    bias, attention and MLP, as the model has them (`empirical.models.model.shapes`)."""
    condition, d = curve.condition, dimension
    hops = 1 if condition.chain else curve.hops
    count = tables_learned(curve) * curve.entities * d + mlp_scalars(curve, d) + curve.relations * d
    if condition.readout != "frozen":
        count += curve.entities
    if condition.attention == "learned":
        heads = 1 if hops == 1 else hops + 1
        count += (hops + 1) * d + 4 * heads * d**2
    elif hops > 1:
        count += hops * d**2
    return count


def predicted_dimension(curve: Curve, beta: float, counting: Counting, error: Fraction = Fraction(0)) -> float:
    """The d at which `scalars` times β equals `demand`. InputError if no counted scalar learns."""
    if not beta > 0:
        raise InputError(f"β must be a positive number of bits, not {beta!r}")
    if counting == "tables" and not tables_learned(curve):
        raise InputError(f"{curve.name}: no table learns, so that the tables predict no threshold; count every scalar")
    return dimension_of(curve, demand(curve, error) / beta, counting)


def dimension_of(curve: Curve, count: float, counting: Counting) -> float:
    """The d at which so many scalars are counted; close to 0 where there are more at every d."""
    low, high = 0.0, 1.0
    while scalars(curve, high, counting) < count:
        low, high = high, 2 * high
    for _ in range(60):  # the count increases with d; sixty halvings reach the precision of a float
        middle = (low + high) / 2
        low, high = (middle, high) if scalars(curve, middle, counting) < count else (low, middle)
    return high


def first_guess(curve: Curve) -> int:
    """Where the search for the threshold begins: E8's d* at the pilot's β, at least 1."""
    counting: Counting = "tables" if tables_learned(curve) else "tables and MLP"
    return max(1, round(predicted_dimension(curve, PILOT_BETA, counting)))
