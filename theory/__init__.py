"""What is spoken of, claimed, proved by machine and kept: the rooms `definitions`, `statements`, `lemmas`, `records`.

`statements` uses the definitions, `records` too; `lemmas` makes rows of the ledger; all of them raise `errors`. The
names below are loaded when they are asked for, so that `georecall --help` need not wait for NumPy; what else there is
is imported from its file.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from theory.definitions.fact_system import FactSystem, all_systems, all_words, relabelling_classes
    from theory.definitions.task import Task
    from theory.definitions.transformer import Block, Transformer
    from theory.errors import InputError

__all__ = [
    "Block",
    "FactSystem",
    "InputError",
    "Task",
    "Transformer",
    "all_systems",
    "all_words",
    "relabelling_classes",
]

_HOMES = (
    "theory.errors",
    "theory.definitions.fact_system",
    "theory.definitions.task",
    "theory.definitions.transformer",
)


def __getattr__(name: str) -> Any:
    """One of the names above, loaded when it is first asked for."""
    if name in __all__:
        for home in map(import_module, _HOMES):
            if name in vars(home):
                globals()[name] = vars(home)[name]
                return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
