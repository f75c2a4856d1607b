"""Certificate, part 3: a lower bound of the margin, for all subjects of one word, without the N × N logits.

The MLP's output o(x) is known, exactly or up to a *noise* in each coordinate. Two arguments bound logit(answer) -
logit(other) from below.

*Signs.* Answers whose codes have the same zeros and the same bias form a group (usually there is one). Within a group a
coordinate is constant, or takes two values ±s_i. Two codes of a group differ by 2s_i in some coordinate, so their
logits differ by at least 2·min_i o_i·u_i, u the answer's code, as long as that is positive and the codes are distinct.
Another group's largest logit is at most Σ s_i|o_i| over its varying coordinates, plus its constant part.

*Distance.* If b_a = const - (μ/2)|u_a|² for all answers, the logits are -(1/2μ)|u_a - ..|²: with o = μu + n, |n_i| <=
ν, and codes that differ by multiples of γ in each coordinate,
    logit(a) - logit(a') = Σ_i (μ/2)δ_i² + δ_i n_i >= γ(μγ/2 - ν),  δ = u_a - u_a' ≠ 0, if μγ/2 >= ν.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constructions.certify_attention import Refused
from constructions.exact import magnitude

Integers = NDArray[Any]

MOST_GROUPS = 64
# Sums of absolute values that are certain to be below 2^62 although float64 rounds them; differences fit 64 bits too.
LARGEST = 2.0**60


@dataclass(frozen=True)
class Group:
    """Answers whose codes differ in the signs of some coordinates only: u_i = ±size_i there, fixed_i elsewhere, one
    bias.
    """

    answers: NDArray[np.intp]
    sizes: NDArray[np.int64]
    fixed: NDArray[np.int64]
    bias: int

    @cached_property
    def varying(self) -> NDArray[np.intp]:
        """The coordinates in which the codes differ."""
        return np.flatnonzero(self.sizes)

    def largest_logit(self, outputs: NDArray[np.int64]) -> NDArray[np.int64]:
        """An upper bound of the logits of the group, shape [batch]."""
        return np.asarray(self.fixed @ outputs + self.sizes @ np.abs(outputs) + self.bias)


@dataclass(frozen=True)
class Readout:
    """The read-out restricted to the coordinates that the output can occupy: codes u [coordinates, answers], bias
    [answers].
    """

    codes: Integers
    bias: NDArray[np.int64]

    def margin(self, outputs: NDArray[np.int64], answers: NDArray[np.int64], noise: Fraction) -> Fraction:
        """The bound of the margin over a batch: outputs [coordinates, batch], answers [batch]; the better of both
        arguments.

        `noise` bounds the error of each coordinate of the outputs. Raises Refused when neither argument applies, or
        the numbers do not fit 64 bits.
        """
        if self.largest_code @ magnitude(outputs) + self.largest_bias >= LARGEST:
            raise Refused("the logits are too large to be certified in 64-bit integers")
        bounds = []
        if self.groups is not None:
            bounds.append(self._by_signs(self.groups, outputs, answers, noise))
        if (not bounds or bounds[0] <= 0) and self.distance is not None:
            bounds.append(self._by_distance(*self.distance, outputs, answers, noise))
        if not bounds:
            raise Refused("the read-out is neither one of signs nor one of distances")
        return max(bounds)

    @cached_property
    def largest_code(self) -> NDArray[np.float64]:
        """The largest absolute value in each coordinate, shape [coordinates]."""
        return magnitude(self.codes)

    @cached_property
    def largest_bias(self) -> float:
        """The largest absolute value of a bias."""
        return float(np.abs(self.bias).max())

    @cached_property
    def distinct(self) -> bool:
        """True iff no two answers have the same code."""
        return bool(len(np.unique(_column_keys(self.codes))) == self.codes.shape[1])

    @cached_property
    def groups(self) -> list[Group] | None:
        """The answers in groups of equal zeros and bias, or None when there are many groups or the codes are not
        signs.
        """
        zeros = self.codes == 0
        if not zeros.any() and (self.bias == self.bias[0]).all():
            inverse = np.zeros(len(self.bias), np.int64)
        else:
            _, inverse = np.unique(_column_keys(np.concatenate([zeros, self.bias[None]])), return_inverse=True)
        if inverse.max() >= MOST_GROUPS:
            return None
        groups = []
        for number in range(inverse.max() + 1):
            answers = np.flatnonzero(inverse == number)
            codes = self.codes[:, answers]
            low, high = codes.min(axis=1).astype(np.int64), codes.max(axis=1).astype(np.int64)
            varies = low != high
            ends = (codes[varies] == low[varies, None]) | (codes[varies] == high[varies, None])
            if (low[varies] != -high[varies]).any() or not ends.all():
                return None
            groups.append(
                Group(answers, np.where(varies, high, 0), np.where(varies, 0, low), int(self.bias[answers[0]]))
            )
        return groups

    @cached_property
    def distance(self) -> tuple[Fraction, int] | None:
        """(μ, γ) of the distance argument, or None when the bias is not const - (μ/2)|u|², or these do not fit 64
        bits.
        """
        if (self.largest_code**2).sum() >= LARGEST:
            return None
        codes = self.codes.astype(np.int64)
        norms = (codes * codes).sum(axis=0)
        other = int(np.abs(norms - norms[0]).argmax())
        if norms[other] == norms[0]:
            return None
        half = -Fraction(int(self.bias[other] - self.bias[0]), int(norms[other] - norms[0]))
        if max(half.denominator * float(np.ptp(self.bias)), abs(half.numerator) * float(np.ptp(norms))) >= LARGEST:
            return None
        if half <= 0 or ((self.bias - self.bias[0]) * half.denominator != -half.numerator * (norms - norms[0])).any():
            return None
        return 2 * half, int(np.gcd.reduce((codes - codes[:, :1]).ravel()))

    def _by_signs(
        self, groups: list[Group], outputs: NDArray[np.int64], answers: NDArray[np.int64], noise: Fraction
    ) -> Fraction:
        bounds = []
        for own in groups:
            member = np.isin(answers, own.answers) if len(groups) > 1 else slice(None)
            part, chosen = outputs[:, member], answers[member]
            if len(chosen) and len(own.answers) > 1:
                aligned = self.codes.take(chosen, axis=1)[own.varying] * part[own.varying]
                bounds.append(2 * (Fraction(int(aligned.min())) - int(own.sizes.max()) * noise))
            if len(chosen) and len(groups) > 1:
                logit = (self.codes.take(chosen, axis=1) * part).sum(axis=0) + self.bias[chosen]
                rival = np.max([group.largest_logit(part) for group in groups if group is not own], axis=0)
                logit_noise = noise * int(np.abs(self.codes.astype(np.int64)).max(axis=1).sum())
                bounds.append(Fraction(int((logit - rival).min())) - 2 * logit_noise)
        return min(bounds)

    def _by_distance(
        self, scale: Fraction, unit: int, outputs: NDArray[np.int64], answers: NDArray[np.int64], noise: Fraction
    ) -> Fraction:
        if scale.denominator * magnitude(outputs).max() + scale.numerator * self.largest_code.max() >= LARGEST:
            raise Refused("the outputs are too large to be certified in 64-bit integers")
        error = np.abs(outputs * scale.denominator - self.codes.take(answers, axis=1) * np.int64(scale.numerator)).max(
            initial=0
        )
        return unit * (scale * unit / 2 - Fraction(int(error), scale.denominator) - noise)


def _column_keys(matrix: Integers) -> NDArray[Any]:
    """One comparable key for each column of an integer matrix [rows, columns]: equal iff the columns are."""
    low, high = matrix.min(axis=1, initial=0).astype(np.int64), matrix.max(axis=1, initial=0).astype(np.int64)
    if np.log2(high - low + 1.0).sum() < 62:
        keys = np.zeros(matrix.shape[1], np.int64)
        for row, least, most in zip(matrix, low, high, strict=True):
            keys = keys * (most - least + 1) + (row - least)
        return keys
    rows = np.ascontiguousarray(matrix.T)
    return rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
