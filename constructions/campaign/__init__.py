"""A campaign against the checkers: mutants of every construction, and the truth about each.

`evaluator` gives the truth, from the definitions and in Python's integers, with no code of the checkers; `mutants`
draws models that are wrong, or right in strange ways; `judge` holds what the checkers say against the truth; `run` does
this for as long as one asks.
"""
