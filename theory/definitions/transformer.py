"""The transformer: its weights, and what they compute.

Tokens are the entities 0..N-1 followed by the relations N..N+R-1. With d the embedding dimension, the stream at
position t starts as W_E[token] + W_pos[t]. Each of the L blocks is attention, then a one-hidden-layer ReLU MLP:

    head h:   query = stream W_Q[h],  key = stream W_K[h],  score = <query, key>,
              output = (mean of the stream over the positions attended to) W_V[h] W_O[h]
    MLP:      ReLU(stream W_in + b_in) W_out + b_out

Attention is `uniform` over the prompt, `hardmax` (the mean over the positions of largest score), or `softmax` of beta
times the scores. With `residual` each part adds to the stream, otherwise it replaces it; a block without heads has no
attention part and hands the stream to its MLP as it is. With `causal` a position sees itself and what is before it; the
last position, where the prediction is read, sees the whole prompt either way. The logits are (stream at the last
position) W_U + b_U and the prediction is their argmax; a tie is a failure. Names follow TransformerLens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from theory.definitions.fact_system import check_count
from theory.errors import InputError

Array = NDArray[Any]
Attention = Literal["uniform", "hardmax", "softmax"]
Rounding = Callable[[Any], Any]


def _read_only(name: str, value: object, axes: str, known: dict[str, int]) -> Array:
    """The value as a read-only array whose axes have the known sizes; an axis not yet known becomes known."""
    names = axes.split()
    try:
        array = np.asarray(value).view()
    except ValueError:
        raise InputError(f"{name} has rows of different lengths; it must be an array [{', '.join(names)}]") from None
    if array.dtype.kind not in "iuf":
        raise InputError(f"{name} holds {array.dtype} values; weights are integers or floats")
    sizes = dict(zip(names, array.shape, strict=False))
    if array.ndim != len(names) or any(known.get(axis, size) != size for axis, size in sizes.items()):
        expected = ", ".join(f"{axis} = {known[axis]}" if axis in known else axis for axis in names)
        raise InputError(f"{name} has shape {list(array.shape)}; it must be [{expected}]")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        place = [int(i) for i in np.argwhere(~np.isfinite(array))[0]]
        raise InputError(f"{name}{place} is {array[tuple(place)]}; weights must be finite")
    known.update(sizes)
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class Block:
    """One block: H attention heads and an MLP of width m, for embedding dimension d (H and m may be 0).

    W_Q, W_K: [H, d, d_query]; W_V: [H, d, d_value]; W_O: [H, d_value, d]; W_in: [d, m]; b_in: [m]; W_out: [m, d];
    b_out: [d]. Under uniform attention d_query may be 0. Raises InputError on shapes that do not fit and on NaN or
    infinity.
    """

    W_Q: Array
    W_K: Array
    W_V: Array
    W_O: Array
    W_in: Array
    b_in: Array
    W_out: Array
    b_out: Array

    AXES = {  # noqa: RUF012  (a class constant, not a field)
        "W_Q": "heads dimension d_query",
        "W_K": "heads dimension d_query",
        "W_V": "heads dimension d_value",
        "W_O": "heads d_value dimension",
        "W_in": "dimension width",
        "b_in": "width",
        "W_out": "width dimension",
        "b_out": "dimension",
    }

    def __post_init__(self) -> None:
        known: dict[str, int] = {}
        for name, axes in self.AXES.items():
            object.__setattr__(self, name, _read_only(name, getattr(self, name), axes, known))

    @property
    def heads(self) -> int:
        """H, the number of attention heads."""
        return int(self.W_V.shape[0])

    @property
    def width(self) -> int:
        """m, the number of hidden units of the MLP."""
        return int(self.W_in.shape[1])


@dataclass(frozen=True, eq=False)
class Transformer:
    """Weights of a transformer over N entities and R relations, read out over a set of answers.

    W_E: [N + R, d]; W_pos: [longest prompt, d]; W_U: [d, answers]; b_U: [answers]; `entities` is N; `beta` is the
    inverse temperature, for softmax attention only. Integer or float arrays; they are not copied, and are seen
    read-only. Raises InputError on shapes that do not fit, NaN, infinity, an unknown attention, or a missing or surplus
    beta.
    """

    entities: int
    W_E: Array
    W_pos: Array
    blocks: tuple[Block, ...]
    W_U: Array
    b_U: Array
    attention: Attention
    residual: bool = False
    causal: bool = False
    beta: float | None = None

    def __post_init__(self) -> None:
        check_count("entities", self.entities, at_least=2)
        known: dict[str, int] = {}
        axes = {
            "W_E": "entities+relations dimension",
            "W_pos": "positions dimension",
            "W_U": "dimension answers",
            "b_U": "answers",
        }
        for name, names in axes.items():
            object.__setattr__(self, name, _read_only(name, getattr(self, name), names, known))
        if self.relations < 1:
            raise InputError(
                f"W_E has {len(self.W_E)} rows; it must have {self.entities} entities and at least 1 relation"
            )
        for number, block in enumerate(self.blocks):
            if block.b_out.shape[0] != self.dimension:
                raise InputError(f"block {number} has dimension {block.b_out.shape[0]}; W_E has {self.dimension}")
        if self.attention not in ("uniform", "hardmax", "softmax"):
            raise InputError(f"attention is {self.attention!r}; it must be uniform, hardmax or softmax")
        if (self.attention == "softmax") != (self.beta is not None):
            raise InputError(
                f"beta is {self.beta} with {self.attention} attention; softmax needs it, the others have none"
            )
        if self.beta is not None and not (np.isfinite(self.beta) and self.beta > 0):
            raise InputError(f"beta is {self.beta}; an inverse temperature is a finite positive number")

    @property
    def relations(self) -> int:
        """R, the number of relation tokens."""
        return int(self.W_E.shape[0]) - self.entities

    @property
    def dimension(self) -> int:
        """d, the embedding dimension."""
        return int(self.W_E.shape[1])

    @property
    def width(self) -> int:
        """The width of the widest MLP."""
        return max((block.width for block in self.blocks), default=0)

    @property
    def answers(self) -> int:
        """How many answers the read-out scores (N, or R·N with disjoint attributes)."""
        return int(self.b_U.shape[0])

    @property
    def parameters(self) -> int:
        """The number of weights, each entry of each tensor counted once."""
        return sum(int(array.size) for _, array in self.tensors())

    def tensors(self) -> Iterator[tuple[str, Array]]:
        """Every weight tensor with its name: W_E, W_pos, blocks.0.W_Q, .., W_U, b_U."""
        yield "W_E", self.W_E
        yield "W_pos", self.W_pos
        for number, block in enumerate(self.blocks):
            for field in fields(block):
                yield f"blocks.{number}.{field.name}", getattr(block, field.name)
        yield "W_U", self.W_U
        yield "b_U", self.b_U


def attention_pattern(transformer: Transformer, scores: Array, mask: Array) -> Array:
    """Attention weights from scores [.., queries, keys]; `mask` [queries, keys] is True where a query sees a key."""
    if transformer.attention == "uniform":
        allowed = np.broadcast_to(mask, scores.shape).astype(scores.dtype)
    elif transformer.attention == "hardmax":
        visible = np.where(mask, scores, -np.inf)
        allowed = (visible == visible.max(axis=-1, keepdims=True)).astype(scores.dtype)
    else:
        visible = np.where(mask, np.asarray(transformer.beta, scores.dtype) * scores, -np.inf)
        allowed = np.exp(visible - visible.max(axis=-1, keepdims=True))
    return np.asarray(allowed / allowed.sum(axis=-1, keepdims=True))


def run_with_cache(
    transformer: Transformer, prompts: NDArray[np.int64], rounding: Rounding = np.float64
) -> tuple[Array, dict[str, Array]]:
    """Logits at the last position, shape [batch, answers], and every intermediate value, in floating point.

    `prompts` has shape [batch, length] and holds tokens. The cache holds, with TransformerLens' names,
    blocks.i.hook_resid_pre [batch, length, d], blocks.i.attn.hook_pattern [batch, H, length, length],
    blocks.i.hook_attn_out [batch, length, d], blocks.i.mlp.hook_post [batch, length, m] and blocks.i.hook_resid_post.
    This is the plain meaning of the weights, every position of every block, and `rounding` is applied to every weight
    and result (a NumPy type, or any function of an array); exact runs are in `constructions.verification.exact`. Raises
    InputError on a prompt that is longer than W_pos, and on a number that is no token.
    """
    length = prompts.shape[1]
    if length > len(transformer.W_pos):
        raise InputError(f"the prompt has {length} tokens, but W_pos has {len(transformer.W_pos)} positions")
    strangers = prompts[(prompts < 0) | (prompts >= len(transformer.W_E))]
    if strangers.size:
        raise InputError(
            f"the prompts hold {strangers[0]}, which is no token; tokens are 0..{len(transformer.W_E) - 1}"
        )
    cache: dict[str, Array] = {}
    mask = np.tril(np.ones((length, length), bool)) if transformer.causal else np.ones((length, length), bool)
    stream = rounding(rounding(transformer.W_E[prompts]) + rounding(transformer.W_pos[:length]))
    for number, block in enumerate(transformer.blocks):
        cache[f"blocks.{number}.hook_resid_pre"] = stream
        query = rounding(np.einsum("btd,hdq->bhtq", stream, rounding(block.W_Q)))
        key = rounding(np.einsum("btd,hdq->bhtq", stream, rounding(block.W_K)))
        scores = rounding(np.einsum("bhtq,bhsq->bhts", query, key))
        pattern = rounding(attention_pattern(transformer, scores, mask))
        read = rounding(np.einsum("bhts,bsd->bhtd", pattern, stream))
        value = rounding(np.einsum("bhtd,hdv->bhtv", read, rounding(block.W_V)))
        attention = rounding(np.einsum("bhtv,hvd->btd", value, rounding(block.W_O)))
        middle = rounding(stream + attention) if transformer.residual or not block.heads else attention
        hidden = rounding(np.maximum(rounding(middle @ rounding(block.W_in)) + rounding(block.b_in), 0))
        output = rounding(rounding(hidden @ rounding(block.W_out)) + rounding(block.b_out))
        stream = rounding(middle + output) if transformer.residual else output
        cache[f"blocks.{number}.attn.hook_pattern"] = pattern
        cache[f"blocks.{number}.hook_attn_out"] = attention
        cache[f"blocks.{number}.mlp.hook_post"] = hidden
        cache[f"blocks.{number}.hook_resid_post"] = stream
    return rounding(rounding(stream[:, -1] @ rounding(transformer.W_U)) + rounding(transformer.b_U)), cache
