"""What checks any weights, whoever made them: exact runs, intervals, rounding, the certificate, many systems.

Uses `theory` alone: no check knows how the weights that it judges were built.
"""
