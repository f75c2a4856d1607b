"""How models recall (E3, E4, E5): read-out, interventions, hidden units, freeze and swap; presets, sweep and verdicts.

Uses the models, their execution, the statistics, and the comparison, for the dimensions at which models are studied.
"""
