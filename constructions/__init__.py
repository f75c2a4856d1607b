"""Explicit weights, one file a theorem (t1.py .. t7.py), and what checks them.

A construction is a function `FactSystem -> Transformer`. The checks take any Transformer and FactSystem: `exhaustive`
(every query, all logits), `systems` (every fact system of a size), `certificate` (all queries at once, from the
weights), `interval` (real weights and softmax, enclosed). `suite` runs them claim by claim and `ledger` keeps what they
found.
"""
