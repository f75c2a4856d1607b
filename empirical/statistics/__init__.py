"""The statistics that all experiments share: verdicts, thresholds, shares with intervals, significance, ridge,
subspaces.

Uses the runs of `empirical.models`, for what a threshold is the threshold of.
"""
