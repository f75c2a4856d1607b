"""All models of a preset, each analysed once: what the store and the stored analyses have is not done again.

Trained runs are in the run store like any others. An analysis is one JSON file in the directory `<store>.mechanism`
beside it, named by the hash of all that it depends on, and written when it ends, so that an interruption loses the
models under way, one a process, and nothing else. Only this process writes. A run that fails is stored as failed, is
reported, and is tried again by the next call.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from empirical.local_pool import THREAD_VARIABLES, available_cores
from empirical.mechanism.presets import Condition, Construction, Preset
from empirical.mechanism.study import VERSION, Analysis, study_condition, study_construction
from empirical.provenance import provenance
from empirical.store import Store
from theory.errors import InputError
from theory.fact_system import check_count
from theory.files import write_atomically

Progress = Callable[[int, str], object]


def analyse(
    preset: Preset, store: Store, workers: int | None = None, progress: Progress = lambda done, name: None
) -> tuple[tuple[Analysis, ...], tuple[str, ...]]:
    """The analyses in the preset's order, trained models first, and the names of runs that failed, with the reason.

    `progress` is told how many models are done and the name of each. `workers` are processes (default: as many as there
    are cores), each with one thread. Raises InputError when store or directory cannot be read or written.
    """
    count = available_cores() if workers is None else check_count("workers", workers)
    directory = store.path.with_name(store.path.name + ".mechanism")
    models: list[Condition | Construction] = [*preset.conditions, *preset.constructions]
    files = {model: directory / f"{_key(model, preset)}.json" for model in models}
    found = {model: _read(file) for model, file in files.items() if file.exists()}
    failed: list[str] = []
    todo = [model for model in models if model not in found]
    if todo:
        try:
            directory.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot write {directory}: {error.strerror or error}") from None
    for done, (model, analysis, reason) in enumerate(_share_out(todo, preset, store, count), len(found) + 1):
        if analysis is None:
            failed.append(f"{_name(model)}: {reason}")
        else:
            found[model] = analysis
            text = json.dumps(analysis, indent=1, allow_nan=False)
            write_atomically(files[model], lambda file, text=text: file.write_text(text))  # type: ignore[misc]
        progress(done, _name(model))
    return tuple(found[model] for model in models if model in found), tuple(failed)


def _name(model: Condition | Construction) -> str:
    return model.name if isinstance(model, Condition) else model.theorem


def _key(model: Condition | Construction, preset: Preset) -> str:
    """The hash of all that an analysis depends on, its name and group among them."""
    values = {"kind": type(model).__name__, **asdict(model), "systems": preset.systems, "fit": preset.fit_steps}
    text = json.dumps({**values, "version": VERSION}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _read(file: Path) -> Analysis:
    try:
        found = json.loads(file.read_text())
        if not isinstance(found, dict) or "transfer" not in found:
            raise ValueError
        return found
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror or error}") from None
    except ValueError:
        raise InputError(f"{file} is damaged: delete it, and its model is analysed again") from None


def _share_out(
    todo: list[Condition | Construction], preset: Preset, store: Store, workers: int
) -> Iterator[tuple[Condition | Construction, Analysis | None, str]]:
    """Each model with its analysis as it ends; runs trained for it are in the store by then. With one worker all is
    done in this process.
    """

    def weights(model: Condition) -> dict[str, Any] | None:
        key = model.config.key
        known = store.get(key) if store.has(key) else None
        return store.load_weights(key) if known is not None and known.weights is not None else None

    def kept(model: Condition | Construction, outcome: Any) -> tuple[Condition | Construction, Analysis | None, str]:
        if isinstance(model, Construction):
            return model, outcome, ""
        result, trained, analysis = outcome
        if trained is not None or analysis is None:
            store.add(result, trained, provenance("cpu"))
        return model, analysis, result.error

    options = (preset.systems, preset.fit_steps)
    with _one_thread():
        if workers == 1 or len(todo) < 2:
            for model in todo:
                if isinstance(model, Condition):
                    yield kept(model, study_condition(model, weights(model), *options))
                else:
                    yield kept(model, study_construction(model, *options))
            return
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(workers, len(todo)), context) as pool:
            futures: dict[Future[Any], Condition | Construction] = {}
            for model in todo:
                if isinstance(model, Condition):
                    futures[pool.submit(_alone, study_condition, model, weights(model), *options)] = model
                else:
                    futures[pool.submit(_alone, study_construction, model, *options)] = model
            try:
                for future in as_completed(futures):
                    yield kept(futures[future], future.result())
            finally:
                pool.shutdown(wait=False, cancel_futures=True)


def _alone(task: Callable[..., Any], *arguments: Any) -> Any:
    """The task, in a process of its own, with one thread."""
    import torch

    torch.set_num_threads(1)
    return task(*arguments)


@contextmanager
def _one_thread() -> Iterator[None]:
    """One thread here, and in the processes that start meanwhile: products this small gain nothing from more."""
    import torch

    threads = torch.get_num_threads()
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
