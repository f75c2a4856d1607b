"""All models of a preset, each analysed once: what the store and the stored analyses have is not done again.

Trained runs are in the run store like any others. An analysis is one JSON file in the directory `<store>.mechanism`
beside it, named by the hash of all that it depends on, and written when it ends, so that an interruption loses the
models under way, one a process, and nothing else. Only this process writes. A model that fails (its run does, its
analysis raises an exception, its process dies twice) is reported, the others go on, and the next call tries it again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from empirical.execution.database import ANALYSES
from empirical.execution.local_pool import LocalPool, available_cores
from empirical.execution.store import Store
from empirical.execution.worker import Report, perform
from empirical.mechanism.presets import BuiltModel, MechanismPreset, TrainedModel
from empirical.mechanism.study import VERSION, Analysis, study_condition, study_construction
from empirical.models.threads import one_thread
from theory.definitions.fact_system import check_count
from theory.errors import InputError
from theory.records.reading import read_json
from theory.records.writing import make_directory, write_atomically

Progress = Callable[[int, str], object]

TRAINER = f"{__name__}:study_models"


def analyse(
    preset: MechanismPreset, store: Store, workers: int | None = None, progress: Progress = lambda done, name: None
) -> tuple[tuple[Analysis, ...], tuple[str, ...]]:
    """The analyses in the preset's order, trained models first, and the names of those that failed, with the reason.

    `progress` is told how many models are done and the name of each. `workers` are processes (default: as many as there
    are cores), each with one thread. Raises InputError when store or directory cannot be read or written.
    """
    count = available_cores() if workers is None else check_count("workers", workers)
    directory = store.path.with_name(store.path.name + ANALYSES)
    models: list[TrainedModel | BuiltModel] = [*preset.conditions, *preset.constructions]
    files = {model: directory / f"{_key(model, preset)}.json" for model in models}
    found = {model: _read(file) for model, file in files.items() if file.exists()}
    failed: list[str] = []
    todo = [model for model in models if model not in found]
    if todo:
        make_directory(directory)
    for done, (model, analysis, reason) in enumerate(_share_out(todo, preset, store, count), len(found) + 1):
        if analysis is None:
            failed.append(f"{_name(model)}: {reason}")
        else:
            found[model] = analysis
            text = json.dumps(analysis, indent=1, allow_nan=False)
            write_atomically(files[model], lambda file, text=text: file.write_text(text))  # type: ignore[misc]
        progress(done, _name(model))
    return tuple(found[model] for model in models if model in found), tuple(failed)


def _name(model: TrainedModel | BuiltModel) -> str:
    return f"{model.name}, seed {model.config.seed}" if isinstance(model, TrainedModel) else model.theorem


def _key(model: TrainedModel | BuiltModel, preset: MechanismPreset) -> str:
    """The hash of all that an analysis depends on, its name and group among them."""
    kind = "Condition" if isinstance(model, TrainedModel) else "Construction"  # as stores have always called them
    values = {"kind": kind, **asdict(model), "systems": preset.systems, "fit": preset.fit_steps}
    text = json.dumps({**values, "version": VERSION}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _read(file: Path) -> Analysis:
    try:
        found = read_json(file)
        if isinstance(found, dict) and "transfer" in found:
            return found
    except InputError:
        if not os.access(file, os.R_OK):
            raise
    raise InputError(f"{file} is damaged: delete it, and its model is analysed again")


def study_models(jobs: Sequence[Any], device: str) -> Iterator[tuple[Any, None]]:
    """A trainer for the pool: what `study_condition` returns of each (model, weights, systems, steps of fitting)."""
    for model, weights, systems, fit_steps in jobs:
        if isinstance(model, TrainedModel):
            yield study_condition(model, weights, systems, fit_steps), None
        else:
            yield (None, None, study_construction(model, systems, fit_steps)), None


def _share_out(
    todo: list[TrainedModel | BuiltModel], preset: MechanismPreset, store: Store, workers: int
) -> Iterator[tuple[TrainedModel | BuiltModel, Analysis | None, str]]:
    """Each model as it ends, with its analysis, or None and the reason; its run, if new, is in the store by then."""

    def job(model: TrainedModel | BuiltModel) -> Any:
        """The model with the weights that the store has of it (None: it must be trained), and the preset's counts."""
        weights = None
        if isinstance(model, TrainedModel) and store.has(model.config.key):
            known = store.get(model.config.key)
            weights = None if known.weights is None else store.load_weights(model.config.key)
        return model, weights, preset.systems, preset.fit_steps

    answered = set()
    for report in _reports(todo, job, workers):
        model = todo[report.unit]
        if report.outcome is not None:
            answered.add(report.unit)
            # The pool hands on what the trainer gives.
            result, trained, analysis = cast(Any, report.outcome.result)
            if trained is not None or analysis is None:
                store.add(result, trained, report.outcome.provenance)
            yield model, analysis, "" if analysis is not None else result.error
        elif report.error and report.unit not in answered:
            yield model, None, report.error


def _reports(
    todo: Sequence[TrainedModel | BuiltModel], job: Callable[[TrainedModel | BuiltModel], Any], workers: int
) -> Iterator[Report]:
    """The reports of the pool's workers on all models, numbered in their order; with one worker all is done in this
    process. Weights are read when a model's turn comes. A model whose worker was killed is tried again, last and alone.
    """
    if workers == 1 or len(todo) < 2:
        with one_thread():
            for unit, model in enumerate(todo):
                yield from perform(unit, [job(model)], TRAINER, "cpu")
        return
    with LocalPool(TRAINER, workers=min(workers, len(todo))) as pool:
        waiting, aside, under_way = list(range(len(todo)))[::-1], list[int](), 0
        settled = set[int]()  # what has its answer, or has been put aside before
        while waiting or aside or under_way:
            while waiting and under_way < pool.capacity:
                unit = waiting.pop()
                pool.submit(unit, [job(todo[unit])])
                under_way += 1
            if not under_way:
                unit = aside.pop()
                settled.add(unit)
                pool.submit(unit, [job(todo[unit])])
                under_way = 1
            for report in pool.wait():
                under_way -= report.ended
                if report.killed and report.unit not in settled:
                    aside.append(report.unit)
                    continue
                if report.outcome is not None:
                    settled.add(report.unit)
                yield report
