"""Which checks each construction gets, in which sizes, as rows of the ledger; and T5 and T7, about other theorems.

Uses the weights and the verification.
"""
