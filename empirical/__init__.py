"""Training, sweeps, mechanism analyses, and probing of pretrained models: what is measured, not proved.

The rooms, each of which may use those before it: `models`, `statistics` and `execution`, `comparison`, `mechanism`;
and `probing`, which uses the statistics and execution's records alone. The only package that imports torch, which the
extra `empirical` installs. A trained model is handed over as the same `Transformer` as a constructed one, so every
analysis here runs on both, and is tested on the constructed one, where the right answer is known.
"""
