"""What is asked of a language model: relations from files and packages, and what a probe needs of a model.

The lowest room of the probe.
"""
