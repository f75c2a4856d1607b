"""Pretrained models read from a directory: checkpoints, tokens, states, answers.

Uses the facts, for the questions that are asked.
"""
