"""Subject rows are superpositions of the attribute vectors of their answers, if e_x ≈ Σ_w A_w u_{g_w(x)} + c (E3, T7).

*Fit.* Ridge regression of the rows on the attribute vectors of the answers to all words of the first step (for one hop,
the relations). The penalty is chosen by leaving out one subject at a time among those that are fitted to; the subjects
that a fit is tested on have no part in it, nor in the penalty. R² is that of FOLDS-fold cross-validation by subject:

    1 - Σ |e_x - predicted|² / Σ |e_x - mean of the fitted rows|²

which is 1 for T1, T1b, T3 and, over words, T2 (theorem T7), and not above 0, up to chance, where rows say nothing of
answers (T2b, frozen embeddings). *Decoding* goes the other way, before any MLP: ridge regression from e_x to u_{g_w(x)}
and then the nearest attribute vector, the fraction that is right over the subjects that had no part; a tie is a
failure. In several tables of the same model (`SubjectTable`) the subjects of all of them are one sample.

*Controls.* The same with answers shuffled within each word, and with normal random rows (what frozen random embeddings
are). For several hops also single relations in place of words: answers to words are no superposition of the answers to
their letters (T7's control).

*Geometry.* The component of word w has the covariance A_w Cov(u) A_wᵀ, with eigenvalues λ_i. Its rank counts the λ_i
above ROUNDING² of the largest; its effective rank is (Σλ)²/Σλ², the number of equal ones that would spread as much. The
overlap of two components is the mean squared cosine of the principal angles between their leading subspaces (as many
directions as the effective rank, rounded up; the mean over the smaller number of angles): 0 for T1's blocks, and for
random subspaces of sizes j <= k in the span of the rows, of dimension D, on average exactly k/D.

References: Hoerl, Kennard, Technometrics 12 (1970); Björck, Golub, Math. Comp. 27 (1973).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from empirical.mechanism.subject import Floats, Studied
from empirical.statistics.regression import component_maps, leave_one_out_ridge
from empirical.statistics.shares import Share, exact_share, explained_share
from empirical.statistics.subspaces import ROUNDING, overlap, principal_axes
from theory import FactSystem, all_words
from theory.definitions.fact_system import Words

FOLDS = 5


@dataclass(frozen=True, eq=False)
class SubjectTable:
    """A subject table [N, d] and the facts that it holds."""

    rows: Floats
    system: FactSystem


def tables_of(studied: Studied, others: Sequence[SubjectTable] = ()) -> tuple[SubjectTable, ...]:
    """The model's own table, then other tables that the rest of it serves too."""
    return (SubjectTable(studied.rows, studied.system), *others)


@dataclass(frozen=True, eq=False)
class Maps:
    """A_w [W, d, q] and c [d] with e_x ≈ Σ_w A_w u_{g_w(x)} + c; the attribute vectors have shape [N, q]."""

    maps: Floats
    constant: Floats

    def rows(self, vectors: Floats, answers: NDArray[np.int64]) -> Floats:
        """The rows [X, d] of subjects with these answers [W, X]."""
        return np.asarray(np.einsum("wxq,wdq->xd", vectors[answers], self.maps, optimize=True) + self.constant)


def fit_maps(rows: Floats, vectors: Floats, answers: NDArray[np.int64]) -> Maps:
    """The ridge fit, its penalty chosen among these subjects; rows [X, d], vectors [N, q], answers [W, X]."""
    axes = principal_axes(vectors)
    short = vectors @ axes
    maps = component_maps(rows, short[answers])
    explained = short[answers].mean(axis=1).reshape(-1) @ maps.transpose(0, 2, 1).reshape(-1, rows.shape[1])
    return Maps(np.einsum("wds,qs->wdq", maps, axes), rows.mean(axis=0) - explained)


def all_maps(studied: Studied, others: Sequence[SubjectTable] = ()) -> Maps:
    """The fit to every subject of every table: what re-initialisation builds new rows from."""
    rows, answers = _sample(studied, tables_of(studied, others), studied.words)
    return fit_maps(rows, studied.attribute_vectors, answers)


@dataclass(frozen=True)
class ReadOutFit:
    """Held-out R² with the 95 % bootstrap interval over subjects, and the fraction of answers decoded right."""

    r_squared: Share
    decoded: Share
    decoded_by_word: tuple[float, ...]

    def as_dict(self) -> dict[str, Any]:
        """The numbers as JSON values."""
        return {
            "r_squared": self.r_squared.interval(),
            "decoded": self.decoded.interval(),
            "decoded_by_word": list(self.decoded_by_word),
        }


@dataclass(frozen=True)
class Geometry:
    """Rank and effective rank of each word's component, the mean overlap of two, and that of random subspaces."""

    rank: tuple[int, ...]
    effective_rank: tuple[float, ...]
    overlap: float | None
    overlap_random: float | None
    dimension: int

    def as_dict(self) -> dict[str, Any]:
        """The numbers as JSON values."""
        return {**vars(self), "rank": list(self.rank), "effective_rank": list(self.effective_rank)}


@dataclass(frozen=True)
class ReadOut:
    """E3 of one model. `letters` is the fit by single relations, None where the words are single relations."""

    name: str
    words: int
    subjects: int
    fit: ReadOutFit
    shuffled: ReadOutFit
    random_rows: ReadOutFit
    letters: ReadOutFit | None
    geometry: Geometry

    def as_dict(self) -> dict[str, Any]:
        """The numbers as JSON values."""
        return {
            "name": self.name,
            "words": self.words,
            "subjects": self.subjects,
            "fit": self.fit.as_dict(),
            "shuffled answers": self.shuffled.as_dict(),
            "random rows": self.random_rows.as_dict(),
            "single relations": None if self.letters is None else self.letters.as_dict(),
            "geometry": self.geometry.as_dict(),
        }


def read_out(studied: Studied, others: Sequence[SubjectTable] = (), *, seed: int = 0) -> ReadOut:
    """E3 for a model; `others` are more tables of it, whose subjects are fitted and tested like its own."""
    generator = np.random.default_rng([seed, studied.system.entities])
    tables = tables_of(studied, others)
    rows, answers = _sample(studied, tables, studied.words)
    vectors = studied.attribute_vectors
    letters = None
    if studied.words.shape[1] > 1:
        _, single = _sample(studied, tables, all_words(studied.system.relations, 1))
        letters = cross_validated(rows, vectors, single, generator)
    return ReadOut(
        name=studied.name,
        words=len(answers),
        subjects=len(rows),
        fit=cross_validated(rows, vectors, answers, generator),
        shuffled=cross_validated(rows, vectors, generator.permuted(answers, axis=1), generator),
        random_rows=cross_validated(generator.standard_normal(rows.shape), vectors, answers, generator),
        letters=letters,
        geometry=geometry(fit_maps(rows, vectors, answers), vectors, rows),
    )


def _sample(studied: Studied, tables: Sequence[SubjectTable], words: Words) -> tuple[Floats, NDArray[np.int64]]:
    """The rows [X, d] of all tables and the answers [W, X] of their subjects."""
    answers = [table.system.follow_all(words) for table in tables]
    return np.concatenate([table.rows for table in tables]), np.concatenate(answers, axis=1)


def cross_validated(
    rows: Floats, vectors: Floats, answers: NDArray[np.int64], generator: np.random.Generator
) -> ReadOutFit:
    """Fit and decode every subject from the others' folds; rows [X, d], vectors [N, q], answers [W, X]."""
    short = vectors @ principal_axes(vectors)
    parts = np.array_split(generator.permutation(len(rows)), min(FOLDS, len(rows)))
    missed, total = np.empty(len(rows)), np.empty(len(rows))
    right = np.empty(answers.shape, bool)
    for part in parts:
        own = np.setdiff1d(np.arange(len(rows)), part)
        maps = fit_maps(rows[own], short, answers[:, own])
        missed[part] = ((rows[part] - maps.rows(short, answers[:, part])) ** 2).sum(axis=1)
        total[part] = ((rows[part] - rows[own].mean(axis=0)) ** 2).sum(axis=1)
        right[:, part] = _decoded(rows[own], rows[part], short, answers[:, own]) == answers[:, part]
    return ReadOutFit(explained_share(missed, total), exact_share(right), tuple(right.mean(axis=1).tolist()))


def _decoded(rows: Floats, held_out: Floats, vectors: Floats, answers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The attribute nearest to what ridge regression reads from each held-out row, shape [W, X]; -1 for a tie."""
    targets = vectors[answers].transpose(1, 0, 2).reshape(len(rows), -1)
    decoder = leave_one_out_ridge(rows, targets)
    read = (held_out - rows.mean(axis=0)) @ decoder + targets.mean(axis=0)
    squares = (vectors**2).sum(axis=1)
    found = np.empty((len(answers), len(held_out)), np.int64)
    for word, vector in enumerate(read.reshape(len(held_out), len(answers), -1).transpose(1, 0, 2)):
        distance = squares - 2 * vector @ vectors.T
        least = distance.min(axis=1, keepdims=True)
        tied = (distance == least).sum(axis=1) > 1
        found[word] = np.where(tied, -1, distance.argmin(axis=1))
    return found


def geometry(maps: Maps, vectors: Floats, rows: Floats) -> Geometry:
    """Rank, effective rank and overlap of the components; vectors [N, q], rows [X, d]."""
    centred = vectors - vectors.mean(axis=0)
    _, sizes, turn = np.linalg.svd(centred, full_matrices=False)
    factors = maps.maps @ (turn.T * sizes) / math.sqrt(len(vectors))  # A_w Cov(u)^½, up to a rotation
    dimension = principal_axes(rows).shape[1]
    ranks, effective, spans = [], [], []
    for factor in factors:
        left, values, _ = np.linalg.svd(factor, full_matrices=False)
        powers = values**2
        ranks.append(int((values > ROUNDING * values[0]).sum()))
        effective.append(float(powers.sum() ** 2 / (powers**2).sum()) if powers.any() else 0.0)
        spans.append(left[:, : min(ranks[-1], math.ceil(effective[-1] - ROUNDING))])
    overlaps, chances = [], []
    for one, other in itertools.combinations(spans, 2):
        small, large = sorted((one.shape[1], other.shape[1]))
        if small:
            overlaps.append(overlap(one, other))
            chances.append(min(1.0, large / dimension))
    return Geometry(
        tuple(ranks),
        tuple(effective),
        float(np.mean(overlaps)) if overlaps else None,
        float(np.mean(chances)) if chances else None,
        dimension,
    )


def as_tensors(maps: Maps) -> dict[str, NDArray[Any]]:
    """The fitted maps for a .safetensors file: `maps` [W, d, q] and `constant` [d]."""
    return {"maps": np.ascontiguousarray(maps.maps), "constant": np.ascontiguousarray(maps.constant)}
