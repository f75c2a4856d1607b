"""Changing one relation's component of e_x changes that relation's answer to the intended one, and no other (E4).

If e_x = Σ_w A_w u_{g_w(x)} + c (T7, over the words w of the first step; for one hop, the relations), then

    e_x + A_v (u_b - u_{g_v(x)})

is the row of a subject that differs from x in the answer to v alone. For each subject x and word v an entity b ≠ g_v(x)
is drawn, the row is put in place of e_x in the model as it is, and every word w is asked. Two ways of change:

* *maps*: with A_v fitted by ridge regression on other subjects, for a fit knows its own subjects by heart.
* *decoders*, through the null space of the linear read-out. Let D_w be the ridge decoder e_x -> u_{g_w(x)}, fitted on
  other subjects too. The change is the shortest Δ that makes

      |D_v Δ - (u_b - u_{g_v(x)})|² + Σ_{w ≠ v} |D_w Δ|²

  least: where the decoders of the other words leave room, it lies in their null space and v's decoder reads exactly the
  change intended; where they leave none (W decoders of d numbers each can read d coordinates in W ways), a null space
  in the strict sense would allow no change at all, and this is the nearest to one. `room` is the dimension of the null
  space, `misread` the sum above over |u_b - u_{g_v(x)}|². Unlike A_v it takes no account of how subjects are spread,
  and a decoder that ridge regression has shrunk makes it longer, not shorter.

On T1, T1b, T2 and T3 the decoders read the other blocks, and both ways are the same change.

Controls: a change in a random direction, of the length of either way; with A_v fitted to shuffled answers, at the
length of the first; and no change at all. Success is the fraction of answers to v that become b; leakage the fraction
of answers to other words that are not what they were. A tie is no answer: it is neither b nor what it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from empirical.mechanism.subject import Floats, Studied, emitted
from empirical.statistics.regression import component_maps, decoders
from empirical.statistics.shares import Share, clopper_pearson, exact_share
from empirical.statistics.subspaces import ROUNDING
from empirical.statistics.verdict import Outcome
from theory import InputError
from theory.definitions.fact_system import Words, check_count

FOLDS = 4
CLEAR = 0.9

WAYS = ("maps", "decoders")
CONTROLS = ("random, length of maps", "random, length of decoders", "shuffled answers", "no change")


@dataclass(frozen=True, eq=False)
class InterventionEffect:
    """What one way of changing e_x does.

    `matrix[v, w]`, shape [W, W], is for v = w the fraction of answers that become the intended one, for v ≠ w the
    fraction that stay what they were, when v's component is changed and w asked; `low` and `high` are its 95 %
    interval over subjects. `success` is the mean of the diagonal, `leakage` one less that of the rest. `length` is the
    mean length of the change over the root mean square distance of a subject row from the mean row.
    """

    matrix: Floats
    low: Floats
    high: Floats
    success: Share
    leakage: Share
    length: float

    def as_dict(self) -> dict[str, Any]:
        """The numbers as JSON values."""
        return {
            "matrix": self.matrix.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "success": self.success.interval(),
            "leakage": self.leakage.interval(),
            "length": self.length,
        }


@dataclass(frozen=True, eq=False)
class InterventionResult:
    """The effects by way and control, over `subjects` subjects and the words asked, shape [W, hops of a step].

    `accuracy` is the model's own over the same subjects; `room` is the least dimension, over words and folds, of the
    null space of the other words' decoders, `misread` the share of the change that decoders read amiss (0: none).
    """

    name: str
    words: Words
    subjects: int
    accuracy: Share
    room: int
    misread: float
    ways: dict[str, InterventionEffect]
    controls: dict[str, InterventionEffect]

    def verdict(self, way: str = "maps") -> Outcome:
        """Does a change of one component change this component's answer alone, to the intended one?

        Supported if the 95 % intervals put success at 0.9 or more, leakage at 0.1 or less, and no control's success as
        high. Not supported if one of them lies beyond its bound. Undecided otherwise.
        """
        effect = self.ways[way]
        if effect.success.high < CLEAR or effect.leakage.low > 1 - CLEAR:
            return "not supported"
        apart = all(control.success.high < effect.success.low for control in self.controls.values())
        clear = effect.success.low >= CLEAR and effect.leakage.high <= 1 - CLEAR
        return "supported" if clear and apart else "undecided"

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        return {
            "name": self.name,
            "words": self.words.tolist(),
            "subjects": self.subjects,
            "accuracy": self.accuracy.interval(),
            "room": self.room,
            "misread": self.misread,
            "verdicts": {way: self.verdict(way) for way in self.ways},
            "ways": {way: effect.as_dict() for way, effect in self.ways.items()},
            "controls": {way: effect.as_dict() for way, effect in self.controls.items()},
        }


def interventions(studied: Studied, *, subjects: int = 256, seed: int = 0) -> InterventionResult:
    """Change the component of every word, in every way, for `subjects` random subjects (all, if there are no more).

    The subjects are split into FOLDS parts; what changes a subject is fitted on all subjects but those of its part.
    Raises InputError where one word is all that can be asked, for then there is no other answer to keep.
    """
    words, entities = studied.words, studied.system.entities
    if len(words) < 2:
        raise InputError(f"{studied.name} has one word to ask; an intervention needs a second one, to be left alone")
    generator = np.random.default_rng([check_count("seed", seed, at_least=0), entities])
    sample = generator.permutation(entities)[: check_count("subjects", subjects)]
    intended = (studied.answers[:, sample] + generator.integers(1, entities, (len(words), len(sample)))) % entities
    parts = np.array_split(np.arange(len(sample)), min(FOLDS, len(sample)))
    folds = [_fold(studied, sample[part], intended[:, part], generator) for part in parts]
    wanted = sum(fold.wanted for fold in folds)
    before = emitted(studied, studied.rows[sample])
    effects = {
        way: _effect(studied, sample, intended, before, np.concatenate([fold.changes[way] for fold in folds], axis=1))
        for way in WAYS + CONTROLS
    }
    return InterventionResult(
        name=studied.name,
        words=words,
        subjects=len(sample),
        accuracy=exact_share(before == studied.answers[:, sample]),
        room=min(fold.room for fold in folds),
        misread=sum(fold.amiss for fold in folds) / wanted if wanted else 0.0,
        ways={way: effects[way] for way in WAYS},
        controls={way: effects[way] for way in CONTROLS},
    )


@dataclass(frozen=True, eq=False)
class _Fold:
    """One part of the subjects: changes [W, X, d] by way, the room, and the sums of squares read amiss and wanted."""

    changes: dict[str, Floats]
    room: int
    amiss: float
    wanted: float


def _fold(
    studied: Studied, held_out: NDArray[np.int64], intended: NDArray[np.int64], generator: np.random.Generator
) -> _Fold:
    others = np.setdiff1d(np.arange(studied.system.entities), held_out)
    rows, vectors, answers = studied.rows[others], studied.attribute_vectors, studied.answers
    turn = vectors[intended] - vectors[answers[:, held_out]]
    shuffled = vectors[generator.permuted(answers[:, others], axis=1)]
    by_maps = np.einsum("wxq,wdq->wxd", turn, component_maps(rows, vectors[answers[:, others]]))
    by_shuffled = np.einsum("wxq,wdq->wxd", turn, component_maps(rows, shuffled))
    readers = decoders(rows, vectors[answers[:, others]])
    by_decoders = through_decoders(readers, turn)
    changes = {
        "maps": by_maps,
        "decoders": by_decoders,
        "random, length of maps": _at_length(generator.standard_normal(by_maps.shape), by_maps),
        "random, length of decoders": _at_length(generator.standard_normal(by_maps.shape), by_decoders),
        "shuffled answers": _at_length(by_shuffled, by_maps),
        "no change": np.zeros_like(by_maps),
    }
    amiss = 0.0
    for word, reader in enumerate(readers):
        read = by_decoders @ reader.T
        read[word] -= turn[word]
        amiss += float((read**2).sum())
    return _Fold(changes, room(readers), amiss, float((turn**2).sum()))


def through_decoders(readers: Floats, turn: Floats) -> Floats:
    """The shortest least-squares solution of D_v Δ = turn[v] and D_w Δ = 0 for w ≠ v, for every v and subject.

    Decoders [W, q, d], turn [W, X, q]; the changes have shape [W, X, d].
    """
    count, size, dimension = readers.shape
    inverse = np.linalg.pinv(readers.reshape(count * size, dimension), rcond=ROUNDING)
    return np.einsum("wxq,dwq->wxd", turn, inverse.reshape(dimension, count, size))


def room(readers: Floats) -> int:
    """The least dimension of the null space of all decoders [W, q, d] but one; rounding is not taken for reading."""
    dimension = readers.shape[2]
    sizes = [
        np.linalg.svd(np.delete(readers, word, axis=0).reshape(-1, dimension), compute_uv=False)
        for word in range(len(readers))
    ]
    return min(dimension - int((each > ROUNDING * each[0]).sum()) for each in sizes)


def _at_length(change: Floats, of: Floats) -> Floats:
    """The changes [.., d] at the lengths of others [.., d]; zero stays zero."""
    own, length = (np.linalg.norm(each, axis=-1, keepdims=True) for each in (change, of))
    return np.divide(change * length, own, out=np.zeros_like(change), where=own > 0)


def _effect(
    studied: Studied,
    sample: NDArray[np.int64],
    intended: NDArray[np.int64],
    before: NDArray[np.int64],
    changes: Floats,
) -> InterventionEffect:
    """Put the changed rows in place and ask every word; changes [W, X, d], intended [W, X], before [W, X]."""
    rows = studied.rows[sample]
    after = np.stack([emitted(studied, rows + change) for change in changes])
    own = np.eye(len(changes), dtype=bool)
    hits = (after == before) & (before >= 0)
    hits[own] = after[own] == intended
    low, high = clopper_pearson(hits.sum(axis=-1), len(sample))
    spread = np.sqrt(((studied.rows - studied.rows.mean(axis=0)) ** 2).sum(axis=1).mean())
    length = float(np.linalg.norm(changes, axis=-1).mean() / spread) if spread else 0.0
    return InterventionEffect(hits.mean(axis=-1), low, high, exact_share(hits[own]), exact_share(~hits[~own]), length)
