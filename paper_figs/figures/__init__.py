"""One file a figure, each with a function `draw`.

Uses the saved results, the style, the looks of conditions and the lines of the theory in `paper_figs`; the catalogue
loads them by name.
"""
