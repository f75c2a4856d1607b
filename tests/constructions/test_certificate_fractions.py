"""Float weights, taken as the fractions that they are, and weights beyond 64 bits: certified, and never mistaken."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from constructions.suite.checks import check_model
from constructions.verification import certify_prompts as certify_prompts_module
from constructions.verification.certificate import certify
from constructions.verification.certify_attention import Refused
from constructions.verification.certify_prompts import certify_prompts
from constructions.verification.exact import products
from constructions.verification.exhaustive import check_every_query
from constructions.verification.interval import check_every_query_by_intervals
from constructions.weights import t1
from tests.helpers.deciding import SYSTEM
from tests.helpers.edits import put, tensor, with_tensor
from tests.helpers.models import EXACT, SOFTMAX, Model
from theory import FactSystem, Task, Transformer
from theory.records.files import save_model, save_system

SETTINGS = (2, 2)


def magnified(transformer: Transformer, factor: float) -> Transformer:
    """Embeddings and biases times a factor, and so every value in the stream, every score and logit; float64.

    Products with a factor that is no power of two are rounded, and the proportions of the weights change a little.
    """
    for name, array in transformer.tensors():
        if name in ("W_E", "W_pos", "b_U") or name.endswith((".b_in", ".b_out")):
            transformer = with_tensor(transformer, name, factor * array.astype(np.float64))
    if transformer.beta is not None:
        transformer = dataclasses.replace(transformer, beta=transformer.beta / factor**2)
    return transformer


@pytest.mark.parametrize("factor", [0.37, 2.0**-70, 2.0**50, 2.0**70, 3.0e12])
@pytest.mark.parametrize("model", [m for m in EXACT if m.stride == 1], ids=lambda model: model.name)
def test_constructions_magnified(model: Model, factor: float) -> None:
    sound, task = model.build(SYSTEM, *SETTINGS), model.task(2)
    transformer = magnified(sound, factor)
    certificate, verdict = (
        certify(transformer, SYSTEM, task),
        check_every_query(transformer, SYSTEM, task, rational=True),
    )
    assert verdict.holds
    assert certificate.holds, certificate.reason
    assert certificate.margin is not None
    assert certificate.margin <= verdict.margin
    plain = certify(sound, SYSTEM, task).margin
    assert plain is not None
    if factor != 0.37:
        assert certificate.margin == plain * Fraction(factor)
    else:
        assert abs(certificate.margin / plain - Fraction(factor)) < Fraction(1, 10**9)


@pytest.mark.parametrize("factor", [0.37, 2.0**-70, 2.0**50])
@pytest.mark.parametrize("model", [m for m in EXACT if m.stride == 1], ids=lambda model: model.name)
def test_a_magnified_construction_with_another_answer_is_refused(model: Model, factor: float) -> None:
    transformer, task = magnified(model.build(SYSTEM, *SETTINGS), factor), model.task(2)
    swapped = np.arange(transformer.answers)
    swapped[[0, 1]] = 1, 0
    for name in ("W_U", "b_U"):
        transformer = with_tensor(transformer, name, tensor(transformer, name)[..., swapped])
    assert not check_every_query(transformer, SYSTEM, task, rational=True).holds
    assert not certify(transformer, SYSTEM, task).holds


@pytest.mark.parametrize("factor", [0.37, 0.5, 2.0**-30, 2.0**40])
@pytest.mark.parametrize("model", SOFTMAX, ids=lambda model: model.name)
def test_softmax_models_magnified(model: Model, factor: float) -> None:
    """Certified where the plain model is; the margin is a lower bound of that which intervals enclose."""
    task, system = model.task(2), FactSystem.random(3, 2)
    transformer = magnified(model.build(system, *SETTINGS), factor)
    certificate = certify(transformer, system, task)
    assert certificate.holds, certificate.reason
    verdict = check_every_query_by_intervals(transformer, system, task)
    assert verdict.status == "holds"
    assert certificate.margin is not None
    assert certificate.margin <= verdict.high
    cooled = dataclasses.replace(transformer, beta=transformer.beta / 50)  # type: ignore[operator]
    assert not certify(cooled, system, task).holds
    assert check_every_query_by_intervals(cooled, system, task).status == "fails"


def test_every_single_fraction_is_judged() -> None:
    """A tensor of floats, one entry changed to a fraction: never accepted when wrong, always accepted when right."""
    generator, system = np.random.default_rng(0), FactSystem.random(3, 2)
    right = accepted = 0
    for model in (m for m in EXACT if m.name in ("T1 plain", "T1 residual", "T2 direct", "T3 parabola", "T4 deep")):
        sound, task = model.build(system, 2, 1), model.task(2)
        for name, array in sound.tensors():
            if array.size == 0:
                continue
            place = tuple(int(generator.integers(size)) for size in array.shape)
            value = generator.choice([0.3, -0.3, 1e-30, 1e30]) + float(array[place])
            mutant = put(with_tensor(sound, name, array.astype(np.float64)), name, place, value)
            verdict, certificate = check_every_query(mutant, system, task, rational=True), certify(mutant, system, task)
            assert verdict.holds or not certificate.holds
            if certificate.holds:
                assert certificate.margin is not None
                assert certificate.margin <= verdict.margin
            right, accepted = right + verdict.holds, accepted + certificate.holds
    assert right > 20
    assert accepted == right


def test_prompts_are_run_for_what_no_argument_covers() -> None:
    """Uniform attention over two relations, twice: the second block hands on what the first has read."""
    model = next(m for m in EXACT if m.name == "T1 plain")
    system = FactSystem.random(7, 3)
    single = model.build(system)
    d = single.dimension
    block = single.blocks[0]
    eye = np.eye(d, dtype=int)
    signed = np.concatenate([eye, -eye], axis=1)
    second = dataclasses.replace(
        block, W_O=block.W_V, W_in=signed, b_in=np.zeros(2 * d, int), W_out=signed.T, b_out=np.zeros(d, int)
    )
    deep = dataclasses.replace(single, blocks=(block, second))
    for transformer in (deep, magnified(deep, 0.37)):
        certificate = certify(transformer, system, Task())
        assert certificate.holds, certificate.reason
        assert certificate.margin == check_every_query(transformer, system, Task(), rational=True).margin
        assert certify_prompts(transformer, system, Task()) == certificate.margin
        assert not certify(transformer, FactSystem(np.roll(system.answers, 1, axis=1)), Task()).holds


def test_prompts_are_run_up_to_a_limit_of_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of a model without blocks, where it is the embedding that is summed."""
    system = FactSystem([[1, 2, 0, 3], [3, 0, 1, 2]])
    model = t1.construct(system)
    for transformer in (model, dataclasses.replace(model, blocks=())):
        needed = products(transformer, 2, 8, 1)
        monkeypatch.setattr(certify_prompts_module, "MOST_PRODUCTS", needed)
        certify_prompts(transformer, system, Task())
        monkeypatch.setattr(certify_prompts_module, "MOST_PRODUCTS", needed - 1)
        with pytest.raises(Refused, match=f"8 prompts are too many to run: {needed} products, of at most {needed - 1}"):
            certify_prompts(transformer, system, Task())


def test_a_file_of_fractions_is_certified(tmp_path: Path) -> None:
    """With --rational by both rungs; a softmax model is judged as it is."""
    weights, facts = tmp_path / "model.safetensors", tmp_path / "facts.json"
    save_system(SYSTEM, facts)
    for model, rational in ((EXACT[0], True), (SOFTMAX[0], False)):
        save_model(magnified(model.build(SYSTEM, *SETTINGS), 0.37), model.task(2), weights)
        rows = check_model(weights, facts, rational=rational)
        assert [(row.rung, row.status) for row in rows[:2]] == [
            ("exhaustive queries", "holds"),
            ("certificate", "holds"),
        ]
