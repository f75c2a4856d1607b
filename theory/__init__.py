"""Definitions and statements: fact systems, transformers and what they compute, theorems, symbolic lemmas, strategies.

Light to import: `theory.statements.registry` and `theory.lemmas.collection` (SymPy, z3) and
`theory.definitions.strategies` (hypothesis) are imported by name.
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
