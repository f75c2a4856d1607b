"""Thresholds of trained models against the theory (E1, E2, E6, E8): curves, search, laws, verdicts, the report.

Uses the models, their execution, and the statistics.
"""
