"""Freeze and swap: new random bijections, everything frozen but the subject table (E5, theorem T5).

The new table is made in five ways; what is frozen never sees the new facts.

* *maps* (a): e'_x = Σ_w A_w u_{g'_w(x)} + c with the maps fitted to the old subjects (`readout`). Closed form.
* *inverse* (b): the rows at which linear maps fitted to the frozen MLP emit what it emits for these answers; one linear
  solve. *inverse, again*: the same after a fixed number of re-linearisations (`inversion`).
* *fitted* (c): AdamW on the new table alone, from a random start with the mean and the deviations of the old rows.
  *fitted from maps*: the same from (a). With their cost (`fitting`).

Accuracy is over all facts of the new system, a tie being a failure: zero-shot for (a) and (b), which train nothing.

*Controls.* The MLP drawn anew from its initial distribution (W_in normal of variance 2/d, W_out of 1/m, no biases); the
maps, and what is to be emitted for an answer, stay those of the trained model. (a) must then be near chance, 1/N.
(b) and (c) need not be: they adapt the new rows to whatever MLP there is, and a table that is free enough has its facts
read by a random one. So what they reach speaks for the trained MLP only beyond what they reach under a random one. The
old facts, which the model was trained on, stand beside. A model trained with frozen tables, and T2b, are subjects of
study of their own.

With a tied read-out W_U stays what training left, the old subject table, and is not tied to the new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from empirical.mechanism.fitting import STEPS, fit_rows
from empirical.mechanism.inversion import invert, linearised_again, solved
from empirical.mechanism.readout import Maps, SubjectTable, all_maps
from empirical.mechanism.subject import Floats, Studied, accuracy, emitted
from empirical.statistics.shares import Share, exact_share
from theory import FactSystem

CLOSED = ("maps", "inverse", "inverse, again")
BY_GRADIENT = ("fitted", "fitted from maps")
WAYS = CLOSED + BY_GRADIENT

# New systems have seeds that no run has.
FIRST_NEW = 2**40


@dataclass(frozen=True)
class Cost:
    """Mean steps and seconds of fitting by gradient over the new systems."""

    steps: float
    seconds: float


@dataclass(frozen=True)
class Transfer:
    """Accuracies over all facts of new systems, with 95 % intervals over subjects; None where a way does not apply.

    `ways` are the model's own, `redrawn` those with the MLP drawn anew; `old` is the accuracy on the old facts,
    `chance` 1/N.
    """

    name: str
    systems: int
    old: float
    chance: float
    ways: dict[str, Share | None]
    redrawn: dict[str, Share | None]
    cost: dict[str, Cost | None]

    def as_dict(self) -> dict[str, Any]:
        """The numbers as JSON values."""
        return {
            "name": self.name,
            "systems": self.systems,
            "old": self.old,
            "chance": self.chance,
            "ways": {way: None if one is None else one.interval() for way, one in self.ways.items()},
            "redrawn": {way: None if one is None else one.interval() for way, one in self.redrawn.items()},
            "cost": {way: None if one is None else vars(one) for way, one in self.cost.items()},
        }


def transfer(
    studied: Studied,
    others: Sequence[SubjectTable] = (),
    *,
    systems: int = 3,
    steps: int = STEPS,
    seed: int = 0,
) -> Transfer:
    """Freeze and swap for so many new systems; `others` are more tables of the same model, for what is fitted to them.

    `steps` is the budget of fitting by gradient, 0 for none.
    """
    maps = all_maps(studied, others)
    ways, cost = _all_ways(studied, others, maps, systems, steps, seed)
    other = with_redrawn_mlp(studied, seed)
    redrawn, _ = _all_ways(other, others, maps, systems, steps, seed, emitting=studied)
    return Transfer(studied.name, systems, accuracy(studied), 1 / studied.system.entities, ways, redrawn, cost)


def new_systems(studied: Studied, count: int, seed: int = 0) -> list[FactSystem]:
    """Random systems of the model's size that it was not trained on."""
    entities, relations = studied.system.entities, studied.system.relations
    return [FactSystem.random(entities, relations, FIRST_NEW + 1000 * seed + number) for number in range(count)]


def with_redrawn_mlp(studied: Studied, seed: int = 0) -> Studied:
    """The same model with an MLP as it is before training."""
    block = studied.transformer.blocks[0]
    generator = np.random.default_rng([seed, studied.system.entities])
    dimension, width = block.W_in.shape
    drawn = replace(
        block,
        W_in=generator.normal(0, np.sqrt(2 / dimension), (dimension, width)).astype(np.float32),
        b_in=np.zeros(width, np.float32),
        W_out=generator.normal(0, np.sqrt(1 / max(1, width)), (width, dimension)).astype(np.float32),
        b_out=np.zeros(dimension, np.float32),
    )
    return replace(studied, transformer=replace(studied.transformer, blocks=(drawn,)))


def _all_ways(
    studied: Studied,
    others: Sequence[SubjectTable],
    maps: Maps,
    systems: int,
    steps: int,
    seed: int,
    emitting: Studied | None = None,
) -> tuple[dict[str, Share | None], dict[str, Cost | None]]:
    inverse = invert(studied, others, emitting)
    hits: dict[str, list[Any]] = {way: [] for way in WAYS}
    costs: dict[str, list[Cost]] = {way: [] for way in BY_GRADIENT}
    for number, system in enumerate(new_systems(studied, systems, seed)):
        answers = system.follow_all(studied.words)
        rows = {"maps": maps.rows(studied.attribute_vectors, answers), "inverse": solved(inverse, system)}
        rows["inverse, again"] = linearised_again(inverse, system, rows["inverse"])
        starts = {"fitted": random_rows(studied, seed + number)}
        starts |= {} if emitting else {"fitted from maps": rows["maps"]}
        for way, start in starts.items() if steps else ():
            fitted = fit_rows(studied, system, start, steps)
            if fitted is not None:
                rows[way] = fitted.rows
                costs[way].append(Cost(fitted.steps, fitted.seconds))
        for way, table in rows.items():
            hits[way].append(emitted(studied, table) == answers)
    shares = {way: exact_share(np.stack(own)) if own else None for way, own in hits.items()}
    return shares, {
        way: Cost(float(np.mean([c.steps for c in own])), float(np.mean([c.seconds for c in own]))) if own else None
        for way, own in costs.items()
    }


def random_rows(studied: Studied, seed: int) -> Floats:
    """Normal rows with the mean and deviation of each coordinate of the old ones, shape [N, d]."""
    rows = studied.rows
    generator = np.random.default_rng([seed, len(rows)])
    return np.asarray(rows.mean(axis=0) + rows.std(axis=0) * generator.standard_normal(rows.shape))
