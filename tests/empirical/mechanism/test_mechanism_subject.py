"""What is studied: the quick pass over all facts is the plain one, and what cannot be studied is refused."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from constructions.weights.catalogue import Setting
from empirical.mechanism.study import study_given
from empirical.mechanism.subject import Studied, accuracy, emitted, forward, of_construction, of_run
from empirical.models.model import initial
from empirical.models.runs import RunConfig
from tests.helpers.edits import put, with_tensor
from tests.helpers.mechanisms import PAIR, SUPERPOSITIONS, SYSTEM, plain, with_subjects
from theory import FactSystem, InputError, Task
from theory.definitions.transformer import Block, run_with_cache

RUNS: tuple[dict[str, Any], ...] = (
    {},
    {"residual": True},
    {"readout": "tied"},
    {"readout": "frozen"},
    {"attention": "learned"},
    {"hops": 2},
    {"hops": 2, "attention": "learned", "residual": True},
    {"hops": 3, "chain": True},
)


def models() -> list[Studied]:
    constructed = [of_construction(theorem, system, setting, name) for theorem, name, setting, system in SUPERPOSITIONS]
    constructed += [of_construction("T2b", PAIR, Setting(hops=2)), of_construction("T2e", PAIR, Setting(hops=2))]
    constructed += [of_construction("T3b", PAIR, Setting(hops=3, stride=2))]
    trained = [RunConfig(20, 3, 6, 12, seed=3, **change) for change in RUNS]
    return [*constructed, *(of_run(initial(config), config) for config in trained)]


@pytest.mark.parametrize("studied", models(), ids=lambda one: one.name)
def test_the_pass_over_all_facts_is_that_of_every_prompt(studied: Studied) -> None:
    own, words = studied.transformer, studied.words
    tokens = own.entities + np.pad(words, [(0, 0), (0, studied.task.hops - words.shape[1])])
    subjects = np.repeat(np.arange(own.entities), len(words))
    prompts = np.concatenate([subjects[:, None], np.tile(tokens, (own.entities, 1))], axis=1)
    logits, cache = run_with_cache(own, prompts)
    found = forward(studied)
    shape = (own.entities, len(words), -1)
    np.testing.assert_allclose(found.seen, cache["blocks.0.attn.hook_pattern"][:, :, -1, 0].reshape(shape), atol=1e-14)
    np.testing.assert_allclose(
        np.maximum(found.before, 0), cache["blocks.0.mlp.hook_post"][:, -1].reshape(shape), rtol=1e-11, atol=1e-11
    )
    np.testing.assert_allclose(
        found.output, cache["blocks.0.hook_resid_post"][:, -1].reshape(shape), rtol=1e-11, atol=1e-11
    )
    best = logits.argmax(axis=-1).reshape(own.entities, len(words)).T
    assert accuracy(studied) == (best == studied.answers).mean()


@pytest.mark.parametrize(("theorem", "name", "setting", "system"), SUPERPOSITIONS)
def test_constructions_recall_every_fact(theorem: str, name: str, setting: Setting, system: FactSystem) -> None:
    assert accuracy(of_construction(theorem, system, setting, name)) == 1.0


def test_a_tie_is_no_answer() -> None:
    own = plain()
    tied = replace(own, transformer=put(own.transformer, "W_U", (slice(None), 1), own.transformer.W_U[:, 0]))
    answers = own.answers
    assert (emitted(tied)[(answers == 0) | (answers == 1)] == -1).all()
    assert accuracy(tied) < 1.0


def test_rows_that_are_not_finite_give_no_answer() -> None:
    rows = plain().rows.copy()
    rows[3] = np.nan
    found = emitted(plain(), rows)
    assert (found[:, 3] == -1).all()
    assert (np.delete(found, 3, axis=1) == np.delete(plain().answers, 3, axis=1)).all()


def test_blocks_of_subjects_give_what_all_at_once_give(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = emitted(plain())
    monkeypatch.setattr("empirical.mechanism.subject.LOGITS", 500)
    assert np.array_equal(emitted(plain()), whole)


def test_new_rows_replace_the_subject_table_and_nothing_else() -> None:
    config = RunConfig(20, 2, 6, 12, readout="tied")
    own = of_run(initial(config), config)
    other = with_subjects(own, own.rows + 1)
    assert np.array_equal(other.rows, own.rows + 1)
    for (name, before), (_, after) in zip(own.transformer.tensors(), other.transformer.tensors(), strict=True):
        kept = slice(20, None) if name == "W_E" else slice(None)
        assert np.array_equal(before[kept], after[kept]), name


def test_attribute_vectors_are_the_readout() -> None:
    for readout in ("learned", "frozen", "tied"):
        config = RunConfig(20, 2, 6, 12, readout=readout)  # type: ignore[arg-type]
        parameters = initial(config)
        wanted = parameters["W_E" if readout == "tied" else "W_U"]
        assert torch.equal(torch.from_numpy(of_run(parameters, config).attribute_vectors), wanted.double())


def test_what_is_no_single_layer_model_is_refused() -> None:
    with pytest.raises(InputError, match="T4 deep has 3 blocks; the mechanism is studied in single-layer"):
        of_construction("T4", SYSTEM, Setting(hops=2))
    with pytest.raises(InputError, match="disjoint attributes"):
        of_construction("T6", SYSTEM)
    with pytest.raises(InputError, match=r"is over \(60, 3, 60\)"):
        replace(plain(), system=FactSystem.random(59, 3))
    with pytest.raises(InputError, match="T1 plain has 2 positions; 2 hops need 3"):
        replace(plain(), task=Task(2, 2))


@pytest.mark.parametrize("scale", [1e120, 1e25, 1e-60])
def test_weights_whose_products_leave_float64_are_refused(scale: float) -> None:
    own = plain().transformer
    with pytest.raises(InputError, match=r"entry of W_U is .*e[+-]\d+ in size; .* between 1e-45 and 1e\+20"):
        replace(plain(), transformer=replace(own, W_U=own.W_U * scale))


@pytest.mark.parametrize("scale", [1e19, 1e-30])
def test_weights_near_the_bounds_are_studied(scale: float) -> None:
    """Every number of every analysis is finite."""
    config = RunConfig(20, 2, 6, 12, attention="learned", residual=True)
    own = of_run(initial(config), config)
    tensors = {name: tensor * scale for name, tensor in own.transformer.tensors() if name != "W_E"}
    large = own.transformer
    for name, tensor in tensors.items():
        large = with_tensor(large, name, np.asarray(tensor, np.float64))
    assert json.dumps(study_given(replace(own, transformer=large), 1, 1), allow_nan=False)


def test_an_mlp_without_hidden_units_is_studied() -> None:
    own = plain()
    block = own.transformer.blocks[0]
    empty = replace(block, W_in=block.W_in[:, :0], b_in=block.b_in[:0], W_out=block.W_out[:0])
    found = study_given(replace(own, transformer=replace(own.transformer, blocks=(empty,))), 1, 1)
    assert found["hidden_units"] is None
    assert found["accuracy"] <= 1 / 60
    assert found["transfer"]["ways"]["maps"]["value"] <= 1 / 60


def test_an_embedding_without_coordinates_is_refused() -> None:
    own = plain().transformer
    block = own.blocks[0]
    empty = {name: getattr(block, name) for name in ("b_in",)}
    for name, part in (("W_Q", np.s_[:, :0]), ("W_K", np.s_[:, :0]), ("W_V", np.s_[:, :0]), ("W_O", np.s_[:, :, :0])):
        empty[name] = getattr(block, name)[part]
    empty |= {"W_in": block.W_in[:0], "W_out": block.W_out[:, :0], "b_out": block.b_out[:0]}
    outer = {"W_E": own.W_E[:, :0], "W_pos": own.W_pos[:, :0], "W_U": own.W_U[:0]}
    with pytest.raises(InputError, match="has embedding dimension 0"):
        replace(plain(), transformer=replace(own, blocks=(Block(**empty),), **outer))
