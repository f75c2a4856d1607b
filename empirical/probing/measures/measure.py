"""How well each relation is read from each layer of a model's subject states, on subjects that no map was fitted to.

For every relation and layer: the held-out accuracy of the nested probe (`empirical.probing.measures.maps`), on facts
that the model knows and on those that it does not, its agreement with the model's own answer, its accuracy on objects
unseen in training, and the controls (`empirical.probing.measures.controls`). *Known*: when asked, the model's first
choice among the relation's objects is the right one. Objects with the same direction (the same first token) cannot be
told apart by a map, and count as one for it.

The *headline* of a relation picks the layer anew in each fold, by the accuracy on the inner folds; controls pick theirs
in the same way. So no figure has seen the subjects that it is measured on.

*Multiple comparisons.* A relation's p-value in a comparison with several controls is the largest of theirs: all must be
beaten. Headlines are corrected by Holm's method over the relations, layers over relations × layers. The comparison with
plain similarity is corrected apart from that with the others; who wants both at once errs for some relation with
probability at most 0.05 + 0.05.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from empirical.probing.facts.probed import Probed, Relation
from empirical.probing.measures.controls import SHUFFLES, majority, shuffled, similarity
from empirical.probing.measures.maps import NO_ANSWER, Array, Candidates, Floats, Integers, candidates, held_out
from empirical.statistics.shares import Share, bootstrap_share, bootstrap_share_of
from empirical.statistics.significance import holm, p_better
from theory.errors import InputError

LEAST_SUBJECTS = 40  # eight in each of five folds
Progress = Callable[[str, int, int], object]  # what is done, how many of it, of how many


def silent(what: str, done: int, total: int) -> None:
    """Say nothing."""


@dataclass(frozen=True)
class LayerReading:
    """What is read at one layer, or at the layer chosen in each fold (`layers`, one a fold).

    Accuracies on all subjects, on those whose fact the model knows and does not know, with objects unseen in training
    (None where no object repeats), and of the controls. `agreement` is with the model's own answer (None, as for known
    and unknown facts, if it gives none). `p_controls` is the p-value that majority, shuffled and randomised are all
    beaten by chance alone, `p_similarity` that the state's plain similarity is; both are adjusted by Holm's method.
    `gain` is the accuracy less that of the strongest of the four controls.
    """

    layers: tuple[int, ...]
    accuracy: Share
    known: Share | None
    unknown: Share | None
    agreement: Share | None
    unseen: Share | None
    majority: Share
    shuffled: Share
    randomised: Share
    similarity: Share
    gain: Share
    p_controls: float
    p_similarity: float


@dataclass(frozen=True)
class RelationReading:
    """One relation: how many subjects, facts (a subject may have several objects), objects and different directions it
    has, how often the model's own answer is
    right (None if it gives none), and the readings."""

    name: str
    source: str
    subjects: int
    facts: int
    objects: int
    directions: int
    known: Share | None
    headline: LayerReading
    by_layer: tuple[LayerReading, ...]

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, as JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Facts:
    """A relation's facts as numbers.

    `found` are the different directions of the objects; `kind` [m] is the one of each of `relation.objects`, `objects`
    [n] that of each subject's object. `correct` [n] and `answers` [n] are the object that maps are fitted to and the
    model's answer as places in `relation.objects`; `answers` is None for a model that gives none. `right` [n, m] says
    which objects are right for a subject: `correct` and any other that is listed.
    """

    relation: Relation
    found: Candidates
    kind: Integers
    correct: Integers
    answers: Integers | None
    right: NDArray[np.bool_]

    @property
    def objects(self) -> Integers:
        """The direction of each subject's object, [n]."""
        return self.kind[self.correct]

    @property
    def known(self) -> NDArray[np.bool_] | None:
        """Whether the model's answer is right, [n]."""
        return None if self.answers is None else _hits(self.answers, self.right)

    @property
    def right_kinds(self) -> NDArray[np.bool_]:
        """Which directions are those of a right object of a subject, [n, directions]."""
        found = np.zeros((len(self.right), len(self.found.coordinates)), bool)
        for place, kind in enumerate(self.kind):
            found[:, kind] |= self.right[:, place]
        return found


def _hits(predicted: Integers, right: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether what is predicted of each subject, [n], is right, [n, candidates]; no answer is not."""
    return (predicted != NO_ANSWER) & right[np.arange(len(right)), predicted]


@dataclass(frozen=True)
class LayerPredictions:
    """Held-out predictions of all layers: whether they are `right` [L, n] and `agree` with the model [L, n], the inner
    accuracy [L, folds] and the fold of each subject [n]."""

    right: NDArray[np.bool_]
    agree: NDArray[np.bool_]
    inner: Floats
    fold: Integers

    @property
    def best(self) -> Integers:
        """The layer's place chosen in each fold; the lowest among equals."""
        return self.inner.argmax(axis=0)

    def chosen(self, values: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The values [L, n] at each subject's chosen layer, [n]."""
        return values[self.best[self.fold], np.arange(len(self.fold))]


def facts_of(model: Probed, relation: Relation, *, asks: bool = True) -> Facts | str:
    """The relation's facts and, if it is asked, the model's answers; or why this model cannot be probed for it."""
    names = relation.objects
    directions = model.directions(names)
    _, first, kind = np.unique(directions, axis=0, return_index=True, return_inverse=True)
    if len(first) < 2:
        return "all its objects have one direction (they begin with the same token), so that no map tells them apart"
    place = {name: number for number, name in enumerate(names)}
    correct = np.array([place[found] for _, found in relation.samples])
    right = np.zeros((len(correct), len(names)), bool)
    right[np.arange(len(correct)), correct] = True
    row = {name: number for number, name in enumerate(relation.subjects)}
    for subject, other in relation.others:
        right[row[subject], place[other]] = True
    answers = model.scores(relation, relation.subjects).argmax(axis=1) if asks else None
    return Facts(relation, candidates(directions[first]), kind.reshape(-1), correct, answers, right)


def checked_layers(model: Probed, layers: Sequence[int] | None) -> tuple[int, ...]:
    """The layers to measure, ascending (all for None), and always layer 0, which is a control. InputError for one that
    the model does not have."""
    for layer in layers or ():
        if not 0 <= layer <= model.layers:
            raise InputError(f"layer {layer} is asked for; {model.name} has layers 0..{model.layers}")
    return tuple(range(model.layers + 1)) if layers is None else tuple(sorted({0, *layers}))


@dataclass(frozen=True)
class SubjectStates:
    """The states of all subjects, [layers, subjects, d], of the model and of its randomised copy."""

    layers: tuple[int, ...]
    place: dict[str, int]
    model: NDArray[np.float32]
    randomised: NDArray[np.float32]

    def of(self, subjects: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The states of some subjects."""
        chosen = [self.place[name] for name in subjects]
        return self.model[:, chosen], self.randomised[:, chosen]


def states_of(model: Probed, relations: Sequence[Relation], layers: tuple[int, ...], seed: int) -> SubjectStates:
    """The states of all subjects of the relations at the given layers; InputError if they are not finite."""
    subjects = sorted(set(chain.from_iterable(relation.subjects for relation in relations)))
    place = {name: number for number, name in enumerate(subjects)}
    copies = (model, model.randomised(seed))
    own, random = (each.states(subjects)[list(layers)] for each in copies)
    if not (np.isfinite(own).all() and np.isfinite(random).all()):
        raise InputError(f"the hidden states of {model.name} are not finite: its numbers grow too large")
    return SubjectStates(layers, place, own, random)


def read_all(
    facts: Sequence[Facts], states: SubjectStates, *, seed: int = 0, progress: Progress = silent
) -> tuple[RelationReading, ...]:
    """The readings of all relations, with p-values adjusted over all of them."""
    found = []
    for number, each in enumerate(facts):

        def tell(layer: int, name: str = each.relation.name, before: int = number) -> None:
            """Report that `layer` layers of this relation are read, on top of all layers of the `before` relations."""
            progress(f"read {name}", before * len(states.layers) + layer, len(facts) * len(states.layers))

        found.append(_read(each, states, seed, tell))
    return _adjusted(found)


def _read(facts: Facts, states: SubjectStates, seed: int, tell: Callable[[int], object]) -> RelationReading:
    own, random = states.of(facts.relation.subjects)
    subjects = len(facts.objects)
    everyone = np.arange(subjects)
    orders = [everyone, *shuffled(everyone, seed)]  # the pairs as they are, then dealt out anew
    right = facts.right_kinds
    dealt = facts.objects[np.stack(orders)]
    repeats = 2 < len(np.unique(facts.objects)) < subjects
    results: list[list[tuple[Array, Floats, Integers]]] = []
    for place in range(len(own)):
        tell(place)
        kernel, other = (_kernel(array[place]) for array in (own, random))
        main = held_out(kernel, facts.found, dealt, everyone, seed)
        copy = held_out(other, facts.found, facts.objects[None], everyone, seed)
        alike = similarity(own[place], facts.found)
        hit = _hits(alike, right)
        seen = np.stack([hit[main.fold != fold].mean() for fold in range(main.fold.max() + 1)])
        rows = [(main.predicted[c], main.inner[c], main.fold) for c in range(len(dealt))]
        rows += [(copy.predicted[0], copy.inner[0], copy.fold), (alike, seen, main.fold)]
        if repeats:
            grouped = held_out(kernel, facts.found, facts.objects[None], facts.objects, seed)
            rows.append((grouped.predicted[0], grouped.inner[0], grouped.fold))
        results.append(rows)
    tell(len(own))
    # Without answers there is nothing to agree with; `_reading` leaves it out.
    answers = facts.objects if facts.answers is None else facts.kind[facts.answers]
    truths = [*(right[order] for order in orders), *[right] * (len(results[0]) - len(orders))]
    conditions = [
        LayerPredictions(
            np.stack([_hits(rows[c][0], truth) for rows in results]),
            np.stack([rows[c][0] == answers for rows in results]),
            np.stack([rows[c][1] for rows in results]),
            results[0][c][2],
        )
        for c, truth in enumerate(truths)
    ]
    by_layer = tuple(
        _reading(facts, conditions, (layer,), [each.right[place] for each in conditions], conditions[0].agree[place])
        for place, layer in enumerate(states.layers)
    )
    layers = tuple(states.layers[place] for place in conditions[0].best)
    at_best = [each.chosen(each.right) for each in conditions]
    headline = _reading(facts, conditions, layers, at_best, conditions[0].chosen(conditions[0].agree))
    relation = facts.relation
    known = None if facts.known is None else bootstrap_share(facts.known)
    sizes = (subjects, subjects + len(relation.others), len(relation.objects), len(facts.found.coordinates))
    return RelationReading(relation.name, relation.source, *sizes, known, headline, by_layer)


def _kernel(states: Array) -> Floats:
    wide = states.astype(float)
    return np.asarray(wide @ wide.T)


def _reading(
    facts: Facts,
    conditions: Sequence[LayerPredictions],
    layers: tuple[int, ...],
    rights: Sequence[NDArray[np.bool_]],
    agree: NDArray[np.bool_],
) -> LayerReading:
    """One reading from what each condition (true, shuffled .., randomised, similarity, unseen) got right, [n] each."""
    right, dealt = rights[0], np.mean(rights[1 : 1 + SHUFFLES], axis=0)
    copy, alike = (each.astype(float) for each in rights[1 + SHUFFLES : 3 + SHUFFLES])
    most = _hits(majority(facts.objects, conditions[0].fold), facts.right_kinds)
    controls = np.stack([most, dealt, copy, alike])
    p_values = p_better(right - controls)
    return LayerReading(
        layers=layers,
        accuracy=bootstrap_share(right),
        known=None if facts.known is None else bootstrap_share_of(right, facts.known),
        unknown=None if facts.known is None else bootstrap_share_of(right, ~facts.known),
        agreement=None if facts.known is None else bootstrap_share(agree),
        unseen=bootstrap_share(rights[3 + SHUFFLES]) if len(rights) > 3 + SHUFFLES else None,
        majority=bootstrap_share(most),
        shuffled=bootstrap_share(dealt),
        randomised=bootstrap_share(copy),
        similarity=bootstrap_share(alike),
        gain=bootstrap_share(right - controls[controls.mean(axis=1).argmax()]),
        p_controls=float(p_values[:3].max()),
        p_similarity=float(p_values[3]),
    )


def _adjusted(found: Sequence[RelationReading]) -> tuple[RelationReading, ...]:
    headlines = _holm([each.headline for each in found])
    layers = iter(_holm([reading for each in found for reading in each.by_layer]))
    return tuple(
        replace(each, headline=headline, by_layer=tuple(next(layers) for _ in each.by_layer))
        for each, headline in zip(found, headlines, strict=True)
    )


def _holm(readings: Sequence[LayerReading]) -> list[LayerReading]:
    controls = holm([each.p_controls for each in readings])
    alike = holm([each.p_similarity for each in readings])
    return [
        replace(each, p_controls=one, p_similarity=other)
        for each, one, other in zip(readings, controls, alike, strict=True)
    ]
