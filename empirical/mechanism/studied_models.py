"""Where the models that are studied come from: a run store, or a .safetensors file.

A model is named by the key of a run, or the beginning of one that no other run has, whose weights lie beside the store;
or by a file. A file of trained weights holds the run's configuration in its metadata, which says what the facts are;
any other model, as `georecall construct` writes it, needs its facts in a file of the same name that ends as files of
facts do (`theory.records.facts`). Whatever is wrong with it is one line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from empirical.execution.store import open_store
from empirical.mechanism.subject import Studied, of_run
from empirical.models.runs import LATER, RunConfig
from theory.errors import InputError
from theory.records.facts import SUFFIXES, load_facts, load_names
from theory.records.files import load_model
from theory.records.reading import parse_json, read_tensors, within


def load(model: str, store: Path) -> Studied:
    """The model of that name: a file if it ends in .safetensors, a run of the store otherwise. InputError for what
    cannot be read, is no model, has no weights, or is no single-layer model.
    """
    if model.endswith(".safetensors"):
        return _from_file(Path(model))
    with open_store(store, read_only=True) as opened:
        run = opened.get(model)
        return trained_model(opened.load_weights(run.result.config.key), run.result.config, f"run {model}")


def trained_model(tensors: Mapping[str, NDArray[Any]], config: RunConfig, name: str) -> Studied:
    """A run's model; InputError unless the tensors are those that its configuration asks for."""
    from empirical.models.model import shapes

    wanted = shapes(config)
    for tensor in sorted(set(wanted) ^ set(tensors)):
        raise InputError(f"{name}: {tensor} {'is missing' if tensor in wanted else 'is no tensor of such a run'}")
    for tensor, shape in wanted.items():
        if tensors[tensor].shape != shape:
            raise InputError(f"{name}: {tensor} has shape {list(tensors[tensor].shape)}; the run's is {list(shape)}")
    try:
        return of_run(tensors, config, name)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _from_file(path: Path) -> Studied:
    tensors, metadata = read_tensors(path)
    if "config" in metadata:
        return trained_model(tensors, _config(metadata["config"], path), str(path))
    beside = next((facts for facts in map(path.with_suffix, SUFFIXES) if facts.exists()), None)
    if beside is None:
        raise InputError(
            f"{path} does not say what its facts are: put them beside it, as {path.with_suffix('.npy').name}"
        )
    facts, names = load_facts(beside), load_names(path)
    with within(beside):
        facts = facts if names is None else facts.in_order_of(names)
        system = facts.whole()
    transformer, task = load_model(path, system.entities)
    return Studied(transformer, system, task, None, str(path))


def _config(text: str, path: Path) -> RunConfig:
    with within(path):
        try:
            values = parse_json(text)
            names = {field.name for field in fields(RunConfig)}
            if not isinstance(values, dict) or not names - LATER.keys() <= set(values) <= names:
                raise InputError("it does not have the fields of one")
            return RunConfig(**values)
        except InputError as error:
            raise InputError(f"its metadata hold no configuration of a run: {error}") from None
