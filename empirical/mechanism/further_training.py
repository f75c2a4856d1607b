"""Training past memorisation, on the old facts alone or on several fact systems that share all but the subject table.

A run ends when every fact is right; what training does to the mechanism after that is a question of its own. It goes on
from the run's final parameters with a fresh AdamW, whose rate rises again to the run's peak over the first twentieth of
the steps and falls to zero along a half cosine, at the run's weight decay, to the last step.

With several *tables* the model has S·N subjects for N answers: the run's own system with its own rows, and S - 1 other
random systems, whose rows begin at random with the mean and deviation of the trained ones. Every table has its facts,
and all of them share the MLP, the relations and the read-out, which therefore can hold less of any one system the more
there are (T2c's B is divided among them): a model forced towards universality. It sees S·N·R facts a step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from empirical.mechanism.fitting import without_denormals
from empirical.mechanism.readout import SubjectTable
from empirical.mechanism.subject import Studied, of_run
from empirical.models.model import Parameters, answers, emitted, gradients, system_of, trained
from empirical.models.runs import RunConfig
from empirical.models.training import AdamW
from theory import FactSystem, InputError

# The other tables' systems have seeds that no run has, nor any system of `transfer`.
FIRST_OTHER = 2**41


@dataclass(frozen=True, eq=False)
class Further:
    """The model at the end, with the run's own table, the other tables, and its accuracy over the facts of all."""

    studied: Studied
    others: tuple[SubjectTable, ...]
    accuracy: float


def train_further(parameters: Parameters, config: RunConfig, steps: int, tables: int = 1, name: str = "") -> Further:
    """Go on for so many steps (0: leave it as it is). InputError for several tables where the read-out is tied to one,
    or where there are no steps in which to learn them.
    """
    config = replace(config, hops=1, chain=False) if config.chain else config
    if tables > 1 and (config.readout == "tied" or not steps):
        raise InputError("several tables need a read-out that is tied to none of them, and steps in which to learn")
    systems = [system_of(config)]
    systems += [
        FactSystem.random(config.entities, config.relations, FIRST_OTHER + 1000 * config.seed + number)
        for number in range(tables - 1)
    ]
    rows = parameters["W_E"]
    generator = torch.Generator().manual_seed(config.seed)
    noise = torch.randn((tables - 1, *rows.shape), generator=generator)
    new = (rows.mean(dim=0) + rows.std(dim=0) * noise).flatten(0, 1)
    stacked = {key: tensor[None].clone() for key, tensor in parameters.items()}
    stacked["W_E"] = torch.cat([rows, new])[None]
    targets = torch.cat([answers(system, config) for system in systems])[None]
    # To the model of a run, several tables are one with more subjects than there are answers.
    every = replace(config, entities=tables * config.entities, steps=max(1, steps))
    optimiser = AdamW(stacked, trained(config), every)
    with without_denormals():
        for step in range(1, steps + 1):
            optimiser.step(gradients(stacked, every, targets), step)
        right = emitted(stacked, every, targets)[0] == targets
    final = {key: tensor[0] for key, tensor in stacked.items()}
    each = final["W_E"].split(config.entities)
    studied = of_run({**final, "W_E": each[0]}, config, name)
    spare = studied.transformer.dimension - rows.shape[1]
    others = [
        SubjectTable(np.pad(table.numpy().astype(np.float64), [(0, 0), (0, spare)]), system)
        for table, system in zip(each[1:], systems[1:], strict=True)
    ]
    return Further(studied, tuple(others), float(right.double().mean()))
