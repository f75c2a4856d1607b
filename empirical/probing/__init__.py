"""Probing of pretrained language models (E7): the study, its report and its verdicts.

`facts` is what is asked, `language_models` reads models, `measures` measures. Uses the statistics of `empirical`.
"""
