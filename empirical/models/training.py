"""Training: full-batch AdamW on all facts of a random system, for many runs at once, judged on every query.

*Step.* Cross-entropy over all facts, its gradient in chunks (`empirical.models.model`), AdamW (β = 0.9, 0.99, ε = 10⁻⁸,
decoupled weight decay) at a learning rate that rises linearly over the first `WARM_UP` of the budget and falls to zero
along a cosine. At step 0, every `check_every` steps and at the end, accuracy over all queries is measured in float32,
whatever the precision of the training products; a tie is a failure. A run ends when every query is right.

*Pilot.* Seeds that reached accuracy 1 within 2000 steps at width 64, learned read-out, uniform attention, by the peak
rate; the lines ask for 1.9, 2.3 and 2.8 bits of each scalar of the two tables:

    rate                       0.01    0.03    0.1    0.3
    N = 128, R = 2, d = 3      4/4     4/4     4/4    4/4
    N = 64,  R = 2, d = 2      3/4     3/4     4/4    4/4
    N = 128, R = 4, d = 4      0/4     0/4     3/4    1/4

At N = 256, R = 8, d = 10 one seed reached it at rate 0.1 (step 1350), not at 0.03. A second-moment decay of 0.95 or
0.999 in place of 0.99 made at rate 0.1 a difference of one run in twelve, and a warm-up of 1% none for the better. At
rate 0.01 the budgets 500, 1000, 2000 and 4000 brought N = 128, R = 4, d = 4 to accuracy 0.54, 0.84, 0.97 and 0.997
(means of two seeds): too small a budget raises a threshold.

*Arrangement.* Runs that differ in d, width and seed alone are stacked: one operation on many members instead of many
operations. On a GPU that is the point; on a CPU it saves the overhead that rules small runs, and brings nothing once
the logits of one run are many, so a stack holds as many runs as have `TOGETHER` logits in all, and at least one
(benchmarks/training.py). A member of a stack has the trajectory that it has alone, to float32 rounding; members that
are done leave the stack. Alone (`at_once=1`) a run is the same to the last bit on the same machine. On a CPU, give each
process one thread (torch.set_num_threads(1)): two that fight for a core are far slower than one.

*Failure.* NaN or infinity, and memory that does not suffice for the run alone, make a run `failed`, with the reason. A
stack that does not fit is halved and begun again.

Nothing is written anywhere: whoever asks for runs stores each as it ends (`train_each`), and an interrupted one is
begun again and takes the same course.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from empirical.models.model import (
    Parameters,
    answers,
    check_config,
    emitted,
    gradients,
    initial,
    member,
    stack,
    system_of,
    trained,
)
from empirical.models.runs import MEMORISED_AT, RunConfig, RunResult, RunStatus
from theory import FactSystem, InputError
from theory.definitions.fact_system import check_count

# The logits of one step, over all facts of all members, up to which runs are stacked.
TOGETHER = {"cpu": 2**20, "cuda": 2**34}

OUT_OF_MEMORY = "memory: "  # what the error of a run that did not fit begins with

WARM_UP = 0.05
DECAY_FIRST, DECAY_SECOND, EPSILON = 0.9, 0.99, 1e-8

# What is called at each check: the configuration, the step, the loss and the accuracy.
Progress = Callable[[RunConfig, int, float, float], None]


@dataclass(frozen=True, eq=False)
class TrainedRun:
    """A run that has ended: its result and its last parameters, on the CPU; after a failure those of the last check."""

    result: RunResult
    parameters: Parameters


def train(
    configs: Sequence[RunConfig],
    device: str = "cpu",
    *,
    progress: Progress | None = None,
    starts: Sequence[Parameters] | None = None,
    stop_when_perfect: bool = True,
    at_once: int | None = None,
) -> list[TrainedRun]:
    """Train every run and return them in the order given; the arguments are those of `train_each`."""
    found = dict(
        train_each(
            configs,
            device,
            progress=progress,
            starts=starts,
            stop_when_perfect=stop_when_perfect,
            at_once=at_once,
        )
    )
    return [found[place] for place in range(len(configs))]


def train_each(
    configs: Sequence[RunConfig],
    device: str = "cpu",
    *,
    progress: Progress | None = None,
    starts: Sequence[Parameters] | None = None,
    stop_when_perfect: bool = True,
    at_once: int | None = None,
) -> Iterator[tuple[int, TrainedRun]]:
    """Train every run; yield (its place in `configs`, the finished run) as each ends.

    `starts` holds parameters to begin with in place of random ones. Without `stop_when_perfect` a run goes on to the
    end of its budget. A result's `seconds` count from the start of its stack. `at_once` is the most runs in a stack;
    left open, it follows from their size and the device. Raises InputError for a device that is not there, a condition
    without a model, and TF32 without CUDA.
    """
    target = device_of(device)
    for config in configs:
        check_config(config)
        if config.precision == "tf32" and target.type != "cuda":
            raise InputError("tf32 is a precision of CUDA devices; ask for float32 or bfloat16 on a CPU")
    if at_once is not None:
        check_count("at_once", at_once)
    groups: dict[str, list[_Member]] = {}
    for place, config in enumerate(configs):
        protocol = dataclasses.replace(config, dimension=1, width=1, seed=0)
        groups.setdefault(protocol.key, []).append(_Member(place, config, None if starts is None else starts[place]))
    for group in groups.values():
        size = at_once or max(1, TOGETHER[target.type] // group[0].config.logits)
        ordered = sorted(group, key=lambda one: (one.config.dimension, one.config.width))
        for begin in range(0, len(ordered), size):
            yield from _train_group(ordered[begin : begin + size], target, progress, stop_when_perfect)


def device_of(name: str) -> torch.device:
    """The device of that name: cpu, cuda, cuda:0, .. InputError for another, and for one that is not there."""
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InputError(f"device {name!r} is unknown; ask for cpu, cuda or cuda:0") from None
    if device.type not in ("cpu", "cuda"):
        raise InputError(f"device {name!r} is not supported; ask for cpu or cuda")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise InputError(f"device {name!r} is not there: {torch.cuda.device_count()} CUDA devices are")
    return device


@dataclass(frozen=True)
class _Member:
    place: int
    config: RunConfig
    start: Parameters | None


def _train_group(
    group: list[_Member], device: torch.device, progress: Progress | None, stop_when_perfect: bool
) -> Iterator[tuple[int, TrainedRun]]:
    """Train one stack, in halves when it does not fit in memory."""
    ended: set[int] = set()
    started = time.perf_counter()
    try:
        for place, run in _train_stack(group, device, progress, stop_when_perfect):
            ended.add(place)
            yield place, run
        return
    except (MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
        reason = str(error).splitlines()[0] if str(error) else "the memory does not suffice"
    # Outside the handler: the traceback holds the tensors that filled the memory.
    left = [one for one in group if one.place not in ended]
    if len(left) == 1 and len(group) == 1:
        config = left[0].config
        seconds = time.perf_counter() - started
        yield left[0].place, TrainedRun(RunResult(config, "failed", None, 0, seconds, error=OUT_OF_MEMORY + reason), {})
        return
    if device.type == "cuda":
        torch.cuda.empty_cache()
    half = -(-len(left) // 2)
    for part in (left[:half], left[half:]):
        if part:
            yield from _train_group(part, device, progress, stop_when_perfect)


def _is_out_of_memory(error: BaseException) -> bool:
    known = (MemoryError, torch.OutOfMemoryError)
    return isinstance(error, known) or "can't allocate memory" in str(error) or "not enough memory" in str(error)


def _train_stack(
    group: list[_Member], device: torch.device, progress: Progress | None, stop_when_perfect: bool
) -> Iterator[tuple[int, TrainedRun]]:
    """Train the members of one stack; all have one protocol and differ in d, width and seed."""
    protocol = group[0].config
    learning = trained(protocol)
    started = time.perf_counter()
    systems = [system_of(one.config) for one in group]
    begun = [initial(one.config) if one.start is None else one.start for one in group]
    sizes = [{name: tuple(tensor.shape) for name, tensor in parameters.items()} for parameters in begun]
    parameters = {name: tensor.to(device) for name, tensor in stack(begun).items()}
    targets = torch.stack([answers(system, protocol) for system in systems]).to(device)
    optimiser = AdamW(parameters, learning, protocol)
    history: list[list[tuple[int, float, float]]] = [[] for _ in group]
    alive = list(range(len(group)))
    step = 0
    while True:
        tokens, losses = emitted(parameters, protocol, targets)
        last = step == protocol.steps
        leaving = []
        for row, number in enumerate(alive):
            loss = float(losses[row])
            config = group[number].config
            accuracy = accuracy_of(tokens[row].cpu().numpy(), systems[number], config)
            if math.isfinite(loss):
                history[number].append((step, loss, accuracy))
                if progress is not None:
                    progress(config, step, loss, accuracy)
            if not math.isfinite(loss) or last or (stop_when_perfect and step and accuracy == 1.0):
                leaving.append(row)
                seconds = time.perf_counter() - started
                final = {name: t.cpu() for name, t in member(parameters, row, sizes[number]).items()}
                result = _result(config, step, loss, accuracy, seconds, history[number], final)
                yield group[number].place, TrainedRun(result, final)
        if len(leaving) == len(alive):
            return
        if leaving:
            kept = [row for row in range(len(alive)) if row not in leaving]
            own = [sizes[alive[row]] for row in kept]
            parameters = stack([member(parameters, row, size) for row, size in zip(kept, own, strict=True)])
            optimiser.keep(parameters, kept, own)
            targets, alive = targets[kept], [alive[row] for row in kept]
        until = min(protocol.steps, (step // protocol.check_every + 1) * protocol.check_every)
        with products(protocol.precision):
            while step < until:
                step += 1
                precision = torch.bfloat16 if protocol.precision == "bfloat16" else torch.float32
                optimiser.step(gradients(parameters, protocol, targets, precision), step)


def _result(
    config: RunConfig,
    step: int,
    loss: float,
    accuracy: float,
    seconds: float,
    history: list[tuple[int, float, float]],
    parameters: Parameters,
) -> RunResult:
    """What came of a run that ended at this step with this loss."""
    scalars = sum(parameters[name].numel() for name in trained(config))
    if not math.isfinite(loss):
        reason = f"the loss is {loss} at step {step}"
        return RunResult(config, "failed", None, step, seconds, tuple(history), scalars, error=reason)
    status: RunStatus = "memorised" if accuracy >= MEMORISED_AT else "not memorised"
    return RunResult(config, status, accuracy, step, seconds, tuple(history), scalars)


def accuracy_of(tokens: NDArray[np.int64], system: FactSystem, config: RunConfig) -> float:
    """The fraction of all N·R^k queries that are right, from the token [N·R^k] emitted at every fact (-1: a tie).

    In one pass a query is a fact. A chain is fed its own tokens, and is right iff the last one is and none was a tie;
    all N·R^k chains are counted without listing them, as pairs (own entity, true entity) with their multiplicities.
    """
    if not config.chain:
        words = len(tokens) // system.entities
        right = answers(system, config).numpy() == tokens
        return int(right.sum()) / (system.entities * words)
    table = tokens.reshape(system.entities, system.relations)
    n = system.entities
    own = true = np.arange(n)
    counts: NDArray[np.float64] = np.ones(n)
    dropped = False
    for _ in range(config.hops):
        own_next, true_next = table[own], system.answers.T[true]
        kept = own_next >= 0
        dropped |= not kept.all()
        pairs, place = np.unique((own_next * n + true_next)[kept], return_inverse=True)
        weights = np.broadcast_to(counts[:, None], kept.shape)[kept]
        counts = np.bincount(place, weights=weights, minlength=len(pairs)).astype(np.float64)
        own, true = pairs // n, pairs % n
    # Counts beyond 2^53 are rounded: that must not make a chain that errs look perfect, nor the reverse.
    if (own == true).all() and not dropped:
        return 1.0
    share = counts[own == true].sum() / (n * float(system.relations) ** config.hops)
    return min(float(share), math.nextafter(1.0, 0.0))


@contextmanager
def products(precision: str) -> Iterator[None]:
    """TF32 products on CUDA iff asked for, while training; what held before holds again afterwards."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def learning_rate(config: RunConfig, step: int) -> float:
    """The rate of step 1..steps: a linear rise over the first WARM_UP of them, then a half cosine to zero."""
    rise = max(1, round(WARM_UP * config.steps))
    if step <= rise:
        return config.learning_rate * step / rise
    return config.learning_rate * (1 + math.cos(math.pi * (step - rise) / (config.steps - rise + 1))) / 2


class AdamW:
    """AdamW on the learning tensors of a stack, in place. All scalars lie in one vector, so that a step is a few
    operations however many tensors there are.
    """

    def __init__(self, parameters: Parameters, learning: list[str], config: RunConfig) -> None:
        self.learning, self.config = learning, config
        self._lay_out(parameters, None, None)

    def _lay_out(self, parameters: Parameters, first: Parameters | None, second: Parameters | None) -> None:
        """Move the learning tensors into one vector, of which `parameters` then holds views."""
        self.shapes = [parameters[name].shape for name in self.learning]
        self.values = torch.cat([parameters[name].reshape(-1) for name in self.learning])
        self.first, self.second = (
            torch.zeros_like(self.values) if old is None else torch.cat([old[name].reshape(-1) for name in old])
            for old in (first, second)
        )
        parameters.update(self._views(self.values))

    def _views(self, vector: Tensor) -> Parameters:
        parts = vector.split([shape.numel() for shape in self.shapes])
        return {name: part.view(shape) for name, part, shape in zip(self.learning, parts, self.shapes, strict=True)}

    def keep(self, parameters: Parameters, rows: list[int], own: list[dict[str, tuple[int, ...]]]) -> None:
        """Go on with the members at `rows` of the stack alone, whose new stack is `parameters`."""
        first, second = (
            stack([member(views, row, size) for row, size in zip(rows, own, strict=True)])
            for views in (self._views(self.first), self._views(self.second))
        )
        self._lay_out(parameters, first, second)

    @torch.no_grad()
    def step(self, gradient: Parameters, number: int) -> None:
        """Step 1..steps."""
        flat = torch.cat([gradient[name].reshape(-1) for name in self.learning])
        rate = learning_rate(self.config, number)
        if self.config.weight_decay:
            self.values.mul_(1 - rate * self.config.weight_decay)
        self.first.lerp_(flat, 1 - DECAY_FIRST)
        self.second.mul_(DECAY_SECOND).addcmul_(flat, flat, value=1 - DECAY_SECOND)
        unbiased = math.sqrt(1 - DECAY_SECOND**number)
        scale = self.second.sqrt().div_(unbiased).add_(EPSILON)
        self.values.addcdiv_(self.first, scale, value=-rate / (1 - DECAY_FIRST**number))
