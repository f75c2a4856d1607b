"""Explicit weights, and what checks them: the rooms `weights`, `verification`, `noise`, `campaign` and `suite`.

A construction is a function `FactSystem -> Transformer`. The checks of `verification` take any Transformer and
FactSystem and know nothing of `weights`; `noise` asks how far a subject's row may be off (T13), `campaign` attacks the
checkers, and `suite` uses them all, claim by claim, and makes the rows of the ledger.
"""
