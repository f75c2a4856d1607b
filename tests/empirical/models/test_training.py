"""Training: stacking, determinism, early stop, failure, and what counts as memorised."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest

from constructions.weights import t1
from empirical.models.runs import RunConfig
from theory import FactSystem, InputError

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'geometric-recall[empirical]'")

from empirical.models import conversion, model, training  # noqa: E402

torch.set_num_threads(1)  # several test processes share the cores

CONDITIONS: list[dict[str, Any]] = [
    {},
    {"readout": "frozen", "weight_decay": 0.1},
    {"readout": "tied", "residual": True},
    {"subjects": "frozen"},
    {"hops": 2},
    {"hops": 3, "chain": True},
    {"attention": "learned"},
]


def config_of(**fields: Any) -> RunConfig:
    base = {"entities": 12, "relations": 2, "dimension": 4, "width": 8, "steps": 20, "check_every": 5}
    return RunConfig(**{**base, **fields})


def train_one(config: RunConfig, **options: Any) -> training.TrainedRun:
    [run] = training.train([config], **options)
    return run


@pytest.fixture(scope="module")
def memorised() -> training.TrainedRun:
    """A model with room to spare, trained until it is perfect."""
    return train_one(config_of(entities=32, dimension=8, width=32, steps=1000, check_every=20))


def test_a_generous_model_memorises_and_stops(memorised: training.TrainedRun) -> None:
    result = memorised.result
    assert result.status == "memorised"
    assert result.perfect
    assert 0 < result.steps_taken < 1000
    assert result.steps_taken % 20 == 0
    steps, losses, accuracies = zip(*result.history, strict=True)
    assert steps == tuple(range(0, result.steps_taken + 1, 20))
    assert all(accuracy < 1 for accuracy in accuracies[:-1])
    assert accuracies[-1] == 1.0
    assert losses[-1] < losses[0]
    assert result.trained_scalars == sum(tensor.numel() for tensor in memorised.parameters.values())


def test_a_trained_model_passes_the_exact_check_and_a_spoiled_one_does_not(memorised: training.TrainedRun) -> None:
    config = memorised.result.config
    assert conversion.exact_check(memorised.parameters, config) is True
    spoiled = {name: tensor.clone() for name, tensor in memorised.parameters.items()}
    spoiled["W_U"][5] = spoiled["W_U"][6]
    spoiled["b_U"][5] = spoiled["b_U"][6]
    assert conversion.exact_check(spoiled, config) is False


def test_one_dimension_is_not_enough() -> None:
    result = train_one(config_of(entities=32, dimension=1, steps=100, check_every=100)).result
    assert result.status == "not memorised"
    assert result.accuracy is not None
    assert 0 < result.accuracy < 0.9
    assert result.steps_taken == 100
    assert result.error == ""


def test_training_goes_on_when_asked_to() -> None:
    config = config_of(entities=8, dimension=8, width=32, steps=300, check_every=100, learning_rate=0.03)
    assert train_one(config).result.steps_taken < 300
    result = train_one(config, stop_when_perfect=False).result
    assert [step for step, _, _ in result.history] == [0, 100, 200, 300]
    assert result.perfect


@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
def test_a_member_of_a_stack_has_the_trajectory_that_it_has_alone(condition: dict[str, Any]) -> None:
    configs = [
        config_of(dimension=d, width=m, seed=seed, **condition) for d, m, seed in [(4, 8, 0), (7, 5, 1), (2, 11, 2)]
    ]
    alone = training.train(configs, at_once=1)
    together = training.train(configs, at_once=9)
    for config, one, other in zip(configs, alone, together, strict=True):
        assert one.result.config == other.result.config == config
        assert one.result.trained_scalars == other.result.trained_scalars
        for (step, loss, accuracy), (step_, loss_, accuracy_) in zip(
            one.result.history, other.result.history, strict=True
        ):
            assert (step, accuracy) == (step_, accuracy_)
            assert math.isclose(loss, loss_, rel_tol=1e-4)
        for name, tensor in one.parameters.items():
            torch.testing.assert_close(other.parameters[name], tensor, rtol=2e-3, atol=2e-4, msg=name)


def test_members_leave_the_stack_when_they_are_done() -> None:
    sizes = [(8, 0), (1, 1), (16, 2), (2, 3)]
    configs = [config_of(dimension=d, width=24, steps=300, check_every=20, seed=seed) for d, seed in sizes]
    ended = list(training.train_each(configs, at_once=9))
    steps = [run.result.steps_taken for _, run in ended]
    assert steps == sorted(steps)
    assert steps[0] < steps[-1] == 300
    assert sorted(place for place, _ in ended) == [0, 1, 2, 3]
    alone = training.train(configs, at_once=1)
    for place, run in ended:
        assert run.result.status == alone[place].result.status
        assert run.parameters["W_E"].shape == (12, configs[place].dimension)


def test_who_stays_in_a_stack_takes_the_course_that_it_takes_alone() -> None:
    constructed = config_of(dimension=8, width=8, learning_rate=0.01)
    start = conversion.from_transformer(t1.construct(model.system_of(constructed)), constructed)
    others = [config_of(dimension=d, width=w, learning_rate=0.01, seed=s) for d, w, s in ((4, 10, 1), (9, 10, 2))]
    configs = [others[0], constructed, others[1]]
    starts = [model.initial(configs[0]), start, model.initial(configs[2])]
    together = training.train(configs, starts=starts, at_once=3)
    assert [run.result.steps_taken for run in together] == [20, 5, 20]
    for run, config in zip(together[::2], configs[::2], strict=True):
        for one, other in zip(run.result.history, train_one(config).result.history, strict=True):
            assert one == pytest.approx(other, rel=1e-4)


def test_the_same_run_takes_the_same_course_in_any_company() -> None:
    config, other = config_of(seed=3), config_of(seed=4, dimension=6)
    first, second = train_one(config), training.train([other, config], at_once=1)[1]
    third = train_one(dataclasses.replace(config, seed=5))
    assert first.result.history == second.result.history != third.result.history
    assert all(torch.equal(tensor, second.parameters[name]) for name, tensor in first.parameters.items())


@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
def test_frozen_tables_stay_and_all_others_move(condition: dict[str, Any]) -> None:
    config = config_of(**condition)
    start, end = model.initial(config), train_one(config, stop_when_perfect=False).parameters
    assert list(end) == list(start)
    moved = [name for name in start if not torch.equal(start[name], end[name])]
    assert sorted(moved) == sorted(model.trained(config))
    assert ("W_E" in moved) == (config.subjects == "learned")
    assert ("W_U" in moved) == (config.readout == "learned")


def test_a_tied_readout_is_the_subject_table() -> None:
    run = train_one(config_of(readout="tied"))
    transformer = conversion.to_transformer(run.parameters, run.result.config)
    assert np.array_equal(transformer.W_U, transformer.W_E[:12].T)


@pytest.mark.parametrize("at_once", [1, 2])
def test_nan_fails_a_run_and_no_other(at_once: int) -> None:
    configs = [config_of(seed=0, check_every=1), config_of(seed=1, check_every=1)]
    starts = [model.initial(config) for config in configs]
    starts[0]["W_in"][0, 0] = torch.nan
    failed, other = training.train(configs, starts=starts, at_once=at_once)
    assert failed.result.status == "failed"
    assert failed.result.accuracy is None
    assert not failed.result.perfect
    assert "nan at step 0" in failed.result.error
    assert other.result.status == "not memorised"
    assert other.result.history == train_one(configs[1]).result.history or at_once == 2


def test_an_infinite_learning_rate_fails() -> None:
    result = train_one(config_of(learning_rate=math.inf)).result
    assert (result.status, result.accuracy, result.steps_taken) == ("failed", None, 5)
    assert "nan" in result.error
    assert [step for step, _, _ in result.history] == [0]


def test_memory_that_does_not_suffice_fails_a_run_and_halves_a_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    configs = [config_of(dimension=d) for d in (3, 4, 5, 40, 6)]
    real = training.gradients

    def limited(parameters: model.Parameters, *rest: Any) -> model.Parameters:
        if parameters["W_E"].numel() > 12 * 24:
            raise torch.OutOfMemoryError("CUDA out of memory: tried to allocate 20 GiB\nand more")
        return real(parameters, *rest)

    monkeypatch.setattr(training, "gradients", limited)
    runs = training.train(configs, at_once=9)
    assert [run.result.status for run in runs] == ["not memorised"] * 3 + ["failed", "not memorised"]
    assert runs[3].result.error == "memory: CUDA out of memory: tried to allocate 20 GiB"
    assert runs[3].result.accuracy is None
    monkeypatch.setattr(training, "gradients", lambda *_: [][0])
    with pytest.raises(IndexError):
        train_one(configs[0])


def test_an_interrupted_run_begins_again_and_ends_the_same() -> None:
    config = config_of()

    def interrupt(config: RunConfig, step: int, loss: float, accuracy: float) -> None:
        if step == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_one(config, progress=interrupt)
    seen: list[tuple[int, float, float]] = []
    result = train_one(config, progress=lambda _, *values: seen.append(values)).result
    assert tuple(seen) == result.history == train_one(config).result.history


def emitted_table(system: FactSystem) -> np.ndarray:
    """The token emitted at every fact by a model that knows the system, [N·R], x slowest."""
    return np.array(system.answers.T.reshape(-1))


@pytest.mark.parametrize("hops", [1, 2, 4])
def test_chains_are_followed_with_their_own_tokens(hops: int) -> None:
    system = FactSystem.random(7, 3, 0)
    config = RunConfig(7, 3, 1, 1, hops=hops, chain=True)
    tokens = emitted_table(system)
    assert training.accuracy_of(tokens, system, config) == 1.0
    tokens[[0, 1, 5, 9, 16]] = [3, -1, 2, 2, 4]
    table, right = tokens.reshape(7, 3), 0
    for x, *word in itertools.product(range(7), *[range(3)] * hops):
        own = true = x
        for relation in word:
            own, true = (table[own, relation] if own >= 0 else -1), system.answers[relation, true]
        right += own == true
    accuracy = training.accuracy_of(tokens, system, config)
    assert accuracy == right / (7 * 3**hops) < 1


def test_long_chains_are_never_rounded_to_perfect() -> None:
    system = FactSystem.random(64, 2, 0)
    config = RunConfig(64, 2, 1, 1, hops=200, chain=True)
    tokens = emitted_table(system)
    assert training.accuracy_of(tokens, system, config) == 1.0
    tokens[0] = -1
    assert training.accuracy_of(tokens, system, config) < 1.0


def test_a_chain_memorises_at_the_dimension_of_one_hop() -> None:
    config = config_of(entities=16, dimension=8, width=32, hops=3, chain=True, steps=1000, check_every=20)
    run = train_one(config)
    assert run.result.perfect
    assert conversion.exact_check(run.parameters, config) is True


def test_adamw_is_pytorchs() -> None:
    config = config_of(weight_decay=0.1, steps=10)
    members = [model.initial(dataclasses.replace(config, seed=seed)) for seed in (0, 1)]
    ours = model.stack(members)
    theirs = {name: tensor.clone().requires_grad_() for name, tensor in ours.items()}
    optimiser = torch.optim.AdamW(
        theirs.values(),
        betas=(training.DECAY_FIRST, training.DECAY_SECOND),
        eps=training.EPSILON,
        weight_decay=config.weight_decay,
    )
    mine = training.AdamW(ours, model.trained(config), config)
    for step in range(1, 11):
        for tensor in theirs.values():
            tensor.grad = torch.randn(tensor.shape)
        optimiser.param_groups[0]["lr"] = training.learning_rate(config, step)
        mine.step({name: theirs[name].grad for name in theirs}, step)
        optimiser.step()
    for name, tensor in theirs.items():
        torch.testing.assert_close(ours[name], tensor.detach(), rtol=1e-5, atol=1e-6)


def test_the_rate_rises_and_falls_to_nothing() -> None:
    config = config_of(steps=200, learning_rate=0.5)
    rates = [training.learning_rate(config, step) for step in range(1, 201)]
    peak = rates.index(0.5)
    assert peak == 9
    assert rates[: peak + 1] == sorted(rates[: peak + 1])
    assert rates[peak:] == sorted(rates[peak:], reverse=True)
    assert 0 < rates[-1] < 1e-4 < rates[0]


def test_what_cannot_run_is_refused() -> None:
    with pytest.raises(InputError, match="at_once"):
        train_one(config_of(), at_once=0)
    refusals = [
        (config_of(), "tpu0", "device"),
        (config_of(), "meta", "device"),
        (config_of(), "cuda:99", "not there"),
        (config_of(precision="tf32"), "cpu", "tf32"),
        (config_of(hops=2, chain=True, residual=True), "cpu", "positional heads"),
    ]
    for config, device, message in refusals:
        with pytest.raises(InputError, match=message):
            train_one(config, device=device)


def test_bfloat16_trains_and_is_evaluated_in_float32() -> None:
    config = config_of(entities=32, dimension=8, width=32, steps=1000, check_every=20, precision="bfloat16")
    run = train_one(config)
    assert run.result.perfect
    assert all(tensor.dtype == torch.float32 for tensor in run.parameters.values())
    single = train_one(dataclasses.replace(config, precision="float32", steps=20))
    rough = train_one(dataclasses.replace(config, steps=20))
    assert single.result.history[0] == rough.result.history[0]
    assert single.result.history[1] != rough.result.history[1]


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["float32", "tf32", "bfloat16"])
def test_a_gpu_takes_the_course_of_the_cpu(precision: str) -> None:
    configs = [config_of(dimension=d, precision=precision, steps=10) for d in (4, 6)]
    ours = training.train(configs, "cuda")
    theirs = training.train([dataclasses.replace(config, precision="float32") for config in configs])
    tolerance = 1e-4 if precision == "float32" else 5e-2
    for one, other in zip(ours, theirs, strict=True):
        for (_, loss, _), (_, loss_, _) in zip(one.result.history, other.result.history, strict=True):
            assert math.isclose(loss, loss_, rel_tol=tolerance)
    assert not torch.backends.cuda.matmul.allow_tf32
