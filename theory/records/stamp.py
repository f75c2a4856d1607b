"""The stamp of the Coq proofs: which statements are machine-checked, and whether that is still so.

`proofs/theorems.toml` says which Coq theorems belong to which statement. `make proofs` compiles them, prints what each
assumes, and writes `proofs/stamp.json`: the SHA-256 of every file that was compiled, and those answers. A stamp whose
hashes are not those of the files counts for nothing, as one does that cannot be read. An installed package has no
proofs beside it, hence no stamp.

Imports nothing but the standard library: `proofs/check.py` loads this file by its path, where nothing is installed.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "proofs"
CLOSED = "Closed under the global context"  # what Coq says of a theorem that rests on no axiom


@dataclass(frozen=True)
class Statement:
    """A statement of docs/theory.md: its theorems as FILE.NAME (the first says it), and what these leave out."""

    identifier: str
    theorems: tuple[str, ...]
    missing: str


@dataclass(frozen=True)
class Stamp:
    """What the stamp is good for: the statements that are machine-checked, in words whose work (`origin`), and why it
    is worth nothing (`fault`), empty if it is sound or if there is none."""

    statements: tuple[Statement, ...] = ()
    origin: str = "not compiled here"
    fault: str = ""

    def __str__(self) -> str:
        return self.fault or self.origin


def statements(folder: Path = FOLDER) -> list[Statement]:
    """What `theorems.toml` says, in its order; nothing where there is none."""
    path = folder / "theorems.toml"
    table = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return [Statement(identifier, tuple(entry["theorems"]), entry["missing"]) for identifier, entry in table.items()]


def digests(folder: Path = FOLDER) -> dict[str, str]:
    """SHA-256 of every Coq file and of theorems.toml, by name."""
    files = [*sorted(folder.glob("*.v")), folder / "theorems.toml"]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def read_stamp(folder: Path = FOLDER) -> Stamp:
    """The stamp of the folder. A statement is machine-checked if each of its theorems was printed as closed."""
    path = folder / "stamp.json"
    if not path.is_file():
        return Stamp()
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        compiled, now, said = dict(written["files"]), digests(folder), written["theorems"]
        if changed := sorted(name for name in compiled | now if compiled.get(name) != now.get(name)):
            return Stamp(fault=f"the stamp of the proofs is stale: {', '.join(changed)} changed since `make proofs`")
        sound = [each for each in statements(folder) if all(said[each.identifier][t] == CLOSED for t in each.theorems)]
        number = len({theorem for each in sound for theorem in each.theorems})
        return Stamp(tuple(sound), f"{number} theorems compiled by Coq {written['coq']}, no assumptions")
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return Stamp(fault="the stamp of the proofs cannot be read: run `make proofs` again")
