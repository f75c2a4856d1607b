"""Explicit weights, and what checks them: the rooms `weights`, `verification` and `suite`.

A construction is a function `FactSystem -> Transformer`. The checks of `verification` take any Transformer and
FactSystem and know nothing of `weights`; `suite` uses both, claim by claim, and makes the rows of the ledger.
"""
