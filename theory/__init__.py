"""Definitions and statements: fact systems, transformers and what they compute, theorems, symbolic lemmas, strategies.

Light to import: `theory.registry` and `theory.lemmas` (SymPy, z3) and `theory.strategies` (hypothesis) are imported by
name.
"""

from theory.errors import InputError
from theory.fact_system import FactSystem, all_systems, all_words, relabelling_classes
from theory.task import Task
from theory.transformer import Block, Transformer

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
