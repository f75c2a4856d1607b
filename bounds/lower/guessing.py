"""T8 tested: the smallest error rate that a given number of messages allows, found by trying every code.

A universal model whose row takes L values answers with one of L vectors, for each of the N^R vectors of answers that
may be true; an arbitrary model that takes L states answers with one of L tables, for each of the (N!)^R systems. The
best L guesses are those with the least mean number of wrong answers. T8 says that log2 L is at least its bound at that
error rate.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations, product
from math import comb

from bounds.enclosure import log2, sign
from bounds.lower.bound import Bound
from bounds.lower.information import total_information_with_errors, universal_with_errors

Vector = tuple[int, ...]


@dataclass(frozen=True)
class GuessingEvidence:
    """The best error rate with `messages` = L messages, and T8's bound at it: log2 L must be at least that."""

    entities: int
    relations: int
    messages: int
    error: Fraction
    bound: Bound

    @property
    def holds(self) -> bool:
        """Whether log2 L >= information."""
        return sign(log2(self.messages) - self.bound.information) >= 0


def check_guessing(codes: int = 3_000) -> Iterator[GuessingEvidence]:
    """Evidence for T8 wherever at most `codes` codes are to be tried, for universal and for arbitrary models."""
    for entities, relations, messages in product(range(2, 5), range(1, 5), range(1, 6)):
        vectors = entities**relations
        if messages <= vectors <= 81 and comb(vectors, messages) <= codes:
            yield universal_guessing(entities, relations, messages)
        tables = entities ** (entities * relations)
        if messages <= tables <= 81 and comb(tables, messages) <= codes:
            yield arbitrary_guessing(entities, relations, messages)


def universal_guessing(entities: int, relations: int, messages: int) -> GuessingEvidence:
    """One subject's R answers, any of N^R, from one of L messages."""
    vectors = list(product(range(entities), repeat=relations))
    error = _least_error(vectors, vectors, messages)
    return GuessingEvidence(entities, relations, messages, error, universal_with_errors(entities, relations, error))


def arbitrary_guessing(entities: int, relations: int, messages: int) -> GuessingEvidence:
    """All N·R answers of a system, R permutations, from one of L messages."""
    rows = product(permutations(range(entities)), repeat=relations)
    systems = [tuple(answer for row in system for answer in row) for system in rows]
    tables = list(product(range(entities), repeat=entities * relations))
    error = _least_error(systems, tables, messages)
    bound = total_information_with_errors(entities, relations, error)
    return GuessingEvidence(entities, relations, messages, error, bound)


def _least_error(truths: Sequence[Vector], guesses: Sequence[Vector], messages: int) -> Fraction:
    """The least mean share of wrong answers over all ways to choose `messages` guesses."""
    wrong = [[sum(a != b for a, b in zip(truth, guess, strict=True)) for truth in truths] for guess in guesses]
    best = min(sum(map(min, zip(*code, strict=True))) for code in combinations(wrong, messages))
    return Fraction(best, len(truths) * len(truths[0]))
