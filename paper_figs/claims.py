"""The map from claim to file, test, command and figure: `python -m paper_figs.claims > paper_figs/README.md`.

Nothing of a theorem is written here. Its file is the module of `constructions` or `bounds` whose docstring begins with
its identifier ("T2d and T1e: .."), its figures those of the catalogue that bear on it. Its test is the one whose
docstring begins with the identifier; else the one that goes through all constructions, or, for a module of `bounds`,
the one that imports the module and speaks of the theorem most.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from paper_figs.catalogue import FIGURES
from theory.statements.registry import theorems

ROOT = Path(__file__).resolve().parents[1]
IDENTIFIER = r"T\d+[a-z]?"


@dataclass(frozen=True)
class Mapped:
    """A claim with the theorems that it is about, and where it stands; paths are relative to the repository."""

    claim: str
    theorems: tuple[str, ...]
    files: tuple[str, ...]
    tests: tuple[str, ...]
    command: str
    figures: tuple[str, ...]


COMPARE, MECHANISM = "georecall compare --preset standard", "georecall mechanism --preset standard"
# The experiments, whose code is spread over several modules. The figures are those that bear on them.
EXPERIMENTS: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...], tuple[str, ...], str], ...] = (
    ("E1", "capacity of trained models", ("T1b", "T1c", "T8"), ("comparison/laws",), ("laws",), COMPARE),
    ("E2", "frozen embeddings", ("T8",), ("comparison/verdicts",), ("verdicts",), COMPARE),
    ("E3", "subject rows are superpositions", ("T7",), ("mechanism/readout",), ("mechanism_readout",), MECHANISM),
    (
        "E4",
        "the MLP selects, components can be changed alone",
        ("T7",),
        ("mechanism/interventions", "mechanism/hidden_units"),
        ("mechanism_interventions", "mechanism_hidden_units"),
        MECHANISM,
    ),
    ("E5", "freeze and swap", ("T5",), ("mechanism/transfer",), ("mechanism_transfer",), MECHANISM),
    (
        "E6",
        "k hops of trained models; training from T2e",
        ("T2", "T2e", "T3"),
        ("comparison/middle",),
        ("middle",),
        COMPARE,
    ),
    (
        "E7",
        "linear structure in a language model",
        (),
        ("probing/measures/measure", "probing/measures/superposition"),
        ("probing_measure", "probing_superposition"),
        "georecall probe --model smollm2 --relations all",
    ),
    (
        "E8",
        "is there one number of bits a scalar?",
        ("T8",),
        ("comparison/capacity_fit",),
        ("laws",),
        "python -m paper_figs.trials runs.sqlite standard trials.json",
    ),
    (
        "E9",
        "what is compressed: structured facts against independent ones",
        ("T2e",),
        ("comparison/structure", "comparison/quantised"),
        ("structure", "quantised"),
        "georecall compare --preset structure",
    ),
)

HEADER = """# Figures, and the map from claim to figure

*Made by `python -m paper_figs.claims`; a test keeps the two the same.*

`georecall figures` draws every figure as PDF and PNG from the results in `results/`; `georecall figures --list` names
them with their data and the command that makes these anew. Where no data are named, a figure is computed from the
theory. The same results give the same bytes (with the same version of matplotlib).

`georecall verify T1` checks a theorem, `georecall bounds` tabulates all bounds beside the constructions; statements and
proofs are in `docs/theory.md`. "file" holds the construction, the bound or the measurement, "test" what tests it.

| claim | theorem | file | test | command | figure |
|---|---|---|---|---|---|
"""
FOOTER = """
`results/standard.json` is the report of `georecall compare --preset standard`, and `results/standard_trials.json` what
`python -m paper_figs.trials` takes from its run store: how many runs memorised at each dimension of each curve.
`results/structure.json` is that of `georecall compare --preset structure`, as far as its runs have come;
`results/mechanism.json` and `results/smollm2.json` are the reports of `georecall mechanism` and `georecall probe`.
"""


@cache
def claim_map() -> tuple[Mapped, ...]:
    """Every theorem in the order of the registry, then every experiment."""
    tests = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests").rglob("test_*.py"))}
    found = []
    for identifier, theorem in theorems().items():
        files = [path for path in _library() if identifier in identifiers_of(path)]
        tested = dict.fromkeys(filter(None, (_test_of(file, identifier, tests) for file in files)))
        figures = tuple(each.name for each in FIGURES.values() if identifier in each.claims)
        command = f"georecall verify {identifier}"
        found.append(Mapped(theorem.title, (identifier,), _shown(files), _shown(tested), command, figures))
    for name, claim, about, modules, checked, command in EXPERIMENTS:
        places = [ROOT / "empirical" / f"{module}.py" for module in modules]
        tested = {path: None for path in tests if path.stem.removeprefix("test_") in checked}
        figures = tuple(each.name for each in FIGURES.values() if name in each.claims)
        found.append(Mapped(f"{name}: {claim}", about, _shown(places), _shown(tested), command, figures))
    return tuple(found)


@cache
def identifiers_of(path: Path) -> list[str]:
    """The theorems with which the docstring of a module begins: "T2d and T1e: .." or "T5: .."."""
    line = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]
    head = re.match(rf"{IDENTIFIER}((, | and ){IDENTIFIER})*(?=[:,])", line)
    return re.findall(IDENTIFIER, head.group()) if head else []


def as_markdown() -> str:
    """The page."""
    return HEADER + "".join(map(_line, claim_map())) + FOOTER


def _library() -> list[Path]:
    return sorted(path for package in ("constructions", "bounds") for path in (ROOT / package).rglob("*.py"))


def _test_of(file: Path, identifier: str, tests: dict[Path, str]) -> Path | None:
    """The test of what a module says of a theorem; None where there is none."""
    module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
    own = [path for path in tests if identifier in identifiers_of(path)]
    if own or module.startswith("constructions."):
        return (own or [ROOT / "tests" / "constructions" / "test_constructions.py"])[0]
    importing = [path for path, text in tests.items() if f"from {module} import" in text]
    return max(importing, key=lambda path: len(re.findall(rf"\b{identifier}\b", tests[path])), default=None)


def _shown(paths: Iterable[Path]) -> tuple[str, ...]:
    return tuple(path.relative_to(ROOT).as_posix() for path in paths)


def _line(row: Mapped) -> str:
    def code(parts: Iterable[str]) -> str:
        """The parts as code, or a dash where there are none."""
        return ", ".join(f"`{part}`" for part in parts) or "–"

    cells = (row.claim, ", ".join(row.theorems) or "–", code(row.files), code(row.tests), f"`{row.command}`")
    return f"| {' | '.join((*cells, code(row.figures)))} |\n"


if __name__ == "__main__":
    print(as_markdown(), end="")
