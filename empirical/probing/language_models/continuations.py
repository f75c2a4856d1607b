"""Which of several candidates follows a prompt: their probabilities as disjoint events, in one pass a prompt.

The spellings of the candidates form a tree of tokens. A candidate's event is that the text goes on along its branch
beyond the point where it parts from all others; a candidate whose whole spelling begins another's (Niger, Nigeria)
has the event that the text goes on with it and then with no token that leads to one of those. The events exclude each
other, so longer spellings are at no disadvantage: what follows the parting point does not count. Where the first tokens
all differ, the score is the log-probability of the first token.

Only inner nodes (beginnings that several candidates share) have to be read beyond the prompt. They are appended to it,
each seeing the prompt and the nodes above it, so that one pass gives the next-token probabilities at all of them.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from empirical.probing.language_models.states import adding
from empirical.probing.language_models.tokens import TokenRow, common_start
from theory.errors import InputError

READ_AT_ONCE = 512  # positions whose next-token probabilities are held in memory together
ROWS_AT_ONCE = 32


@dataclass(frozen=True)
class Tree:
    """The inner nodes of the candidates' spellings: the root first, a parent before its children.

    `nodes[j]` is the spelling that leads to node j. `steps[c]` are the (node, token) whose log-probabilities add up to
    candidate c's; `ends[c]` is the (node, tokens) of a candidate that ends at an inner node, with the tokens that lead
    on from there, else None.
    """

    nodes: tuple[tuple[int, ...], ...]
    steps: tuple[tuple[tuple[int, int], ...], ...]
    ends: tuple[tuple[int, tuple[int, ...]] | None, ...]


def tree_of(objects: Sequence[str], spellings: Sequence[tuple[int, ...]]) -> Tree:
    """The tree of the spellings; InputError if two objects are spelt alike."""
    owners: dict[tuple[int, ...], str] = {}
    below: dict[tuple[int, ...], set[int]] = {(): set()}
    sharing: dict[tuple[int, ...], int] = {}
    for found, spelling in zip(objects, spellings, strict=True):
        if spelling in owners:
            raise InputError(f"the model's tokeniser spells {owners[spelling]!r} and {found!r} alike: keep one of them")
        owners[spelling] = found
        for depth in range(len(spelling) + 1):
            sharing[spelling[:depth]] = sharing.get(spelling[:depth], 0) + 1
            if depth:
                below.setdefault(spelling[: depth - 1], set()).add(spelling[depth - 1])
    inner = sorted(
        (start for start, users in sharing.items() if users > 1 or not start), key=lambda node: (len(node), node)
    )
    number = {node: place for place, node in enumerate(inner)}
    steps, ends = [], []
    for spelling in spellings:
        steps.append(
            tuple(
                (number[spelling[:depth]], spelling[depth])
                for depth in range(len(spelling))
                if spelling[:depth] in number
            )
        )
        ends.append((number[spelling], tuple(sorted(below[spelling]))) if spelling in number else None)
    return Tree(tuple(inner), tuple(steps), tuple(ends))


def log_probabilities(
    model: Any,
    blocks: nn.ModuleList,
    rows: Sequence[TokenRow],
    tree: Tree,
    patch: tuple[int, Tensor] | None = None,
) -> Tensor:
    """The log-probability of each candidate's event after each row, shape [rows, candidates].

    `patch` is (layer, change [rows, d]), added at the last token of each row's subject. Rows that begin alike share
    that beginning's keys and values, up to the first place where a subject ends.
    """
    start = common_start([row.tokens[: row.subject] for row in rows])
    beginning = _read(model, rows[0].tokens[:start]) if start else None
    step = max(1, min(ROWS_AT_ONCE, READ_AT_ONCE // len(tree.nodes)))
    scores = []
    for first in range(0, len(rows), step):
        batch = rows[first : first + step]
        inputs, columns = _inputs(batch, tree, start)
        if beginning is not None:
            cache = copy.deepcopy(beginning)
            cache.batch_repeat_interleave(len(batch))
            inputs["cache"] = cache
        change = nullcontext() if patch is None else adding(blocks, patch[0], columns, patch[1][first : first + step])
        with torch.inference_mode(), change:
            logits = model(**inputs, use_cache=beginning is not None, logits_to_keep=len(tree.nodes)).logits
        scores.append(_scores(logits.float(), tree))
    return torch.cat(scores)


def is_faithful(model: Any, blocks: nn.ModuleList) -> bool:
    """Whether a pass over a prompt and inner nodes gives what plain runs of each text give.

    Not so for models that take no such mask, see positions otherwise, or are not attention throughout.
    """
    texts = ((1, 2, 3, 4, 5), (1, 2, 6, 7, 8, 9, 3))
    tree = tree_of(("a", "b", "c", "d"), ((1,), (1, 2), (1, 3), (4,)))
    try:
        found = log_probabilities(model, blocks, [TokenRow(text, 3, len(text)) for text in texts], tree)
    except (TypeError, ValueError, RuntimeError, AttributeError, IndexError):
        return False
    with torch.inference_mode():
        plain = [model(torch.tensor([text + node])).logits[0, -1] for text in texts for node in tree.nodes]
    expected = _scores(torch.stack(plain).float().unflatten(0, (len(texts), len(tree.nodes))), tree)
    return bool(torch.allclose(found, expected, rtol=0, atol=1e-2))


def _read(model: Any, tokens: Sequence[int]) -> Any:
    """The keys and values of a text."""
    with torch.inference_mode():
        return model.base_model(torch.tensor([tokens]), use_cache=True).cache


def _inputs(rows: Sequence[TokenRow], tree: Tree, start: int) -> tuple[dict[str, Any], Tensor]:
    """What the model reads after the common start: the rest of each row, padded on the left, then the inner nodes; and
    the columns, [rows], of the subjects' last tokens.

    The mask is added to attention's logits, [rows, 1, columns, start + columns].
    """
    below = tree.nodes[1:]
    place = {node: number for number, node in enumerate(below)}
    width = max(row.length for row in rows) - start
    tokens = torch.zeros(len(rows), width + len(below), dtype=torch.long)
    positions = torch.zeros_like(tokens)
    seen = torch.zeros(len(rows), width + len(below), start + width + len(below), dtype=torch.bool)
    seen[:, :, :start] = True
    seen[:, :, start:] |= torch.eye(width + len(below), dtype=torch.bool)
    seen[:, :width, start : start + width] |= torch.ones(width, width, dtype=torch.bool).tril()
    seen[:, width:, start : start + width] = True
    for node in below:
        for depth in range(1, len(node)):
            seen[:, width + place[node], start + width + place[node[:depth]]] = True
    columns = torch.empty(len(rows), dtype=torch.long)
    for number, row in enumerate(rows):
        padding = width - (row.length - start)
        seen[number, padding:, start : start + padding] = False
        tokens[number, padding:width] = torch.tensor(row.tokens[start : row.length])
        tokens[number, width:] = torch.tensor([node[-1] for node in below], dtype=torch.long)
        positions[number, padding:width] = torch.arange(start, row.length)
        positions[number, width:] = torch.tensor([row.length + len(node) - 1 for node in below], dtype=torch.long)
        columns[number] = padding + row.subject - start
    mask = torch.zeros(seen.shape).masked_fill(~seen, torch.finfo(torch.float32).min)
    return {"input_ids": tokens, "position_ids": positions, "attention_mask": mask[:, None]}, columns


def _scores(logits: Tensor, tree: Tree) -> Tensor:
    """The candidates' log-probabilities, [rows, candidates], from the logits at the nodes, [rows, nodes, tokens]."""
    total = logits.logsumexp(-1)
    scores = torch.zeros(len(logits), len(tree.steps))
    for candidate, (steps, end) in enumerate(zip(tree.steps, tree.ends, strict=True)):
        for node, token in steps:
            scores[:, candidate] += logits[:, node, token] - total[:, node]
        if end is not None:
            node, leading_on = end
            others = logits[:, node].index_fill(-1, torch.tensor(leading_on), -math.inf)
            scores[:, candidate] += others.logsumexp(-1) - total[:, node]
    return scores
