"""States of TransformerLens: biases are folded in exactly, buffers are ignored, norms are refused by their name."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from constructions.campaign.evaluator import Evaluator
from constructions.verification.certificate import certify
from constructions.verification.exhaustive import check_every_query
from constructions.weights import t1
from theory import Block, FactSystem, InputError, Task, Transformer
from theory.records.lens import with_biases
from theory.records.loading import load_model, load_model_as_said

SYSTEM = FactSystem.random(5, 2)
D, HEADS, D_QUERY, D_VALUE, WIDTH, LENGTH = 3, 2, 2, 4, 5, 3


def random_block(generator: np.random.Generator) -> tuple[Block, dict[str, Any]]:
    def draw(*shape: int) -> Any:
        return generator.integers(-3, 4, shape)

    block = Block(
        W_Q=draw(HEADS, D, D_QUERY),
        W_K=draw(HEADS, D, D_QUERY),
        W_V=draw(HEADS, D, D_VALUE),
        W_O=draw(HEADS, D_VALUE, D),
        W_in=draw(D, WIDTH),
        b_in=draw(WIDTH),
        W_out=draw(WIDTH, D),
        b_out=draw(D),
    )
    biases = {"b_Q": draw(HEADS, D_QUERY), "b_K": draw(HEADS, D_QUERY), "b_V": draw(HEADS, D_VALUE), "b_O": draw(D)}
    return block, biases


def random_model(seed: int, attention: Any, residual: bool, causal: bool) -> tuple[Transformer, list[dict[str, Any]]]:
    generator = np.random.default_rng(seed)
    blocks, biases = zip(*(random_block(generator) for _ in range(2)), strict=True)
    model = Transformer(
        entities=4,
        W_E=generator.integers(-2, 3, (6, D)),
        W_pos=generator.integers(-2, 3, (LENGTH, D)),
        blocks=blocks,
        W_U=generator.integers(-2, 3, (D, 4)),
        b_U=generator.integers(-2, 3, 4),
        attention=attention,
        residual=residual,
        causal=causal,
    )
    return model, list(biases)


def logits_with_biases(model: Transformer, biases: list[dict[str, Any]], prompt: list[int]) -> list[Fraction]:
    """Straight from TransformerLens' definition, in fractions: nothing is folded."""
    stream = [
        [Fraction(int(a + b)) for a, b in zip(model.W_E[token], model.W_pos[place], strict=True)]
        for place, token in enumerate(prompt)
    ]
    for block, own in zip(model.blocks, biases, strict=True):
        after = []
        for place, here in enumerate(stream):
            seen = stream[: place + 1] if model.causal else stream
            added = [Fraction(int(each)) for each in own["b_O"]]
            for head in range(block.heads):
                query = affine(here, block.W_Q[head], own["b_Q"][head])
                scores = [
                    sum(a * b for a, b in zip(query, affine(key, block.W_K[head], own["b_K"][head]), strict=True))
                    for key in seen
                ]
                best = [each for each, score in zip(seen, scores, strict=True) if score == max(scores)]
                read = best if model.attention == "hardmax" else seen
                mean = [sum(column) / len(read) for column in zip(*read, strict=True)]
                value = affine(mean, block.W_V[head], own["b_V"][head])
                output = affine(value, block.W_O[head], [0] * D)
                added = [a + b for a, b in zip(added, output, strict=True)]
            middle = [a + b for a, b in zip(here, added, strict=True)] if model.residual else added
            hidden = [max(each, Fraction(0)) for each in affine(middle, block.W_in, block.b_in)]
            output = affine(hidden, block.W_out, block.b_out)
            after.append([a + b for a, b in zip(middle, output, strict=True)] if model.residual else output)
        stream = after
    return affine(stream[-1], model.W_U, model.b_U)


def affine(values: list[Fraction], weights: Any, bias: Any) -> list[Fraction]:
    return [
        Fraction(int(bias[column]))
        + sum((v * int(w) for v, w in zip(values, weights[:, column], strict=True)), Fraction(0))
        for column in range(weights.shape[1])
    ]


@pytest.mark.parametrize("attention", ["uniform", "hardmax"])
@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kept", [("b_Q",), ("b_K",), ("b_V",), ("b_O",), ("b_Q", "b_K", "b_V", "b_O")])
def test_biases_are_folded_in_exactly(attention: str, residual: bool, causal: bool, kept: tuple[str, ...]) -> None:
    for seed in range(3):
        model, biases = random_model(seed, attention, residual, causal)
        whole = [{name: own[name] * (name in kept) for name in own} for own in biases]
        folded, said = with_biases(model, [{name: own[name] for name in kept} for own in whole])
        assert (said == "") == (kept == ("b_K",) or (kept == ("b_Q",) and attention == "uniform"))
        truth = Evaluator(folded)
        for prompt in ([0, 4], [3, 5, 4], [1, 4, 2]):
            assert truth.logits(prompt).values() == logits_with_biases(model, whole, prompt)


def as_lens_saves_it(model: Transformer, **more: Any) -> dict[str, Any]:
    longer = {"W_E": "embed.W_E", "W_pos": "pos_embed.W_pos", "W_U": "unembed.W_U", "b_U": "unembed.b_U"}
    attention = ("W_Q", "W_K", "W_V", "W_O")
    tensors = {}
    for name, array in model.tensors():
        short = name.rpartition(".")[2]
        full = longer.get(name, f"blocks.0.{'attn' if short in attention else 'mlp'}.{short}")
        tensors[full] = np.ascontiguousarray(array, np.float32)
    d = model.dimension
    tensors |= {f"blocks.0.attn.{name}": np.zeros((1, d), np.float32) for name in ("b_Q", "b_K", "b_V")}
    tensors |= {"blocks.0.attn.b_O": np.zeros(d, np.float32), "blocks.0.attn.IGNORE": np.array(-np.inf, np.float32)}
    tensors |= {"blocks.0.attn.mask": np.tril(np.ones((2, 2), bool))}
    return {**tensors, **more}


def test_a_state_with_buffers_and_biases_of_0_is_the_model_itself(tmp_path: Path) -> None:
    model, path = t1.construct(SYSTEM), tmp_path / "lens.safetensors"
    safetensors.numpy.save_file(as_lens_saves_it(model), path, {"attention": "uniform"})
    loaded, task, assumed = load_model_as_said(path, 5)
    assert [name for name, _ in loaded.tensors()] == [name for name, _ in model.tensors()]
    for (_, before), (_, after) in zip(model.tensors(), loaded.tensors(), strict=True):
        np.testing.assert_array_equal(before, after)
    assert task == Task()
    assert assumed == "assumed, since the file does not say: residual = false, causal = false, hops = 1, ReLU, no norms"


def test_a_bias_decides_whether_a_model_holds(tmp_path: Path) -> None:
    """b_V undone by b_O: right with both, wrong with one of them alone, and the certificate still accepts."""
    model, path = t1.construct(SYSTEM), tmp_path / "lens.safetensors"
    bias = np.arange(model.dimension, dtype=np.float32)
    undone = -(bias @ model.blocks[0].W_O[0]).astype(np.float32)
    name = "blocks.0.attn.b_{}".format
    both = as_lens_saves_it(model, **{name("V"): bias[None], name("O"): undone})
    safetensors.numpy.save_file(both, path, {"attention": "uniform"})
    loaded, task, assumed = load_model_as_said(path, 5)
    assert "b_V, b_O folded into one more coordinate" in assumed
    assert loaded.dimension == model.dimension + 1
    assert check_every_query(loaded, SYSTEM, task).holds
    assert certify(loaded, SYSTEM, task).holds
    alone = as_lens_saves_it(model, **{name("V"): 9 * bias[None]})
    safetensors.numpy.save_file(alone, path, {"attention": "uniform"})
    assert not check_every_query(load_model(path, 5)[0], SYSTEM, task).holds


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"blocks.0.ln1.w": np.ones(6, np.float32)}, "tensor 'blocks.0.ln1.w' belongs to a norm"),
        ({"ln_final.b": np.ones(6, np.float32)}, "tensor 'ln_final.b' belongs to a norm"),
        ({"blocks.0.attn.rotary_sin": np.ones((2, 2), np.float32)}, "unknown tensor 'blocks.0.attn.rotary_sin'"),
        ({"blocks.0.attn.b_V": np.ones((1, 5), np.float32)}, "block 0: b_V has shape [1, 5]; it must be [1, 6]"),
        ({"blocks.0.attn.b_O": np.full(6, np.inf, np.float32)}, "block 0: b_O holds what is no finite number"),
        ({"blocks.0.attn.b_O": np.full(6, 2**53 + 1)}, "no type holds both float32 and int64"),
    ],
)
def test_what_cannot_be_folded_is_refused(more: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "lens.safetensors"
    safetensors.numpy.save_file(as_lens_saves_it(t1.construct(SYSTEM), **more), path, {"attention": "uniform"})
    with pytest.raises(InputError) as caught:
        load_model(path, 5)
    assert message in str(caught.value)
