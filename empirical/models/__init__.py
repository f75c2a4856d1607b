"""What is trained: runs, the model, its training, and its conversion to a transformer that can be checked exactly.

The lowest room of this package; the only other package it needs is `constructions`.
"""
