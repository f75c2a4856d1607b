"""Structured families: what is drawn is the whole family and nothing else, and the counts are those of listing it."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import given

from bounds.counting.cycle_index import centraliser_order, cycle_types
from bounds.counting.families import (
    family_choices,
    information,
    largest_centraliser,
    most_shared,
    relative_information,
    shared_choices,
)
from theory.definitions.fact_system import FactSystem, all_map_systems, all_systems
from theory.definitions.families import FAMILIES, draw_family
from theory.definitions.strategies import family_systems
from theory.errors import InputError


def _belongs(family: str, system: FactSystem) -> bool:
    """Membership by the defining property, without the code that draws."""
    rows, n, r = system.answers.tolist(), system.entities, system.relations
    first = rows[0]
    match family:
        case "independent":
            return system.bijective
        case "maps":
            return True
        case "involutions":
            return bool(all(row[row[x]] == x for row in rows for x in range(n)))
        case "compositions":
            return _is_composed(rows, n, r)
        case "half-shared":
            pairs = zip(rows[: r // 2], rows[r // 2 :], strict=True)
            return all(2 * sum(a == b for a, b in zip(*pair, strict=True)) == n for pair in pairs)
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


def _is_composed(rows: list[list[int]], n: int, r: int) -> bool:
    """Whether some bijections give these words, by trying the first and following what it says of the others.

    With b letters row s is g_s∘g_0, so that g_0 gives every g_s.
    """
    letters = math.isqrt(r - 1) + 1
    for first in itertools.permutations(range(n)):
        inverse = [first.index(x) for x in range(n)]
        base = [[rows[s][inverse[x]] for x in range(n)] for s in range(letters)]
        words = [[base[s][base[t][x]] for x in range(n)] for t in range(letters) for s in range(letters)]
        if words[:r] == rows:
            return True
    return False


def _size(family: str) -> tuple[int, int]:
    """Small enough to list all (N!)^R systems."""
    return {"fourfold-synonyms": (3, 4), "compositions": (3, 4), "maps": (3, 2)}.get(family, (4, 2))


def _all(family: str, n: int, r: int) -> Iterator[FactSystem]:
    return all_map_systems(n, r) if family == "maps" else all_systems(n, r)


@pytest.mark.parametrize("family", [each for each in FAMILIES if each != "compositions"])
def test_the_choices_are_the_systems_that_listing_finds(family: str) -> None:
    n, r = _size(family)
    assert family_choices(family, n, r) == sum(_belongs(family, system) for system in _all(family, n, r))
    assert shared_choices(family, n, r) == 1


@pytest.mark.parametrize(("n", "r"), [(2, 3), (2, 4), (3, 1), (3, 3), (3, 4), (4, 1), (4, 3), (4, 4), (3, 7), (5, 1)])
def test_compositions_share_as_many_choices_as_listing_finds(n: int, r: int) -> None:
    letters = math.isqrt(r - 1) + 1
    permutations = list(itertools.permutations(range(n)))
    found: Counter[tuple[tuple[int, ...], ...]] = Counter()
    for base in itertools.product(permutations, repeat=letters):
        words = [tuple(base[s][base[t][x]] for x in range(n)) for t in range(letters) for s in range(letters)]
        found[tuple(words[:r])] += 1
    choices = family_choices("compositions", n, r)
    assert choices == found.total()
    assert shared_choices("compositions", n, r) == Fraction(sum(count**2 for count in found.values()), choices)
    entropy = sum(count / choices * math.log2(choices / count) for count in found.values())
    enclosure = information("compositions", n, r)
    assert float(enclosure.low) <= entropy + 1e-12
    assert entropy <= float(enclosure.high) + 1e-12
    if n == 3:
        listed = sum(_belongs("compositions", system) for system in all_systems(n, r)) if r <= 4 else len(found)
        assert listed == len(found)


def test_no_permutation_has_a_larger_centraliser_and_some_have_one_as_large() -> None:
    attained = []
    for moved in range(2, 25):
        order = max(centraliser_order(each) for each in cycle_types(moved) if 1 not in dict(each))
        assert order <= largest_centraliser(moved)
        attained.append(order == largest_centraliser(moved))
    assert any(attained)


def test_the_bound_for_many_entities_holds_where_the_mean_is_exact() -> None:
    for n in (2, 3, 5, 8, 16, 64):
        for letters in (2, 3, 4):
            exact, bound = shared_choices("compositions", n, letters**2), most_shared(n, letters - 1)
            assert exact <= bound
            if n == 64:
                assert bound - 1 < 100 * (exact - 1)
    assert 1 < most_shared(4096, 7) < 1 + Fraction(1, 10**30)
    assert relative_information("compositions", 4096, 64) == 8 / 64


def test_compositions_of_bijections_of_many_entities_hardly_share_choices() -> None:
    shared = shared_choices("compositions", 64, 16) - 1
    transpositions = Fraction(1, math.comb(64, 2) ** 3)
    assert transpositions < shared < transpositions * Fraction(11, 10)
    assert relative_information("compositions", 64, 16) == pytest.approx(0.25, abs=1e-10)
    assert relative_information("compositions", 64, 32) == pytest.approx(6 / 32, abs=1e-10)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_drawn_system_belongs_and_is_a_function_of_the_seed(family: str, seed: int) -> None:
    n, r = (5, 7) if family == "compositions" else (16, 8)
    system = draw_family(family, n, r, seed)
    assert _belongs(family, system)
    assert system == draw_family(family, n, r, seed)
    assert family in ("synonyms", "fourfold-synonyms") or r % 2 or not _belongs("synonyms", system)
    assert system.bijective == (family != "maps")


def test_independent_and_maps_are_what_the_fact_systems_draw() -> None:
    assert draw_family("independent", 9, 3, 5) == FactSystem.random(9, 3, 5)
    assert draw_family("maps", 9, 3, 5) == FactSystem.random(9, 3, 5, maps=True)


@pytest.mark.parametrize("family", [each for each in FAMILIES if each not in ("independent", "blocks", "maps")])
def test_seeds_reach_every_system(family: str) -> None:
    n, r = _size(family)
    drawn = Counter(draw_family(family, n, r, seed) for seed in range(2500))
    systems = [system for system in _all(family, n, r) if _belongs(family, system)]
    assert set(drawn) == set(systems)
    if family != "compositions":
        assert max(drawn.values()) < 2500 / len(systems) * 1.6 + 12


@given(family_systems())
def test_the_strategy_draws_families(drawn: tuple[str, FactSystem]) -> None:
    family, system = drawn
    assert family in FAMILIES
    assert system.entities <= 9
    assert system.relations <= 4
    if system.entities <= 5:
        assert _belongs(family, system)


def test_relative_information() -> None:
    permutations = math.log2(math.factorial(64))
    involutions = sum(
        math.comb(64, 2 * pairs) * math.factorial(2 * pairs) // (2**pairs * math.factorial(pairs))
        for pairs in range(33)
    )
    changed = math.log2(math.comb(64, 32)) + math.log2(math.factorial(32)) - math.log2(math.e)
    expected = {
        "independent": 1.0,
        "maps": 64 * 6 / permutations,
        "inverses": 0.5,
        "involutions": math.log2(involutions) / permutations,
        "compositions": 0.25,
        "half-shared": (permutations + changed) / (2 * permutations),
        "synonyms": 0.5,
        "fourfold-synonyms": 0.25,
        "blocks": 4 * math.log2(math.factorial(16)) / permutations,
        "xor": 6 / permutations,
        "hidden-shift": (permutations + 15 * 6) / (16 * permutations),
        "cycle-powers": (permutations - 6) / (16 * permutations),
    }
    shares = {family: relative_information(family, 64, 16) for family in FAMILIES}
    assert shares == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("family", "n", "r", "what"),
    [
        ("inverses", 4, 3, "multiple of 2"),
        ("blocks", 6, 2, "multiple of 4"),
        ("xor", 6, 2, "power of 2"),
        ("half-shared", 5, 2, "even number of at least 4"),
        ("half-shared", 2, 2, "even number of at least 4"),
        ("compositions", 4, 2, "3 to 4"),
        ("x", 4, 2, "unknown"),
    ],
)
def test_sizes_that_a_family_lacks(family: str, n: int, r: int, what: str) -> None:
    with pytest.raises(InputError, match=what):
        family_choices(family, n, r)
