"""Foreign files: the one boundary behind which .safetensors, .npy and JSON are parsed.

Whatever goes wrong in a parser becomes an InputError of one line that names the file; nothing else leaves. Numbers,
types and shapes are those of the file or it is refused: bfloat16 is widened to float32, which changes no value, and no
other type is converted. `tests/project/test_boundary.py` fails where a file is parsed outside this module and its like
for SQLite and for pretrained models.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import safetensors
from numpy.typing import NDArray

from theory.errors import InputError

MOST_DIGITS = 400  # of a whole number in JSON: more than any float has

MOST_WITHOUT_ENTRIES = 2**16  # a few bytes could name more heads than can be gone through

# The types of .safetensors that NumPy has; BF16 is read as the upper half of a float32.
TYPES = {"F64": "f8", "F32": "f4", "F16": "f2", "BF16": "u2", "BOOL": "?"} | {
    f"{kind}{8 * size}": f"{kind.lower()}{size}" for kind in "IU" for size in (1, 2, 4, 8)
}
SHARD = re.compile(r"-\d+-of-\d+\.safetensors")
INDEX = "model.safetensors.index.json"


class Tensors(NamedTuple):
    """The tensors of a file by name, and its metadata."""

    arrays: dict[str, NDArray[Any]]
    metadata: dict[str, str]


def require_file(path: Path) -> None:
    """InputError for a pipe or a device, which may have no end; what is not there is told by whoever opens it."""
    with contextlib.suppress(OSError):
        mode = os.stat(path).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise InputError(f"cannot read {path}: it is a pipe or a device; a file is expected")


@contextlib.contextmanager
def foreign(path: Path, what: str) -> Iterator[None]:
    """Whatever is raised inside, where `path` is parsed as `what`, becomes an InputError that names the file."""
    require_file(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except MemoryError as error:
        raise InputError(f"{path} is not {what} that can be read: it needs more memory than there is") from error
    except Exception as error:  # parsers of foreign bytes raise what they like
        lines = str(error).splitlines() or [type(error).__name__]
        raise InputError(f"{path} is not {what} that can be read: {lines[0]}") from error


@contextlib.contextmanager
def within(path: Path) -> Iterator[None]:
    """What is refused inside is refused with the name of the file that it stands in."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def read_json(path: Path) -> Any:
    """The content of a JSON file. InputError if it cannot be read, and as `parse_json`."""
    with foreign(path, "a .json file"):
        return parse_json(path.read_bytes())


def parse_json(text: str | bytes) -> Any:
    """JSON as its standard has it: no NaN or infinity, no name twice in an object, no number beyond 400 digits or
    beyond a float, and not nested deeper than can be read. InputError otherwise.
    """
    try:
        return json.loads(
            text.decode("utf-8") if isinstance(text, bytes) else text,
            parse_constant=_no_number,
            parse_int=_whole,
            parse_float=_fraction,
            object_pairs_hook=_object,
        )
    except RecursionError as error:
        raise InputError("it is not JSON that can be read: it is nested too deeply") from error
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"it is not JSON: {error}") from error


def _no_number(text: str) -> NoReturn:
    raise InputError(f"it holds {text}, which is no number in JSON")


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise InputError(f"it holds a number of {len(digits)} digits; at most {MOST_DIGITS} are read")
    return int(digits)


def _fraction(text: str) -> float:
    value = float(text)
    if not np.isfinite(value):
        raise InputError(f"it holds {text:.40}, which is beyond every float")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"it holds the name {twice!r} twice in one object")
    return found


def read_text(path: Path) -> str:
    """The text of a file in UTF-8, with or without a mark of its order of bytes. InputError, naming the line, if it is
    none.
    """
    with foreign(path, "a text file"):
        content = path.read_bytes()
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = 1 + content[: error.start].count(b"\n")
            raise InputError(f"line {line}: it is not text in UTF-8, which it must be: {error.reason}") from None


def read_npy(path: Path) -> NDArray[Any]:
    """The array of a .npy file; InputError if it is none. No pickle is read, and nothing larger than the file."""
    with foreign(path, "a .npy file"):
        return np.array(np.lib.format.open_memmap(path, mode="r"))


def read_tensors(path: Path) -> Tensors:
    """The tensors of a .safetensors file, or of all files of an index (model.safetensors.index.json) or a folder.

    InputError when one cannot be read, is one part of several, holds a type that NumPy has not, or does not hold what
    the index says.
    """
    if path.is_dir():
        return _read_folder(path)
    if path.suffix == ".json":
        return _read_index(path)
    index = path.with_name(INDEX)
    if SHARD.search(path.name) or (index.is_file() and path.name in set(_weight_map(index).values())):
        raise InputError(f"{path} is one part of a model in several files: give their index, {INDEX}, or the folder")
    return _read_file(path)


def _read_folder(folder: Path) -> Tensors:
    if (folder / INDEX).is_file():
        return _read_index(folder / INDEX)
    files = sorted(folder.glob("*.safetensors"))
    if len(files) != 1:
        found = ", ".join(file.name for file in files) or "none"
        raise InputError(f"{folder} must hold one .safetensors file, or several and {INDEX}; it holds {found}")
    return read_tensors(files[0])


def _weight_map(index: Path) -> dict[str, str]:
    """The file of each tensor, as an index says."""
    content = read_json(index)
    files = content.get("weight_map") if isinstance(content, dict) else None
    if not isinstance(files, dict) or not files:
        raise InputError(f"{index} has no weight_map that names the file of each tensor")
    for name, file in files.items():
        if not isinstance(file, str) or file in ("", "..") or file != Path(file).name or "\0" in file:
            raise InputError(f"{index}: the file of {name!r} is {file!r}; the name of a file beside it is expected")
    return files


def _read_index(index: Path) -> Tensors:
    files = _weight_map(index)
    arrays: dict[str, NDArray[Any]] = {}
    metadata: dict[str, str] = {}
    for file in sorted(set(files.values())):
        part = _read_file(index.with_name(file))
        own = {name for name, where in files.items() if where == file}
        for name in sorted(own ^ set(part.arrays)):
            raise InputError(f"{index} and {file} do not agree: {name!r} is in one of them alone")
        for name, value in part.metadata.items():
            if metadata.setdefault(name, value) != value:
                raise InputError(f"{index}: its files say {name} = {metadata[name]!r} and {value!r}")
        arrays |= part.arrays
    return Tensors(arrays, metadata)


def _read_file(path: Path) -> Tensors:
    with foreign(path, "a .safetensors file"):
        with safetensors.safe_open(path, "numpy"):
            pass  # the library checks that the header is whole and every tensor inside the file
        content = np.memmap(path, np.uint8, "r")
        start = 8 + int.from_bytes(content[:8].tobytes(), "little")
        header: dict[str, Any] = parse_json(content[8:start].tobytes())
        metadata: dict[str, str] = header.pop("__metadata__", None) or {}
        return Tensors({name: _tensor(name, about, content, start) for name, about in header.items()}, metadata)


def _tensor(name: str, about: dict[str, Any], content: NDArray[np.uint8], start: int) -> NDArray[Any]:
    kind = about["dtype"]
    if kind not in TYPES:
        raise InputError(f"tensor {name!r} is of type {kind}, which is not read: save it as F32, F64 or integers")
    shape, (first, last) = about["shape"], about["data_offsets"]
    if first == last and max(shape, default=0) > MOST_WITHOUT_ENTRIES:
        raise InputError(f"tensor {name!r} of shape {shape} has no entries; an axis of it is at most 2^16 then")
    raw = np.array(content[start + first : start + last]).view(f"<{TYPES[kind]}").reshape(shape)
    return (raw.astype(np.uint32) << 16).view(np.float32) if kind == "BF16" else raw
