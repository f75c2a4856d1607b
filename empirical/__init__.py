"""Training, sweeps, mechanism analyses, and probing of pretrained models: what is measured, not proved.

The only package that imports torch, which the extra `empirical` installs. A trained model is handed over as the same
`Transformer` as a constructed one, so every analysis here runs on both, and is tested on the constructed one, where
the right answer is known. It may import `theory`, `constructions` and `bounds`.
"""
