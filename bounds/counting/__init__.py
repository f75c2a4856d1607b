"""How many there are: fact systems, graphs, matchings, answer vectors; by formula, and by listing them.

Uses `bounds.enclosure` for logarithms of numbers too long to read.
"""
