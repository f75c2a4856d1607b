"""The figures, one file a figure, drawn from saved results alone: nothing is trained or verified while drawing.

matplotlib comes with the extra `figures`. It may import every other package, and no torch.
"""
