"""Is a subject's state a sum of one component a relation, each in a subspace of its own?

*Subspaces.* The read-out maps of R relations, fitted at one layer, each read from a subspace of the state. The overlap
of two is the mean squared cosine of their principal angles, 0 for orthogonal subspaces and 1 when one holds the other.
It is held against random subspaces of the same ranks in the d dimensions, and against maps fitted to shuffled pairs
with the same penalties and ranks: these know nothing, but read, as ridge maps do, where the states vary most.

*Sum.* state ≈ Σ_r A_r·v_{o_r} + c, with v_o the direction of an object: a ridge regression of the state on all R
directions together, each relation's kernel divided by its trace so that none is penalised more. R² is that of subjects
left out, the penalty chosen on inner folds, and it is held against the same fit with the subjects' tuples of objects
dealt out anew. For each relation: its R² alone, and what the sum loses without it. In T1 the sum explains everything
(T7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from empirical.probing.measures.families import RelationFamily
from empirical.probing.measures.maps import (
    INNER,
    OUTER,
    PENALTIES,
    Array,
    Floats,
    Integers,
    LinearMap,
    fit,
    folds,
)
from empirical.probing.measures.measure import Progress, RelationReading, SubjectStates, silent
from empirical.statistics.regression import KernelRidge
from empirical.statistics.shares import Share, explained_share, gained_share
from empirical.statistics.subspaces import overlap

RANDOM_DRAWS = 200
SHUFFLES = 4


@dataclass(frozen=True)
class Overlap:
    """The overlap of the subspaces that the maps of two relations read, and the cosine of their smallest angle."""

    relations: tuple[str, str]
    ranks: tuple[int, int]
    overlap: float
    largest_cosine: float


@dataclass(frozen=True)
class Subspaces:
    """Overlaps of all pairs, their `mean`, and what it is for shuffled pairs and for random subspaces (mean and the
    central 95 %)."""

    pairs: tuple[Overlap, ...]
    mean: float
    shuffled: float
    random: float
    random_low: float
    random_high: float


@dataclass(frozen=True)
class Explained:
    """Held-out R² at one layer, of the sum of all relations and of the same with shuffled subjects; `gain` is the
    difference."""

    layer: int
    together: Share
    shuffled: Share
    gain: Share


@dataclass(frozen=True)
class Part:
    """One relation's part in the sum: R² alone, and what the sum loses without it (R² with less R² without)."""

    relation: str
    alone: Share
    lost_without: Share


@dataclass(frozen=True)
class Superposition:
    """A family of relations on the same subjects: the layer of the subspaces and parts, and R² at every layer."""

    relations: tuple[str, ...]
    subjects: int
    layer: int
    subspaces: Subspaces
    parts: tuple[Part, ...]
    by_layer: tuple[Explained, ...]

    @property
    def explained(self) -> Explained:
        """R² at the layer of the subspaces."""
        return next(each for each in self.by_layer if each.layer == self.layer)

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, as JSON values."""
        return asdict(self)


def common_layer(family: RelationFamily, readings: Sequence[RelationReading]) -> int:
    """The layer that the folds of the family's relations choose most often; the lowest among equals."""
    chosen = [layer for each in readings if each.name in family.names for layer in each.headline.layers]
    return int(np.bincount(chosen).argmax())


def superpose(
    family: RelationFamily,
    states: SubjectStates,
    maps: Sequence[LinearMap],
    layer: int,
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> Superposition:
    """The superposition questions about one family; `maps` are its relations' maps, fitted at the layer."""
    own = [_compact(layer_states) for layer_states in states.of(family.subjects)[0]]
    kernels = object_kernels(family)
    fold = folds(np.arange(len(family.subjects)), OUTER, seed)
    generator = np.random.default_rng(seed)
    orders = [generator.permutation(len(family.subjects)) for _ in range(SHUFFLES)]
    together = kernels.sum(axis=0)
    by_layer = []
    for place, number in enumerate(states.layers):
        progress("superposition", place, len(states.layers))
        residual, total = _left(together, own[place], fold, seed)
        dealt = np.mean([_left(together[np.ix_(o, o)], own[place], fold, seed)[0] for o in orders], axis=0)
        shares = explained_share(residual, total), explained_share(dealt, total), gained_share(dealt, residual, total)
        by_layer.append(Explained(number, *shares))
    progress("superposition", len(states.layers), len(states.layers))
    at = own[states.layers.index(layer)]
    residual, total = _left(together, at, fold, seed)
    parts = []
    for name, kernel in zip(family.names, kernels, strict=True):
        alone, without = (_left(each, at, fold, seed)[0] for each in (kernel, together - kernel))
        parts.append(Part(name, explained_share(alone, total), gained_share(without, residual, total)))
    found = subspaces(family, states.of(family.subjects)[0][states.layers.index(layer)], maps, seed)
    return Superposition(family.names, len(family.subjects), layer, found, tuple(parts), tuple(by_layer))


def _compact(states: Array) -> Floats:
    """The states less their mean in the coordinates of their own span, [n, at most n]: quicker, and R² is the same."""
    wide = states.astype(float)
    left, values, _ = np.linalg.svd(wide - wide.mean(axis=0), full_matrices=False)
    return np.asarray(left * values)


def object_kernels(family: RelationFamily) -> Floats:
    """The inner products of the centred directions of the subjects' objects, one kernel a relation with trace n,
    [R, n, n]."""
    kernels = []
    for facts, objects in zip(family.facts, family.objects, strict=True):
        rows = facts.found.coordinates[objects]
        rows = rows - rows.mean(axis=0)
        kernels.append(rows @ rows.T / max(float((rows**2).mean(axis=0).sum()), np.finfo(float).tiny))
    return np.stack(kernels)


def _left(kernel: Floats, states: Floats, fold: Integers, seed: int) -> tuple[Floats, Floats]:
    """The squared norm of what the objects leave unexplained of each held-out state, and that of the state less the
    training mean, both [n]."""
    residual, total = np.empty((2, len(states)))
    for number in range(fold.max() + 1):
        train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        penalty = best_penalty(kernel, states, train, seed)
        guess = _predicted(KernelRidge(kernel, train), kernel, states, test, penalty)
        residual[test] = ((states[test] - guess) ** 2).sum(axis=1)
        total[test] = ((states[test] - states[train].mean(axis=0)) ** 2).sum(axis=1)
    return residual, total


def best_penalty(kernel: Floats, states: Floats, train: Integers, seed: int) -> float:
    """The penalty with the least squared error of the states on inner folds of the training subjects."""
    fold = folds(train, INNER, seed)
    wrong = np.zeros(len(PENALTIES))
    for number in range(fold.max() + 1):
        ridge, asked = KernelRidge(kernel, train[fold != number]), train[fold == number]
        rows, within = ridge.rows(kernel, asked), ridge.within(states[ridge.train])
        truth = states[asked] - states[ridge.train].mean(axis=0)
        for place, penalty in enumerate(PENALTIES):
            wrong[place] += (((rows * ridge.filter(penalty)) @ within - truth) ** 2).sum()
    return float(PENALTIES[wrong.argmin()])


def _predicted(ridge: KernelRidge, kernel: Floats, states: Floats, test: Integers, penalty: float) -> Floats:
    rows = ridge.rows(kernel, test) * ridge.filter(penalty)
    return rows @ ridge.within(states[ridge.train]) + states[ridge.train].mean(axis=0)


def subspaces(family: RelationFamily, states: Array, maps: Sequence[LinearMap], seed: int) -> Subspaces:
    """The overlaps of the maps' subspaces, beside random subspaces and maps of shuffled pairs."""
    bases = [each.subspace for each in maps]
    pairs = []
    for (name, left), (other, right) in combinations(zip(family.names, bases, strict=True), 2):
        cosines = np.linalg.svd(left.T @ right, compute_uv=False)
        ranks = (left.shape[1], right.shape[1])
        pairs.append(Overlap((name, other), ranks, overlap(left, right), float(min(1, cosines.max(initial=0)))))
    generator = np.random.default_rng(seed)
    dealt = []
    for _ in range(SHUFFLES):
        order = generator.permutation(len(states))
        again = [
            fit(states, facts.found, objects[order], each.penalty, each.rank).subspace
            for facts, objects, each in zip(family.facts, family.objects, maps, strict=True)
        ]
        dealt.append(_mean_overlap(again))
    random = []
    for _ in range(RANDOM_DRAWS):
        drawn = [np.linalg.qr(generator.normal(size=basis.shape))[0] for basis in bases]
        random.append(_mean_overlap(drawn))
    low, high = np.quantile(random, [0.025, 0.975])
    mean, shuffled = float(np.mean([each.overlap for each in pairs])), float(np.mean(dealt))
    return Subspaces(tuple(pairs), mean, shuffled, float(np.mean(random)), float(low), float(high))


def _mean_overlap(bases: Sequence[Floats]) -> float:
    return float(np.mean([overlap(left, right) for left, right in combinations(bases, 2)]))
