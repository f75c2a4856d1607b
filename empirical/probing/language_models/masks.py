"""Which of several candidates a masked language model puts in place of mask tokens.

A candidate of n tokens is scored where the question is followed by n masks and a full stop: the mean, over the n
tokens, of each one's log-probability at its mask. The mean is what makes candidates of different lengths comparable;
the tokens of one candidate are taken as independent, for the model fills all masks at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from empirical.probing.language_models.prompts import Prompt
from empirical.probing.language_models.states import adding
from empirical.probing.language_models.tokens import encode, right_padded
from theory.errors import InputError

ROWS_AT_ONCE = 32


def mask_log_probabilities(
    model: Any,
    blocks: nn.ModuleList,
    tokenizer: Any,
    asked: Sequence[Prompt],
    spellings: Sequence[tuple[int, ...]],
    patch: tuple[int, Tensor] | None = None,
    most: float = math.inf,
) -> Tensor:
    """The mean log-probability of each candidate's tokens at the masks, shape [prompts, candidates].

    `patch` is (layer, change [prompts, d]), added at the last token of each prompt's subject. Raises InputError if the
    tokeniser has no mask token, or a prompt holds it, or has more than `most` tokens with its masks.
    """
    if tokenizer.mask_token is None:
        raise InputError("the model is a masked one, but its tokeniser has no mask token")
    if any(tokenizer.mask_token in prompt.text for prompt in asked):
        raise InputError(f"a subject, an object or the question holds the model's mask token, {tokenizer.mask_token}")
    scores = torch.empty(len(asked), len(spellings))
    for length in sorted({len(spelling) for spelling in spellings}):
        candidates = [number for number, spelling in enumerate(spellings) if len(spelling) == length]
        tokens = torch.tensor([spellings[number] for number in candidates])
        masks = " ".join([tokenizer.mask_token] * length)
        rows = encode(tokenizer, [replace(prompt, text=f"{prompt.text} {masks}.") for prompt in asked], most)
        for first in range(0, len(rows), ROWS_AT_ONCE):
            batch = rows[first : first + ROWS_AT_ONCE]
            columns = torch.tensor([row.subject for row in batch])
            some = slice(first, first + len(batch))
            change = nullcontext() if patch is None else adding(blocks, patch[0], columns, patch[1][some])
            inputs = right_padded(batch)
            with torch.inference_mode(), change:
                logits = model(**inputs).logits
            # Indexing by a mask goes row by row, and every row has `length` masks.
            at_masks = logits[inputs["input_ids"] == tokenizer.mask_token_id].reshape(len(batch), length, -1)
            found = at_masks.float().log_softmax(-1)
            chosen = torch.stack([found[:, place, tokens[:, place]] for place in range(length)])
            scores[some, candidates] = chosen.mean(0)
    return scores
