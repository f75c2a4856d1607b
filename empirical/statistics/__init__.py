"""The statistics that all experiments share: verdicts, thresholds, shares with intervals, resampling, regression.

Uses the runs of `empirical.models`, for what a threshold is the threshold of.
"""
