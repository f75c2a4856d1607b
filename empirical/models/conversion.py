"""Trained parameters as a `theory.Transformer` and back, without a rounding, and the exact check of a trained model.

*There.* The float32 weights stay as they are. Uniform attention over (x, r) is uniform with W_V = 1 and W_O = 2. Hard
positional heads become hardmax heads that read positions off coordinates of their own, behind the d of the model: (t,
t²) at position t, so that the query k·(2i, -1) at the last position k scores k·(2it - t²), largest at t = i alone. A
chain's two heads (T3) stand at position τ = k..2k-1 and read the relation s = τ-k+1 and the current entity: queries τ·(
2s, -1) = (2τ² - 2(k-1)τ, -τ), and (2z, -τ) with a third coordinate z = τ², but 0 at τ = k, where the entity is the
subject. Softmax heads are softmax heads at β = 1.

*Back.* Any single-block transformer whose heads read one position each, which the certificate proves, or are uniform
over two tokens, or softmax. What the heads bring of the subject is its row, a constant that they bring from W_pos is
added to the subject's row, and W_V W_O of a relation's head is that position's W_O (one hop: applied to the relation's
row). A number that is no float32 raises InputError: nothing is rounded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from constructions.verification.certify_attention import Embedding, Refused, certify_reading
from constructions.verification.exact import Product
from constructions.verification.exhaustive import check_every_query
from constructions.verification.integers import numerators, transposed
from constructions.weights.parts import uniform_block
from empirical.models.model import Parameters, hops_at_once, system_of
from empirical.models.runs import RunConfig
from theory import Block, InputError, Task, Transformer

Array = NDArray[Any]

# Products of two weights in the exact check, k·N·R^k·(2d·m + d·N) in all: about a minute at most.
EXACT_PRODUCTS = 2**28


def task_of(config: RunConfig) -> Task:
    """What the run is asked: k hops, answered directly or one a token."""
    return Task(config.hops, 1 if config.chain else config.hops)


def to_transformer(parameters: Parameters, config: RunConfig) -> Transformer:
    """The model of one run (no leading axis) as a transformer; it has up to three coordinates more, for positions."""
    weights = {name: tensor.detach().cpu().numpy() for name, tensor in parameters.items()}
    hops, dimension = config.hops, weights["W_in"].shape[0]
    W_E = np.concatenate([weights["W_E"], weights["W_R"]])
    W_U = weights.get("W_U", weights["W_E"]).T
    b_U = weights.get("b_U", np.zeros(config.entities, np.float32))
    mlp = [weights[name] for name in ("W_in", "b_in", "W_out", "b_out")]
    if config.attention == "learned":
        block, W_pos = Block(*(weights[name] for name in ("W_Q", "W_K", "W_V", "W_O")), *mlp), weights["W_pos"]
    elif not config.chain and hops == 1:
        block, W_pos = uniform_block(mlp[0], mlp[1], mlp[2], mlp[3]), np.zeros((2, dimension), np.float32)
    else:
        positions, W_Q, W_K = _chain_heads(hops) if config.chain else _direct_heads(hops)
        extra = positions.shape[1]
        identity = np.eye(dimension, dtype=np.float32)[None]
        read = np.concatenate([identity, identity if config.chain else weights["W_O"]])
        W_in, b_in, W_out, b_out = mlp
        block = Block(
            W_Q=np.pad(W_Q, [(0, 0), (dimension, 0), (0, 0)]),
            W_K=np.pad(W_K, [(0, 0), (dimension, 0), (0, 0)]),
            W_V=np.repeat(np.eye(dimension + extra, dimension, dtype=np.float32)[None], len(read), axis=0),
            W_O=np.pad(read, [(0, 0), (0, 0), (0, extra)]),
            W_in=np.pad(W_in, [(0, extra), (0, 0)]),
            b_in=b_in,
            W_out=np.pad(W_out, [(0, 0), (0, extra)]),
            b_out=np.pad(b_out, (0, extra)),
        )
        W_pos = np.pad(positions, [(0, 0), (dimension, 0)])
        W_E, W_U = np.pad(W_E, [(0, 0), (0, extra)]), np.pad(W_U, [(0, extra), (0, 0)])
    attention = {"learned": "softmax"}.get(config.attention, "hardmax" if config.chain or hops > 1 else "uniform")
    return Transformer(
        entities=config.entities,
        W_E=W_E,
        W_pos=W_pos,
        blocks=(block,),
        W_U=W_U,
        b_U=b_U,
        attention=attention,  # type: ignore[arg-type]
        residual=config.residual,
        beta=1.0 if attention == "softmax" else None,
    )


def _direct_heads(hops: int) -> tuple[Array, Array, Array]:
    """Positions [k + 1, 2] and W_Q, W_K [k + 1, 2, 2] of the heads that read positions 0..k from position k."""
    places = np.arange(hops + 1)
    W_Q = np.zeros((hops + 1, 2, 2), np.int64)
    W_Q[:, 0] = np.stack([2 * places, np.full(hops + 1, -1)], axis=1)
    return np.stack([places, places**2], axis=1), W_Q, np.repeat(np.eye(2, dtype=np.int64)[None], hops + 1, axis=0)


def _chain_heads(hops: int) -> tuple[Array, Array, Array]:
    """Positions [2k, 3] and W_Q, W_K [2, 3, 2] of the heads that read the current entity and the next relation."""
    places = np.arange(2 * hops)
    source = np.where(places > hops, places**2, 0)
    W_Q = np.array([[(0, -1), (0, 0), (2, 0)], [(-2 * (hops - 1), -1), (2, 0), (0, 0)]])
    W_K = np.repeat(np.eye(3, 2, dtype=np.int64)[None], 2, axis=0)
    return np.stack([places, places**2, source], axis=1), W_Q, W_K


def from_transformer(transformer: Transformer, config: RunConfig) -> Parameters:
    """The parameters that make the run's model compute the transformer's logits; trailing coordinates beyond the run's
    d may serve positions only.

    Raises InputError where the transformer is not of the run's kind, naming what differs, and where a weight is no
    float32.
    """
    _require_kind(transformer, config)
    block, size = transformer.blocks[0], config.dimension
    n = transformer.entities
    found: dict[str, Array] = {"W_E": transformer.W_E[:n, :size], "W_R": transformer.W_E[n:, :size]}
    mlp = {"W_in": block.W_in[:size], "b_in": block.b_in, "W_out": block.W_out[:, :size], "b_out": block.b_out[:size]}
    if config.attention == "learned":
        temperature = np.eye(block.W_Q.shape[2]) * (transformer.beta or 1.0)
        found["W_pos"] = transformer.W_pos[: config.hops + 1]
        found["W_Q"] = np.stack([_product(query, temperature) for query in block.W_Q])
        found |= {"W_K": block.W_K, "W_V": block.W_V, "W_O": block.W_O}
    elif transformer.attention == "uniform":
        if len(transformer.blocks[0].W_V) != 1 or (_values(block, 0) != 2 * np.eye(size)).any():
            raise InputError("uniform attention must have one head with W_V W_O = 2, so that it adds the two tokens up")
        if transformer.W_pos[:2].any():
            raise InputError("W_pos must be zero under uniform attention")
    else:
        found |= _positional(transformer, config)
    found |= mlp
    if config.readout == "tied":
        if not np.array_equal(transformer.W_U[:size].T, transformer.W_E[:n, :size]):
            raise InputError("W_U is not the subject table, as a tied read-out must be")
        # The rows that are read out need not be what the heads bring: their difference must not reach the MLP.
        spare = _product(_sum(transformer.W_E[:n, :size], -found["W_E"]), block.W_in[:size])
        if (spare != spare[0]).any() or (config.residual and (found["W_E"] != transformer.W_E[:n, :size]).any()):
            raise InputError("the subjects reach the MLP otherwise than by the rows that are read out")
        found["W_E"], found["b_in"] = transformer.W_E[:n, :size], _sum(block.b_in, -spare[0])
    else:
        found["W_U"] = transformer.W_U[:size].T
    if config.readout != "frozen":
        found["b_U"] = transformer.b_U
    elif transformer.b_U.any():
        raise InputError("b_U is not zero, as a frozen read-out's must be")
    return {name: torch.from_numpy(_float32(name, array)) for name, array in found.items()}


def _require_kind(transformer: Transformer, config: RunConfig) -> None:
    """InputError unless sizes, attention and residual are the run's, and surplus coordinates serve positions only."""
    one_pass = hops_at_once(config) == 1 and not config.chain
    kinds = {"learned": ("softmax",)}.get(config.attention, ("uniform", "hardmax") if one_pass else ("hardmax",))
    for name, has, needs in (
        ("blocks", len(transformer.blocks), 1),
        ("entities", transformer.entities, config.entities),
        ("relations", transformer.relations, config.relations),
        ("answers", transformer.answers, config.entities),
        ("width", transformer.width, config.width),
        ("residual", transformer.residual, config.residual),
    ):
        if has != needs:
            raise InputError(f"the transformer has {name} = {has}, the run {needs}")
    if transformer.attention not in kinds:
        raise InputError(f"the transformer has {transformer.attention} attention, the run needs {' or '.join(kinds)}")
    if len(transformer.W_pos) < task_of(config).positions:
        raise InputError(f"W_pos has {len(transformer.W_pos)} positions, the run needs {task_of(config).positions}")
    block, size = transformer.blocks[0], config.dimension
    surplus = (transformer.W_E[:, size:], block.W_in[size:], block.W_O[..., size:], transformer.W_U[size:])
    if transformer.dimension < size or any(part.any() for part in surplus):
        raise InputError(f"the transformer has dimension {transformer.dimension}, the run {size}")


def _positional(transformer: Transformer, config: RunConfig) -> dict[str, Array]:
    """W_E, W_R (and W_O) of a model with hardmax heads, after a proof that each head reads one position."""
    n, size, hops = transformer.entities, config.dimension, config.hops
    block = transformer.blocks[0]
    task = task_of(config)
    try:
        reading = certify_reading(transformer, block, Embedding.of(transformer), task)
    except Refused as refusal:
        raise InputError(f"{refusal}") from None
    known: dict[str, Array] | None = None
    for step, read in enumerate(reading.source):
        subject, relations = (hops + step if step else 0), range(step + 1, step + 1 + hops_at_once(config))
        brought = {place: np.zeros((transformer.dimension, size)) for place in (subject, *relations)}
        constant = np.zeros(size)
        for head, place in enumerate(read):
            if place not in brought:
                raise InputError(f"head {head} reads position {place}, which has no part in step {step}")
            brought[place] = _sum(brought[place], _values(block, head)[:, :size])
            constant = _sum(constant, _product(transformer.W_pos[place : place + 1], _values(block, head)[:, :size])[0])
        rows = _sum(_product(transformer.W_E[:n], brought[subject]), constant)
        found: dict[str, Array] = {"W_E": rows, "W_R": transformer.W_E[n:, :size]}
        outputs = np.stack([brought[place] for place in relations])
        if hops_at_once(config) == 1:
            found["W_R"] = _product(transformer.W_E[n:], outputs[0])
            if config.residual and (found["W_R"] != transformer.W_E[n:, :size]).any():
                raise InputError("the relation's row in the residual stream is not what its head brings")
        else:
            found["W_O"] = outputs[:, :size]
        if known is not None and any((found[name] != known[name]).any() for name in found):
            raise InputError(f"step {step} of the chain is not the same function as the first")
        known = found
    assert known is not None
    return known


def _values(block: Block, head: int) -> Array:
    """W_V W_O of a head, shape [d, d]."""
    return _product(block.W_V[head], block.W_O[head])


def _product(left: Array, right: Array) -> Array:
    """left · right in float64, exactly; InputError where float64 does not hold the result."""
    product, ((whole,), scale) = Product(right), numerators(left)
    return _float64(product(transposed(whole)).T, scale * product.scale)


def _sum(left: Array, right: Array) -> Array:
    """left + right in float64, exactly; InputError where float64 does not hold the result."""
    (one, other), scale = numerators(left, right)
    return _float64(one.astype(object) + other.astype(object), scale)


def _float64(whole: Array, scale: int) -> Array:
    """whole / scale, for integers and a power of two."""
    result = np.asarray(whole / scale, np.float64)
    if ((result * scale).astype(object) != whole.astype(object)).any():
        raise InputError("what the heads bring is no float64, and nothing is rounded")
    return result


def _float32(name: str, array: Array) -> NDArray[np.float32]:
    """The array in float32; InputError, naming it, unless it holds every number exactly."""
    result = np.array(array, np.float32)
    for place in np.argwhere(result.astype(object) != array.astype(object))[:1].tolist():
        raise InputError(f"{name}{place} is {array[tuple(place)]}, no float32, and nothing is rounded")
    return result


def exact_check(parameters: Parameters, config: RunConfig) -> bool | None:
    """Whether every query of the run's system is answered with a positive margin in exact arithmetic, the float weights
    taken as the fractions that they are.

    None, not tried, for softmax attention (its weights are irrational), for scrambled words (no task asks them) and
    above EXACT_PRODUCTS products.
    """
    if config.scrambled:
        return None
    steps = task_of(config).steps
    each = 2 * config.dimension * config.width + config.dimension * config.entities
    if config.attention == "learned" or steps * config.entities * config.relations**config.hops * each > EXACT_PRODUCTS:
        return None
    transformer = to_transformer(parameters, config)
    return check_every_query(transformer, system_of(config), task_of(config), rational=True).holds
