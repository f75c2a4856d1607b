"""Structured families: what is drawn is the whole family and nothing else, and the counts are those of listing it."""

import itertools

import numpy as np
import pytest

from bounds.counting.families import family_count, relative_information
from theory.definitions.fact_system import FactSystem, all_systems
from theory.definitions.families import FAMILIES, draw_family
from theory.errors import InputError


def _belongs(family: str, system: FactSystem) -> bool:
    """Membership by the defining property, without the code that draws."""
    rows, n, r = system.answers.tolist(), system.entities, system.relations
    first = rows[0]
    match family:
        case "independent":
            return True
        case "inverses":
            return bool(all(rows[r // 2 + i][rows[i][x]] == x for i in range(r // 2) for x in range(n)))
        case "synonyms":
            return bool(rows[: r // 2] == rows[r // 2 :])
        case "fourfold-synonyms":
            return bool(all(rows[i] == rows[i % (r // 4)] for i in range(r)))
        case "blocks":
            return bool(all(row[x] // (n // 4) == x // (n // 4) for row in rows for x in range(n)))
        case "xor":
            return bool(all(row[x] ^ x == row[0] for row in rows for x in range(n)))
        case "hidden-shift":
            return bool(all(len({(first.index(row[x]) - x) % n for x in range(n)}) == 1 for row in rows))
        case "cycle-powers":
            orbit = list(itertools.accumulate(range(n - 1), lambda x, _: first[x], initial=0))
            steps = itertools.pairwise(rows)
            return bool(len(set(orbit)) == n and all(b == [first[y] for y in a] for a, b in steps))
    raise AssertionError(family)


def _size(family: str) -> tuple[int, int]:
    """Small enough to list all (N!)^R systems."""
    return (3, 4) if family == "fourfold-synonyms" else (4, 2)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_count_is_that_of_listing_all_systems(family: str) -> None:
    n, r = _size(family)
    assert family_count(family, n, r) == sum(_belongs(family, system) for system in all_systems(n, r))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_drawn_system_belongs_and_is_a_function_of_the_seed(family: str, seed: int) -> None:
    system = draw_family(family, 16, 8, seed)
    assert _belongs(family, system)
    assert system == draw_family(family, 16, 8, seed)
    assert family in ("synonyms", "fourfold-synonyms") or not _belongs("synonyms", system)


@pytest.mark.parametrize("family", ["inverses", "synonyms", "fourfold-synonyms", "xor", "hidden-shift", "cycle-powers"])
def test_seeds_reach_every_system(family: str) -> None:
    n, r = _size(family)
    assert len({draw_family(family, n, r, seed) for seed in range(2500)}) == family_count(family, n, r)


def test_relative_information() -> None:
    assert [relative_information(family, 64, 16) for family in FAMILIES[:4]] == [1.0, 0.5, 0.5, 0.25]
    shares = [round(relative_information(family, 64, 16), 3) for family in FAMILIES[5:]]
    expected = np.array([16 * 6, 295.997 + 15 * 6, 295.997 - 6]) / (16 * 295.997)
    assert shares == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("family", "n", "r", "what"),
    [
        ("inverses", 4, 3, "multiple of 2"),
        ("blocks", 6, 2, "multiple of 4"),
        ("xor", 6, 2, "power of 2"),
        ("x", 4, 2, "unknown"),
    ],
)
def test_sizes_that_a_family_lacks(family: str, n: int, r: int, what: str) -> None:
    with pytest.raises(InputError, match=what):
        family_count(family, n, r)
