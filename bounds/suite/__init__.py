"""The lower bounds put to the test: the families of their proofs, listed system by system, as rows of the ledger.

Uses the lower bounds and the counts.
"""
