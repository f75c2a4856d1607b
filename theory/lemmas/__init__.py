"""What is proved by machine for all values and sizes: the lemmas, by subject, and how SymPy and z3 prove them.

`collection` has all of them; it makes rows of the ledger, so this room uses `theory.records`.
"""
