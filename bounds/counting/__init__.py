"""How many there are: fact systems, graphs, matchings, answer vectors; by formula and, without a line in common, by list.

Uses `bounds.enclosure` for logarithms of numbers too long to read.
"""
