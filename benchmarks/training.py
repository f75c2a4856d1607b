"""How the arrangements of training compare on this machine: ratios of figures of one run, in model steps a second.

Run alone on an idle machine: python benchmarks/training.py [--device cuda] [--large]. `--large` adds N = 4096, and
there the matrix products of training as a share of the rate that one large product reaches on the same device. The
plain way is what comparable code does: one model, eager float32, all N·R × N logits at once, torch's AdamW.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import multiprocessing
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

if importlib.util.find_spec("torch") is None:
    print("torch is not installed: pip install 'geometric-recall[empirical]'")
    sys.exit(0)

from empirical.models import model, training
from empirical.models.runs import RunConfig

torch: Any = importlib.import_module("torch")

SECONDS = 2.0
LARGE = RunConfig(4096, 4, 64, 256)
SQUARE = 4096  # the side of the product that the device's rate is read off


def rate(step: Callable[[], Any], device: str) -> float:
    """Steps per second of a step, over about SECONDS after one to warm up."""
    step()
    synchronise = torch.cuda.synchronize if device.startswith("cuda") else (lambda: None)
    synchronise()
    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < SECONDS:
        step()
        steps += 1
        synchronise()
    return steps / (time.perf_counter() - start)


def plain_step(config: RunConfig, device: str) -> Callable[[], None]:
    """A step of the plain way."""
    leaves = {name: tensor.to(device).requires_grad_() for name, tensor in model.initial(config).items()}
    optimiser = torch.optim.AdamW(leaves.values(), lr=config.learning_rate)
    targets = model.answers(model.system_of(config), config).to(device)

    def step() -> None:
        logits = model.outputs(leaves, config) @ leaves["W_U"].T + leaves["b_U"]
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(logits, targets).backward()
        optimiser.step()

    return step


def chunked_step(configs: list[RunConfig], device: str) -> Callable[[], None]:
    """A step of this project's way, of all configurations as one stack."""
    protocol = configs[0]
    parameters = {name: tensor.to(device) for name, tensor in model.stack([model.initial(c) for c in configs]).items()}
    targets = torch.stack([model.answers(model.system_of(c), protocol) for c in configs]).to(device)
    optimiser = training.AdamW(parameters, model.trained(protocol), protocol)
    precision = torch.bfloat16 if protocol.precision == "bfloat16" else torch.float32

    def step() -> None:
        with training.products(protocol.precision):
            optimiser.step(model.gradients(parameters, protocol, targets, precision), 1)

    return step


def in_a_process(config: RunConfig, threads: int, queue: Any, barrier: Any) -> None:
    """Measure one process among several, which start together."""
    torch.set_num_threads(threads)
    step = chunked_step([config], "cpu")
    step()
    barrier.wait()
    queue.put(rate(step, "cpu"))


def processes(config: RunConfig, count: int, threads: int) -> float:
    """Steps per second of `count` processes of `threads` threads each, together."""
    context = multiprocessing.get_context("spawn")
    queue, barrier = context.Queue(), context.Barrier(count)
    workers = [context.Process(target=in_a_process, args=(config, threads, queue, barrier)) for _ in range(count)]
    for worker in workers:
        worker.start()
    total = float(sum(queue.get() for _ in workers))
    for worker in workers:
        worker.join()
    return total


def report(name: str, members: float, reference: float) -> None:
    """A line: members' steps per second, and its ratio to the reference."""
    print(f"  {name:44s} {members:9.1f} model steps/s   × {members / reference:5.2f}", flush=True)


def compare(sizes: tuple[int, int, int, int], members: int, device: str) -> None:
    """All arrangements at one size (N, R, d, width)."""
    entities, relations, dimension, width = sizes
    print(f"N = {entities}, R = {relations}, d = {dimension}, width {width}, on {device}")
    precisions = ["float32", "bfloat16"] + (["tf32"] if device.startswith("cuda") else [])
    base = RunConfig(entities, relations, dimension, width)
    reference = rate(plain_step(base, device), device)
    report("plain: all logits at once, float32", reference, reference)
    for precision in precisions:
        configs = [
            RunConfig(entities, relations, dimension, width, precision=precision, seed=seed)  # type: ignore[arg-type]
            for seed in range(members)
        ]
        report(f"in chunks, one by one, {precision}", rate(chunked_step(configs[:1], device), device), reference)
        stacked = members * rate(chunked_step(configs, device), device)
        report(f"in chunks, {members} stacked, {precision}", stacked, reference)
    if device == "cpu":
        for count, threads in ((2, 1), (2, 2), (1, 2)):
            name = f"{count} process{'es' if count > 1 else ''} of {threads} thread{'s' if threads > 1 else ''} each"
            report(f"{name}, float32", processes(base, count, threads), reference)


def report_throughput(device: str) -> None:
    """Print the rate of training's matrix products beside that of one large product, in each precision of the device.

    A fact costs a multiplication and an addition for each of N·d + 2·d·m weights, three times: forward, and backward to
    the weights and to the inputs.
    """
    size, width, facts = LARGE.dimension, LARGE.width, LARGE.entities * LARGE.relations
    work = 6 * facts * (LARGE.entities * size + 2 * size * width)
    print(f"matrix products of training at N = {LARGE.entities}, R = {LARGE.relations}, d = {size}, on {device}:")
    for precision in ("float32", "bfloat16", *(["tf32"] if device.startswith("cuda") else [])):
        config = replace(LARGE, precision=precision)  # type: ignore[arg-type]
        kind = torch.bfloat16 if precision == "bfloat16" else torch.float32
        matrix = torch.ones((SQUARE, SQUARE), device=device, dtype=kind)
        with training.products(precision):
            most = 2 * SQUARE**3 * rate(partial(torch.matmul, matrix, matrix), device)
            found = work * rate(chunked_step([config], device), device)
        print(f"  {precision:9s} {found / 1e9:10.1f} of {most / 1e9:10.1f} Gflop/s: a share of {found / most:.2f}")


def main() -> None:
    """Ratios at a small, a middle and, with --large, the paper's size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--large", action="store_true")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    compare((64, 2, 4, 64), 8, chosen.device)
    compare((512, 4, 32, 128), 8, chosen.device)
    if chosen.large:
        compare((4096, 4, 64, 256), 2, chosen.device)
        report_throughput(chosen.device)


if __name__ == "__main__":
    main()
