"""Sizes of powers too long to be written out."""

from __future__ import annotations


def bits_of_power(base: int, exponent: int) -> int:
    """⌈log2 base^exponent⌉, exactly, for base >= 2 and exponent >= 1: from the leading digits of the power, which
    itself may be too long for any memory.
    """
    if base & (base - 1) == 0:
        return exponent * (base.bit_length() - 1)
    precision = 64 + exponent.bit_length()
    while True:  # the power of another base is no power of 2, so that its leading digits tell between which two it lies
        precision *= 2
        ends = [_leading(base, exponent, precision, up=up) for up in (False, True)]
        low, high = (digits.bit_length() + shift for digits, shift in ends)
        if low == high:
            return low


def _leading(base: int, exponent: int, precision: int, *, up: bool) -> tuple[int, int]:
    """(m, s) with m of about `precision` bits and m·2^s at most base^exponent, or with `up` at least."""
    digits, shift = 1, 0
    for bit in f"{exponent:b}":
        digits, shift = digits * digits * (base if bit == "1" else 1), 2 * shift
        lost = max(0, digits.bit_length() - precision)
        digits, shift = -(-digits >> lost) if up else digits >> lost, shift + lost
    return digits, shift
