"""Devices that a test may write to: copies, for whoever is root could destroy the machine's own with a wrong line."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest


def device(folder: Path, name: str) -> Path:
    """The device /dev/NAME, or for root a copy of it in the folder; skips the test where a copy cannot be used."""
    own = Path("/dev") / name
    if os.geteuid() != 0:
        return own
    copy = folder / name
    try:
        os.mknod(copy, stat.S_IFCHR | 0o666, os.stat(own).st_rdev)
        copy.open("wb").close()
    except OSError as error:
        pytest.skip(f"no device can be made in {folder}: {error.strerror}")
    return copy
