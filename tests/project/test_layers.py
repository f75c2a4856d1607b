"""Imports point one way: theory ← constructions, bounds ← empirical ← paper_figs ← the command line.

Read off the source by its syntax tree, so an import inside a function or under TYPE_CHECKING counts too.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

import networkx
import pytest

from tests.helpers.places import ROOT

MAY_IMPORT: dict[str, set[str]] = {
    "theory": set(),
    "constructions": {"theory"},
    "bounds": {"theory"},
    "empirical": {"theory", "constructions", "bounds"},
    "paper_figs": {"theory", "constructions", "bounds", "empirical"},
    "georecall": {"theory", "constructions", "bounds", "empirical", "paper_figs"},
}
PROJECT = {*MAY_IMPORT, "tests", "benchmarks"}
MAY_IMPORT_TORCH = {"empirical"}
SLOW_LIBRARIES = {"torch", "sympy", "hypothesis", "networkx", "scipy"}


def imports(source: str) -> list[tuple[int, str]]:
    """(line, top-level package) of every absolute import in the source; a relative one stays in its own package."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name.split(".")[0]) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            found.append((node.lineno, node.module.split(".")[0]))
    return found


def source_files(root: Path, layer: str) -> list[Path]:
    return sorted((root / layer).rglob("*.py"))


def violations(root: Path) -> list[str]:
    """Each forbidden import below `root`, as "file:line: imports package"."""
    found = []
    for layer, allowed in MAY_IMPORT.items():
        forbidden = PROJECT - allowed - {layer}
        if layer not in MAY_IMPORT_TORCH:
            forbidden = forbidden | {"torch"}
        for path in source_files(root, layer):
            for line, package in imports(path.read_text(encoding="utf-8")):
                if package in forbidden:
                    found.append(f"{path.relative_to(root).as_posix()}:{line}: imports {package}")
    return found


def slow_libraries_loaded_by(statement: str) -> set[str]:
    """Which of the slow libraries a fresh interpreter has loaded after the statement."""
    script = f"{statement}\nimport sys\nprint(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return SLOW_LIBRARIES & set(run.stdout.split())


@pytest.mark.parametrize("layer", MAY_IMPORT)
def test_every_layer_is_read(layer: str) -> None:
    assert all(path.is_file() for path in source_files(ROOT, layer))
    assert source_files(ROOT, layer)


def test_imports_point_one_way() -> None:
    assert violations(ROOT) == []


def test_planted_violations_are_caught(tmp_path: Path) -> None:
    planted = {
        "theory/deep/lemma.py": "def prove():\n    from constructions.single_hop import build\n",
        "constructions/single_hop.py": "import numpy, theory.system\nimport torch.nn as nn\n",
        "bounds/table.py": "from . import counting\nfrom constructions import single_hop\n",
        "empirical/train.py": "import torch\nimport bounds\nimport paper_figs\n",
        "paper_figs/capacity.py": "import empirical\nimport georecall\n",
        "georecall/planted.py": "import paper_figs\nfrom tests import conftest\n",
    }
    for name, source in planted.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    assert violations(tmp_path) == [
        "theory/deep/lemma.py:2: imports constructions",
        "constructions/single_hop.py:2: imports torch",
        "bounds/table.py:2: imports constructions",
        "empirical/train.py:3: imports paper_figs",
        "paper_figs/capacity.py:2: imports georecall",
        "georecall/planted.py:2: imports tests",
    ]


def room_of(module: str, modules: set[str]) -> str:
    """The folder of a module, or of the package that it is."""
    return module.rpartition(".")[0] if module in modules else module


def arrows(root: Path) -> dict[tuple[str, str], str]:
    """(room, room that it imports from) with one file and line that does, below `root`; rooms are folders of modules.

    A package's own `__init__` counts as none of its rooms: it only hands on what they hold.
    """
    paths = {
        path.relative_to(root).with_suffix("").as_posix().replace("/", "."): path
        for layer in MAY_IMPORT
        for path in source_files(root, layer)
        if path.name != "__init__.py"
    }
    found = {}
    for module, path in paths.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            targets = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                targets = [f"{node.module}.{alias.name}" for alias in node.names]
                targets = [each if each in paths else node.module for each in targets]
            for target in targets:
                here, there = room_of(module, set(paths)), room_of(target, set(paths))
                if target in paths and here != there:
                    found[here, there] = f"{path.relative_to(root).as_posix()}:{node.lineno}"
    return found


def circles(root: Path) -> list[list[str]]:
    """The rooms that import from one another, directly or by way of others."""
    graph = networkx.DiGraph(list(arrows(root)))
    return [sorted(part) for part in networkx.strongly_connected_components(graph) if len(part) > 1]


def test_arrows_between_rooms_point_one_way() -> None:
    assert circles(ROOT) == []


def test_a_planted_circle_of_rooms_is_caught(tmp_path: Path) -> None:
    planted = {
        "bounds/counting/a.py": "from bounds.lower import b\n",
        "bounds/lower/b.py": "def late():\n    from bounds.tables.c import total\n",
        "bounds/tables/c.py": "import bounds.counting.a\n",
        "bounds/suite/d.py": "from bounds.lower import b\n",
    }
    for name, source in planted.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    assert circles(tmp_path) == [["bounds.counting", "bounds.lower", "bounds.tables"]]


MOST_FILES = 14


def test_rooms_are_small_and_say_what_is_in_them() -> None:
    for layer in MAY_IMPORT:
        for folder in {path.parent for path in source_files(ROOT, layer)}:
            modules = [path for path in folder.glob("*.py") if not path.name.startswith("__")]
            about = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
            # A room with a file a theorem is as large as the theory.
            modules = [path for path in modules if not re.fullmatch(r"t\d+\w*", path.stem)]
            assert len(modules) <= MOST_FILES, folder
            assert len(about) > 80, f"{folder}/__init__.py should say what is in the room, and which rooms it uses"


def test_theory_loads_no_slow_library() -> None:
    assert slow_libraries_loaded_by("import theory") == set()


def test_a_slow_library_is_noticed() -> None:
    assert "networkx" in slow_libraries_loaded_by("import networkx")
