"""Certificate where no argument about the weights applies and the prompts are few: every prompt is run, exactly.

Attention that depends on the prompt, ties, uniform attention over several relations, several blocks of any kind: the
stream at the last position is computed for each of the N·R^k prompts of each step, and read out by `certify_readout`,
mostly without the N logits of each. In later steps of a chain the tokens emitted so far are taken to be the right ones,
which the margins of the earlier steps have proved.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from constructions.verification.certify_attention import Refused, require_affordable
from constructions.verification.certify_depth import read_out
from constructions.verification.exact import ExactModel, products
from theory import FactSystem, Task, Transformer
from theory.definitions.fact_system import words_of

MOST_PRODUCTS = 2**32
CHUNK = 2**20


def certify_prompts(transformer: Transformer, system: FactSystem, task: Task) -> Fraction:
    """The least margin over all prompts of all steps (if it is not positive, of some); Refused when they are too
    many.
    """
    if transformer.attention == "softmax":
        raise Refused("softmax attention is irrational and cannot be run exactly")
    queries = system.entities * system.relations**task.hops
    size = max(1, CHUNK // max(1, transformer.dimension * task.positions, transformer.width))
    passes, batches = queries * task.steps, -(-queries // size) * task.steps
    needed = products(transformer, task.positions, passes, batches)
    if needed > MOST_PRODUCTS:
        raise Refused(f"{queries} prompts are too many to run: {needed} products, of at most {MOST_PRODUCTS}")
    model = ExactModel(transformer, rational=True)
    margins = []
    for start in range(0, queries, size):
        words, subjects = np.divmod(np.arange(start, min(start + size, queries)), system.entities)
        letters = words_of(words, system.relations, task.hops)
        prompts, entity = np.concatenate([subjects[:, None], system.entities + letters], axis=1), subjects
        for step in range(task.steps):
            outputs, denominator = model.outputs(prompts)
            require_affordable(outputs.dtype, products(transformer, task.positions, passes, 0), "running every prompt")
            for hop in range(*task.hops_of_step(step)):
                entity = system.answers[letters[:, hop], entity]
            answers = entity + system.entities * letters[:, 0] if task.disjoint_attributes else entity
            margins.append(read_out(transformer, outputs, denominator, answers))
            if margins[-1] <= 0:
                return margins[-1]
            prompts = np.concatenate([prompts, entity[:, None]], axis=1)
    return min(margins)
