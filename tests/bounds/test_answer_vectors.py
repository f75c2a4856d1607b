"""T2d: the formula for the answer vectors, where it is exact, and the search below that, against full enumeration."""

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bounds.counting import answer_vectors as module
from bounds.counting.answer_vectors import Count, answer_vectors, exact_from, formula
from bounds.counting.brute_force import brute_force
from bounds.counting.kinds import count
from theory.errors import InputError

# (k, R, N): T_k, by full enumeration elsewhere.
KNOWN = {
    (1, 2, 3): 9,
    (2, 2, 3): 25,
    (2, 2, 4): 148,
    (2, 2, 5): 425,
    (3, 2, 4): 430,
    (3, 2, 5): 7861,
    (2, 3, 3): 185,
    (2, 3, 4): 7408,
    (2, 3, 5): 205325,
}
# (k, R): up to which N all (N!)^R systems are listed, in about a second.
LISTED = {
    **{(hops, 1): 6 for hops in (1, 2, 3, 4, 6, 12)},
    **{(hops, 2): 5 for hops in (1, 2, 3, 4, 5)},
    **{(hops, 3): 4 for hops in (1, 2, 3)},
    **{(hops, 4): 3 for hops in (1, 2, 3)},
    (1, 5): 3,
    (2, 5): 2,
}
SIZES = [(k, r, n) for (k, r), largest in LISTED.items() for n in range(1, largest + 1)]


def disagreements(counter: Callable[[int, int, int], Count]) -> list[tuple[int, int, int]]:
    """The sizes (k, R, N) at which a count said to be exact is not, or an upper bound is exceeded."""
    wrong = []
    for k, r, n in SIZES:
        claimed, listed = counter(n, r, k), brute_force("answer-vectors", n, r, k)
        if claimed.value < listed or (claimed.kind == "exact" and claimed.value != listed):
            wrong.append((k, r, n))
    return wrong


def test_every_size_that_can_be_listed() -> None:
    assert disagreements(answer_vectors) == []
    assert all(answer_vectors(n, r, k).kind == "exact" for k, r, n in SIZES)


@pytest.mark.parametrize("size", KNOWN)
def test_known_values(size: tuple[int, int, int]) -> None:
    k, r, n = size
    assert answer_vectors(n, r, k).value == KNOWN[size]
    assert count("answer-vectors", n, r, k) == answer_vectors(n, r, k)


def test_the_formula_below_its_threshold_is_caught() -> None:
    careless = disagreements(lambda n, r, k: Count(formula(n, r, k), "exact", "formula of T2d"))
    assert careless == [(k, r, n) for k, r, n in SIZES if k > 1 and n > 1 and not_yet_exact(k, r, n)]
    assert (2, 2, 4) in careless
    assert (2, 2, 5) not in careless


def not_yet_exact(k: int, r: int, n: int) -> bool:
    """What the module's docstring proves: for R = 1 by the orders of the permutations, otherwise by the threshold."""
    return k % math.lcm(*range(1, n + 1)) == 0 if r == 1 else n < exact_from(r, k)


def test_an_upper_bound_that_is_too_small_is_caught() -> None:
    assert disagreements(lambda n, r, k: Count(formula(n, r, k) // 2, "upper bound", "half of it"))


@pytest.mark.parametrize(("relations", "hops", "threshold"), [(2, 2, 5), (3, 2, 7), (2, 3, 11)])
def test_the_search_meets_the_formula_at_the_threshold(relations: int, hops: int, threshold: int) -> None:
    assert exact_from(relations, hops) == threshold
    for entities in range(2, threshold + 2):
        searched = module._search(entities, relations, hops)
        assert searched is not None
        if entities < threshold:
            assert searched < formula(entities, relations, hops)
        else:
            assert searched == formula(entities, relations, hops)


@pytest.mark.parametrize(
    ("k", "r", "n"), [(2, 2, 5), (3, 2, 5), (4, 2, 4), (2, 3, 4), (3, 3, 4), (12, 1, 5), (2, 4, 3)]
)
def test_the_search_finds_what_full_enumeration_finds(k: int, r: int, n: int) -> None:
    assert module._search(n, r, k) == brute_force("answer-vectors", n, r, k)


@pytest.mark.parametrize(("relations", "hops", "threshold"), [(3, 3, 22), (4, 3, 53), (3, 4, 76), (2, 3, 11)])
def test_published_thresholds(relations: int, hops: int, threshold: int) -> None:
    assert exact_from(relations, hops) == threshold


def test_an_unfinished_search_gives_an_upper_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = answer_vectors(6, 3, 2)
    assert (exact.kind, exact.method) == ("exact", "search of all partial systems")
    monkeypatch.setattr(module, "LONGEST_SEARCH", 1000)
    bound = answer_vectors(6, 3, 2)
    assert bound == Count(formula(6, 3, 2), "upper bound", "formula of T2d")
    assert bound.value > exact.value
    assert answer_vectors(3, 3, 4) == Count(6**3, "upper bound", "number of fact systems")
    assert answer_vectors(7, 3, 2).kind == "exact"


@given(st.integers(1, 200))
def test_two_hop_threshold(relations: int) -> None:
    assert exact_from(relations, 2) == 1 + max(2 * relations, 1 + (relations + 1) ** 2 // 4)


@given(st.integers(1, 12), st.integers(2, 5))
def test_threshold_is_the_maximum_that_its_proof_needs(relations: int, hops: int) -> None:
    last = relations ** (hops - 1)
    once = sum(relations**level for level in range(1, hops)) + last
    # Hall's condition for nodes that c relations enter; with k >= 3 and all R of them one entity less is enough.
    times = [c * (last - c + 1) + (hops == 2 or c < relations) for c in range(2, relations + 1)]
    assert exact_from(relations, hops) == 1 + max([once, *times])
    assert exact_from(relations, hops) <= sum(relations**level for level in range(hops + 1))


@given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 40))
def test_formula_by_the_numbers_m_of_j_and_l(relations: int, hops: int, entities: int) -> None:
    """Σ_j a_{k-1}(j)·((N)_j)^R, with a_{t+1}(l) = Σ_j a_t(j)·M(j,l) and M by inclusion-exclusion, term by term."""

    def extensions(j: int, n: int) -> Fraction:
        surjective = sum((-1) ** (n - i) * math.comb(n, i) * math.perm(i, j) ** relations for i in range(n + 1))
        return Fraction(surjective, math.factorial(n))

    patterns = {1: Fraction(1)}
    for _ in range(hops - 1):
        nodes = range(1, relations * max(patterns) + 1)
        patterns = {n: sum((a * extensions(j, n) for j, a in patterns.items()), Fraction(0)) for n in nodes}
    assert all(a.denominator == 1 for a in patterns.values())
    expected = sum(a * math.perm(entities, j) ** relations for j, a in patterns.items())
    assert formula(entities, relations, hops) == expected


@given(st.integers(2, 5), st.integers(1, 3), st.integers(0, 10**6))
def test_bounds_that_make_t2_optimal(relations: int, hops: int, more: int) -> None:
    """R^k (log N - 1) <= R·log (N)_{R^{k-1}} <= log T_k <= R^k log N for 1 + R + .. + R^k <= N."""
    entities = sum(relations**level for level in range(hops + 1)) + more
    found = answer_vectors(entities, relations, hops)
    words = relations**hops
    assert found.kind == "exact"
    lower = math.perm(entities, relations ** (hops - 1)) ** relations
    assert entities**words <= lower * 2**words
    assert lower <= found.value <= entities**words


def test_one_permutation_answers_by_its_cycles_at_any_size() -> None:
    """Its k-th power sends 0 home from a cycle whose length divides k, and elsewhere from any other."""
    for entities, hops, vectors in ((6, 60, 1), (7, 60, 7), (50, 60, 50)):
        assert answer_vectors(entities, 1, hops) == Count(vectors, "exact", "the cycles of one permutation")


def test_large_sizes_are_exact() -> None:
    found = answer_vectors(4096, 3, 4)
    assert (found.kind, found.method) == ("exact", "formula of T2d")
    assert math.perm(4096, 27) ** 3 < found.value < 4096**81
    assert answer_vectors(1, 1000, 64) == Count(1, "exact", "formula of T2d")
    assert answer_vectors(10**12, 1, 64).value == 10**12


@pytest.mark.parametrize("bad", [0, -3, 2.5, True, "2"])
@pytest.mark.parametrize("counter", [answer_vectors, formula])
def test_what_is_no_whole_number_gets_one_line(counter: Callable[..., object], bad: object) -> None:
    for place, name in enumerate(["entities", "relations", "hops"]):
        sizes: list[object] = [4, 2, 2]
        sizes[place] = bad
        with pytest.raises(InputError) as refused:
            counter(*sizes)
        assert str(refused.value) == f"{name} must be a whole number of at least 1, not {bad!r}"


@pytest.mark.parametrize("sizes", [
    (10**12, 1000, 64), (4096, 2, 14), (4096, 10**6, 2), (4, 2, 10**9), (10**5000, 2, 20), (10**9, 10**9, 10**9),
    (2, 10**5000, 1), (3, 2, 10**5000),
], ids=range(8))  # fmt: skip
def test_absurd_sizes_get_one_line(sizes: tuple[int, int, int]) -> None:
    with pytest.raises(InputError, match="lower the hops, the relations or the entities") as refused:
        answer_vectors(*sizes)
    assert str(refused.value).startswith("answer-vectors: ")
    assert "\n" not in str(refused.value)
    with pytest.raises(InputError, match="answer-vectors: "):
        brute_force("answer-vectors", *sizes)


def test_one_hop_is_exact_from_the_first_size_on() -> None:
    assert [exact_from(relations, 1) for relations in (1, 2, 7)] == [1, 1, 1]
