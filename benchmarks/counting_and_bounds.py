"""How long counting and the bounds take. Run alone on an idle machine: python benchmarks/counting_and_bounds.py."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from bounds.counting.answer_vectors import answer_vectors
from bounds.counting.fact_systems import relabelled
from bounds.lower.chains import evenly_spaced, honest_chain
from bounds.lower.dichotomy import fixed_readout
from bounds.lower.frontier import smallest_dimension
from bounds.lower.information import total_information, universal_single_hop
from bounds.lower.involutions import involutions
from bounds.lower.learned_readout import learned_readout
from bounds.lower.universal import universal_hops, universal_width
from bounds.tables import command

LARGE = (10**12, 1000, 64)


def timed(name: str, goal: float, run: Callable[[], object]) -> None:
    """Time one call and print it beside the time that it must reach."""
    start = time.perf_counter()
    run()
    print(f"{name:64s} {time.perf_counter() - start:8.3f} s (goal {goal:g} s)", flush=True)


def table(readout: str) -> str:
    """The table of the command's default sizes."""
    return command.table(entities="4096", relations="2:16", hops="1:4", bits="1,2,4,8,16", readout=readout)


def main() -> None:
    """All figures."""
    n, r, k = LARGE
    single: dict[str, Callable[[], object]] = {
        "T1c universal": lambda: universal_single_hop(n, r).smallest_dimension(8),
        "T1c any model": lambda: total_information(n, r).smallest_dimension(8),
        "T1e": lambda: universal_width(n, r, k).smallest_width(8),
        "T2c": lambda: smallest_dimension(fixed_readout(n, r, k), 8),
        "T2d": lambda: universal_hops(n, r, k).smallest_dimension(8),
        "T2e": lambda: smallest_dimension(learned_readout(n, r, k), 8),
        "T3c": lambda: smallest_dimension(honest_chain(n, r, evenly_spaced(k, 2)), 8),
        "T9": lambda: smallest_dimension(involutions(n, r, k), 8),
    }
    for name, run in single.items():
        timed(f"{name} at N = 10^12, R = 1000, k = 64", 0.1, run)
    timed("T_k exactly at R = 3, k = 4, N = 4096", 10, lambda: answer_vectors(4096, 3, 4))
    for readout in ("fixed", "learned"):
        timed(f"table of 15 × 4 × 5 settings, read-out {readout}", 5, partial(table, readout))
    timed("relabelling classes at N = 500, R = 8", 5, lambda: relabelled(500, 8))
    timed("relabelling classes at N = 200, R = 2", 0.1, lambda: relabelled(200, 2))


if __name__ == "__main__":
    main()
