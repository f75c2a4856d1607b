"""Where numbers come from: versions, device, and the commit of the checkout that the project runs from."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from empirical.execution import provenance as module
from empirical.execution.provenance import provenance
from tests.helpers.places import ROOT

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    provenance.cache_clear()
    yield
    provenance.cache_clear()


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false")
    command = ["git", *who, "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository that the project is made to take for its own, with one file and no commit."""
    git(tmp_path, "init", "-q")
    (tmp_path / "file").write_text("one\n")
    git(tmp_path, "add", "file")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return tmp_path


def test_the_project_is_looked_for_where_it_is() -> None:
    assert module.ROOT == ROOT


def test_versions_are_those_that_are_installed_and_a_package_that_is_not_is_said_to_be_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "PACKAGES", ("numpy", "no-such-package"))
    found = provenance("cpu")
    assert (found["python"], found["device"]) == (platform.python_version(), "cpu")
    assert (found["numpy"], found["no-such-package"]) == (importlib.metadata.version("numpy"), "not installed")


@needs_git
def test_the_commit_has_a_plus_where_files_that_it_knows_differ(checkout: Path) -> None:
    git(checkout, "commit", "-q", "-m", "one")
    commit = git(checkout, "rev-parse", "HEAD")
    assert provenance("cpu")["commit"] == commit
    provenance.cache_clear()
    (checkout / "untracked").write_text("\n")
    assert provenance("cpu")["commit"] == commit
    provenance.cache_clear()
    (checkout / "file").write_text("two\n")
    assert provenance("cpu")["commit"] == commit + "+"


@needs_git
def test_a_repository_without_a_commit_and_a_folder_in_another_repository_name_none(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "commit" not in provenance("cpu")
    git(checkout, "commit", "-q", "-m", "one")
    provenance.cache_clear()
    (checkout / "inner").mkdir()
    monkeypatch.setattr(module, "ROOT", checkout / "inner")
    assert "commit" not in provenance("cpu")


def test_without_git_there_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "commit" not in provenance("cpu")
