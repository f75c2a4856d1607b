"""The explicit weights: one file a theorem, the parts that they share, and the catalogue of all of them.

Uses the definitions of `theory`; it knows of no check.
"""
