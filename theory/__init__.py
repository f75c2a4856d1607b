"""What is spoken of, claimed, proved by machine and kept: the rooms `definitions`, `statements`, `lemmas`, `records`.

`statements` uses the definitions, `records` too; `lemmas` makes rows of the ledger; all of them raise `errors`. Light
to import: `theory.statements.registry` and `theory.lemmas.collection` (SymPy, z3) and `theory.definitions.strategies`
(hypothesis) are imported by name.
"""

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
