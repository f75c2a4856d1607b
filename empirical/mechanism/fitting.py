"""New subject rows by gradient: AdamW on the subject table alone, everything else frozen, until every fact is right.

Cross-entropy over all new facts, full batch, by the protocol of every run (`empirical.models.training`): peak rate 0.1,
no weight decay, a budget of `STEPS` that the learning rate is scheduled for. Accuracy over all facts is measured every
`CHECK_EVERY` steps, in float32, and the search ends when it is 1. Denormal numbers, which slow CPUs down a hundredfold
once probabilities vanish, are flushed to zero meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from empirical.mechanism.subject import Floats, Studied
from empirical.models.runs import RunConfig
from theory import FactSystem, InputError

if TYPE_CHECKING:
    from empirical.models.model import Parameters

STEPS = 400
CHECK_EVERY = 20


@dataclass(frozen=True, eq=False)
class Fitted:
    """The new rows [N, d], and their cost: steps taken, seconds of wall-clock time (reported, never judged)."""

    rows: Floats
    steps: int
    seconds: float


def trainable(studied: Studied) -> tuple[Parameters, RunConfig] | None:
    """The model's parameters as those of a run with a subject table that learns; None for a model that no run has, or
    whose heads hand on something else than the subject's row (T2).

    A read-out that was tied stands on its own, as everywhere here.
    """
    from empirical.models.conversion import from_transformer

    if studied.task.steps > 1:
        return None
    own = studied.transformer
    try:
        config = studied.config or RunConfig(
            own.entities,
            own.relations,
            own.dimension,
            own.width,
            hops=studied.task.hops,
            attention="learned" if own.attention == "softmax" else "uniform",
            residual=own.residual,
        )
        untied = replace(config, subjects="learned", readout="learned", chain=False, precision="float32")
        parameters = from_transformer(own, untied)
    except InputError:
        return None
    rows = parameters["W_E"].numpy()
    return (parameters, untied) if np.array_equal(rows, own.W_E[: own.entities, : rows.shape[1]]) else None


def fit_rows(studied: Studied, system: FactSystem, start: Floats, steps: int = STEPS) -> Fitted | None:
    """Fit the table to the system from the rows `start` [N, d]; None for a model that no run could have."""
    import torch

    from empirical.models.model import answers, emitted, gradients
    from empirical.models.training import AdamW

    found = trainable(studied)
    if found is None:
        return None
    began = time.perf_counter()
    parameters, config = found
    # With a read-out that does not learn no pass over the logits is spent on its gradient.
    config = replace(config, readout="frozen", steps=steps, learning_rate=0.1, weight_decay=0.0)
    size = parameters["W_E"].shape[1]
    parameters["W_E"] = torch.from_numpy(np.asarray(start[:, :size], np.float32))
    stacked = {name: tensor[None].clone() for name, tensor in parameters.items()}
    targets = answers(system, config)[None]
    optimiser = AdamW(stacked, ["W_E"], config)
    taken = 0
    with without_denormals():
        while taken < steps and not bool((emitted(stacked, config, targets)[0] == targets).all()):
            for _ in range(min(CHECK_EVERY, steps - taken)):
                taken += 1
                optimiser.step(gradients(stacked, config, targets), taken)
    rows = np.concatenate([stacked["W_E"][0].numpy().astype(np.float64), start[:, size:]], axis=1)
    return Fitted(rows, taken, time.perf_counter() - began)


@contextmanager
def without_denormals() -> Iterator[None]:
    """Numbers too small to be normal are zero meanwhile, in this thread."""
    import torch

    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
