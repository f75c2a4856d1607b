"""What a read-out must beat: the majority, shuffled pairs, the same probe on random weights, and no map at all.

*Majority*: the object most frequent among the training subjects. *Shuffled*: the same probe, with nested choice of
penalty, rank and layer, after the objects have been dealt out to the subjects anew, test subjects included, and judged
by the pairs dealt. *Randomised*: the same probe on the states of the model's architecture and tokeniser with fresh
weights (the objects' directions are still the model's own, for the question is what the states hold); what it reads off
is in the tokens. *Similarity*: no map, the candidate that the state itself is most aligned with, both less their means.
*Embeddings*: the same probe on layer 0, beside which the gain of the blocks shows.
"""

from __future__ import annotations

import numpy as np

from empirical.probing.measures.maps import Array, Candidates, Integers, decide

SHUFFLES = 4


def majority(objects: Integers, fold: Integers) -> Integers:
    """The most frequent object of the other folds, for each subject; the first of several."""
    predicted = np.empty(len(objects), np.int64)
    for number in range(fold.max() + 1):
        predicted[fold == number] = np.bincount(objects[fold != number]).argmax()
    return predicted


def shuffled(objects: Integers, seed: int, count: int = SHUFFLES) -> Integers:
    """The objects dealt out anew, `count` times, shape [count, n]."""
    generator = np.random.default_rng(seed)
    return np.stack([generator.permutation(objects) for _ in range(count)])


def similarity(states: Array, found: Candidates) -> Integers:
    """The candidate that each state is most aligned with, states [n, d] and candidates less their means."""
    wide = states.astype(float)
    return decide((wide - wide.mean(axis=0)) @ found.basis.T @ found.table)
