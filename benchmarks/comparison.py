"""What the search and the training of this project save together: the sweep `quick` against the plain way, in one run.

Run alone on an idle machine: python benchmarks/comparison.py [--curves 4] [--device cuda]. Both ways look for the
thresholds of the same curves, chosen evenly from those of `quick`, with the same seeds and the same rule: a dimension
memorises when at least half of its seeds do. The protocol is the same too: initial values, schedule and constants of
AdamW, budget. The plain way is what comparable code does: one model after another, eager float32, torch.optim.AdamW,
all N·R^k × N logits at once, every step of the budget, torch's own threads, and plain bisection in d over 1 .. the
largest dimension that the preset allows. Printed: the seconds of both, their ratio, and each curve's threshold by both:
d* with its interval, and the smallest dimension that memorised.

Then, on a CPU, the peak memory of one gradient step at N = 4096, R = 16, d = 64, in a process of its own. How much of
the device's matrix throughput training uses: benchmarks/training.py --large.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import multiprocessing
import resource
import sys
import tempfile
import time
from dataclasses import replace
from math import ceil, floor
from pathlib import Path
from typing import Any

if importlib.util.find_spec("torch") is None:
    print("torch is not installed: pip install 'geometric-recall[empirical]'")
    sys.exit(0)

from empirical.comparison.compare import TRAINER, ComparisonReport, compare
from empirical.comparison.curves import Curve
from empirical.comparison.presets import ComparisonPreset, preset
from empirical.execution.local_pool import LocalPool
from empirical.execution.store import open_store
from empirical.models import model
from empirical.models.runs import MEMORISED_AT, RunConfig
from empirical.models.training import DECAY_FIRST, DECAY_SECOND, EPSILON, accuracy_of, learning_rate

torch: Any = importlib.import_module("torch")

GOAL_RATIO, GOAL_MEMORY = {"cpu": 5.0, "cuda": 15.0}, 3.0
LARGE = RunConfig(4096, 16, 64, 256)


def chosen(whole: ComparisonPreset, count: int) -> ComparisonPreset:
    """The preset with so many of its curves, evenly spaced, and the same search; no experiment is judged."""
    curves = whole.plan.curves
    some = tuple(curves[(2 * place + 1) * len(curves) // (2 * count)] for place in range(count))
    return replace(whole, experiments=(), law_fitted=(), law_held_out=(), plan=replace(whole.plan, curves=some))


def sweep(part: ComparisonPreset, device: str) -> tuple[float, ComparisonReport]:
    """Seconds and report of this project's way, the start of its processes included."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, LocalPool(TRAINER, device=device) as pool:
        with open_store(Path(folder) / "runs.sqlite") as store:
            report = compare(part, store, pool)
        return time.perf_counter() - start, report


def plain_run(config: RunConfig, device: str) -> bool:
    """Whether one model, trained the plain way, memorises."""
    system = model.system_of(config)
    leaves = {name: tensor.to(device) for name, tensor in model.initial(config).items()}
    optimiser = torch.optim.AdamW(
        [leaves[name].requires_grad_() for name in model.trained(config)],
        betas=(DECAY_FIRST, DECAY_SECOND),
        eps=EPSILON,
        weight_decay=config.weight_decay,
    )
    targets = model.answers(system, config).to(device)
    for step in range(1, config.steps + 1):
        optimiser.param_groups[0]["lr"] = learning_rate(config, step)
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(plain_logits(leaves, config), targets).backward()
        optimiser.step()
    with torch.no_grad():
        return accuracy_of(plain_logits(leaves, config).argmax(dim=1).cpu().numpy(), system, config) >= MEMORISED_AT


def plain_logits(parameters: Any, config: RunConfig) -> Any:
    """All logits at once, [N·R^k, N]."""
    rows, bias = model.readout(parameters)
    logits = model.outputs(parameters, config) @ rows.T
    return logits if bias is None else logits + bias


def plain_search(curve: Curve, largest: int, seeds: int, device: str) -> tuple[int | None, int]:
    """The smallest dimension that memorises, by bisection over 1 .. largest (None: not even that one), and how many
    runs it took.
    """
    low, high, runs = 0, largest + 1, 0
    while high - low > 1:
        middle = (low + high) // 2
        successes = sum(plain_run(curve.config(middle, seed), device) for seed in range(seeds))
        low, high = (low, middle) if 2 * successes >= seeds else (middle, high)
        runs += seeds
    return (high if high <= largest else None), runs


def peak_memory(queue: Any) -> None:
    """Put the peak resident memory in GiB of a process that takes one gradient step at N = 4096, R = 16, d = 64, and
    the part of it that was there before, with torch loaded.
    """
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    parameters = model.stack([model.initial(LARGE)])
    model.gradients(parameters, LARGE, model.answers(model.system_of(LARGE), LARGE).unsqueeze(0))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 2**30 if sys.platform == "darwin" else 2**20  # bytes there, KiB elsewhere
    queue.put((after / unit, before / unit))


def report_sweeps(part: ComparisonPreset, device: str) -> None:
    """Run both ways and print what they took and found."""
    seconds, report = sweep(part, device)
    print(f"this project: {report.runs} runs, {seconds:.1f} s", flush=True)
    start, plain_runs, disagreements = time.perf_counter(), 0, 0
    lines = []
    found = [each for each in report.thresholds if each.accuracy == MEMORISED_AT]
    width = max(len(each.curve) for each in found)
    for curve, ours in zip(part.plan.curves, found, strict=True):
        plain, runs = plain_search(curve, part.plan.largest_dimension, part.plan.seeds, device)
        plain_runs += runs
        # d* need not be whole: the first whole dimension that memorises lies within the interval rounded outwards.
        agree = plain is not None and ours.high is not None and floor(ours.low) <= plain <= ceil(ours.high)
        disagreements += not agree
        estimate = "-" if ours.dimension is None else f"{ours.dimension:.1f}"
        high = "" if ours.high is None else f"{ours.high:.1f}"
        interval = f"{estimate} in [{ours.low:.1f}, {high}]"
        lines.append(
            f"  {ours.curve:{width}s} {interval:24s} plain {plain or '-':>4}   {'agree' if agree else 'DISAGREE'}"
        )
        print(f"  plain way, {ours.curve}: {time.perf_counter() - start:.0f} s so far", flush=True)
    plain_seconds = time.perf_counter() - start
    print(f"plain way:    {plain_runs} runs, {plain_seconds:.1f} s, {torch.get_num_threads()} threads, on {device}")
    print(f"ratio:        {plain_seconds / seconds:.1f} (goal: at least {GOAL_RATIO[device.split(':')[0]]:g})")
    print(f"thresholds ({disagreements} of {len(found)} disagree):", *lines, sep="\n", flush=True)


def main() -> None:
    """All figures."""
    whole = preset("quick")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--curves", type=int, default=4, help="how many curves of quick")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    asked = parser.parse_args()
    count, device = asked.curves, asked.device
    if not 1 <= count <= len(whole.plan.curves):
        parser.error(f"--curves must be between 1 and {len(whole.plan.curves)}")
    part = chosen(whole, count)
    print(f"{count} of the {len(whole.plan.curves)} curves of quick, {part.plan.seeds} seeds a dimension:")
    report_sweeps(part, device)
    if device != "cpu":
        return
    queue = multiprocessing.get_context("spawn").Queue()
    child = multiprocessing.get_context("spawn").Process(target=peak_memory, args=(queue,))
    child.start()
    peak, before = queue.get()
    child.join()
    print("one gradient step at N = 4096, R = 16, d = 64:")
    print(f"  peak memory {peak:.2f} GiB, of which {before:.2f} before it (goal: under {GOAL_MEMORY:g})")


if __name__ == "__main__":
    main()
