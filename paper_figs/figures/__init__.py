"""One file a figure, each with a function `draw`, and what they share: looks of conditions, lines of the theory.

Uses the saved results and the style of `paper_figs`; the catalogue loads them by name.
"""
