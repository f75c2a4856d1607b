"""The figures and the report, drawn from saved results alone: nothing is trained or verified while drawing.

`figures` has one file a figure; this room reads the results, lists the figures, and writes the report and the map of
claims. matplotlib comes with the extra `figures`. It may import every other package, and no torch.
"""
