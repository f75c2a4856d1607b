"""T13: single-hop recall under noise, d = width = R·⌈p/b⌉ with b-bit subject entries, margin 1 - 2δ under noise δ.

T1b, but relation r adds -2^b to the blocks that it closes, instead of -(2^b - 1). A closed entry is then at most -1,
and no noise below 1 opens it; at T1b's own distance a digit 2^b - 1 stands at 0, and half of all noise leaks. The open
block passes digit + noise, cut off at 0, which moves each coordinate of the output by at most δ; two codes differ by
whole digits, so that each of them costs a margin Δ² - 2·δ·|Δ| >= 1 - 2δ.
"""

from __future__ import annotations

from constructions.weights.t1b import digit_blocks
from theory import FactSystem, Transformer


def construct(system: FactSystem, bits: int) -> Transformer:
    """T13's universal single-layer transformer: T1b's, with gates that noise below 1/2 does not open."""
    return digit_blocks(system, bits, 2**bits)
