"""How runs are done and kept: the store, the engines (this machine, a Ray cluster), provenance, records.

Uses the runs of `empirical.models`, and loads its training by name, in the workers.
"""
