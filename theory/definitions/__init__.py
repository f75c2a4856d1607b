"""What is spoken of: fact systems, tasks, transformers and what they compute; strategies to draw them.

The lowest room: it uses only `theory.errors`.
"""
