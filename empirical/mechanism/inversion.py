"""New subject rows from the frozen MLP itself: the rows at which its output is what it emits for the answers wanted.

*Target.* t_a, the mean over all old facts with the answer a of what the model hands to its read-out.

*Metric.* |v|² = the variance over the answers of ⟨u, v⟩, so that only what the read-out sees of an output counts.

*First solution*, closed form: for each word w the least-squares affine map from the old rows to the outputs, e -> e L_w
+ c_w (a linearisation over the relation's own gate patterns, weighted by how often each occurs), and then the e with

    Σ_w |e L_w + c_w - t_{a_w}|² + prior·s²·(e - ē) C⁻¹ (e - ē)ᵀ      least,

ē and C the mean and covariance of the old rows and s² the variance of the targets: one linear solve for all subjects.
The prior is the least of `PRIORS` by which the old facts, their rows made anew in this way, are answered best. On T1,
T1b and T2 the maps are exact, and so is the solution up to the prior: each block is its answer's code (theorem T5).

*Linearised again*: `ROUNDS` Levenberg-Marquardt steps for each subject on Σ_w |output - t_{a_w}|², with the exact
Jacobian of the MLP at the subject's own gates and the attention pattern at rest; a step that makes the sum larger is
not taken, and its damping is multiplied by 4, otherwise divided by 3. A fixed number of linear solves, no tuning.

New rows stay in the span of the old ones: coordinates that serve positions are left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from empirical.mechanism.readout import SubjectTable, tables_of
from empirical.mechanism.subject import Floats, Studied, accuracy, forward
from empirical.statistics.regression import leave_one_out_ridge
from empirical.statistics.subspaces import ROUNDING, principal_axes
from theory import FactSystem

PRIORS = 10.0 ** np.arange(-9, 1)
ROUNDS = 8
DAMPING = 0.1  # of the mean diagonal of the normal equations

# Entries of Jacobians that stand in memory together.
JACOBIANS = 2**22


@dataclass(frozen=True, eq=False)
class Inverse:
    """What the old subjects say about the frozen part: `axes` [d, z] of the rows about `mean` [d], the metric's factor
    [d, q], the targets t_a [N, q], the affine maps [W, z, q] and [W, q], the precision C⁻¹ [z, z] of the rows, and the
    prior's weight.
    """

    studied: Studied
    mean: Floats
    axes: Floats
    metric: Floats
    targets: Floats
    linear: Floats
    constant: Floats
    precision: Floats
    prior: float


def invert(studied: Studied, others: Sequence[SubjectTable] = (), emitting: Studied | None = None) -> Inverse:
    """Learn from the model's own subjects, and those of other tables that it serves.

    `emitting` is the model that says what is emitted for an answer, where it is not `studied` itself: with another MLP
    the old rows no longer lead to the old answers.
    """
    tables = tables_of(studied, others)
    rows = np.concatenate([table.rows for table in tables])
    mean, axes, metric = rows.mean(axis=0), principal_axes(rows), _metric(studied.attribute_vectors)
    outputs = np.concatenate([_outputs(studied, table.rows, metric) for table in tables])
    targets = np.zeros((studied.system.entities, metric.shape[1]))
    for table in tables:
        part = _outputs(emitting or studied, table.rows, metric)
        for word, answers in enumerate(table.system.follow_all(studied.words)):
            targets[answers] += part[:, word] / (len(tables) * outputs.shape[1])
    short = (rows - mean) @ axes
    flat = outputs.reshape(len(rows), -1)
    linear = leave_one_out_ridge(short, flat).reshape(short.shape[1], *outputs.shape[1:]).transpose(1, 0, 2)
    covariance = short.T @ short / len(short)
    precision = np.linalg.inv(covariance)
    found = Inverse(studied, mean, axes, metric, targets, linear, outputs.mean(axis=0), precision, 0.0)
    tried = [replace(found, prior=float(prior)) for prior in PRIORS]
    # max takes the first of equals.
    return max(tried, key=lambda one: accuracy(studied, rows=solved(one, studied.system)))


def _metric(vectors: Floats) -> Floats:
    """M [d, q] with |v M|² the variance of ⟨u_a, v⟩ over the answers."""
    centred = vectors - vectors.mean(axis=0)
    _, sizes, right = np.linalg.svd(centred, full_matrices=False)
    kept = sizes > ROUNDING * sizes.max(initial=0.0)
    return np.asarray(right[kept].T * sizes[kept] / np.sqrt(len(vectors)))


def _outputs(studied: Studied, rows: Floats, metric: Floats) -> Floats:
    """What is read out for every word, in the metric, shape [X, W, q]."""
    size = max(1, JACOBIANS // (len(studied.words) * max(studied.transformer.width, studied.transformer.dimension)))
    parts = [forward(studied, rows[i : i + size]).output @ metric for i in range(0, len(rows), size)]
    return np.concatenate(parts)


def solved(inverse: Inverse, system: FactSystem) -> Floats:
    """The first solution for the answers of another system: rows [N, d]; where the same is emitted for every answer,
    the mean row.
    """
    wanted = _wanted(inverse, system) - inverse.constant
    count, size, read = inverse.linear.shape
    stacked = inverse.linear.transpose(1, 0, 2).reshape(size, count * read)
    spread = float(inverse.targets.var(axis=0).sum()) * count
    if not spread:
        return np.tile(inverse.mean, (len(wanted), 1))
    normal = stacked @ stacked.T + inverse.prior * spread * inverse.precision
    found = np.linalg.solve(normal, stacked @ wanted.reshape(len(wanted), -1).T).T
    return np.asarray(inverse.mean + found @ inverse.axes.T)


def linearised_again(inverse: Inverse, system: FactSystem, rows: Floats, rounds: int = ROUNDS) -> Floats:
    """The rows [N, d] after so many Levenberg-Marquardt steps from the given ones."""
    wanted = _wanted(inverse, system)
    per_subject = wanted.shape[1] * inverse.studied.transformer.dimension * inverse.studied.transformer.width
    size = max(1, JACOBIANS // max(1, per_subject))
    parts = [_stepped(inverse, wanted[i : i + size], rows[i : i + size], rounds) for i in range(0, len(rows), size)]
    return np.concatenate(parts)


def _wanted(inverse: Inverse, system: FactSystem) -> Floats:
    return np.asarray(inverse.targets[system.follow_all(inverse.studied.words)].transpose(1, 0, 2))


def _stepped(inverse: Inverse, wanted: Floats, rows: Floats, rounds: int) -> Floats:
    """Levenberg-Marquardt for a block of subjects; wanted [X, W, q], rows [X, d]."""
    damping = np.full(len(rows), DAMPING)
    unit = np.eye(inverse.axes.shape[1])
    for _ in range(rounds):
        output, jacobian = _jacobian(inverse, rows)
        missing = (wanted - output).reshape(len(rows), -1)
        normal = jacobian @ jacobian.transpose(0, 2, 1)
        scale = np.trace(normal, axis1=1, axis2=2) / max(1, len(unit))
        scale[scale == 0] = 1.0  # every gate closed: the step is zero
        slope = (jacobian @ missing[..., None])[..., 0]
        step = np.linalg.solve(normal + (damping * scale)[:, None, None] * unit, slope[..., None])[..., 0]
        tried = rows + step @ inverse.axes.T
        after = wanted - _outputs(inverse.studied, tried, inverse.metric)
        better = (after**2).sum(axis=(1, 2)) < (missing**2).sum(axis=1)
        rows = np.where(better[:, None], tried, rows)
        damping = np.where(better, damping / 3, damping * 4)
    return rows


def _jacobian(inverse: Inverse, rows: Floats) -> tuple[Floats, NDArray[np.float64]]:
    """The outputs [X, W, q] and their derivative by the rows along the axes, shape [X, z, W·q]."""
    own = inverse.studied.transformer
    block, passed = own.blocks[0], forward(inverse.studied, rows)
    values = inverse.axes.T @ np.asarray(block.W_V, np.float64) @ block.W_O  # [H, z, d]
    arriving = np.einsum("xwh,hzd->xwzd", passed.seen, values, optimize=True)
    gated = (arriving @ np.asarray(block.W_in, np.float64)) * (passed.before > 0)[:, :, None, :]
    derivative = gated @ (np.asarray(block.W_out, np.float64) @ inverse.metric)
    if own.residual:
        derivative = derivative + arriving @ inverse.metric
    count, words, size, read = derivative.shape
    return passed.output @ inverse.metric, derivative.transpose(0, 2, 1, 3).reshape(count, size, words * read)
