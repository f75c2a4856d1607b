"""T7: subject rows are superpositions. e_x = Σ_w A_w·c(g_w(x)) + constant, over single relations (T1, T3) or words
(T2): R² = 1.

For any model with integer weights the claim is decided exactly: maps A_w exist iff appending the subject rows to the
matrix of the codes (and a column of ones) does not raise its rank, an integer computation. So "R² = 1" is an identity
and not a small residual. Where it fails, least squares says by how much: T2's rows, regressed on single relations
alone, are the control, for the answers to words are no superposition of the answers to their letters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from constructions.weights.parts import code_bits, signs
from theory import FactSystem, Transformer
from theory.definitions.fact_system import Words


@dataclass(frozen=True)
class SuperpositionFit:
    """The least-squares fit of the subject rows by the codes of the answers to some words.

    `maps` [words, d, p] and `constant` [d] are a least-squares fit in float64 (the one of least norm where several
    fit); `exact` says that some maps give every row exactly, decided in integers; `r_squared` is the fraction of the
    rows' variance that the fit explains, exactly 1 when `exact`.
    """

    maps: NDArray[np.float64]
    constant: NDArray[np.float64]
    exact: bool
    r_squared: float


def superposition(transformer: Transformer, system: FactSystem, words: Words) -> SuperpositionFit:
    """Fit W_E[x] = Σ_w A_w·c(g_w(x)) + constant over the given words (one a row, shape [W, k])."""
    rows = transformer.W_E[: transformer.entities]
    codes = signs(system.follow_all(words).T, code_bits(system.entities)).reshape(system.entities, -1)
    design = np.concatenate([codes, np.ones((len(codes), 1), np.int8)], axis=1)
    fit, *_ = np.linalg.lstsq(design.astype(float), rows.astype(float), rcond=None)
    both = np.concatenate([design, rows], axis=1)
    exact = np.issubdtype(rows.dtype, np.integer) and _rank(design) == _rank(both)
    maps = fit[:-1].reshape(len(words), -1, rows.shape[1]).transpose(0, 2, 1)
    return SuperpositionFit(maps, fit[-1], exact, 1.0 if exact else _r_squared(rows, design @ fit))


def _rank(matrix: NDArray[Any]) -> int:
    """The rank over the rationals of an integer matrix."""
    return flint.fmpz_mat(matrix.astype(np.int64).tolist()).rank()


def _r_squared(rows: NDArray[Any], fitted: NDArray[np.float64]) -> float:
    """1 - (residual sum of squares) / (sum of squares about the mean); 0 when the rows are all alike."""
    centred = rows - rows.mean(axis=0, dtype=float)
    total = float((centred**2).sum())
    return 1 - float(((rows - fitted) ** 2).sum()) / total if total else 0.0
