"""The residual stream of a pretrained transformer, read and changed by forward hooks.

Layer 0 is what enters the first block (the token embeddings, with positions where the model adds them), layer l ≥ 1 is
what block l - 1 puts out, before any final norm. The names are TransformerLens': `blocks.0.hook_resid_pre` (which is
`hook_embed` where no positions are added), then `blocks.0.hook_resid_post`, `blocks.1.hook_resid_post`, ...
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from theory.errors import InputError


def hook_name(layer: int) -> str:
    """TransformerLens' name of a layer's residual stream."""
    return f"blocks.{layer - 1}.hook_resid_post" if layer else "blocks.0.hook_resid_pre"


def find_blocks(model: nn.Module, count: int) -> nn.ModuleList:
    """The transformer's blocks: the outermost list of `count` modules; InputError if there is none."""
    for _, module in model.named_modules():
        if isinstance(module, nn.ModuleList) and len(module) == count:
            return module
    raise InputError(f"{type(model).__name__} has no list of {count} blocks: this architecture cannot be probed")


@contextlib.contextmanager
def recording(blocks: nn.ModuleList, columns: Tensor) -> Iterator[dict[str, Tensor]]:
    """Fill a dictionary, name → [rows, d], with the residual stream of every layer at column `columns[i]` of row i."""
    found: dict[str, Tensor] = {}

    def keep(layer: int) -> Callable[[Tensor], None]:
        """An action for a hook that records the layer's stream under its name and leaves it unchanged."""

        def look(hidden: Tensor) -> None:
            """Take from the stream, [rows, columns, d], the chosen column of each row: [rows, d]."""
            found[hook_name(layer)] = hidden[torch.arange(len(columns)), columns]

        return look

    with contextlib.ExitStack() as stack:
        for layer in range(len(blocks) + 1):
            stack.callback(_hook(blocks, layer, keep(layer)).remove)
        yield found


@contextlib.contextmanager
def adding(blocks: nn.ModuleList, layer: int, columns: Tensor, change: Tensor) -> Iterator[None]:
    """Add `change[i]`, shape [rows, d], to the residual stream of the layer at column `columns[i]` of row i."""

    def add(hidden: Tensor) -> Tensor:
        """A copy of the stream, [rows, columns, d], with the change added at the chosen column of each row."""
        changed = hidden.clone()
        changed[torch.arange(len(columns)), columns] += change
        return changed

    handle = _hook(blocks, layer, add)
    try:
        yield
    finally:
        handle.remove()


def _hook(blocks: nn.ModuleList, layer: int, act: Callable[[Tensor], Tensor | None]) -> Any:
    """Let `act` see the layer's residual stream, [rows, columns, d], and replace it unless it returns None."""

    def before(_: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The block's positional arguments, the first as `act` changed it; None leaves them as they are."""
        changed = act(arguments[0])
        return None if changed is None else (changed, *arguments[1:])

    def after(_: nn.Module, __: tuple[Any, ...], output: Any) -> Any:
        """The block's output, its stream as `act` changed it; None leaves it as it is."""
        # A block puts out the stream alone, or first in a tuple.
        whole = isinstance(output, tuple)
        changed = act(output[0] if whole else output)
        if changed is None:
            return None
        return (changed, *output[1:]) if whole else changed

    if layer == 0:
        return blocks[0].register_forward_pre_hook(before)
    return blocks[layer - 1].register_forward_hook(after)
