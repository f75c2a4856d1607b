"""What is measured on states: maps read from them, controls, superposition, exchange of a component.

Uses the facts and the statistics.
"""
