"""Counts and lower bounds: how many fact systems there are, and how many bits a model that knows one must hold.

The rooms: `counting` (exact counts), `lower` (the bounds, which use the counts), `tables` (bounds beside
constructions) and `suite` (the bounds put to the test); `enclosure` has the exact logarithms that all of them use.
"""
