"""The lower bounds: what a bound is, one file a theorem, and the strongest of many.

Uses `bounds.counting` for answer vectors, and `bounds.enclosure`.
"""
