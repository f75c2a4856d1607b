"""All analyses of one model, as the JSON values that are stored, drawn and judged.

name, group, kind                 kind: "trained", "construction" or "given"
seed, condition                   of a trained model: its configuration, the steps beyond, the number of systems
sizes                             entities, relations, hops, dimension, width
threshold                         d* by the capacity law (None unless trained); see `presets.threshold`
accuracy                          over all facts that it was trained on, of all its tables
read_out                          E3, `readout.ReadOut.as_dict`
interventions, hidden_units       E4, their `as_dict`; None where one word is all that can be asked
transfer                          E5, `transfer.Transfer.as_dict`
seconds                           wall-clock time of training further and of the analyses
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from empirical.mechanism.hidden_units import hidden_units
from empirical.mechanism.interventions import interventions
from empirical.mechanism.presets import BuiltModel, TrainedModel, threshold
from empirical.mechanism.readout import SubjectTable, read_out
from empirical.mechanism.subject import Studied, accuracy, of_construction
from empirical.mechanism.transfer import transfer
from empirical.models.runs import MEMORISED_AT, RunResult
from theory import FactSystem

Analysis = dict[str, Any]

# Raised when an analysis changes, so that what was stored before is not taken for it.
VERSION = 1

# Tables of a shared model whose subjects E3 is cross-validated on: its cost grows with them, its intervals hardly.
TABLES_READ = 4


def study(
    studied: Studied, others: Sequence[SubjectTable], systems: int, fit_steps: int, known: Mapping[str, Any]
) -> Analysis:
    """Analyse a model; `known` holds what is not measured here (group, kind, seed, condition, threshold, accuracy)."""
    began = time.perf_counter()
    own = studied.transformer
    several = len(studied.words) > 1
    return {
        "name": studied.name,
        **known,
        "sizes": {
            "entities": own.entities,
            "relations": own.relations,
            "hops": studied.task.first_step,
            "dimension": own.dimension,
            "width": own.width,
        },
        "read_out": read_out(studied, others[: TABLES_READ - 1]).as_dict(),
        "interventions": interventions(studied).as_dict() if several else None,
        "hidden_units": hidden_units(studied).as_dict() if several and own.width else None,
        "transfer": transfer(studied, others, systems=systems, steps=fit_steps).as_dict(),
        "seconds": time.perf_counter() - began,
    }


def study_given(studied: Studied, systems: int, fit_steps: int) -> Analysis:
    """A model that was named by a file or by its run."""
    config = studied.config
    known = {
        "group": "given",
        "kind": "given",
        "seed": None if config is None else config.seed,
        "condition": None if config is None else {"config": config.as_dict(), "beyond": 0, "tables": 1},
        "threshold": None if config is None else threshold(config),
        "accuracy": accuracy(studied),
    }
    return study(studied, (), systems, fit_steps, known)


def study_construction(construction: BuiltModel, systems: int, fit_steps: int) -> Analysis:
    """A construction for its random system."""
    facts = FactSystem.random(construction.entities, construction.relations, construction.seed)
    studied = of_construction(construction.theorem, facts, construction.setting, construction.form)
    known = {
        "group": construction.theorem,
        "kind": "construction",
        "seed": construction.seed,
        "condition": None,
        "threshold": None,
        "accuracy": accuracy(studied),
    }
    return study(studied, (), systems, fit_steps, known)


def study_condition(
    condition: TrainedModel, weights: Mapping[str, NDArray[Any]] | None, systems: int, fit_steps: int
) -> tuple[RunResult, Mapping[str, NDArray[Any]] | None, Analysis | None]:
    """A trained model, from its run's weights or, where there are none, by training it first.

    Returns the run's result and weights where it was trained here (None where they were given), and the analysis, None
    where the run failed.
    """
    import torch

    from empirical.mechanism.further_training import train_further
    from empirical.models.training import train

    result = RunResult(condition.config, "memorised", None, 0, 0.0)
    trained = None
    if weights is None:
        done = train([condition.config])[0]
        result, trained = done.result, {name: tensor.numpy() for name, tensor in done.parameters.items()}
        if result.status == "failed":
            return result, None, None
    parameters = {name: torch.tensor(array) for name, array in (weights or trained or {}).items()}
    began = time.perf_counter()
    further = train_further(parameters, condition.config, condition.beyond, condition.tables, condition.name)
    training = time.perf_counter() - began
    known = {
        "group": condition.group,
        "kind": "trained",
        "seed": condition.config.seed,
        "condition": condition.as_dict(),
        "threshold": condition.threshold,
        "accuracy": further.accuracy,
    }
    analysis = study(further.studied, further.others, systems, fit_steps, known)
    analysis["seconds"] += training
    return result, trained, analysis


def recalls(analysis: Analysis) -> bool:
    """True iff the model answers its facts: what does not recall has no mechanism of recall to study."""
    return bool(analysis["accuracy"] >= MEMORISED_AT)
