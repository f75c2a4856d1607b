"""Relations that share their subjects: superposition can be asked of these alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from empirical.probing.measures.maps import Integers
from empirical.probing.measures.measure import LEAST_SUBJECTS, Facts


@dataclass(frozen=True)
class RelationFamily:
    """At least two relations of the same subjects: the direction of each subject's object, `objects` [R, n], and the
    object itself as a place in the relation's objects, `correct` [R, n], for the n `subjects` that have every one of
    them."""

    subjects: tuple[str, ...]
    facts: tuple[Facts, ...]
    objects: Integers
    correct: Integers

    @property
    def names(self) -> tuple[str, ...]:
        """The relations' names."""
        return tuple(each.relation.name for each in self.facts)


def families(facts: Sequence[Facts]) -> tuple[RelationFamily, ...]:
    """The relations grouped by the subjects that they share, in order; a relation alone is in no family.

    A relation joins the first family with which it still has LEAST_SUBJECTS common subjects, and half of its own and of
    the family's; larger relations come first. One whose direction is the same for all common subjects is then left out:
    it has no component that varies.
    """
    groups: list[tuple[list[Facts], set[str]]] = []
    for each in sorted(facts, key=lambda one: -len(one.objects)):
        own = set(each.relation.subjects)
        for members, subjects in groups:
            both = own & subjects
            if len(both) >= max(LEAST_SUBJECTS, len(own) / 2, len(subjects) / 2):
                members.append(each)
                subjects &= own
                break
        else:
            groups.append(([each], own))
    order = {id(each): number for number, each in enumerate(facts)}
    sorted_groups = [(sorted(members, key=lambda one: order[id(one)]), subjects) for members, subjects in groups]
    found = (_family(members, subjects) for members, subjects in sorted_groups)
    return tuple(family for family in found if len(family.facts) > 1)


def _family(members: Sequence[Facts], subjects: set[str]) -> RelationFamily:
    names = tuple(sorted(subjects))
    kept, objects, correct = [], [], []
    for each in members:
        place = {name: number for number, name in enumerate(each.relation.subjects)}
        chosen = [place[name] for name in names]
        if len(np.unique(each.objects[chosen])) > 1:
            kept.append(each)
            objects.append(each.objects[chosen])
            correct.append(each.correct[chosen])
    return RelationFamily(names, tuple(kept), np.array(objects), np.array(correct))
