"""How much work something will be, before it begins: what is too much is refused, with a size that would do, and what
is long says so.

An estimate is a formula in the sizes, with the nanoseconds of a step as one core of 2024 takes them; it is right to a
factor of a few, which is all that a person needs to decide. Notices go to the log `geometric-recall`, which is silent
in a library and which the command line shows on stderr.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path

from theory.errors import InputError

LOG = logging.getLogger("geometric-recall")

LONG = 60 * 10**9  # nanoseconds: what takes a minute or more is told
MOST = 24 * 3600 * 10**9  # a day: what takes longer is refused

CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


@dataclass(frozen=True)
class Work:
    """An estimate: nanoseconds of one core, and bytes held at the peak."""

    nanoseconds: int = 0
    memory: int = 0

    @property
    def too_much(self) -> bool:
        """True iff it takes longer than a day, or needs more memory than this machine has."""
        return self.nanoseconds > MOST or self.memory > machine_memory()

    def __str__(self) -> str:
        minutes = max(1, (self.nanoseconds + LONG // 2) // LONG)  # not /: what is estimated may be beyond every float
        time = f"{minutes} min" if minutes < 120 else f"{spelt((minutes + 30) // 60)} h"
        return f"{time}, {memory_text(self.memory)}" if self.memory >= 2**30 else time


NO_WORK, ENDLESS = Work(), Work(MOST + 1)


@dataclass(frozen=True)
class Size:
    """A size that can be lowered: its name, its value, and the work as a function of it, which grows with it."""

    name: str
    value: int
    work: Callable[[int], Work]
    least: int = 1


def require_possible(what: str, work: Work, sizes: Sequence[Size] = ()) -> None:
    """InputError, with the estimate, the limit, and the first of the sizes that would do if it were lower, when the
    work is too much."""
    if not work.too_much:
        return
    if work.memory > machine_memory():
        told = f"needs about {memory_text(work.memory)} of memory, and there are {memory_text(machine_memory())}"
    else:
        told = f"takes about {work}, and at most {Work(MOST)} is begun"
    raise InputError(f"{what} {told}; {smaller(sizes)}")


def smaller(sizes: Sequence[Size]) -> str:
    """The first of the sizes that would do if it were lower, and how low."""
    for size in sizes:
        most = largest(size.value, partial(_does, size))
        if most >= size.least:
            return f"with {size.name} at most {most} it can be done"
    return "choose smaller sizes"


def _does(size: Size, value: int) -> bool:
    return value < size.least or not size.work(value).too_much


def announce(what: str, work: Work) -> None:
    """Say what will take a minute or more."""
    if work.nanoseconds >= LONG:
        LOG.info("%s takes about %s", what, work)


def largest(limit: int, fits: Callable[[int], bool]) -> int:
    """The largest number of 1..limit that fits, 0 if 1 does not; what fits is an initial segment."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def machine_memory() -> int:
    """Bytes of memory that this process may use: the machine's, or less where its container is given less."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(physical, int(CGROUP_LIMIT.read_text()))
    except (OSError, ValueError):  # no container, or one without a limit
        return physical


def memory_text(amount: int) -> str:
    """A number of bytes in GB."""
    return f"{spelt(max(1, (amount + 5 * 10**8) // 10**9))} GB"


def spelt(number: int) -> str:
    """A count in words that fit: exact up to a million, else as the power of ten at or below it."""
    return str(number) if number < 10**6 else f"10^{Decimal(number).adjusted()}"
