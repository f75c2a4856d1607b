"""Families of structured fact systems: bijections that know something of each other, drawn by seed.

Each family is a set of fact systems of N entities and R relations. How many a family holds, and so how much
information one of its systems carries, is counted in `bounds.counting.families`.
"""

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from theory.definitions.fact_system import FactSystem, check_count
from theory.errors import InputError

Answers = NDArray[np.int64]
BLOCKS = 4
"""Blocks of the entities that the family `blocks` maps into themselves."""


def draw_family(family: str, entities: int, relations: int, seed: int = 0) -> FactSystem:
    """A uniform system of the family, a function of (family, N, R, seed) alone (numpy's PCG64).

    InputError for an unknown family and for sizes that it does not have (`check_family`).
    """
    n, r = check_family(family, entities, relations)
    generator = np.random.default_rng([check_count("seed", seed, at_least=0), n, r])
    return FactSystem(_DRAWS[family](generator, n, r))


def check_family(family: str, entities: int, relations: int) -> tuple[int, int]:
    """(N, R), or an InputError if the family is unknown or has no system of this size."""
    if family not in _DRAWS:
        raise InputError(f"unknown family {family!r}; it must be one of {', '.join(FAMILIES)}")
    n, r = check_count("entities", entities, at_least=2), check_count("relations", relations)
    copies = {"inverses": 2, "synonyms": 2, "fourfold-synonyms": 4}.get(family, 1)
    if r % copies:
        raise InputError(f"{family}: relations must be a multiple of {copies}, not {r}")
    if family == "blocks" and n % BLOCKS:
        raise InputError(f"blocks: entities must be a multiple of {BLOCKS}, not {n}")
    if family == "xor" and n & (n - 1):
        raise InputError(f"xor: entities must be a power of 2, not {n}")
    return n, r


def _independent(generator: Generator, n: int, r: int) -> Answers:
    """R uniform permutations."""
    return np.stack([generator.permutation(n) for _ in range(r)])


def _inverses(generator: Generator, n: int, r: int) -> Answers:
    """Relation R/2 + i is the inverse of relation i."""
    half = _independent(generator, n, r // 2)
    return np.concatenate([half, np.argsort(half, axis=1)])


def _copied(generator: Generator, n: int, r: int, copies: int) -> Answers:
    """R/copies uniform permutations, each under `copies` names."""
    return np.tile(_independent(generator, n, r // copies), (copies, 1))


def _blocks(generator: Generator, n: int, r: int) -> Answers:
    """Permutations that keep each block of N/4 consecutive entities."""
    size = n // BLOCKS
    rows = [_independent(generator, size, r) + size * block for block in range(BLOCKS)]
    return np.concatenate(rows, axis=1)


def _xor(generator: Generator, n: int, r: int) -> Answers:
    """g_r(x) = x xor m_r with uniform masks."""
    return np.arange(n) ^ generator.integers(n, size=(r, 1))


def _hidden_shift(generator: Generator, n: int, r: int) -> Answers:
    """g_r(x) = p(x + s_r mod N) for one hidden permutation p and uniform shifts."""
    return np.asarray(generator.permutation(n)[(np.arange(n) + generator.integers(n, size=(r, 1))) % n])


def _cycle_powers(generator: Generator, n: int, r: int) -> Answers:
    """g_r = c^{r+1} for one uniform cycle c of all N entities."""
    order = generator.permutation(n)
    return np.asarray(order[(np.argsort(order) + np.arange(1, r + 1)[:, None]) % n])


_DRAWS: dict[str, Callable[[Generator, int, int], Answers]] = {
    "independent": _independent,
    "inverses": _inverses,
    "synonyms": lambda generator, n, r: _copied(generator, n, r, 2),
    "fourfold-synonyms": lambda generator, n, r: _copied(generator, n, r, 4),
    "blocks": _blocks,
    "xor": _xor,
    "hidden-shift": _hidden_shift,
    "cycle-powers": _cycle_powers,
}
FAMILIES = tuple(_DRAWS)
"""The names of the families."""
