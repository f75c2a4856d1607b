"""What is studied: the quick pass over all facts is the plain one, and what cannot be studied is refused."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from constructions.catalogue import Setting
from empirical.mechanism.subject import Studied, accuracy, emitted, forward, of_construction, of_run, with_subjects
from empirical.model import initial
from empirical.runs import RunConfig
from tests.edits import put
from tests.mechanisms import PAIR, SUPERPOSITIONS, SYSTEM, plain
from theory import FactSystem, InputError
from theory.transformer import run_with_cache

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
    with pytest.raises(InputError, match=r"\[20, 5\]; they must be \[20, 6\]"):
        with_subjects(own, own.rows[:, :5])


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
