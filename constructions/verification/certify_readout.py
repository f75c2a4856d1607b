"""Certificate, part 3: a lower bound of the margin, for all subjects of one word, mostly without the N × N logits.

The MLP's output o(x) is known, exactly or up to a *noise* ν in each coordinate. Answer a has the logit <o, u_a> + b_a.

*Coordinates.* Let b_a = const - (κ/2)|u_a|² for all answers, with κ >= 0. Then logits are sums over the coordinates,
of f_i(v) = o_i·v - κv²/2 at v = u_a,i, which is concave in v. If in each coordinate the right code's value u is the
best of the values V_i that occur there, every other code loses something in some coordinate (codes are distinct) and
gains in none. As f_i is concave, the neighbours of u in V_i are the best of the others: with v next above or below u
and Δ = |v - u|,

    margin >= min over i and v of  f_i(u) - f_i(v) - νΔ,   f_i(u) - f_i(v) = (u - v)(o_i - κ(u + v)/2),

if that is positive. (The noise moves o_i by at most ν; f_i(u) - f_i(v) - ν|u - v| is convex in v on either side of u
and 0 at u, so that beyond a neighbour where it is positive it is larger still.) Where the biases deviate, b_a = const -
(κ/2)|u_a|² + ε_a, max ε - min ε is taken off. Where all codes have the same sum, two of them differ in two coordinates
at least, and what the worst loses counts twice. All that matters of the outputs is the least and the largest o_i among
those whose right code has the value u at i; where only -s and s occur, what matters is the least of u·o_i.

Any κ >= 0 may be taken. Two are tried: that which the biases show, and that which is best for the outputs (where norms
|u_a|² are all the same, ε does not depend on κ). Signs ±s do with any, nearest codes have κ = 1, one-hot codes any κ
between 0 and twice the output.

*Groups.* Answers are parted into groups, within which coordinates decide (so their codes may have zeros in other places
or other biases from group to group, as with disjoint attributes). The largest logit of another group is at most Σ_i
max(o_i·max u_i, o_i·min u_i) + its largest bias. In groups of one answer each this is every logit, exactly: the last
resort, where these are few.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constructions.verification.certify_attention import Refused, require_affordable
from constructions.verification.exact import Product
from constructions.verification.exhaustive import margins_of
from constructions.verification.integers import (
    absolute,
    add,
    alike,
    column_numbers,
    column_sums,
    converted,
    distinct_columns,
    largest,
    multiplied,
    scaled,
    transposed,
    whole,
)

Integers = NDArray[Any]

# Logits of groups computed in all, for every word and subject; numbers held at a time.
MOST_LOGITS = 2**28
CHUNK = 2**21
# Slopes that the choice of κ looks at.
MOST_SLOPES = 256
# Up to so many values of a coordinate are gone through one by one, more are sorted.
FEW_VALUES = 8


class Codes:
    """Answers told apart coordinate by coordinate: codes [coordinates, answers] and biases [answers], all codes
    distinct.
    """

    def __init__(self, codes: Integers, bias: Integers) -> None:
        low, high = codes.min(axis=1), codes.max(axis=1)
        opposite = add(low, high) == 0
        opposite[opposite] = (absolute(codes[opposite]) == absolute(high[opposite])[:, None]).all(axis=1)
        # Coordinates at which only -s and s > 0 occur, and the distinct values, sorted, at every other that varies.
        self._signs = np.flatnonzero(opposite & (low != high))
        self._sizes = high[self._signs]
        self._values = {i: np.unique(codes[i]) for i in np.flatnonzero(~opposite & (low != high)).tolist()}
        # A row an answer, so that all that belongs to one lies together.
        self._rows = transposed(codes)
        # In how many coordinates two codes differ at least: in two if all have the same sum.
        sums = column_sums(codes)
        self._places = 2 if sums.min() == sums.max() else 1
        norms = column_sums(multiplied(codes, codes))
        self._norms, self._bias = (add(part, scaled(part[:1], -1)) for part in (norms, bias))
        self._deviations: dict[Fraction, Fraction] = {}

    @cached_property
    def curvature(self) -> Fraction | None:
        """κ as the bias of the answer of the most different norm has it; None where all norms are the same."""
        other = absolute(self._norms).argmax()
        norm = whole(self._norms[other])
        return max(Fraction(0), Fraction(-2 * whole(self._bias[other]), norm)) if norm else None

    def deviation(self, curvature: Fraction) -> Fraction:
        """The largest difference between two answers of ε = bias + κ|u|²/2."""
        if curvature not in self._deviations:
            halves = scaled(self._bias, 2 * curvature.denominator), scaled(self._norms, curvature.numerator)
            doubled = add(*halves)
            apart = whole(doubled.max()) - whole(doubled.min())
            self._deviations[curvature] = Fraction(apart, 2 * curvature.denominator)
        return self._deviations[curvature]

    def margin(self, outputs: Integers, answers: NDArray[np.int64], noise: Fraction) -> Fraction:
        """The bound for outputs [coordinates, batch] and the numbers of the right answers [batch]."""
        own = transposed(self._rows.take(answers, axis=0))
        pairs = [part for i, values in self._values.items() for part in _neighbours(values, own[i], outputs[i])]
        if len(self._signs):
            pairs.append(self._opposites(outputs, own))
        apart, gain, slope = (np.concatenate(alike(*parts)) for parts in zip(*pairs, strict=True))
        bound = Fraction(0)
        for curvature in self._curvatures(gain, slope):
            doubled = add(scaled(gain, 2 * curvature.denominator), scaled(slope, curvature.numerator))
            least = Fraction(whole(doubled.min()), 2 * curvature.denominator) - noise * largest(apart)
            bound = (self._places * least if least > 0 else least) - self.deviation(curvature)
            if bound > 0:
                break
        return bound

    def _opposites(self, outputs: Integers, own: Integers) -> tuple[Integers, Integers, Integers]:
        """As `_neighbours`, for the coordinates of signs, where u·o_i says how good the output o_i is for u."""
        everywhere = len(self._signs) == len(own)
        right, output = (own, outputs) if everywhere else (own[self._signs], outputs[self._signs])
        gain = scaled(multiplied(right, output).min(axis=1), 2)
        return scaled(self._sizes, 2), gain, np.zeros_like(gain)

    def _curvatures(self, gain: Integers, slope: Integers) -> Iterator[Fraction]:
        """What to try as κ: that of the biases, then the best for the outputs."""
        if self.curvature is not None:
            yield self.curvature
        best = _best_curvature(gain, slope)
        if best is not None:
            yield best


def _neighbours(values: Integers, own: Integers, outputs: Integers) -> Iterator[tuple[Integers, Integers, Integers]]:
    """Of one coordinate, for each value u that occurs and its neighbours v above and below: u - v, and by the output
    that is worst for u against v the gain and slope, f_i(u) - f_i(v) = gain + κ·slope/2; shapes [pairs], `values` in
    order, `own` and `outputs` [batch].
    """
    present, least, most = _ends(values, own, outputs)
    for step, edge, outermost in ((1, most, len(values) - 1), (-1, least, 0)):
        inside = present != outermost
        right, other = values[present[inside]], values[present[inside] + step]
        apart = add(right, scaled(other, -1))
        yield apart, multiplied(apart, edge[inside]), scaled(multiplied(apart, add(right, other)), -1)


def _ends(values: Integers, own: Integers, outputs: Integers) -> tuple[NDArray[np.intp], Integers, Integers]:
    """Which of the sorted values occur in `own`, and the least and largest output of each of these."""
    if len(values) <= FEW_VALUES:
        places = [np.flatnonzero(own == value) for value in values]
        occurring = [number for number, here in enumerate(places) if len(here)]
        least = [places[number][outputs[places[number]].argmin()] for number in occurring]
        most = [places[number][outputs[places[number]].argmax()] for number in occurring]
        return np.array(occurring), outputs[least], outputs[most]
    rank = np.searchsorted(values, own)
    order = rank.argsort(kind="stable")
    present, starts = np.unique(rank[order], return_index=True)
    ordered = outputs[order]
    return present, np.minimum.reduceat(ordered, starts), np.maximum.reduceat(ordered, starts)


def _best_curvature(gain: Integers, slope: Integers) -> Fraction | None:
    """The κ >= 0 at which the least of the lines gain + κ·slope/2 is largest; None for more than MOST_SLOPES slopes.

    From line to line along their minimum, which is concave: at κ = 0 the least line; while it rises, the first line of
    smaller slope that crosses it.
    """
    lowest: dict[int, int] = {}
    for s, g in zip(slope.tolist(), gain.tolist(), strict=True):
        lowest[whole(s)] = min(whole(g), lowest.get(whole(s), whole(g)))
    if len(lowest) > MOST_SLOPES:
        return None
    lines = [(Fraction(g), Fraction(s, 2)) for s, g in lowest.items()]
    at = Fraction(0)
    height, rise = min(lines)
    while rise > 0:
        crossings = [((g - height) / (rise - r), r, g) for g, r in lines if r < rise]
        if not crossings:
            return max(at, (1 - height) / rise)  # Every line rises: this one is the lowest from here on.
        at, rise, height = min(crossings)
    return at


@dataclass(frozen=True)
class Partition:
    """The answers in groups: `group` [answers] has the number of each answer's, `place` [answers] which of its group it
    is, `members` the codes of each group of several. `highest` has the largest code and bias of each group, `lowest`
    the least code (None: every group has one answer).
    """

    group: NDArray[np.int64]
    place: NDArray[np.int64]
    members: dict[int, Codes]
    highest: Product
    lowest: Product | None

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return self.highest.outputs

    def largest_logit(self, outputs: Integers) -> Integers:
        """An upper bound of the logits of each group, shape [groups, batch]."""
        if self.lowest is None:
            return self.highest(outputs)
        return add(self.highest(np.maximum(outputs, 0)), self.lowest(np.minimum(outputs, 0)))


def coordinates_read(codes: Integers, occupied: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The coordinates that the output occupies, if the codes [coordinates, answers] differ there; else all of them, for
    where an output is always 0 answers are still told apart by their biases.
    """
    return np.flatnonzero(occupied) if distinct_columns(codes[occupied]) else np.arange(len(codes))


class Readout:
    """The read-out restricted to the coordinates that the output can occupy: codes u [coordinates, answers], bias
    [answers], for `queries` outputs in all. Refused when two answers have the same code there.
    """

    def __init__(self, codes: Integers, bias: Integers, queries: int) -> None:
        self.codes, self.bias, self.queries = codes, bias, queries
        if not distinct_columns(codes):
            raise Refused("two answers have the same code in the coordinates that the output occupies")

    @cached_property
    def logits(self) -> Product:
        """The product that makes outputs logits."""
        return Product(self.codes, self.bias)

    def margin(self, outputs: Integers, answers: NDArray[np.int64], noise: Fraction) -> Fraction:
        """The bound of the margin over a batch: outputs [coordinates, batch], answers [batch].

        `noise` bounds the error of each coordinate of the outputs. The first partition that proves a positive margin
        decides, else the finest that can be tried.
        """
        bound = Fraction(0)
        for partition in self._partitions():
            bound = self._by_partition(partition, outputs, answers, noise)
            if bound > 0:
                break
        return bound

    def _partitions(self) -> Iterator[Partition]:
        """From coarse to fine, as far as the logits of the groups are few enough."""
        yield self._in_one_group
        patterns, answers = 1 + whole(self._pattern.max()), len(self.bias)
        if 1 < patterns < answers and patterns * self.queries <= MOST_LOGITS:
            yield self._by_pattern
        if answers * self.queries <= MOST_LOGITS:
            yield self._one_by_one

    @cached_property
    def _pattern(self) -> NDArray[np.int64]:
        """Group numbers by zeros and bias."""
        zeros = converted(self.codes == 0, self.bias.dtype)
        keys = column_numbers(np.concatenate([zeros, self.bias[None]]))
        return np.asarray(np.unique(keys, return_inverse=True)[1])

    @cached_property
    def _in_one_group(self) -> Partition:
        return self._parted(np.zeros(len(self.bias), np.int64))

    @cached_property
    def _by_pattern(self) -> Partition:
        return self._parted(self._pattern)

    @cached_property
    def _one_by_one(self) -> Partition:
        return Partition(np.arange(len(self.bias)), np.zeros(len(self.bias), np.int64), {}, self.logits, None)

    def _parted(self, group: NDArray[np.int64]) -> Partition:
        order = group.argsort(kind="stable")
        starts = np.unique(group[order], return_index=True)[1]
        place = np.empty_like(order)
        place[order] = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
        members: dict[int, Codes] = {}
        low, high, most = [], [], []
        for number, answers in enumerate(np.split(order, starts[1:])):
            codes = self.codes[:, answers] if len(starts) > 1 else self.codes
            if len(answers) > 1:
                members[number] = Codes(codes, self.bias[answers])
            low.append(codes.min(axis=1))
            high.append(codes.max(axis=1))
            most.append(answers[self.bias[answers].argmax()])
        highest = Product(np.stack(high, axis=1), self.bias[most])
        return Partition(group, place, members, highest, Product(np.stack(low, axis=1)))

    def _by_partition(
        self, partition: Partition, outputs: Integers, answers: NDArray[np.int64], noise: Fraction
    ) -> Fraction:
        """The bound of one partition."""
        if partition.groups == 1 and partition.members:
            return partition.members[0].margin(outputs, answers, noise)
        bounds: list[Fraction] = []
        own = partition.group[answers]
        for number in np.unique(own).tolist():
            if number in partition.members:
                here = own == number
                place = partition.place[answers[here]]
                bounds.append(partition.members[number].margin(outputs[:, here], place, noise))
                if bounds[-1] <= 0:
                    return bounds[-1]
        bounds.append(self._to_other_groups(partition, outputs, answers, noise))
        return min(bounds)

    def _to_other_groups(
        self, partition: Partition, outputs: Integers, answers: NDArray[np.int64], noise: Fraction
    ) -> Fraction:
        """The least of: a right logit less the largest of the other groups."""
        kind = self.logits.kind(outputs)
        require_affordable(kind, self.logits.multiplications * self.queries, "the read-out")
        size = max(1, CHUNK // partition.groups)
        margins = []
        for start in range(0, len(answers), size):
            part, right = outputs[:, start : start + size], answers[start : start + size]
            logit = add(column_sums(multiplied(self.codes.take(right, axis=1), part)), self.bias[right])
            rivals, logit = alike(partition.largest_logit(part), logit)
            columns = np.arange(len(right))
            rivals[partition.group[right], columns] = logit
            margins.append(whole(margins_of(rivals, partition.group[right])[0].min()))
        spread = whole(column_sums(absolute(self.codes).max(axis=1)[:, None])[0])
        return Fraction(min(margins)) - 2 * noise * spread
