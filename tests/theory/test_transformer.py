"""The transformer: its shapes are checked, and it computes what its docstring says, on examples worked by hand."""

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from constructions.campaign.evaluator import Evaluator
from theory import Block, InputError, Transformer
from theory.definitions.transformer import attention_pattern, run_with_cache


def block(dimension: int = 2, width: int = 3, heads: int = 1, **changed: Any) -> Block:
    """A block of zeros, with some tensors changed."""
    tensors: dict[str, Any] = {
        "W_Q": np.zeros((heads, dimension, 1)),
        "W_K": np.zeros((heads, dimension, 1)),
        "W_V": np.zeros((heads, dimension, dimension)),
        "W_O": np.zeros((heads, dimension, dimension)),
        "W_in": np.zeros((dimension, width)),
        "b_in": np.zeros(width),
        "W_out": np.zeros((width, dimension)),
        "b_out": np.zeros(dimension),
    }
    return Block(**{**tensors, **changed})


def model(**changed: Any) -> Transformer:
    """Two entities, one relation, d = 2, one block of zeros, prompts of up to two tokens, with some parts changed."""
    parts: dict[str, Any] = {
        "entities": 2,
        "W_E": np.zeros((3, 2)),
        "W_pos": np.zeros((2, 2)),
        "blocks": (block(),),
        "W_U": np.zeros((2, 2)),
        "b_U": np.zeros(2),
        "attention": "uniform",
    }
    return Transformer(**{**parts, **changed})


# d = 1, one head that copies twice what it reads, and two hidden units, of which the second is closed:
# stream + attention s becomes 3·ReLU(s - 10) + 100·ReLU(-s) + 1, and the logits are (stream, 2·stream + 5).
DOUBLING = block(
    dimension=1,
    width=2,
    W_Q=[[[1]]],
    W_K=[[[1]]],
    W_V=[[[1]]],
    W_O=[[[2]]],
    W_in=[[1, -1]],
    b_in=[-10, 0],
    W_out=[[3], [100]],
    b_out=[1],
)
LINE = model(W_E=np.array([[1], [2], [4]]), W_pos=np.array([[0], [10]]), blocks=(DOUBLING,), W_U=[[1, 2]], b_U=[0, 5])
PROMPT = np.array([[0, 2]])  # embedded as 1 and 4 + 10 = 14


def run(transformer: Transformer, prompts: Any = PROMPT) -> tuple[list[float], dict[str, Any]]:
    logits, cache = run_with_cache(transformer, np.array(prompts))
    return logits[0].tolist(), {name: array[0].tolist() for name, array in cache.items()}


def test_uniform_attention_by_hand() -> None:
    logits, cache = run(LINE)
    assert cache["blocks.0.hook_resid_pre"] == [[1], [14]]
    assert cache["blocks.0.attn.hook_pattern"] == [[[0.5, 0.5], [0.5, 0.5]]]
    assert cache["blocks.0.hook_attn_out"] == [[15], [15]]
    assert cache["blocks.0.mlp.hook_post"] == [[5, 0], [5, 0]]
    assert cache["blocks.0.hook_resid_post"] == [[16], [16]]
    assert logits == [16, 37]


def test_a_residual_stream_is_added_to_by_both_parts() -> None:
    logits, cache = run(dataclasses.replace(LINE, residual=True))
    assert cache["blocks.0.hook_attn_out"] == [[15], [15]]
    assert cache["blocks.0.mlp.hook_post"] == [[6, 0], [19, 0]]  # of 1 + 15 and 14 + 15
    assert cache["blocks.0.hook_resid_post"] == [[16 + 19], [29 + 58]]
    assert logits == [87, 179]


def test_causal_positions_see_what_is_before_them() -> None:
    logits, cache = run(dataclasses.replace(LINE, causal=True))
    assert cache["blocks.0.attn.hook_pattern"] == [[[1, 0], [0.5, 0.5]]]
    assert cache["blocks.0.hook_attn_out"] == [[2], [15]]
    assert logits == [16, 37]


def test_causality_matters_to_a_second_block() -> None:
    """The last position sees the whole prompt either way, but what stands before it has seen less."""
    two = dataclasses.replace(LINE, blocks=(DOUBLING, DOUBLING))
    assert run(two)[1]["blocks.1.hook_resid_pre"] == [[16], [16]]
    assert run(two)[0] == [67, 139]  # 2·16 = 32, 3·22 + 1
    causal = dataclasses.replace(two, causal=True)
    assert run(causal)[1]["blocks.1.hook_resid_pre"] == [[1], [16]]
    assert run(causal)[0] == [22, 49]  # 1 + 16 = 17, 3·7 + 1


def test_hardmax_reads_the_largest_score() -> None:
    # Queries and keys are the stream, 1 and 14: both positions score (1, 14) or (14, 196), and read 14.
    logits, cache = run(dataclasses.replace(LINE, attention="hardmax"))
    assert cache["blocks.0.attn.hook_pattern"] == [[[0, 1], [0, 1]]]
    assert cache["blocks.0.hook_attn_out"] == [[28], [28]]
    assert logits == [55, 115]
    _, cache = run(dataclasses.replace(LINE, attention="hardmax", causal=True))
    assert cache["blocks.0.attn.hook_pattern"] == [[[1, 0], [0, 1]]]


def test_hardmax_ties_are_a_mean_over_the_tied() -> None:
    scores = np.array([[1.0, 3.0, 3.0, -2.0], [0.0, 0.0, 0.0, 0.0]])
    pattern = attention_pattern(model(attention="hardmax"), scores, np.ones((2, 4), bool))
    assert pattern.tolist() == [[0, 0.5, 0.5, 0], [0.25, 0.25, 0.25, 0.25]]
    hidden = np.array([[True, True, False, True], [False, True, True, False]])
    pattern = attention_pattern(model(attention="hardmax"), scores, hidden)
    assert pattern.tolist() == [[0, 1, 0, 0], [0, 0.5, 0.5, 0]]


def test_hardmax_without_queries_is_uniform() -> None:
    blind = block(dimension=1, W_Q=np.zeros((1, 1, 0)), W_K=np.zeros((1, 1, 0)))
    _, cache = run(dataclasses.replace(LINE, attention="hardmax", blocks=(blind,)))
    assert cache["blocks.0.attn.hook_pattern"] == [[[0.5, 0.5], [0.5, 0.5]]]


def test_softmax_by_hand() -> None:
    scores = np.array([[5.0, 6.0], [1000.0, 1000.0]])
    pattern = attention_pattern(model(attention="softmax", beta=math.log(3)), scores, np.ones((2, 2), bool))
    assert pattern[0] == pytest.approx([0.25, 0.75], rel=1e-15)
    assert pattern[1].tolist() == [0.5, 0.5]
    masked = attention_pattern(model(attention="softmax", beta=2.0), scores, np.tril(np.ones((2, 2), bool)))
    assert masked[0].tolist() == [1, 0]
    assert pattern.sum(axis=1) == pytest.approx([1, 1], rel=1e-15)


def test_beta_multiplies_the_scores() -> None:
    scores = np.array([[0.0, 1.0, 2.0]])
    mask = np.ones((1, 3), bool)
    twice = attention_pattern(model(attention="softmax", beta=2.0), scores, mask)
    assert twice.tolist() == attention_pattern(model(attention="softmax", beta=1.0), 2 * scores, mask).tolist()
    hard = attention_pattern(model(attention="hardmax"), scores, mask)
    assert attention_pattern(model(attention="softmax", beta=800.0), scores, mask).tolist() == hard.tolist()


def test_heads_are_added_and_each_has_its_own_weights() -> None:
    # Head 0 scores by the stream and writes it; head 1 scores by its negative and writes ten times it.
    two = block(dimension=1, heads=2, W_Q=[[[1]], [[1]]], W_K=[[[1]], [[-1]]], W_V=[[[1]], [[2]]], W_O=[[[1]], [[5]]])
    _, cache = run(dataclasses.replace(LINE, attention="hardmax", blocks=(two,)))
    assert cache["blocks.0.attn.hook_pattern"] == [[[0, 1], [0, 1]], [[1, 0], [1, 0]]]
    assert cache["blocks.0.hook_attn_out"] == [[24], [24]]


@pytest.mark.parametrize("residual", [False, True])
def test_a_block_without_heads_hands_the_stream_to_its_mlp(residual: bool) -> None:
    headless = dataclasses.replace(
        DOUBLING, W_Q=np.zeros((0, 1, 0)), W_K=np.zeros((0, 1, 0)), W_V=np.zeros((0, 1, 0)), W_O=np.zeros((0, 0, 1))
    )
    _, cache = run(dataclasses.replace(LINE, residual=residual, blocks=(headless,)))
    assert cache["blocks.0.hook_attn_out"] == [[0], [0]]
    assert cache["blocks.0.mlp.hook_post"] == [[0, 0], [4, 0]]
    assert cache["blocks.0.hook_resid_post"] == ([[2], [27]] if residual else [[1], [13]])


def test_a_block_without_hidden_units_writes_its_bias() -> None:
    linear = block(dimension=1, width=0, W_V=[[[1]]], W_O=[[[2]]], b_out=[7])
    assert run(dataclasses.replace(LINE, blocks=(linear,)))[1]["blocks.0.hook_resid_post"] == [[7], [7]]
    _, cache = run(dataclasses.replace(LINE, blocks=(linear,), residual=True))
    assert cache["blocks.0.hook_resid_post"] == [[1 + 15 + 7], [14 + 15 + 7]]


def test_without_blocks_the_last_token_is_read_out() -> None:
    assert run(dataclasses.replace(LINE, blocks=()))[0] == [14, 33]


def test_prompts_may_be_shorter_than_the_positions_and_come_in_batches() -> None:
    logits, cache = run_with_cache(LINE, np.array([[1], [2]]))
    assert cache["blocks.0.hook_resid_pre"].tolist() == [[[2]], [[4]]]
    assert logits.shape == (2, 2)
    nothing, _ = run_with_cache(LINE, np.zeros((0, 2), np.int64))
    assert nothing.shape == (0, 2)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(("attention", "beta"), [("uniform", None), ("hardmax", None), ("softmax", 2.0)])
def test_everything_is_computed_in_the_type_asked_for(kind: Any, attention: Any, beta: float | None) -> None:
    transformer = dataclasses.replace(LINE, attention=attention, beta=beta)
    logits, cache = run_with_cache(transformer, PROMPT, kind)
    assert logits.dtype == kind
    assert {array.dtype for array in cache.values()} == {np.dtype(kind)}


def test_rounding_is_that_of_the_type() -> None:
    """A weight that float32 cannot hold: 2^24 + 1 becomes 2^24."""
    large = model(W_E=LINE.W_E, W_pos=[[0], [-3]], blocks=(), W_U=[[2**24 + 1, 1]], b_U=[0, 0])
    assert run_with_cache(large, PROMPT, np.float64)[0].tolist() == [[2**24 + 1, 1]]
    assert run_with_cache(large, PROMPT, np.float32)[0].tolist() == [[2**24, 1]]


@st.composite
def small_transformers(draw: st.DrawFn) -> Transformer:
    """Random integer weights: up to two blocks, heads and coordinates."""
    seed, dimension, heads = draw(st.integers(0, 2**32)), draw(st.integers(1, 3)), draw(st.integers(0, 2))
    generator = np.random.default_rng(seed)

    def weights(*shape: int) -> Any:
        return generator.integers(-2, 3, size=shape)

    blocks = tuple(
        Block(
            W_Q=weights(heads, dimension, 2),
            W_K=weights(heads, dimension, 2),
            W_V=weights(heads, dimension, 1),
            W_O=weights(heads, 1, dimension),
            W_in=weights(dimension, 3),
            b_in=weights(3),
            W_out=weights(3, dimension),
            b_out=weights(dimension),
        )
        for _ in range(draw(st.integers(0, 2)))
    )
    return Transformer(
        entities=2,
        W_E=weights(4, dimension),
        W_pos=weights(2, dimension),
        blocks=blocks,
        W_U=weights(dimension, 2),
        b_U=weights(2),
        attention=draw(st.sampled_from(["uniform", "hardmax"])),
        residual=draw(st.booleans()),
        causal=draw(st.booleans()),
    )


@given(small_transformers(), st.integers(0, 1), st.integers(2, 3))
def test_the_definition_in_fractions_agrees(transformer: Transformer, subject: int, relation: int) -> None:
    """Means of two tokens are halves: float64 computes every value exactly."""
    logits, _ = run_with_cache(transformer, np.array([[subject, relation]]))
    exact = Evaluator(transformer).logits([subject, relation]).values()
    assert [Fraction(value) for value in logits[0].tolist()] == exact


def test_sizes_and_parameters() -> None:
    small = model(blocks=(block(width=3), block(width=5, heads=2)), W_U=np.zeros((2, 7)), b_U=np.zeros(7))
    assert (small.entities, small.relations, small.dimension, small.width, small.answers) == (2, 1, 2, 5, 7)
    assert [each.heads for each in small.blocks] == [1, 2]
    first = (2 + 2 + 4 + 4) + (6 + 3 + 6 + 2)
    second = 2 * (2 + 2 + 4 + 4) + (10 + 5 + 10 + 2)
    assert small.parameters == 6 + 4 + first + second + 14 + 7
    assert model(blocks=()).width == 0


def test_tensors_have_their_names() -> None:
    names = [name for name, _ in model(blocks=(block(), block())).tensors()]
    parts = ["W_Q", "W_K", "W_V", "W_O", "W_in", "b_in", "W_out", "b_out"]
    assert names == ["W_E", "W_pos", *(f"blocks.{i}.{part}" for i in (0, 1) for part in parts), "W_U", "b_U"]


def test_weights_are_not_copied_and_are_seen_read_only() -> None:
    table = np.zeros((3, 2))
    transformer = model(W_E=table)
    table[0, 0] = 5
    assert transformer.W_E[0, 0] == 5
    for name, array in transformer.tensors():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 1
        assert not array.flags.writeable, name


NAN, INFINITY = math.nan, math.inf
BLOCK_SHAPES = ["W_Q", "W_K", "W_V", "W_O", "W_in", "W_out", "b_in", "b_out"]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: model(entities=1), "entities must be a whole number of at least 2, not 1"),
        (lambda: model(entities=2.0), "entities must be a whole number of at least 2, not 2.0"),
        (lambda: model(entities=3), "W_E has 3 rows; it must have 3 entities and at least 1 relation"),
        (lambda: model(W_E=np.zeros(3)), "W_E has shape [3]; it must be [entities+relations, dimension]"),
        (lambda: model(W_pos=np.zeros((2, 3))), "W_pos has shape [2, 3]; it must be [positions, dimension = 2]"),
        (lambda: model(W_U=np.zeros((3, 2))), "W_U has shape [3, 2]; it must be [dimension = 2, answers]"),
        (lambda: model(b_U=np.zeros(3)), "b_U has shape [3]; it must be [answers = 2]"),
        (lambda: model(b_U=0.5), "b_U has shape []; it must be [answers = 2]"),
        (lambda: model(W_E=[[1, 2], [3]]), "W_E has rows of different lengths; it must be an array"),
        (lambda: model(blocks=(block(), block(3))), "block 1 has dimension 3; W_E has 2"),
        (lambda: model(W_E=np.zeros((3, 2), bool)), "W_E holds bool values; weights are integers or floats"),
        (lambda: model(W_E=np.zeros((3, 2), complex)), "W_E holds complex128 values; weights are integers or floats"),
        (lambda: model(b_U=[10**30, 1]), "b_U holds object values; weights are integers or floats"),
        (lambda: model(b_U=None), "b_U holds object values; weights are integers or floats"),
        (lambda: model(W_pos=[[0, NAN], [0, 0]]), "W_pos[0, 1] is nan; weights must be finite"),
        (lambda: model(b_U=[0, INFINITY]), "b_U[1] is inf; weights must be finite"),
        (lambda: block(b_in=[0, -INFINITY, 0]), "b_in[1] is -inf; weights must be finite"),
        (lambda: block(W_V=np.full((1, 2, 2), NAN)), "W_V[0, 0, 0] is nan; weights must be finite"),
        (
            lambda: block(W_K=np.zeros((1, 2, 5))),
            "W_K has shape [1, 2, 5]; it must be [heads = 1, dimension = 2, d_query = 1]",
        ),
        (
            lambda: block(W_V=np.zeros((2, 2, 2))),
            "W_V has shape [2, 2, 2]; it must be [heads = 1, dimension = 2, d_value]",
        ),
        (
            lambda: block(W_O=np.zeros((1, 3, 2))),
            "W_O has shape [1, 3, 2]; it must be [heads = 1, d_value = 2, dimension = 2]",
        ),
        (lambda: block(W_in=np.zeros((3, 3))), "W_in has shape [3, 3]; it must be [dimension = 2, width]"),
        (lambda: block(b_in=np.zeros(4)), "b_in has shape [4]; it must be [width = 3]"),
        (lambda: block(W_out=np.zeros((2, 3))), "W_out has shape [2, 3]; it must be [width = 3, dimension = 2]"),
        (lambda: block(b_out=np.zeros(3)), "b_out has shape [3]; it must be [dimension = 2]"),
        (lambda: model(attention="linear"), "attention is 'linear'; it must be uniform, hardmax or softmax"),
        (lambda: model(attention="softmax"), "beta is None with softmax attention"),
        (lambda: model(beta=1.0), "beta is 1.0 with uniform attention"),
        (lambda: model(attention="hardmax", beta=1.0), "beta is 1.0 with hardmax attention"),
        (
            lambda: model(attention="softmax", beta=0.0),
            "beta is 0.0; an inverse temperature is a finite positive number",
        ),
        (lambda: model(attention="softmax", beta=-1.0), "beta is -1.0; an inverse temperature is"),
        (lambda: model(attention="softmax", beta=NAN), "beta is nan; an inverse temperature is"),
        (lambda: model(attention="softmax", beta=INFINITY), "beta is inf; an inverse temperature is"),
        (lambda: run(model(), [[0, 2, 2]]), "the prompt has 3 tokens, but W_pos has 2 positions"),
        (lambda: run(model(), [[0, 3]]), "the prompts hold 3, which is no token; tokens are 0..2"),
        (lambda: run(model(), [[0, 2], [-1, 2]]), "the prompts hold -1, which is no token; tokens are 0..2"),
    ],
)
def test_bad_input(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        build()
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", BLOCK_SHAPES)
def test_every_tensor_of_a_block_is_checked(name: str) -> None:
    right = getattr(block(), name)
    with pytest.raises(InputError, match=f"{name} has shape"):
        block(**{name: right[..., None]})
    with pytest.raises(InputError, match=f"{name}.* is nan"):
        block(**{name: np.full_like(right, NAN)})
