"""Foreign files are parsed in one place: a parser used elsewhere, or a catch-all that hides a crash, fails here."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.helpers.places import ROOT

PACKAGES = ("theory", "constructions", "bounds", "empirical", "paper_figs", "georecall")

# What parses foreign bytes, by the last two parts of its name (or the last), and the only modules that may call it.
READING, DATABASE = "theory/records/reading.py", "empirical/execution/database.py"
STAMP = "theory/records/stamp.py"  # of our own making, read where no library is installed
PRETRAINED = {"empirical/probing/language_models/pretrained.py", "empirical/probing/language_models/checkpoints.py"}
PARSERS: dict[str, set[str]] = {
    "json.load": {READING},
    "json.loads": {READING, STAMP},
    "np.load": {READING},
    "np.fromfile": {READING},
    "np.memmap": {READING},
    "np.loadtxt": {READING},
    "format.open_memmap": {READING},
    "safetensors.safe_open": {READING},
    "safetensors.deserialize": {READING},
    "numpy.load": {READING},
    "numpy.load_file": {READING},
    "safe_open": {READING},
    "load_file": {READING},
    "torch.load": set(),
    "pickle.load": set(),
    "pickle.loads": set(),
    "yaml.load": set(),
    "eval": set(),
    "exec": set(),
    "sqlite3.connect": {DATABASE},
    "from_pretrained": PRETRAINED,
}

# Where anything at all may be caught: the boundary; a worker, which reports what became of a run; and the campaign's
# judge, to whom an exception of a checker is a violation.
CATCH_ALL = {
    READING,
    "paper_figs/saved.py",
    "empirical/execution/worker.py",
    "constructions/campaign/judge.py",
    *PRETRAINED,
}


def called(node: ast.Call) -> str:
    """The last two parts of the name of what is called, or the last where there are no two, or no more say anything."""
    match node.func:
        case ast.Attribute(attr="from_pretrained") | ast.Name(id="from_pretrained"):
            return "from_pretrained"
        case ast.Attribute(value=ast.Name(id=first) | ast.Attribute(attr=first), attr=last):
            return f"{first}.{last}"
        case ast.Name(id=last):
            return last
    return ""


def faults(source: str, name: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            parser = called(node)
            if parser in PARSERS and name not in PARSERS[parser]:
                yield f"{name}:{node.lineno}: {parser}"
        if isinstance(node, ast.ExceptHandler) and name not in CATCH_ALL:
            caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            for each in caught:
                if each is None or (isinstance(each, ast.Name) and each.id == "Exception"):
                    yield f"{name}:{node.lineno}: catches everything"


def test_foreign_files_are_parsed_behind_the_boundary_alone() -> None:
    found = [
        fault
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for fault in faults(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix())
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import json\nx = json.loads(text)", "a.py:2: json.loads"),
        ("np.load(path, allow_pickle=False)", "a.py:1: np.load"),
        ("safetensors.numpy.load_file(path)", "a.py:1: numpy.load_file"),
        ("with safetensors.safe_open(path, 'numpy') as f: pass", "a.py:1: safetensors.safe_open"),
        ("sqlite3.connect(path)", "a.py:1: sqlite3.connect"),
        ("AutoModel.from_pretrained(path)", "a.py:1: from_pretrained"),
        ("needed('transformers').AutoConfig.from_pretrained(path)", "a.py:1: from_pretrained"),
        ("try:\n    x()\nexcept Exception:\n    pass", "a.py:3: catches everything"),
        ("try:\n    x()\nexcept:\n    pass", "a.py:3: catches everything"),
        ("try:\n    x()\nexcept (OSError, Exception):\n    pass", "a.py:3: catches everything"),
    ],
)
def test_what_is_planted_is_found(source: str, found: str) -> None:
    assert list(faults(source, "a.py")) == [found]


def test_what_may_catch_everything_exists() -> None:
    for name in CATCH_ALL.union(*PARSERS.values()):
        assert (ROOT / name).is_file()
