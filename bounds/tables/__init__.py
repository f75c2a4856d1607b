"""Bounds beside constructions: the rows, their summaries, and tables as text, CSV, JSON, Markdown and LaTeX.

Uses the lower bounds and the counts.
"""
