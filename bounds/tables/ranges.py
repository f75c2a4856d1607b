"""What a person types for a table: "4096", "2:16" (both ends included), "1,2,4", "0.01"."""

import re
from fractions import Fraction

from theory.errors import InputError

MOST_CHARACTERS = 40  # of an error rate
MOST_VALUES = 10_000  # of one option; a table of more rows is a mistake of the hand


def parse_sizes(text: str, name: str, *, at_least: int, at_most: int) -> tuple[int, ...]:
    """The whole numbers in a list of numbers and ranges, in the order given; `name` is told in the error.

    InputError on anything but whole numbers from at_least to at_most, on an empty range, and on one number twice.
    """
    values: list[int] = []
    for part in text.split(","):
        first, colon, last = part.partition(":")
        low = _whole(first, part, name, at_least, at_most)
        high = _whole(last, part, name, at_least, at_most) if colon else low
        if high < low:
            raise InputError(f"{name}: the range {part.strip()!r} is empty; it should read {high}:{low}")
        if high - low >= MOST_VALUES:
            raise InputError(f"{name}: {part.strip()!r} has {high - low + 1} values; at most {MOST_VALUES} are tabled")
        values += range(low, high + 1)
        if len(values) > MOST_VALUES:
            raise InputError(f"{name}: more than {MOST_VALUES} values are named, and at most so many are tabled")
    if len(set(values)) < len(values):
        raise InputError(f"{name}: {text.strip()!r} names a number twice")
    return tuple(values)


def parse_error_rate(text: str) -> Fraction:
    """An error rate in [0, 1), exactly as written: "0.01" and "1/100" are the same."""
    if not re.fullmatch(r"\s*\d+(\.\d+|/\d+)?\s*", text, re.ASCII):
        raise InputError(f"error rate must be a number such as 0.01, not {text.strip()!r}")
    if len(text.strip()) > MOST_CHARACTERS:
        raise InputError(f"error rate has {len(text.strip())} characters; at most {MOST_CHARACTERS} are read")
    numerator, _, denominator = text.partition("/")
    if denominator and int(denominator) == 0:
        raise InputError(f"error rate {text.strip()!r} divides by zero")
    rate = Fraction(numerator) / (int(denominator) if denominator else 1)
    if rate >= 1:
        raise InputError(f"error rate must be below 1, not {text.strip()!r}")
    return rate


def _whole(text: str, part: str, name: str, at_least: int, at_most: int) -> int:
    wanted = f"whole numbers from {at_least} to {at_most}"
    if not re.fullmatch(r"\s*\d+\s*", text, re.ASCII):
        raise InputError(f"{name} must be {wanted}, as in 4096, 2:16 or 1,2,4, not {part.strip()!r}")
    # Longer numbers than the limit are not even converted.
    digits = text.strip().lstrip("0") or "0"
    if len(digits) > len(str(at_most)) or not at_least <= int(digits) <= at_most:
        raise InputError(f"{name} must be {wanted}, which {digits if len(digits) < 30 else 'so large a number'} is not")
    return int(digits)
