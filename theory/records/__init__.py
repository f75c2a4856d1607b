"""What is kept: the ledger of checks, and models and fact systems as files, read and written.

Uses the definitions.
"""
