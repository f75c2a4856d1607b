"""Which sizes an exact count accepts: one check, one line of refusal."""

from collections.abc import Callable

from theory.definitions.fact_system import check_count
from theory.errors import InputError
from theory.records.work import Work, announce, largest


def check_countable(
    what: str, entities: object, relations: object, cost: Callable[[int, int], int], limit: int, speed: int = 10**9
) -> tuple[int, int]:
    """(N, R) as ints, or an InputError unless both are whole numbers >= 1 and cost(N, R) <= limit.

    `cost` must not decrease with N. The refusal names the largest N that is accepted at this R. What takes a minute or
    more, at `speed` units of the cost in a nanosecond, is told.
    """
    size = check_count("entities", entities)
    colours = check_count("relations", relations)
    if (units := cost(size, colours)) <= limit:
        announce(f"counting {what} at N = {_spelt(size)}, R = {_spelt(colours)}", Work(units // speed))
        return size, colours
    if cost(1, colours) > limit:
        raise InputError(f"{what}: {_spelt(colours)} relations are too many to count with exactly")
    raise InputError(
        f"{what}: {_spelt(size)} entities are too many to count exactly; "
        f"with {_spelt(colours)} relations at most {largest(size, lambda n: cost(n, colours) <= limit)} are accepted"
    )


def factorial_bits(entities: int, relations: int) -> int:
    """An upper bound on log2 (N!)^R, and so on the bits of every count of R permutations of N entities."""
    return relations * entities * entities.bit_length()


def _spelt(number: int) -> str:
    """The number, or its magnitude where writing it out would fill the line."""
    return str(number) if number < 10**30 else f"more than 2^{number.bit_length() - 1}"
