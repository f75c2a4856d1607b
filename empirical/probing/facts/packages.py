"""The optional packages of probing: imported when needed, and missed in one line."""

from __future__ import annotations

import importlib
from typing import Any

from theory.errors import InputError


def needed(module: str, package: str | None = None) -> Any:
    """The module; InputError if the package that has it (of the same name, unless given) is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        missing = package or module.split(".")[0]
        reason = "" if (error.name or "").split(".")[0] == module.split(".")[0] else f" ({error})"
        raise InputError(
            f"the package {missing} is needed for this{reason}: pip install 'geometric-recall[probe]'"
        ) from None
