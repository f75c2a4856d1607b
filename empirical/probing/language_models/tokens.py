"""Texts as tokens: where a prompt's subject ends, and how an object is spelt after a prompt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from empirical.probing.language_models.prompts import Prompt
from theory.errors import InputError


@dataclass(frozen=True)
class TokenRow:
    """The tokens of a prompt, and which of them is the last of its subject.

    `length` is their number without the special tokens that a tokeniser may put at the end.
    """

    tokens: tuple[int, ...]
    subject: int
    length: int


def encode(tokenizer: Any, prompts: Sequence[Prompt], most: float = math.inf) -> list[TokenRow]:
    """The prompts as tokens, with the special tokens that the model expects.

    The last token of a subject is the last one that covers a character of it. Padding has no part in this: the rows
    are of their own lengths, whatever side the tokeniser pads. Raises InputError for a subject without a token, and for
    a prompt of more than `most` tokens.
    """
    encoded = tokenizer(
        [prompt.text for prompt in prompts], return_offsets_mapping=True, return_special_tokens_mask=True
    )
    rows = []
    for number, prompt in enumerate(prompts):
        spans, special = encoded["offset_mapping"][number], encoded["special_tokens_mask"][number]
        covering = [
            place
            for place, (start, end) in enumerate(spans)
            if not special[place] and end > start and start < prompt.subject_end and end > prompt.subject_start
        ]
        subject = prompt.text[prompt.subject_start : prompt.subject_end]
        if not covering:
            raise InputError(f"the model's tokeniser finds no token in the subject {subject!r}")
        if len(spans) > most:
            raise InputError(
                f"the text that asks of {subject[:40]!r} has {len(spans)} tokens; this model reads at most {most}"
            )
        length = max(place + 1 for place, mark in enumerate(special) if not mark)
        rows.append(TokenRow(tuple(encoded["input_ids"][number]), covering[-1], length))
    return rows


def spell(tokenizer: Any, objects: Sequence[str]) -> list[tuple[int, ...]]:
    """The tokens of each object as it follows a word and a space.

    Raises InputError for an object that the tokeniser cannot spell: no token, or an unknown one.
    """
    word = "is"
    before = tokenizer(word, add_special_tokens=False)["input_ids"]
    spelt = []
    for found in objects:
        tokens = tuple(tokenizer(f"{word} {found}", add_special_tokens=False)["input_ids"])
        if list(tokens[: len(before)]) != before or len(tokens) == len(before):
            raise InputError(f"the model's tokeniser has no token for the object {found!r}")
        tokens = tokens[len(before) :]
        if tokenizer.unk_token_id is not None and tokenizer.unk_token_id in tokens:
            raise InputError(f"the model's tokeniser cannot spell the object {found!r}: part of it is unknown to it")
        spelt.append(tokens)
    return spelt


def common_start(rows: Sequence[Sequence[int]]) -> int:
    """How many first entries all rows have in common."""
    length = min(len(row) for row in rows)
    return next((place for place in range(length) if any(row[place] != rows[0][place] for row in rows)), length)


def right_padded(rows: Sequence[TokenRow]) -> dict[str, Tensor]:
    """The rows as `input_ids` and `attention_mask`, [rows, columns], padded on the right: a token's column is its
    place."""
    width = max(len(row.tokens) for row in rows)
    tokens = torch.zeros(len(rows), width, dtype=torch.long)
    mask = torch.zeros(len(rows), width, dtype=torch.long)
    for number, row in enumerate(rows):
        tokens[number, : len(row.tokens)] = torch.tensor(row.tokens)
        mask[number, : len(row.tokens)] = 1
    return {"input_ids": tokens, "attention_mask": mask}
