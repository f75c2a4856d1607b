"""Linear maps from subject states to object directions, ridge and rank-limited, judged on subjects they never saw.

*Map.* The direction of a subject's object is predicted as W·(x - mean state) + offset, with W the ridge solution,
followed by the projection onto the k leading principal directions of its own fitted values: reduced-rank ridge
regression, of rank k. Centred on the mean of the candidates, the prediction is decoded as the candidate whose direction
it is most aligned with (cosine); a tie is no answer. Alignment and not distance, because ridge shrinks predictions;
directions that differ in length alone cannot be told apart so.

*Honesty.* With fewer subjects than dimensions a fit in sample means nothing. The subjects are parted into five folds;
penalty and rank for each are chosen on four inner folds of the other four: first the penalty at full rank, then the
rank, each by accuracy, ties by the squared error and by the lowest rank. The test fold has no part in it. Grouped folds
(`by object`) keep the subjects of an object together, so that the objects of the test fold are unseen in training. In a
one-to-one relation they always are: such an object is found only if its direction can be put together from others', as
codes of few coordinates can (T1) and nearly orthonormal directions cannot.

*Cost.* All is done in the space of the training subjects: the centred kernel X Xᵀ of a layer and fold is decomposed
once, and serves every penalty, rank, relation on these subjects, and shuffle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from empirical.statistics.regression import KernelRidge

Array = NDArray[Any]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

OUTER, INNER = 5, 4
PENALTIES = 10.0 ** np.arange(-6, 3)  # in units of the mean eigenvalue of the centred kernel
RANKS = (1, 2, 4, 8, 16, 32, 64)  # and full rank
NO_ANSWER = -1


@dataclass(frozen=True)
class Candidates:
    """The candidates' directions less their mean: `coordinates` [m, r] in an orthonormal `basis` [r, d]; `centre` [d]
    is the mean; `table` [r, m] gives the alignment of a prediction with each, up to the prediction's norm."""

    coordinates: Floats
    basis: Floats
    centre: Floats
    table: Floats


def candidates(directions: Array) -> Candidates:
    """The candidates of the given directions [m, d]."""
    wide = directions.astype(float)
    centre = wide.mean(axis=0)
    left, values, basis = np.linalg.svd(wide - centre, full_matrices=False)
    size = max(1, int((values > 1e-6 * values[0]).sum()))
    coordinates = left[:, :size] * values[:size]
    norms = np.linalg.norm(coordinates, axis=1)
    return Candidates(coordinates, basis[:size], centre, (coordinates / np.where(norms > 0, norms, 1)[:, None]).T)


def decide(scores: Floats) -> Integers:
    """The place of the largest score along the last axis; NO_ANSWER where it is attained twice."""
    best = scores.max(axis=-1, keepdims=True)
    return np.where((scores == best).sum(axis=-1) == 1, scores.argmax(axis=-1), NO_ANSWER)


def folds(groups: ArrayLike, count: int, seed: int) -> Integers:
    """The fold of each item, shape [n]: items of one group share a fold; larger groups are placed first, each into the
    emptiest fold, in random order among equals. There are at most as many folds as groups."""
    labels = np.asarray(groups)
    names, sizes = np.unique(labels, return_counts=True)
    order = np.random.default_rng(seed).permutation(len(names))
    filled = np.zeros(min(count, len(names)), np.int64)
    place = np.zeros(len(names), np.int64)
    for group in order[np.argsort(-sizes[order], kind="stable")]:
        place[group] = filled.argmin()
        filled[place[group]] += sizes[group]
    return place[np.searchsorted(names, labels)]


@dataclass(frozen=True)
class Choice:
    """Penalty (in units of the mean eigenvalue) and rank of each condition, and the inner accuracy, each [c]."""

    penalty: Floats
    rank: Integers
    accuracy: Floats


@dataclass(frozen=True)
class HeldOut:
    """Held-out predictions: `predicted` [c, n] are candidates, or NO_ANSWER; `inner` [c, folds] is the accuracy on the
    inner folds, by which layers may be chosen; `fold` [n] is each subject's test fold."""

    predicted: Integers
    inner: Floats
    fold: Integers


def held_out(kernel: Floats, found: Candidates, objects: Integers, groups: Integers, seed: int) -> HeldOut:
    """Nested cross-validation of c conditions on the same states.

    `kernel` [n, n] is X Xᵀ of the states, `objects` [c, n] the candidate that is each subject's object (the true one,
    or shuffled ones), `groups` [n] what folds keep together. At least three groups are needed.
    """
    fold = folds(groups, OUTER, seed)
    predicted = np.empty(objects.shape, np.int64)
    inner = []
    for number in range(fold.max() + 1):
        train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        chosen = choose(kernel, found, objects, groups, train, seed)
        ridge = KernelRidge(kernel, train)
        within = ridge.within(found.coordinates[objects[:, train]])
        full, leading = _fitted(ridge, ridge.rows(kernel, test), within, chosen.penalty)
        mean = found.coordinates[objects[:, train]].mean(axis=1)
        for condition, rank in enumerate(chosen.rank):
            turned = leading[condition][:, :rank]
            prediction = full[condition] @ turned @ turned.T + mean[condition]
            predicted[condition, test] = decide(prediction @ found.table)
        inner.append(chosen.accuracy)
    return HeldOut(predicted, np.stack(inner, axis=1), fold)


def choose(
    kernel: Floats, found: Candidates, objects: Integers, groups: Integers, train: Integers, seed: int
) -> Choice:
    """Penalty and rank of each condition by cross-validation among the training subjects alone."""
    conditions = len(objects)
    right, wrong = np.zeros((2, conditions, len(PENALTIES)))
    parts = list(_inner_parts(kernel, found, objects, groups, train, seed))
    for ridge, rows, within, mean, truth in parts:
        for place, penalty in enumerate(PENALTIES):
            guess = (rows * ridge.filter(penalty)) @ within + mean
            right[:, place] += (decide(guess @ found.table) == truth).sum(axis=1)
            wrong[:, place] += ((guess - found.coordinates[truth]) ** 2).sum(axis=(1, 2))
    # The most right; among these the least squared error.
    penalty = PENALTIES[np.where(right == right.max(axis=1, keepdims=True), wrong, np.inf).argmin(axis=1)]
    size = found.coordinates.shape[1]
    ranks = np.array([*(rank for rank in RANKS if rank < size), size])
    right = np.zeros((conditions, len(ranks)))
    for ridge, rows, within, mean, truth in parts:
        full, leading = _fitted(ridge, rows, within, penalty)
        turned, base = full @ leading, mean @ found.table
        table = leading.transpose(0, 2, 1) @ found.table
        for place, rank in enumerate(ranks):
            scores = turned[..., :rank] @ table[:, :rank] + base
            right[:, place] += (decide(scores) == truth).sum(axis=1)
    return Choice(penalty, ranks[right.argmax(axis=1)], right.max(axis=1) / len(train))


def _inner_parts(
    kernel: Floats, found: Candidates, objects: Integers, groups: Integers, train: Integers, seed: int
) -> Iterator[tuple[KernelRidge, Floats, Floats, Floats, Integers]]:
    """For each inner fold: the fit, the rows to predict, the targets' coordinates [c, j, r], their mean [c, 1, r], and
    the true objects [c, i] of the rows."""
    fold = folds(groups[train], INNER, seed)
    for number in range(fold.max() + 1):
        rest, asked = train[fold != number], train[fold == number]
        ridge = KernelRidge(kernel, rest)
        targets = found.coordinates[objects[:, rest]]
        yield (
            ridge,
            ridge.rows(kernel, asked),
            ridge.within(targets),
            targets.mean(axis=1, keepdims=True),
            objects[:, asked],
        )


def _fitted(ridge: KernelRidge, rows: Floats, within: Floats, penalty: Floats) -> tuple[Floats, Floats]:
    """Predictions at full rank less the mean, [c, i, r], and the principal directions of the fitted values, one a
    column of [c, r, r], the leading one first."""
    filtered = ridge.filter(penalty)[..., None] * within
    fitted = ridge.values[:, None] * filtered
    _, vectors = np.linalg.eigh(fitted.transpose(0, 2, 1) @ fitted)
    return rows @ filtered, vectors[..., ::-1]


@dataclass(frozen=True)
class LinearMap:
    """direction ≈ (state - centre) · read · write + offset, with read [d, k] and write [k, d], of rank k.

    `penalty` is that of the ridge, `subjects` how many it was fitted to.
    """

    centre: Floats
    read: Floats
    write: Floats
    offset: Floats
    penalty: float
    subjects: int

    @property
    def rank(self) -> int:
        """k."""
        return int(self.read.shape[1])

    def __call__(self, states: Array) -> Floats:
        """The predicted directions of states [n, d], shape [n, d]."""
        return (states - self.centre) @ self.read @ self.write + self.offset

    @property
    def subspace(self) -> Floats:
        """An orthonormal basis, one a column of [d, k], of what the map reads from the state."""
        left, values, _ = np.linalg.svd(self.read @ self.write, full_matrices=False)
        kept = values[: self.rank] > 1e-9 * values[0]
        return left[:, : self.rank][:, kept]


def fit(states: Array, found: Candidates, objects: Integers, penalty: float, rank: int) -> LinearMap:
    """The map fitted to all the given subjects, states [n, d], objects [n], at a given penalty and rank."""
    wide = states.astype(float)
    centre = wide.mean(axis=0)
    ridge = KernelRidge(wide @ wide.T, np.arange(len(wide)))
    targets = found.coordinates[objects]
    filtered = ridge.filter(penalty)[:, None] * ridge.within(targets)
    fitted = ridge.values[:, None] * filtered
    leading = np.linalg.eigh(fitted.T @ fitted)[1][:, ::-1][:, :rank]
    read = (wide - centre).T @ (ridge.vectors @ filtered) @ leading
    offset = targets.mean(axis=0) @ found.basis + found.centre
    return LinearMap(centre, read, leading.T @ found.basis, offset, penalty, len(wide))


def fit_chosen(states: Array, found: Candidates, objects: Integers, seed: int) -> LinearMap:
    """The map fitted to all the given subjects, at the penalty and rank that cross-validation among them chooses."""
    wide = states.astype(float)
    everyone = np.arange(len(wide))
    chosen = choose(wide @ wide.T, found, objects[None], everyone, everyone, seed)
    return fit(states, found, objects, float(chosen.penalty[0]), int(chosen.rank[0]))
