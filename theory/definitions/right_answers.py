"""What is right where facts are missing, and where a subject has several right objects.

A *way* of a query (x, w) follows its relations, at each of them to any of the right objects. A query is asked unless
one of its ways leads over a fact that is missing, or every entity is right; it is answered by any entity to which one
of its ways leads. Where each subject has one object of each relation, that is g_w(x).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theory.definitions.fact_system import Words, number_of_words, words_of
from theory.errors import InputError

MOST_WAYS = 2**12  # of a query
MOST_QUERIES = 2**24  # gone through one by one
CHUNK = 2**20


@dataclass(frozen=True, eq=False)
class RightAnswers:
    """`objects` [R, N, S]: the right objects of each relation of each subject, the last of them repeated where there
    are fewer than S, and -1 where the fact is missing.
    """

    objects: NDArray[np.int64]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which facts there are, shape [R, N]."""
        return np.asarray(self.objects[..., 0] >= 0)

    @property
    def single(self) -> bool:
        """Whether each fact has one right object."""
        return int(self.objects.shape[2]) == 1

    @property
    def plain(self) -> bool:
        """Whether no fact is missing and each has one right object: then they are a fact system and no more."""
        return self.single and bool(self.known.all())

    def after(self, subjects: NDArray[np.int64], words: Words) -> NDArray[np.int64]:
        """The right answers of queries, subjects [batch] and words [batch, k]: shape [batch, S^k], some of them
        repeated, and -1 for a query that is not asked. InputError for too many ways of a query.
        """
        _, entities, most = self.objects.shape
        if most ** words.shape[1] > MOST_WAYS:
            raise InputError(
                f"a subject has up to {most} right objects, and {words.shape[1]} hops up to {most}^{words.shape[1]} "
                f"ways; at most {MOST_WAYS} are followed: ask fewer hops"
            )
        here = subjects[:, None]
        for letters in words.T:
            missing = here < 0
            here = np.where(missing[..., None], -1, self.objects[letters[:, None], here]).reshape(len(subjects), -1)
        nothing_wrong = np.zeros(len(here), bool)
        if here.shape[1] >= entities:
            ordered = np.sort(here, axis=1)
            nothing_wrong = 1 + (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1) == entities
        here[(here < 0).any(axis=1) | nothing_wrong] = -1
        return here

    def of_all(self, hops: int) -> NDArray[np.int64]:
        """The right answers of every query, shape [R^k, N, S^k], words in the order of their numbers. InputError for
        too many of them.
        """
        relations, entities, most = self.objects.shape
        queries = entities * number_of_words(relations, hops)
        if queries * most**hops > MOST_QUERIES:
            raise InputError(
                f"some facts are missing or have several objects, and {queries} queries are too many to say which are "
                f"answered; at most {MOST_QUERIES} answers are gone through: fewer hops would do"
            )
        words, subjects = np.divmod(np.arange(queries), entities)
        return self.after(subjects, words_of(words, relations, hops)).reshape(-1, entities, most**hops)

    def asked(self, hops: int) -> int:
        """How many queries of so many hops are asked. InputError as `of_all` where facts have several objects."""
        if not self.single:
            return int((self.of_all(hops)[..., 0] >= 0).sum())
        ways = np.ones(self.objects.shape[1], object)  # exact, however many
        for _ in range(hops):
            ways = np.where(self.known, ways[self.objects[..., 0]], 0).sum(axis=0)
        return int(ways.sum())
