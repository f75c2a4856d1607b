"""Noise on the rows that a model reads (T13): the worst perturbation of a query, and what a model survives.

Uses the verification, which it leaves as it is: the exact core, and the proof that heads read fixed positions.
"""
