"""Where a run's numbers come from: versions, device and commit, recorded beside every run.

Seed and precision belong to the run's configuration, and stand there.
"""

from __future__ import annotations

import functools
import importlib.metadata
import platform
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("geometric-recall", "numpy", "torch")


@functools.cache
def provenance(device: str) -> dict[str, str]:
    """The versions of Python and of the packages that compute, the platform, the device ("cpu", "cuda", "cuda:1"), and
    the commit if the project runs from its own git checkout, with "+" where files differ from it.
    """
    found = {"python": platform.python_version(), "platform": platform.platform(), "device": device}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    if device.startswith("cuda"):
        import torch

        found["cuda"] = str(torch.version.cuda)
        if torch.cuda.is_available():  # the driver of a cluster may have none
            found["gpu"] = torch.cuda.get_device_name(device)
    commit = _commit()
    return {**found, "commit": commit} if commit else found


def _commit() -> str:
    # An enclosing checkout of something else, around an environment that this is installed in, says nothing.
    if not (ROOT / ".git").exists():
        return ""
    try:
        return _git("rev-parse", "HEAD") + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return ""


def _git(*arguments: str) -> str:
    command = ["git", "--no-optional-locks", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
