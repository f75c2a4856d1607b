"""What a sweep will cost, before it is run: the search is played on made-up outcomes, and its runs are priced.

The price of a step is its overhead, and for each of its answers × N scores a share for moving it through memory and one
for each of the d products in it. A run that memorises stops early. It is for choosing sizes: nothing is concluded from
it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from empirical.comparison.capacity import first_guess
from empirical.comparison.search import Plan
from empirical.models.runs import RunConfig, RunResult, RunStatus


@dataclass(frozen=True)
class Device:
    """Seconds a step, a score and a product; `early` is the share of its steps that a memorising run takes."""

    name: str
    step: float
    score: float
    product: float
    early: float = 0.4


# One CPU core: 5 s for N = 256, R = 4, d = 16 and 3000 steps, 1 s of overhead and 2 s each for scores and products.
CPU_CORE = Device("one CPU core", 1 / 3000, 2 / (3000 * 4 * 256**2), 2 / (3000 * 4 * 256**2 * 16))
# A GPU with 4 TB/s and 60 TFLOP/s: ten passes over the scores in float32, three products forward and backward.
GPU = Device("one H200", 5e-4, 40 / 4e12, 6 / 60e12)


@dataclass(frozen=True)
class CostEstimate:
    """Runs, batches one after another, and seconds if one such device does everything without pause."""

    runs: int
    batches: int
    seconds: float


def estimated_seconds(config: RunConfig, device: Device, memorised: bool) -> float:
    """The price of one run, with R^k answers a subject in one pass and k·R^k along a chain."""
    answers = config.entities * config.relations**config.hops * (config.hops if config.chain else 1)
    share = device.score + device.product * config.dimension
    steps = config.steps * (device.early if memorised else 1)
    return steps * (device.step + share * answers * config.entities)


def estimate(plan: Plan, device: Device, shift: float = 1.0, steepness: float = 30.0) -> CostEstimate:
    """The price of a plan if every threshold is `shift` times E8's and success is logistic in log d."""
    known: dict[RunConfig, RunResult] = {}
    batches, seconds = 0, 0.0
    while batch := {each: trace.curve for trace in plan.under_way(known.get) for each in trace.missing}:
        batches += 1
        for config, curve in batch.items():
            chance = (1 + (shift * first_guess(curve) / config.dimension) ** steepness) ** -1
            memorised = bool(np.random.default_rng([config.dimension, config.seed]).random() < chance)
            seconds += estimated_seconds(config, device, memorised)
            status: RunStatus = "memorised" if memorised else "not memorised"
            known[config] = RunResult(config, status, float(memorised), config.steps, 0.0)
    return CostEstimate(len(known), batches, seconds)
