"""Whole numbers in arrays of any type, and the one way from type to type: nothing here can change a value.

A value is held as int8 .. uint64, as a float that is whole, or as one of Python's integers in an `object` array. NumPy
changes values in silence: a cast wraps around or rounds, int64 beside float64 becomes float64, a product leaves its
type. So the exact core (`exact`, `exhaustive`, `certificate`, `certify_*`) neither casts nor multiplies: it calls the
functions of this file, each of which first bounds what will be computed and takes a type that holds it. Two arrays meet
only after `alike`. A test reads the source of the core and fails where a bare cast or a bare sum comes back.

*Why a bound in float64 is safe.* `magnitude` rounds, by less than a factor of 1 ± 2^-52 for each operation, and sums of
such bounds likewise; `type_for` asks for twice the room that is needed.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory import InputError

Array = NDArray[Any]

# The largest magnitude up to which a float type holds every integer.
_HOLDS = {"float16": 2**11, "float32": 2**24, "float64": 2**53}


def converted(values: Array, kind: Any) -> Array:
    """The same integers in another type, `object` being Python's integers: the one way from type to type in the core.

    Raises OverflowError when the type does not hold one of them (or when a float is none, but a fraction, an infinity
    or NaN): a cast never changes a value in silence.
    """
    wanted = np.dtype(kind)
    if values.dtype.kind == "O" or (wanted.kind == "O" and values.dtype.kind == "f"):
        values = _plain(values)
    if values.dtype == wanted:
        return values
    if wanted.kind == "O" or values.size == 0 or _holds_all(wanted, values.dtype):
        return values.astype(wanted)
    low, high = values.min(), values.max()
    least, most = _limits(wanted)
    if values.dtype.kind == "f" and not (np.isfinite([low, high]).all() and (values == np.rint(values)).all()):
        raise OverflowError(f"values that are no integers were to become {wanted}")
    if int(low) < least or int(high) > most:
        raise OverflowError(f"integers from {int(low)} to {int(high)} do not fit {wanted}")
    return values.astype(wanted)


def whole(value: Any) -> int:
    """A number as a Python integer; OverflowError when it is none."""
    if isinstance(value, float | np.floating) and not float(value).is_integer():
        raise OverflowError(f"{value} was to become an integer")
    return int(value)


@functools.cache
def _limits(kind: np.dtype[Any]) -> tuple[int, int]:
    """The range in which a type holds every integer."""
    if kind.kind == "f":
        return -_HOLDS[kind.name], _HOLDS[kind.name]
    info = np.iinfo(kind)
    return int(info.min), int(info.max)


def _holds_all(wanted: np.dtype[Any], given: np.dtype[Any]) -> bool:
    """True iff one type holds every value of the other, or the other is that of true and false."""
    if given.kind == "f":
        return wanted.kind == "f" and wanted.itemsize >= given.itemsize
    if given.kind not in "iu":
        return given.kind == "b"
    (least, most), (low, high) = _limits(wanted), _limits(given)
    return least <= low and high <= most


def _plain(values: Array) -> Array:
    """An array of Python's integers; OverflowError when an entry is none."""
    entries = values.ravel().tolist()
    if values.dtype.kind == "O" and all(type(value) is int for value in entries):
        return values
    result = np.empty(len(entries), object)
    result[:] = [whole(value) for value in entries]
    return result.reshape(values.shape)


def type_for(bound: Any) -> Any:
    """The fastest type in which integer sums whose absolute terms add up to `bound` are exact (NaN: Python's)."""
    # The bound may itself be a float64 sum: halving the limits absorbs its rounding.
    if bound < 2**23:
        return np.float32
    if bound < 2**52:
        return np.float64
    return np.int64 if bound < 2**62 else object


def _entry_type(bound: int, *arrays: Array) -> Any:
    """The fastest type for arithmetic entry by entry on arrays, with results up to `bound`: narrow integers stay so."""
    if bound < 2**15 and all(array.dtype.kind in "iu" for array in arrays):
        return np.int8 if bound < 2**7 else np.int16
    return type_for(bound)


def rounded(values: Array) -> NDArray[np.float64]:
    """Integers in float64 for the arithmetic of bounds; ±2^500 stands for anything larger, and leaves room for sums."""
    huge = 2**500
    return (np.clip(values, -huge, huge) if values.dtype == object else values).astype(np.float64)


def magnitude(values: Array) -> NDArray[np.float64]:
    """max |X_i| over the batch for each feature i, rounded; shape [features]."""
    if values.size == 0:
        return np.zeros(len(values))
    return np.asarray(np.maximum(rounded(values.max(axis=1)), -rounded(values.min(axis=1))))


def largest(values: Array) -> int:
    """max |X| over an array of any shape (0 for none); exact."""
    return max(whole(values.max()), -whole(values.min())) if values.size else 0


def alike(*arrays: Array) -> list[Array]:
    """The same integers in one type for all, so that they can be compared, stacked and chosen from."""
    if len({array.dtype for array in arrays}) == 1:
        return list(arrays)
    kind = type_for(max(largest(array) for array in arrays))
    return [converted(array, kind) for array in arrays]


def add(left: Array, right: Array) -> Array:
    """The exact sum of two integer arrays of any types."""
    kind = _entry_type(largest(left) + largest(right), left, right)
    return np.asarray(converted(left, kind) + converted(right, kind))


def scaled(values: Array, factor: int) -> Array:
    """The exact product of an integer array with an integer."""
    if factor == 1:
        return values
    kind = _entry_type(max(1, largest(values)) * max(1, abs(factor)), values)
    return np.asarray(converted(values, kind) * (factor if kind is object else kind(factor)))


def multiplied(left: Array, right: Array) -> Array:
    """The exact product of two integer arrays, entry by entry."""
    kind = _entry_type(max(1, largest(left)) * max(1, largest(right)), left, right)
    return np.asarray(converted(left, kind) * converted(right, kind))


def column_sums(values: Array) -> Array:
    """Exact sums over the rows, shape [columns]."""
    kind = type_for(float(magnitude(values).sum()))
    return np.asarray(converted(values, kind).sum(axis=0))


def absolute(values: Array) -> Array:
    """|X|, also of the least number of a type, which has no opposite there."""
    return np.asarray(np.abs(converted(values, _entry_type(largest(values), values))))


def common_divisor(*arrays: Array, start: int = 0) -> int:
    """The greatest common divisor of `start` and all entries, at least 1."""
    divisor = start
    for array in arrays:
        if divisor == 1:
            break
        kind = np.int64 if largest(array) < 2**62 else object
        divisor = math.gcd(divisor, whole(np.gcd.reduce(converted(array, kind).ravel(), initial=0)))
    return max(divisor, 1)


def divided(values: Array, divisor: int) -> Array:
    """X / divisor for entries that it divides; the type is kept where it holds the divisor."""
    if divisor == 1:
        return values
    if values.dtype.kind == "f":
        values = converted(values, np.int64 if largest(values) < 2**62 else object)
    if values.dtype.kind in "iu" and divisor <= np.iinfo(values.dtype).max:
        return np.asarray(values // values.dtype.type(divisor))
    result = converted(values, object) // divisor
    return converted(result, type_for(largest(result)))


def rounded_up(values: Array, factor: Fraction) -> Array:
    """The least integers that are at least X·factor, in Python's integers."""
    return np.asarray(-(converted(values, object) * -factor.numerator // factor.denominator))


def below(values: Array, limit: int) -> NDArray[np.bool_]:
    """X < limit, entry by entry, for a limit of any size."""
    least, most = (limit, limit) if values.dtype.kind == "O" else _limits(values.dtype)
    if not least <= limit <= most:
        values = converted(values, object)
    return np.asarray(values < (limit if values.dtype.kind == "O" else values.dtype.type(limit)))


def column_numbers(matrix: Array) -> NDArray[np.int64]:
    """A number for each column of an integer matrix [rows, columns]: two are equal iff the columns are.

    Numbers that say what is in the column where these fit 64 bits, else 0, 1, 2 .. in some order.
    """
    if matrix.shape[1] == 0 or len(matrix) == 0:
        return np.zeros(matrix.shape[1], np.int64)
    low, high = [whole(v) for v in matrix.min(axis=1)], [whole(v) for v in matrix.max(axis=1)]
    if math.prod(most - least + 1 for least, most in zip(low, high, strict=True)) < 2**62:
        keys = np.zeros(matrix.shape[1], np.int64)
        for row, least, most in zip(matrix, low, high, strict=True):
            keys = keys * (most - least + 1) + converted(add(row, np.array([-least], object)), np.int64)
        return keys
    if matrix.dtype == object:
        seen: dict[tuple[int, ...], int] = {}
        return np.array([seen.setdefault(tuple(column), len(seen)) for column in matrix.T.tolist()], np.int64)
    rows = np.ascontiguousarray(converted(matrix, np.int64 if matrix.dtype.kind == "f" else matrix.dtype).T)
    as_bytes = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    return np.unique(as_bytes, return_inverse=True)[1]


def distinct_columns(matrix: Array) -> bool:
    """True iff no two columns of an integer matrix are equal."""
    numbers = np.sort(column_numbers(matrix))
    return bool((numbers[1:] != numbers[:-1]).all())


def transposed(matrix: Array) -> Array:
    """The transpose in contiguous memory, made in pieces that fit the cache."""
    result = np.empty(matrix.shape[::-1], matrix.dtype)
    step = max(1, 2**17 // max(1, matrix.shape[1]))
    for start in range(0, len(matrix), step):
        result[:, start : start + step] = matrix[start : start + step].T
    return result


def numerators(*arrays: Array) -> tuple[list[Array], int]:
    """Integer arrays and the least power of two by which they must be divided to give the given arrays, exactly.

    Raises InputError for floats that float64 does not hold (extended precision).
    """
    bits = max((_fraction_bits(array) for array in arrays if array.dtype.kind == "f"), default=0)
    return [_integers(array, bits) for array in arrays], 2**bits


def _fraction_bits(array: Array) -> int:
    """The least number of bits after the binary point in which every entry of a float array can be written."""
    wide = array.astype(np.float64)
    if (wide != array).any():
        raise InputError(f"weights hold {array.dtype} values that are no float64; exact runs take float64 or less")
    if (wide == np.rint(wide)).all():
        return 0
    mantissa, exponent = np.frexp(wide[wide != 0])
    digits = (mantissa * 2.0**53).astype(np.int64)
    trailing_zeros = np.frexp((digits & -digits).astype(np.float64))[1] - 1
    return max(0, int((53 - exponent - trailing_zeros).max(initial=0)))


def _integers(array: Array, bits: int) -> Array:
    """array·2^bits, which is known to be integer, in an integer type that holds it."""
    if array.dtype.kind != "f":
        return array if bits == 0 else array.astype(object) * 2**bits
    wide = array.astype(np.float64)
    if np.frexp(wide)[1].max(initial=0) + bits <= 62:
        return np.ldexp(wide, bits).astype(np.int64)
    ratios = [value.as_integer_ratio() for value in wide.ravel().tolist()]
    return np.array([(n << bits) // m for n, m in ratios], dtype=object).reshape(wide.shape)
