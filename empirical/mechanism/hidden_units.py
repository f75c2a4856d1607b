"""The MLP is a selector if each hidden unit is opened by one relation, for many subjects, and serves it alone (E4).

Everything is measured at the last position, where the answer is read, with the model's own attention: every word w of
the first step (for one hop, every relation) is asked of a sample of the subjects. A unit is *open* at a fact if its
activation is positive; p_w is the fraction of the subjects for which word w opens it, and its best word the w with the
largest p_w.

* *Selectivity* (p_best - q) / (p_best + q), with q the mean of p_w over the other words, in [0, 1]: 1 iff one word
  alone opens the unit, 0 iff all open it equally often, undefined for a unit that never opens. It is the class
  selectivity index of Morcos, Barrett, Rabinowitz, Botvinick (2018), of how often a unit opens, not how far.
* *Breadth* p_best. A unit of a table that holds one fact (T2b) has selectivity 1 too, for it opens at one fact of one
  word; what tells it from a selector is its breadth, one in N, where a gate's is a fixed fraction (T1: that of the
  entities with a +1 at the unit's place).
* *Information* that open or closed, and closed or which quarter of the positive activations, gives about the word, in
  bits (at most log2 W). Counts in small samples give some bits even where there are none, so beside it stands its mean
  over shuffles of the words within each subject, and a unit is called informative if it exceeds the largest of them.
* *Ablation*. Each unit belongs to its best word (to none at a tie). The units of one word are set to zero, what a
  closed gate gives, and every word is asked again: a selector loses this word's answers and keeps the others. Beside
  it stand as many units drawn at random.

Gates that point anywhere are selective in part: beside selectivity and information stands what they are when the
columns of W_in are drawn anew at their norms. Fractions over the subjects have intervals (`shares.exact_share`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from empirical.mechanism.subject import Floats, Studied, emitted, forward
from empirical.statistics.shares import Share, exact_share
from empirical.statistics.verdict import Outcome
from theory import InputError
from theory.definitions.fact_system import Words, check_count

QUARTERS = (0.25, 0.5, 0.75)
DECILES = tuple(tenth / 10 for tenth in range(11))

# Activations that stand in memory together.
ACTIVATIONS = 2**24

# The verdict: how much of a word's accuracy goes, how much of the others' stays, and what share of the subjects a gate
# is open to. A table's units are open to one subject in N, so N of some twenty tells the two apart.
CLEAR, BROAD = 0.9, 0.1


@dataclass(frozen=True, eq=False)
class HiddenGates:
    """What opens each hidden unit. `open_fraction` is p_w, shape [m, W], over the subjects; all else has shape [m].

    `best` is -1 for a unit that belongs to no word; `selectivity` is NaN for one that never opens. Information is in
    bits: of open or closed (`information`), of the binned activation (`information_binned`), and the means of both over
    shuffles; `informative` says whether the first exceeds the largest of its shuffles.
    """

    open_fraction: Floats
    best: NDArray[np.int64]
    selectivity: Floats
    information: Floats
    information_shuffled: Floats
    information_binned: Floats
    information_binned_shuffled: Floats
    informative: NDArray[np.bool_]

    @property
    def breadth(self) -> Floats:
        """p_best of each unit."""
        return np.asarray(self.open_fraction.max(axis=1))

    @property
    def ever_open(self) -> NDArray[np.bool_]:
        """Whether any fact asked opens the unit."""
        return self.breadth > 0

    @property
    def opened_by(self) -> NDArray[np.int64]:
        """How many words open the unit for some subject."""
        return np.asarray((self.open_fraction > 0).sum(axis=1))

    def as_dict(self) -> dict[str, Any]:
        """Summaries as JSON values: counts of units, means over the units that ever open (None if none does), deciles
        of selectivity and breadth.
        """
        of = self.ever_open

        def mean(values: NDArray[Any]) -> float | None:
            """Over the units that ever open; None if none does."""
            return float(values[of].mean()) if of.any() else None

        def deciles(values: Floats) -> list[float] | None:
            """Of the units that ever open; None if none does."""
            return np.quantile(values[of], DECILES).tolist() if of.any() else None

        return {
            "units": len(of),
            "never open": int((~of).sum()),
            "always open": int((self.open_fraction == 1).all(axis=1).sum()),
            "opened by one word": int((self.opened_by == 1).sum()),
            "informative": int(self.informative.sum()),
            "units of each word": np.bincount(
                self.best[self.best >= 0], minlength=self.open_fraction.shape[1]
            ).tolist(),
            "selectivity": mean(self.selectivity),
            "selectivity, deciles": deciles(self.selectivity),
            "breadth": mean(self.breadth),
            "breadth, deciles": deciles(self.breadth),
            "information, bits": mean(self.information),
            "information when shuffled, bits": mean(self.information_shuffled),
            "information, binned, bits": mean(self.information_binned),
            "information when shuffled, binned, bits": mean(self.information_binned_shuffled),
        }


@dataclass(frozen=True, eq=False)
class Ablation:
    """What is left of the accuracy when the units of one word are set to zero, or as many units drawn at random.

    `matrix[v, w]`, shape [W, W], is the accuracy on word w without the units of word v; `own` and `others` are its
    means on and off the diagonal.
    """

    matrix: Floats
    own: Share
    others: Share

    def as_dict(self) -> dict[str, Any]:
        """The numbers as JSON values."""
        return {"matrix": self.matrix.tolist(), "own": self.own.interval(), "others": self.others.interval()}


@dataclass(frozen=True, eq=False)
class HiddenUnitResult:
    """Gates and ablation of one model, over `subjects` subjects and the words asked, shape [W, hops of a step].

    `gates` are the model's, `redrawn` those with the columns of W_in drawn anew; `accuracy` is the model's own over the
    subjects, `ablated` what is left of it without the units of a word, `control` without random ones.
    """

    name: str
    words: Words
    subjects: int
    gates: HiddenGates
    redrawn: HiddenGates
    accuracy: Share
    ablated: Ablation
    control: Ablation

    @property
    def verdict(self) -> Outcome:
        """Is the MLP a selector?

        Supported if the 95 % intervals say that the model answers at least 0.9 of the facts, at most 0.1 of a word's
        without the units of that word, and at least 0.9 of the others'; and its units are more selective in the mean
        than redrawn ones and in the median open to a tenth of the subjects. Not supported if one of the last two is
        not so, or an interval lies beyond its bound. Undecided otherwise.
        """
        of, drawn = self.gates.ever_open, self.redrawn.ever_open
        if not of.any() or np.median(self.gates.breadth[of]) < BROAD:
            return "not supported"
        if drawn.any() and self.gates.selectivity[of].mean() <= self.redrawn.selectivity[drawn].mean():
            return "not supported"
        kept = (self.accuracy, self.ablated.others)
        if any(each.high < CLEAR for each in kept) or self.ablated.own.low > 1 - CLEAR:
            return "not supported"
        clear = all(each.low >= CLEAR for each in kept) and self.ablated.own.high <= 1 - CLEAR
        return "supported" if clear else "undecided"

    def as_dict(self) -> dict[str, Any]:
        """Summaries as JSON values; what is known of each unit stays in `gates` and `redrawn`."""
        return {
            "name": self.name,
            "words": self.words.tolist(),
            "subjects": self.subjects,
            "verdict": self.verdict,
            "accuracy": self.accuracy.interval(),
            "gates": self.gates.as_dict(),
            "W_in redrawn": self.redrawn.as_dict(),
            "ablated": self.ablated.as_dict(),
            "as many random units ablated": self.control.as_dict(),
        }


def hidden_units(
    studied: Studied, *, subjects: int = 512, shuffles: int = 20, draws: int = 3, seed: int = 0
) -> HiddenUnitResult:
    """Gate statistics and ablation over `subjects` random subjects (all, if there are no more).

    `shuffles` are those of the words, for the information that counting alone would give; `draws` the random groups of
    units a word. Raises InputError where one word is all that can be asked, for then there is nothing to select, and
    for a model without hidden units.
    """
    for name, value in (("subjects", subjects), ("shuffles", shuffles), ("draws", draws)):
        check_count(name, value)
    words, width = studied.words, studied.transformer.width
    if len(words) < 2 or width == 0:
        raise InputError(
            f"{studied.name} has {len(words)} words to ask and {width} hidden units; a selector needs two and one"
        )
    generator = np.random.default_rng([check_count("seed", seed, at_least=0), studied.system.entities])
    sample = generator.permutation(studied.system.entities)[:subjects]
    found = gates(studied, sample, shuffles, generator)
    other = gates(with_redrawn_gates(studied, generator), sample, shuffles, generator)
    groups = found.best == np.arange(len(words))[:, None]
    random = np.stack([generator.permuted(groups, axis=1) for _ in range(draws)])
    return HiddenUnitResult(
        name=studied.name,
        words=words,
        subjects=len(sample),
        gates=found,
        redrawn=other,
        accuracy=exact_share(_right(studied, sample)),
        ablated=_ablation(studied, sample, groups[None]),
        control=_ablation(studied, sample, random),
    )


def gates(studied: Studied, sample: NDArray[np.int64], shuffles: int, generator: np.random.Generator) -> HiddenGates:
    """What opens each hidden unit, over the subjects of the sample; the units are taken some at a time."""
    count, facts = studied.transformer.width, len(sample) * len(studied.words)
    orders = generator.permuted(np.tile(np.arange(len(studied.words)), (shuffles, len(sample), 1)), axis=2)
    step = max(1, ACTIVATIONS // facts)
    parts = [
        _gates(_activations(studied, sample, slice(start, start + step)), orders) for start in range(0, count, step)
    ]
    return HiddenGates(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _activations(studied: Studied, sample: NDArray[np.int64], units: slice) -> Floats:
    """The activations of some units at every fact of the sample, shape [X, W, units]."""
    own, block = studied.transformer, studied.transformer.blocks[0]
    part = replace(block, W_in=block.W_in[:, units], b_in=block.b_in[units], W_out=block.W_out[units])
    return np.maximum(
        forward(replace(studied, transformer=replace(own, blocks=(part,))), studied.rows[sample]).before, 0
    )


def _gates(activations: Floats, orders: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
    """The fields of `Gates`, for activations [X, W, units] and orders [shuffles, X, W] of the words of each subject."""
    fraction = (activations > 0).mean(axis=0).T
    ordered = np.sort(fraction, axis=1)
    largest, rest = ordered[:, -1], ordered[:, :-1].mean(axis=1)
    # Fractions whose mean is their maximum are equal, and rounding must not say otherwise.
    tied = ordered[:, -2] == largest
    gap = np.where(ordered[:, 0] == largest, 0.0, largest - rest)
    selectivity = np.divide(gap, largest + rest, out=np.full(len(gap), np.nan), where=largest > 0)
    states = (activations > 0).astype(np.int8)
    bins = binned(activations)
    shuffled = np.array([_informations(states, bins, order) for order in orders])
    information, information_binned = _informations(states, bins, None)
    return (
        fraction,
        np.where(tied, -1, fraction.argmax(axis=1)),
        selectivity,
        information,
        shuffled[:, 0].mean(axis=0),
        information_binned,
        shuffled[:, 1].mean(axis=0),
        information > shuffled[:, 0].max(axis=0) + 1e-12,
    )


def _informations(
    states: NDArray[np.int8], bins: NDArray[np.int8], order: NDArray[np.int64] | None
) -> tuple[Floats, Floats]:
    """The information of the states and of the bins about the word, after a reordering of the words, if any."""
    if order is not None:
        states, bins = (np.take_along_axis(each, order[..., None], axis=1) for each in (states, bins))
    return information_about_word(states), information_about_word(bins)


def binned(activations: Floats) -> NDArray[np.int8]:
    """0 where a unit is closed, else 1 .. 4: the quarter among its own positive activations; shape as given."""
    bins = np.zeros(activations.shape, np.int8)
    for unit in range(activations.shape[-1]):
        own = activations[..., unit]
        opened = own > 0
        if opened.any():
            # Equal activations fall into one bin, whatever the quantiles make of them.
            bins[..., unit][opened] = 1 + np.searchsorted(np.quantile(own[opened], QUARTERS), own[opened])
    return bins


def information_about_word(states: NDArray[np.int8]) -> Floats:
    """The mutual information of a unit's state with the word, in bits; states [X, W, units] from 0 on, words equally
    frequent: Σ p(s, w) log2(p(s, w) / (p(s) p(w))) for the frequencies p.
    """
    subjects, words, units = states.shape
    total = np.zeros(units)
    for state in range(int(states.max()) + 1):
        counts = (states == state).sum(axis=0)
        ratio = np.divide(counts * words, counts.sum(axis=0), out=np.ones(counts.shape), where=counts > 0)
        total += (counts * np.log2(ratio)).sum(axis=0) / (subjects * words)
    return total


def with_redrawn_gates(studied: Studied, generator: np.random.Generator) -> Studied:
    """The model with each column of W_in pointing in a random direction at its old norm."""
    own, block = studied.transformer, studied.transformer.blocks[0]
    W_in = generator.standard_normal(block.W_in.shape)
    W_in *= np.linalg.norm(block.W_in.astype(float), axis=0) / np.linalg.norm(W_in, axis=0)
    return replace(studied, transformer=replace(own, blocks=(replace(block, W_in=W_in),)))


def without_units(studied: Studied, units: NDArray[np.bool_]) -> Studied:
    """The model with some hidden units, a mask [m], set to zero."""
    own, block = studied.transformer, studied.transformer.blocks[0]
    kept = replace(block, W_out=np.where(units[:, None], 0, block.W_out))
    return replace(studied, transformer=replace(own, blocks=(kept,)))


def _right(studied: Studied, sample: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which facts of the sample are answered, shape [W, X]."""
    return np.asarray(emitted(studied, studied.rows[sample]) == studied.answers[:, sample])


def _ablation(studied: Studied, sample: NDArray[np.int64], groups: NDArray[np.bool_]) -> Ablation:
    """Ask every word without each group of units; groups [draws, W, m]."""
    right = np.stack([[_right(without_units(studied, group), sample) for group in draw] for draw in groups])
    own = np.eye(len(studied.words), dtype=bool)
    return Ablation(right.mean(axis=(0, 3)), exact_share(right[:, own]), exact_share(right[:, ~own]))
