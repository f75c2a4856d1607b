"""The model of a run: gradients, chunks, padding, and the conversions to and from explicit weights."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from constructions.verification.exact import ExactModel
from constructions.verification.exhaustive import check_every_query
from constructions.weights import t1, t2e, t3
from empirical.models.runs import RunConfig
from theory import FactSystem, InputError, Transformer, all_words
from theory.definitions.families import FAMILIES, draw_family
from theory.definitions.transformer import run_with_cache

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'geometric-recall[empirical]'")

from empirical.models import conversion, model, training  # noqa: E402

torch.set_num_threads(1)  # several test processes share the cores

CONDITIONS: list[dict[str, Any]] = [
    {},
    {"residual": True},
    {"readout": "frozen"},
    {"readout": "tied"},
    {"subjects": "frozen"},
    {"subjects": "frozen", "readout": "frozen"},
    {"hops": 2},
    {"hops": 3, "residual": True},
    {"hops": 2, "readout": "tied"},
    {"hops": 3, "chain": True},
    {"attention": "learned"},
    {"attention": "learned", "hops": 2, "residual": True},
]
each_condition = pytest.mark.parametrize("condition", CONDITIONS, ids=str)


def config_of(condition: dict[str, Any], **sizes: Any) -> RunConfig:
    return RunConfig(**{"entities": 11, "relations": 3, "dimension": 5, "width": 7, "seed": 1, **sizes, **condition})


def shaken(config: RunConfig, dtype: Any = torch.float32) -> dict[str, Any]:
    """Parameters without a zero, so that no bias or residual is tested at zero alone."""
    generator = torch.Generator().manual_seed(7)
    start = model.initial(config)
    return {name: (t + 0.3 * torch.randn(t.shape, generator=generator)).to(dtype) for name, t in start.items()}


def prompts(entities: int, relations: int, hops: int) -> np.ndarray:
    """Every prompt (x, w), x slowest, as the model orders its facts."""
    words = all_words(relations, hops)
    subjects = np.repeat(np.arange(entities), len(words))
    return np.concatenate([subjects[:, None], entities + np.tile(words, (entities, 1))], axis=1)


def naive_logits(parameters: dict[str, Any], config: RunConfig) -> Any:
    """All logits [facts, N] token by token: gather every fact's embeddings, attend, MLP, read out."""
    hops = 1 if config.chain else config.hops
    tokens = prompts(config.entities, config.relations, hops)
    stream = torch.cat([parameters["W_E"], parameters["W_R"]])[torch.as_tensor(tokens)]
    if config.attention == "learned":
        stream = stream + parameters["W_pos"]
        query = torch.einsum("fd,hdq->fhq", stream[:, -1], parameters["W_Q"])
        key = torch.einsum("ftd,hdq->fhtq", stream, parameters["W_K"])
        pattern = torch.softmax(torch.einsum("fhq,fhtq->fht", query, key), dim=-1)
        read = torch.einsum("fht,ftd->fhd", pattern, stream)
        middle = torch.einsum("fhd,hdv,hve->fe", read, parameters["W_V"], parameters["W_O"])
    elif hops == 1:
        middle = 2 * stream.mean(dim=1)
    else:
        middle = stream[:, 0] + sum(stream[:, i + 1] @ parameters["W_O"][i] for i in range(hops))
    middle = middle + stream[:, -1] if config.residual else middle
    output = torch.relu(middle @ parameters["W_in"] + parameters["b_in"]) @ parameters["W_out"] + parameters["b_out"]
    output = output + middle if config.residual else output
    rows = parameters["W_E"] if config.readout == "tied" else parameters["W_U"]
    return output @ rows.T + parameters.get("b_U", torch.zeros(config.entities, dtype=rows.dtype))


def stacked_gradients(parameters: dict[str, Any], config: RunConfig, **options: Any) -> dict[str, Any]:
    targets = model.answers(model.system_of(config), config)[None]
    found = model.gradients(model.stack([parameters]), config, targets, **options)
    return {name: gradient[0] for name, gradient in found.items()}


@each_condition
def test_gradients_are_those_of_full_logits(condition: dict[str, Any]) -> None:
    config = config_of(condition)
    parameters = shaken(config)
    leaves = {name: t.double().requires_grad_(name in model.trained(config)) for name, t in parameters.items()}
    targets = model.answers(model.system_of(config), config)
    loss = torch.nn.functional.cross_entropy(naive_logits(leaves, config), targets)
    loss.backward()
    found = stacked_gradients(parameters, config)
    assert sorted(found) == sorted(model.trained(config))
    for name, gradient in found.items():
        torch.testing.assert_close(gradient.double(), leaves[name].grad, rtol=2e-4, atol=1e-6, msg=name)
        assert gradient.abs().max() > 0
    tokens, mean = model.emitted(model.stack([parameters]), config, targets[None])
    torch.testing.assert_close(mean[0], loss.detach(), rtol=1e-5, atol=0)
    assert torch.equal(tokens[0], naive_logits(leaves, config).argmax(dim=-1))


@each_condition
def test_chunks_change_nothing_but_rounding(condition: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of(condition)
    parameters = shaken(config)
    targets = model.answers(model.system_of(config), config)[None]
    whole = stacked_gradients(parameters, config)
    tokens, loss = model.emitted(model.stack([parameters]), config, targets)
    monkeypatch.setattr(model, "CHUNK", {"cpu": 4 * config.entities})
    monkeypatch.setattr(model, "HIDDEN", {"cpu": 50 * config.relations ** model.hops_at_once(config)})
    assert len(model.subject_blocks(config, torch.device("cpu"))) > 1
    for name, gradient in stacked_gradients(parameters, config).items():
        torch.testing.assert_close(gradient, whole[name], rtol=1e-4, atol=1e-6, msg=name)
    tokens_again, loss_again = model.emitted(model.stack([parameters]), config, targets)
    assert torch.equal(tokens, tokens_again)
    torch.testing.assert_close(loss, loss_again)


@each_condition
def test_a_padded_member_computes_what_it_computes_alone(condition: dict[str, Any]) -> None:
    small, large = config_of(condition), config_of(condition, dimension=8, width=12, seed=2)
    members = [shaken(small), shaken(large)]
    stacked = model.stack(members)
    targets = torch.stack([model.answers(model.system_of(c), c) for c in (small, large)])
    found = model.gradients(stacked, small, targets)
    shapes = {name: tuple(t.shape) for name, t in members[0].items()}
    inside = model.member(found, 0, {name: shapes[name] for name in found})
    for name, gradient in stacked_gradients(members[0], small).items():
        torch.testing.assert_close(inside[name], gradient, rtol=1e-4, atol=1e-6, msg=name)
        assert torch.count_nonzero(found[name][0]) == torch.count_nonzero(inside[name])
    for name, tensor in model.member(stacked, 0, shapes).items():
        assert torch.equal(tensor, members[0][name])


def test_bfloat16_gradients_are_close_and_not_equal() -> None:
    config = config_of({}, entities=64, dimension=16, width=32)
    exact, rough = (stacked_gradients(shaken(config), config, precision=p) for p in (torch.float32, torch.bfloat16))
    for name, gradient in exact.items():
        assert rough[name].dtype == torch.float32
        assert 0 < (rough[name] - gradient).norm() < 0.05 * gradient.norm()


def test_ties_and_nan_are_no_answers() -> None:
    config = config_of({})
    parameters = shaken(config)
    parameters["W_U"][4], parameters["b_U"][4] = parameters["W_U"][9], parameters["b_U"][9]
    parameters["b_U"][[4, 9]] += 100
    targets = model.answers(model.system_of(config), config)[None]
    assert (model.emitted(model.stack([parameters]), config, targets)[0] == -1).all()
    parameters["b_U"][4] += 1
    assert (model.emitted(model.stack([parameters]), config, targets)[0] == 4).all()
    parameters["W_out"][0, 0] = torch.nan
    tokens, loss = model.emitted(model.stack([parameters]), config, targets)
    assert (tokens == -1).all()
    assert torch.isnan(loss).all()


@each_condition
def test_initial_values_depend_on_the_configuration_alone(condition: dict[str, Any]) -> None:
    config = config_of(condition)
    first, second = model.initial(config), model.initial(config)
    other = model.initial(dataclasses.replace(config, seed=2))
    for name, tensor in first.items():
        assert torch.equal(tensor, second[name])
        assert name.startswith("b_") or not torch.equal(tensor, other[name])
    assert model.system_of(config) == model.system_of(config)


def test_frozen_readout_rows_have_norm_one_and_no_bias() -> None:
    start = model.initial(config_of({"readout": "frozen"}))
    torch.testing.assert_close(start["W_U"].norm(dim=1), torch.ones(11))
    assert "b_U" not in start
    assert "W_U" not in model.initial(config_of({"readout": "tied"}))


def test_chains_need_positional_heads_without_residual() -> None:
    for condition in ({"attention": "learned"}, {"residual": True}):
        with pytest.raises(InputError, match="positional heads"):
            model.initial(config_of({"hops": 2, "chain": True, **condition}))


def exact_logits(transformer: Transformer, hops: int) -> np.ndarray:
    """Every logit as a fraction, shape [answers, queries]."""
    tokens = prompts(transformer.entities, transformer.relations, hops)
    numerators, denominator = ExactModel(transformer, rational=True).logits(tokens)
    return numerators.astype(object) * Fraction(1, denominator)


@each_condition
def test_a_model_is_the_transformer_that_it_is_converted_to(condition: dict[str, Any]) -> None:
    config = config_of(condition)
    parameters = shaken(config)
    transformer = conversion.to_transformer(parameters, config)
    logits, _ = run_with_cache(transformer, prompts(11, 3, config.hops))
    ours = naive_logits({name: t.double() for name, t in parameters.items()}, config).numpy()
    if config.chain:  # The first step of the word (r, ..) is the fact (x, r).
        ours = np.repeat(ours, 3 ** (config.hops - 1), axis=0)
    np.testing.assert_allclose(logits, ours, rtol=1e-9, atol=1e-9)
    for name, tensor in conversion.from_transformer(transformer, config).items():
        assert tensor.dtype == torch.float32
        assert torch.equal(tensor, parameters.get(name, torch.zeros_like(tensor))), name


CONSTRUCTED = [
    (t1.construct, {}),
    (lambda system: t1.construct(system, residual=True), {"residual": True}),
    (lambda system: t2e.construct(system, 1), {}),
    (lambda system: t2e.construct(system, 2), {"hops": 2}),
    (lambda system: t2e.construct(system, 3), {"hops": 3}),
    (lambda system: t2e.construct(system, 2, tied=True), {"hops": 2, "readout": "tied"}),
    (lambda system: t3.construct(system, 3), {"hops": 3, "chain": True}),
    (lambda system: t3.construct_with_signs(system, 2), {"hops": 2, "chain": True}),
]


@pytest.mark.parametrize(("construct", "condition"), CONSTRUCTED)
@pytest.mark.parametrize("relations", [1, 3])
def test_constructions_load_without_a_rounding(construct: Any, condition: dict[str, Any], relations: int) -> None:
    system = FactSystem.random(11, relations, 1)
    transformer = construct(system)
    config = config_of(condition, relations=relations, dimension=transformer.dimension, width=transformer.width)
    parameters = conversion.from_transformer(transformer, config)
    again = conversion.to_transformer(parameters, config)
    task = conversion.task_of(config)
    assert (
        check_every_query(again, system, task, rational=True).margin
        == check_every_query(transformer, system, task).margin
    )
    assert (exact_logits(again, config.hops) == exact_logits(transformer, config.hops)).all()
    assert conversion.exact_check(parameters, config) is True
    targets = model.answers(system, config)[None]
    assert torch.equal(model.emitted(model.stack([parameters]), config, targets)[0], targets)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_run_is_asked_the_facts_of_its_family(family: str) -> None:
    config = RunConfig(16, 8 if family != "compositions" else 9, 3, 12, family=family, seed=4)
    system = model.system_of(config)
    assert system == draw_family(family, 16, config.relations, 4)
    assert model.answers(system, config).reshape(16, -1).T.tolist() == system.answers.tolist()


def test_scrambled_words_have_bijections_of_their_own() -> None:
    config = RunConfig(16, 3, 3, 12, hops=2, scrambled=True, seed=4)
    system = model.system_of(config)
    assert system == FactSystem.random(16, 9, 4)
    asked = model.answers(system, config)
    assert asked.reshape(16, 9).T.tolist() == system.answers.tolist()
    assert training.accuracy_of(asked.numpy(), system, config) == 1.0
    composed = dataclasses.replace(config, scrambled=False)
    assert model.answers(model.system_of(composed), composed).tolist() != asked.tolist()
    assert model.shapes(config) == model.shapes(composed)
    assert conversion.exact_check(model.initial(config), config) is None


def test_exact_check_is_not_tried_where_it_cannot_be() -> None:
    softmax = config_of({"attention": "learned"})
    assert conversion.exact_check(model.initial(softmax), softmax) is None
    large = config_of({}, entities=2048, relations=16, dimension=64, width=64)
    assert conversion.exact_check({}, large) is None


def spoiled(transformer: Transformer, **changes: Any) -> Transformer:
    """The transformer with some tensors, of its block or its own, replaced by functions of them."""
    block = transformer.blocks[0]
    own = {name: change(getattr(transformer, name)) for name, change in changes.items() if hasattr(transformer, name)}
    inner = {name: change(getattr(block, name)) for name, change in changes.items() if hasattr(block, name)}
    return dataclasses.replace(transformer, blocks=(dataclasses.replace(block, **inner),), **own)


REFUSED: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("another width", {}, {"width": 3}, "width"),
    ("another dimension", {}, {"dimension": 99}, "dimension"),
    ("another attention", {}, {"attention": "learned"}, "attention"),
    ("a residual", {}, {"residual": True}, "residual"),
    ("an untied read-out", {}, {"readout": "tied"}, "tied"),
    ("a bias", {"b_U": lambda b: b + 1}, {"readout": "frozen"}, "b_U"),
    ("no float32", {"W_U": lambda W: W * (1 + 2.0**-40)}, {}, "float32"),
    ("heads that look elsewhere", {"W_Q": lambda W: W * 0}, {}, "read the same position"),
]


@pytest.mark.parametrize(("what", "changes", "condition", "message"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_is_not_the_runs_model_is_refused(
    what: str, changes: dict[str, Any], condition: dict[str, Any], message: str
) -> None:
    transformer = t2e.construct(FactSystem.random(11, 3, 1), 2)
    sizes = {"dimension": transformer.dimension, "width": transformer.width, "hops": 2}
    conversion.from_transformer(transformer, config_of({}, **sizes))
    with pytest.raises(InputError, match=message):
        conversion.from_transformer(spoiled(transformer, **changes), config_of({}, **{**sizes, **condition}))


@pytest.mark.parametrize("tied", [False, True])
def test_what_positions_bring_is_kept(tied: bool) -> None:
    system = FactSystem.random(11, 3, 1)
    transformer = t2e.construct(system, 2, tied=tied)
    sizes = {"dimension": transformer.dimension, "width": transformer.width, "hops": 2}
    config = config_of({"readout": "tied" if tied else "learned"}, **sizes)
    shifted = np.array(transformer.W_pos, np.int64)
    shifted[0, :3] += (5, -2, 1)
    moved = spoiled(transformer, W_pos=lambda _: shifted)
    again = conversion.to_transformer(conversion.from_transformer(moved, config), config)
    assert (exact_logits(again, 2) == exact_logits(moved, 2)).all()
    assert (exact_logits(again, 2) != exact_logits(transformer, 2)).any()


def test_uniform_attention_must_add_the_tokens_up() -> None:
    transformer = t1.construct(FactSystem.random(11, 3, 1))
    config = config_of({}, dimension=transformer.dimension, width=transformer.width)
    for changes, message in (
        ({"W_O": lambda W: W * 3}, "W_V W_O = 2"),
        ({"W_pos": lambda W: W + 1}, "W_pos must be zero"),
    ):
        with pytest.raises(InputError, match=message):
            conversion.from_transformer(spoiled(transformer, **changes), config)
