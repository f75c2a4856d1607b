"""Models from files: what `theory.records.reading` has parsed, put together and checked.

A model file holds the tensors by name (W_E, W_pos, blocks.0.W_Q, .., blocks.0.b_out, W_U, b_U) and, in its metadata,
what the tensors cannot say: `attention` (uniform, hardmax, softmax), and where they differ from the defaults
`residual`, `causal` (true, false), `beta`, and the task: `hops`, `stride`, `disjoint_attributes`. Any other key is
refused, since it may say what this project does not model (`format`, which says who wrote the file, says nothing).
Longer names as in TransformerLens (embed.W_E, blocks.0.attn.W_Q, blocks.0.mlp.W_in, unembed.W_U) are understood, as is
all else that a state of its holds (`theory.records.lens`), and the block number may be left out when there is one
block. Under uniform attention W_Q and W_K may be absent.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory.definitions.task import Task
from theory.definitions.transformer import Block, Transformer
from theory.errors import InputError
from theory.records.lens import BIASES, BUFFERS, NORMS, with_biases
from theory.records.reading import Tensors, parse_json, read_tensors, within

OUTER = ("W_E", "W_pos", "W_U", "b_U")
OPTIONS: dict[str, Any] = {
    "residual": False,
    "causal": False,
    "beta": None,
    "hops": 1,
    "stride": 0,
    "disjoint_attributes": False,
}
# The part of the model that a longer name puts before a tensor's own; "mlp" and "attn" for the others of a block.
PARTS = {"W_E": "embed", "W_pos": "pos_embed", "W_U": "unembed", "b_U": "unembed"} | dict.fromkeys(
    ("W_Q", "W_K", "W_V", "W_O"), "attn"
)
# Keys that say nothing about what the model computes: "pt" where PyTorch wrote the file, and the names of the facts.
SILENT = {"format", "entity_names", "relation_names", "known", "several"}


class Loaded(NamedTuple):
    """A model, its task, and in words what the file does not say and was assumed ("" if it says everything)."""

    transformer: Transformer
    task: Task
    assumed: str


def load_model(path: Path, entities: int) -> tuple[Transformer, Task]:
    """Read a model over the given number of entities, and its task, as `load_model_as_said`."""
    transformer, task, _ = load_model_as_said(path, entities)
    return transformer, task


def load_model_as_said(path: Path, entities: int) -> Loaded:
    """Read a model over the given number of entities, its task (one hop unless the metadata say otherwise), and what
    was assumed. `path` is a .safetensors file, the index of several, or a folder.

    Raises InputError when a file cannot be read, a tensor is missing, unknown or misshapen, an entry is not finite, or
    the metadata have a key or a value that is not known.
    """
    found = read_tensors(path)
    with within(path):
        return _assemble(found, entities)


def _assemble(found: Tensors, entities: int) -> Loaded:
    arrays, metadata = found
    known = ("attention", *OPTIONS)
    for name in metadata:
        if name not in known and name not in SILENT:
            raise InputError(
                f"its metadata say {name} = {metadata[name]!r}, which is not known here; the keys are "
                f"{', '.join(known)}; the activation is ReLU, and there are no norms"
            )
    options = {name: _option(metadata, name, default) for name, default in OPTIONS.items()}
    attention: Any = metadata.get("attention")
    if attention not in ("uniform", "hardmax", "softmax"):
        raise InputError(f"its metadata say attention = {attention!r}; it must be uniform, hardmax or softmax")
    outer, inner = _sorted_by_block(arrays)
    blocks = []
    biases = []
    for number, part in enumerate(inner):
        if attention == "uniform" and "W_V" in part and part["W_V"].ndim == 3:
            for name in ("W_Q", "W_K"):
                part.setdefault(name, np.zeros((*part["W_V"].shape[:2], 0), np.int8))
        biases.append({name: part.pop(name) for name in BIASES if name in part})
        blocks.append(Block(**_complete(part, tuple(Block.AXES), f"block {number}")))
    transformer = Transformer(
        entities=entities,
        blocks=tuple(blocks),
        attention=attention,
        residual=options["residual"],
        causal=options["causal"],
        beta=options["beta"],
        **_complete(outer, OUTER, "the model"),
    )
    transformer, folded = with_biases(transformer, biases)
    task = Task(options["hops"], options["stride"], options["disjoint_attributes"])
    return Loaded(transformer, task, "; ".join(text for text in (_assumed(metadata), folded) if text))


def _assumed(metadata: dict[str, str]) -> str:
    """What the metadata do not say of the model and its task, where a model has it."""
    silent = [name for name in ("residual", "causal", "hops") if name not in metadata]
    if not silent:
        return ""
    values = ", ".join(f"{name} = {json.dumps(OPTIONS[name])}" for name in silent)
    return f"assumed, since the file does not say: {values}, ReLU, no norms"


def _option(metadata: dict[str, str], name: str, default: Any) -> Any:
    """A metadata entry, written as JSON; InputError unless it has the type of the default (a number or null for
    beta).
    """
    if name not in metadata:
        return default
    wrong = InputError(f"its metadata say {name} = {metadata[name]!r}; {_wanted(default)} is expected")
    try:
        value = parse_json(metadata[name])
    except InputError:
        raise wrong from None
    expected = (float, int, type(None)) if default is None else (type(default),)
    if type(value) not in expected:
        raise wrong
    if name == "beta" and isinstance(value, int) and (abs(value) > 2**1000 or float(value) != value):
        raise wrong
    return value


def _wanted(default: Any) -> str:
    words = {bool: "true or false", int: "a whole number"}
    return words.get(type(default), "a number that a float holds, or null,")


def _sorted_by_block(
    arrays: dict[str, NDArray[Any]],
) -> tuple[dict[str, NDArray[Any]], list[dict[str, NDArray[Any]]]]:
    """The tensors outside the blocks and those of each block, by the last part of their names; without the buffers of
    TransformerLens. InputError for a name that is none, one that occurs twice, and blocks that are left out.
    """
    outer: dict[str, NDArray[Any]] = {}
    inner: dict[int, dict[str, NDArray[Any]]] = {}
    for name, array in arrays.items():
        number, short = _block_and_name(name)
        if short in BUFFERS:
            continue
        home = outer if short in OUTER else inner.setdefault(number, {})
        if short in home:
            raise InputError(f"two tensors are called {short} (one of them {name!r})")
        home[short] = array
    if sorted(inner) != list(range(len(inner))):
        raise InputError(f"its blocks are numbered {sorted(inner)}; they must be 0, 1, 2, ..")
    return outer, [inner[number] for number in range(len(inner))]


def _block_and_name(name: str) -> tuple[int, str]:
    """The block (0 unless it says blocks.i) and the last part of a tensor's name; InputError for a name that is
    none.
    """
    *parts, short = name.split(".")
    known = (*Block.AXES, *OUTER)
    if any(part.startswith(NORMS) for part in (*parts, short)):
        raise InputError(f"tensor {name!r} belongs to a norm, which is not modelled: fold it in, or leave it out")
    number = 0
    if parts[:1] == ["blocks"] and short not in OUTER:
        digits = "".join(parts[1:2])
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 6):
            raise InputError(f"tensor {name!r} has no block number after 'blocks.'")
        number, parts = int(digits), parts[2:]
    home = PARTS.get(short, "mlp" if short in Block.AXES else "attn")
    if parts not in ([], [home]) or short not in (*known, *BIASES, *BUFFERS):
        raise InputError(f"unknown tensor {name!r}; the names are {', '.join(sorted(known))}")
    return number, short


def _complete(part: dict[str, NDArray[Any]], names: tuple[str, ...], where: str) -> dict[str, NDArray[Any]]:
    missing = [name for name in names if name not in part]
    if missing:
        raise InputError(f"{where} lacks {', '.join(missing)}")
    return part
