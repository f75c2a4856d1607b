"""Exchange one relation's component of the states: does that relation's answer follow, and do the others stay?

*Change.* In state ≈ Σ_r A_r·v_{o_r} + c (`empirical.probing.measures.superposition`), fitted without the subjects that
are tested, the component of relation r is exchanged by adding strength · A_r·(v_{o'} - v_o) at the subject's last
token. The intended object o' is another subject's, of another direction, and not what the model answers anyway. Then
the model is asked for relation r and for the other relations, patched.

*Controls*, of the same norm for every subject: a change in a random direction, and that of maps fitted to shuffled
subjects.

*Choices.* A ridge fit shrinks A_r, and which layer is read by later blocks is not known beforehand: layer and strength
are those with the most success less leakage on other subjects, which are not tested either; the lowest among equals.
Each family lends at most `ASKED` relations, those that the model knows best beyond guessing the commonest object: where
it knows nothing there is nothing to exchange. A relation is passed over if fewer than `TUNED` tested subjects have an
object to go to: so few say nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from empirical.probing.facts.probed import Patch, Probed
from empirical.probing.measures.families import RelationFamily
from empirical.probing.measures.maps import Array, Floats, Integers
from empirical.probing.measures.measure import Facts, Progress, SubjectStates, silent
from empirical.probing.measures.superposition import best_penalty, object_kernels
from empirical.statistics.regression import KernelRidge
from empirical.statistics.shares import Share, bootstrap_share

ASKED, TESTED, TUNED = 3, 40, 8
LAYERS, STRENGTHS = 3, (1.0, 2.0, 4.0)


@dataclass(frozen=True)
class SwapEffect:
    """What one kind of change does, over the tested subjects: `success`, the relation's answer becomes the intended
    object; `leakage`, the mean over the other relations of how many answers change at all."""

    success: Share
    leakage: Share


@dataclass(frozen=True)
class Swap:
    """One relation's component exchanged at a layer: through the map, and by the two controls. `gain` is the success
    less the larger of the controls' (by subject, each taken as a whole), `selective` the success less the leakage."""

    relation: str
    others: tuple[str, ...]
    layer: int
    strength: float
    through_map: SwapEffect
    random: SwapEffect
    shuffled: SwapEffect
    gain: Share
    selective: Share

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, as JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Intended:
    """For some subjects of a family (their places, [i]) and one relation: the object now, the intended one (places in
    the relation's objects)."""

    relation: int
    subjects: Integers
    now: Integers
    wanted: Integers


def swap(
    model: Probed, family: RelationFamily, states: SubjectStates, *, seed: int = 0, progress: Progress = silent
) -> tuple[Swap, ...]:
    """The swaps of one family. The model must give answers and, at layers below its last, read what is changed."""
    generator = np.random.default_rng(seed)
    asked = _best_known(family)
    order = generator.permutation(len(family.subjects))
    tested, tuned, rest = np.split(order, np.cumsum([min(TESTED, len(order) // 4), min(TUNED, len(order) // 8)]))
    layers = _spread([layer for layer in states.layers if layer < model.layers])
    steps = len(asked) * (len(layers) * len(STRENGTHS) + 3)
    found = []
    for number, relation in enumerate(asked):

        def tell(step: int, before: int = number) -> None:
            """Report step `step` of this relation, on top of all steps of the `before` relations."""
            progress(f"swap {family.names[asked[before]]}", before * (steps // len(asked)) + step, steps)

        others = [each for each in asked if each != relation]
        trial = _intended(family, relation, tuned, generator)
        goal = _intended(family, relation, tested, generator)
        if not len(trial.subjects) or len(goal.subjects) < TUNED:
            continue
        layer, strength = _tuned(model, family, states, layers, rest, trial, others[:1], tell)
        at = states.of(family.subjects)[0][states.layers.index(layer)]
        train = np.concatenate([rest, tuned])
        changes = _changes(family, at, train, goal, strength, generator)
        effects = []
        for place, change in enumerate(changes):
            tell(len(layers) * len(STRENGTHS) + place)
            effects.append(_outcome(model, family, goal, others, Patch(layer, change)))
        found.append(_swap(family, relation, others, layer, strength, effects))
    progress("swap", steps, steps)
    return tuple(found)


def _best_known(family: RelationFamily) -> list[int]:
    """The places of the relations that the model knows best beyond the commonest object, in their order."""
    margins = []
    for facts in family.facts:
        assert facts.known is not None
        margins.append(facts.known.mean() - np.bincount(facts.correct).max() / len(facts.correct))
    return sorted(np.argsort(-np.array(margins), kind="stable")[:ASKED].tolist())


def _spread(layers: Sequence[int]) -> list[int]:
    """At most LAYERS of the layers, evenly spaced from the first, the last left out if there are more."""
    places = [number * len(layers) // LAYERS for number in range(LAYERS)]
    return [layers[place] for place in sorted(set(places))]


def _answers(facts: Facts, family: RelationFamily, subjects: Integers) -> Integers:
    """The model's answers without a patch, for subjects of the family."""
    assert facts.answers is not None
    place = {name: number for number, name in enumerate(facts.relation.subjects)}
    return facts.answers[[place[family.subjects[subject]] for subject in subjects]]


def _intended(family: RelationFamily, relation: int, subjects: Integers, generator: np.random.Generator) -> Intended:
    """An object for each of the subjects that have one to go to: another subject's, of another direction, not the
    model's present answer."""
    facts, correct = family.facts[relation], family.correct[relation]
    answers = _answers(facts, family, subjects)
    kept, wanted = [], []
    for subject, answer in zip(subjects, answers, strict=True):
        pool = correct[(family.objects[relation] != family.objects[relation, subject]) & (correct != answer)]
        if len(pool):
            kept.append(subject)
            wanted.append(generator.choice(pool))
    places = np.array(kept, np.int64)
    return Intended(relation, places, correct[places], np.array(wanted, np.int64))


def _tuned(
    model: Probed,
    family: RelationFamily,
    states: SubjectStates,
    layers: Sequence[int],
    train: Integers,
    goal: Intended,
    others: Sequence[int],
    tell: Any,
) -> tuple[int, float]:
    """The layer and strength with the most success less leakage; the lowest among equals."""
    best, step = (-np.inf, 0, 0.0), 0
    for layer in layers:
        at = states.of(family.subjects)[0][states.layers.index(layer)]
        change = component_change(family, at, train, goal)
        for strength in STRENGTHS:
            tell(step)
            step += 1
            success, leakage = _outcome(model, family, goal, others, Patch(layer, strength * change))
            worth = float(success.mean() - leakage.mean())
            if worth > best[0]:
                best = (worth, layer, strength)
    return best[1], best[2]


def component_change(
    family: RelationFamily, states: Array, train: Integers, goal: Intended, order: Integers | None = None
) -> Floats:
    """A_r·(v_{o'} - v_o) for each subject of the goal, [i, d], from the joint fit to the training subjects' states
    [n, d]; `order` [n] deals the subjects' objects out anew first."""
    wide = states.astype(float)
    kernels = object_kernels(family)
    kernel = kernels.sum(axis=0)
    place = np.arange(len(wide)) if order is None else order
    kernel = kernel[np.ix_(place, place)]
    ridge = KernelRidge(kernel, train)
    penalty = best_penalty(kernel, wide, train, 0)
    weights = ridge.vectors @ (ridge.filter(penalty)[:, None] * ridge.within(wide[train]))
    facts, objects = family.facts[goal.relation], family.objects[goal.relation]
    rows = facts.found.coordinates
    unit = ((rows[objects] - rows[objects].mean(axis=0)) ** 2).mean(axis=0).sum()
    step = rows[facts.kind[goal.wanted]] - rows[facts.kind[goal.now]]
    return np.asarray(step @ rows[objects[place[train]]].T @ weights / unit)


def _changes(
    family: RelationFamily,
    states: Array,
    train: Integers,
    goal: Intended,
    strength: float,
    generator: np.random.Generator,
) -> tuple[Floats, Floats, Floats]:
    """The change through the map, a random one and a shuffled map's, of equal norms, [i, d] each."""
    change = strength * component_change(family, states, train, goal)
    dealt = component_change(family, states, train, goal, generator.permutation(len(states)))
    norms = np.linalg.norm(change, axis=1, keepdims=True)
    controls = [generator.normal(size=change.shape), dealt]
    scaled = [each * norms / np.maximum(np.linalg.norm(each, axis=1, keepdims=True), 1e-30) for each in controls]
    return change, scaled[0], scaled[1]


def _outcome(
    model: Probed, family: RelationFamily, goal: Intended, others: Sequence[int], patch: Patch
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Whether each subject's answer is the intended one, [i], and how many of the other relations' change, [i]."""
    names = [family.subjects[subject] for subject in goal.subjects]

    def asked(relation: int) -> Integers:
        """The model's answers under the patch, [i], as places in the objects of the relation asked."""
        return model.scores(family.facts[relation].relation, names, patch).argmax(axis=1)

    success = (asked(goal.relation) == goal.wanted).astype(float)
    changed = [asked(each) != _answers(family.facts[each], family, goal.subjects) for each in others]
    return success, np.mean(changed, axis=0)


def _swap(
    family: RelationFamily,
    relation: int,
    others: Sequence[int],
    layer: int,
    strength: float,
    effects: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]],
) -> Swap:
    through, random, dealt = (SwapEffect(*map(bootstrap_share, effect)) for effect in effects)
    (success, leakage), *controls = effects
    strongest = max((each for each, _ in controls), key=lambda values: values.mean())
    return Swap(
        relation=family.names[relation],
        others=tuple(family.names[each] for each in others),
        layer=layer,
        strength=strength,
        through_map=through,
        random=random,
        shuffled=dealt,
        gain=bootstrap_share(success - strongest),
        selective=bootstrap_share(success - leakage),
    )
