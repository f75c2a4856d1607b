"""How long the exact checks take, beside a plain float32 forward pass over the same queries.

Run alone on an idle machine: python benchmarks/verification.py. Prints a line a figure; the ratio compares two figures
of the same run. The float32 pass is PyTorch's where torch is installed, else numpy's with the same products.
"""

from __future__ import annotations

import importlib
import importlib.util
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from constructions.verification.certificate import certify
from constructions.verification.exhaustive import check_every_query
from constructions.verification.systems import check_all_classes, check_all_systems
from constructions.weights import t1, t2, t3
from theory import FactSystem, Task, Transformer


def report(name: str, goal: float, run: Callable[[], Any]) -> float:
    """Time a run and print it beside the time that it must reach; a run that returns False has failed."""
    start = time.perf_counter()
    result = run()
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    verdict = "holds" if result else "DOES NOT HOLD"
    print(f"{name:72s} {seconds:8.2f} s (goal {goal:g} s)  {verdict}  peak {memory:.2f} GiB", flush=True)
    return seconds


def float32_pass(transformer: Transformer, system: FactSystem) -> Callable[[], bool]:
    """A plain dense float32 forward pass of T1 over all queries, and the check of its argmax; no exactness, no
    margin.
    """
    torch: Any = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
    convert = (lambda a: torch.tensor(np.asarray(a, np.float32))) if torch else (lambda a: np.asarray(a, np.float32))
    relu = torch.relu if torch else (lambda a: np.maximum(a, 0))
    block, entities = transformer.blocks[0], system.entities
    W_E, W_V, W_O = convert(transformer.W_E), convert(block.W_V[0]), convert(block.W_O[0])
    W_in, b_in, W_out, b_out = (convert(w) for w in (block.W_in, block.b_in, block.W_out, block.b_out))
    W_U, b_U = convert(transformer.W_U), convert(transformer.b_U)

    def run() -> bool:
        right = True
        for relation in range(system.relations):
            for start in range(0, entities, 1024):
                mean = (W_E[start : start + 1024] + W_E[entities + relation]) / 2
                logits = relu((mean @ W_V @ W_O) @ W_in + b_in) @ W_out + b_out
                found = np.asarray((logits @ W_U + b_U).argmax(1))
                right &= bool((found == system.answers[relation, start : start + 1024]).all())
        return right

    print(f"float32 forward pass: {'PyTorch ' + torch.__version__ if torch else 'numpy (torch is not installed)'}")
    return run


def single_hop() -> None:
    """Every query of T1 at N = 4096, R = 16, beside the float32 pass."""
    system = FactSystem.random(4096, 16)
    model = t1.construct(system)
    exact = report(
        "T1, N = 4096, R = 16: 65,536 queries × 4096 logits, exactly",
        5,
        lambda: check_every_query(model, system, Task(), 2).holds,
    )
    plain = report("the same queries, dense float32", 5, float32_pass(model, system))
    print(f"exact check / float32 pass: {exact / plain:.2f} (goal: at most 1)")


def certificate(name: str, goal: float, model: Transformer, system: FactSystem, task: Task, margin: int) -> None:
    """Time the certificate of a model."""
    report(f"{name} certificate", goal, lambda: certify(model, system, task, margin).holds)


def direct_hops() -> None:
    """Every query of T2 at N = 256, R = 4, k = 4."""
    system = FactSystem.random(256, 4)
    model = t2.construct(system, 4)
    report(
        "T2, N = 256, R = 4, k = 4: 65,536 queries × 256 logits, exactly",
        60,
        lambda: check_every_query(model, system, Task(4), 1).holds,
    )


def main() -> None:
    """All figures."""
    single_hop()
    direct_hops()
    report("T1, all (5!)² = 14,400 systems", 10, lambda: check_all_systems(t1.construct, 5, 2, Task(), 2).holds)
    report("T1, all 901 classes of (6!)² systems", 10, lambda: check_all_classes(t1.construct, 6, 2, Task(), 2).holds)
    system, chain = FactSystem.random(4096, 16), Task(1000, 1)
    certificate("T3, N = 4096, R = 16, k = 1000", 5, t3.construct(system, 1000, 4), system, chain, 1)
    softmax = t3.construct(system, 1000, 4, softmax=True)
    certificate("T3 with softmax, N = 4096, R = 16, k = 1000", 10, softmax, system, chain, 0)
    system = FactSystem.random(4096, 4)
    certificate("T2, N = 4096, R = 4, k = 4", 10, t2.construct(system, 4), system, Task(4), 1)
    system = FactSystem.random(2**20, 16)
    certificate("T1, N = 2^20, R = 16", 10, t1.construct(system), system, Task(), 2)


if __name__ == "__main__":
    main()
