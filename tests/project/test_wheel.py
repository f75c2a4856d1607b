"""The wheel carries the packages, their type marks and the command line, and nothing else."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.helpers.places import ROOT

PACKAGES = ("theory", "constructions", "bounds", "empirical", "paper_figs", "georecall")
COPIED = (*PACKAGES, "tests", "pyproject.toml", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The wheel's files, by name. It is built from a copy: setuptools leaves its traces in the tree it builds from."""
    source = tmp_path_factory.mktemp("source")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source / name)
    target = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target), str(source)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    (path,) = target.iterdir()
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_wheel_carries_every_source_file_and_nothing_else(wheel: dict[str, bytes]) -> None:
    sources = {path.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    marks = {f"{package}/py.typed" for package in PACKAGES}
    templates = {path.relative_to(ROOT).as_posix() for path in (ROOT / "paper_figs" / "templates").iterdir()}
    carried = {name for name in wheel if ".dist-info/" not in name}
    assert templates
    assert carried == sources | marks | templates


def test_wheel_installs_the_command(wheel: dict[str, bytes]) -> None:
    (entry_points,) = (text.decode() for name, text in wheel.items() if name.endswith("/entry_points.txt"))
    assert "georecall = georecall:main" in entry_points.splitlines()


INSTALLED = """
import sys
from importlib.machinery import PathFinder
find = PathFinder.find_spec
missing = ("torch", "matplotlib", "jinja2", "transformers")
PathFinder.find_spec = classmethod(lambda cls, name, *rest: None if name in missing else find(name, *rest))
import georecall
assert georecall.__file__.startswith(sys.argv[1]), georecall.__file__
georecall.main(["verify", "T1", "--entities", "20", "--relations", "2"])
"""


def test_what_is_in_the_wheel_verifies_a_theorem_without_torch(wheel: dict[str, bytes], tmp_path: Path) -> None:
    for name, content in wheel.items():
        path = tmp_path / "installed" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    place = str(tmp_path / "installed")
    environment = os.environ | {"PYTHONPATH": place}
    command = [sys.executable, "-c", INSTALLED, place]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "T1: 4 of 4 checks hold" in run.stdout
