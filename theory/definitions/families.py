"""Families of structured fact systems: relations that know something of each other, drawn by seed.

Each family is a set of fact systems of N entities and R relations. How many choices there are, and so how much
information a system carries, is counted in `bounds.counting.families`.
"""

from collections.abc import Callable
from math import isqrt

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from theory.definitions.fact_system import FactSystem, check_count
from theory.errors import InputError

Answers = NDArray[np.int64]
BLOCKS = 4
"""Blocks of the entities that the family `blocks` maps into themselves."""


def draw_family(family: str, entities: int, relations: int, seed: int = 0) -> FactSystem:
    """A system of the family from uniform choices, a function of (family, N, R, seed) alone (numpy's PCG64).

    `independent` and `maps` are what `FactSystem.random` draws. InputError for an unknown family and for sizes that it
    does not have (`check_family`).
    """
    n, r = check_family(family, entities, relations)
    generator = np.random.default_rng([check_count("seed", seed, at_least=0), n, r])
    return FactSystem(_DRAWS[family](generator, n, r))


def check_family(family: str, entities: int, relations: int) -> tuple[int, int]:
    """(N, R), or an InputError if the family is unknown or has no system of this size."""
    if family not in _DRAWS:
        raise InputError(f"unknown family {family!r}; it must be one of {', '.join(FAMILIES)}")
    n, r = check_count("entities", entities, at_least=2), check_count("relations", relations)
    copies = {"inverses": 2, "synonyms": 2, "fourfold-synonyms": 4, "half-shared": 2}.get(family, 1)
    if r % copies:
        raise InputError(f"{family}: relations must be a multiple of {copies}, not {r}")
    if family == "blocks" and n % BLOCKS:
        raise InputError(f"blocks: entities must be a multiple of {BLOCKS}, not {n}")
    if family == "half-shared" and (n % 2 or n < 4):
        raise InputError(f"half-shared: entities must be an even number of at least 4, not {n}")
    if family == "compositions" and r <= (base := bases(r)) * (base - 1):
        raise InputError(f"compositions: of {base} bijections there are {base * (base - 1) + 1} to {base**2}, not {r}")
    if family == "xor" and n & (n - 1):
        raise InputError(f"xor: entities must be a power of 2, not {n}")
    return n, r


def bases(relations: int) -> int:
    """How many bijections the family `compositions` composes in pairs to have R relations: ⌈√R⌉."""
    return isqrt(relations - 1) + 1


def _independent(generator: Generator, n: int, r: int) -> Answers:
    """R uniform permutations."""
    return np.stack([generator.permutation(n) for _ in range(r)])


def _inverses(generator: Generator, n: int, r: int) -> Answers:
    """Relation R/2 + i is the inverse of relation i."""
    return FactSystem(_independent(generator, n, r // 2)).with_inverses().answers


def _copied(generator: Generator, n: int, r: int, copies: int) -> Answers:
    """R/copies uniform permutations, each under `copies` names."""
    return np.tile(_independent(generator, n, r // copies), (copies, 1))


def _maps(generator: Generator, n: int, r: int) -> Answers:
    """R uniform maps, not bijections."""
    return generator.integers(n, size=(r, n))


def _involutions(generator: Generator, n: int, r: int) -> Answers:
    """R permutations that are their own inverses, uniform to the rounding of a float."""
    # Of k points the first is fixed in a(k-1) of the a(k) = a(k-1) + (k-1)·a(k-2) involutions.
    fixed = [1.0, 1.0]
    for k in range(2, n + 1):
        fixed.append(1 / (1 + (k - 1) * fixed[k - 1]))
    rows = np.tile(np.arange(n), (r, 1))
    for row in rows:
        left = list(range(n))
        while left:
            alone = generator.random() < fixed[len(left)]
            first = left.pop(0)
            if not alone:
                other = left.pop(int(generator.integers(len(left))))
                row[first], row[other] = other, first
    return rows


def _half_shared(generator: Generator, n: int, r: int) -> Answers:
    """Relation R/2 + i has the answers of relation i for exactly N/2 subjects, and gives the others anew."""
    first = _independent(generator, n, r // 2)
    second = first.copy()
    for row in second:
        changed = generator.permutation(n)[: n // 2]
        moved = generator.permutation(n // 2)
        while (moved == np.arange(n // 2)).any():
            moved = generator.permutation(n // 2)
        row[changed] = row[changed[moved]]
    return np.concatenate([first, second])


def _compositions(generator: Generator, n: int, r: int) -> Answers:
    """The first R of the two-letter words g_j∘g_i over b = ⌈√R⌉ bijections, in the order i·b + j."""
    return FactSystem(_independent(generator, n, bases(r))).compositions().answers[:r]


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
    "maps": _maps,
    "inverses": _inverses,
    "involutions": _involutions,
    "compositions": _compositions,
    "half-shared": _half_shared,
    "synonyms": lambda generator, n, r: _copied(generator, n, r, 2),
    "fourfold-synonyms": lambda generator, n, r: _copied(generator, n, r, 4),
    "blocks": _blocks,
    "xor": _xor,
    "hidden-shift": _hidden_shift,
    "cycle-powers": _cycle_powers,
}
FAMILIES = tuple(_DRAWS)
"""The names of the families."""
