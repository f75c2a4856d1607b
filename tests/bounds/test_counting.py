"""Every count against published terms, against listing all objects, and against a second formula.

Two of the published sequences stood wrong for decades, so neither source is trusted alone. The comparison itself is
tested: formulas that are wrong on purpose must be caught.
"""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import networkx as nx
import pytest
from flint import fmpq, fmpz
from hypothesis import given
from hypothesis import strategies as st
from networkx.algorithms.isomorphism import categorical_multiedge_match
from sympy import partition
from sympy.combinatorics.fp_groups import FpGroup, low_index_subgroups
from sympy.combinatorics.free_groups import free_group
from sympy.utilities.iterables import partitions

from bounds.counting import fact_systems as counting
from bounds.counting import matchings, simple_graphs
from bounds.counting.brute_force import brute_force
from bounds.counting.cycle_index import centraliser_order, cycle_types, inverse_euler, power
from bounds.counting.kinds import KINDS, count
from bounds.counting.matchings import _whole
from bounds.counting.sizes import check_countable
from theory.errors import InputError

Counter = Callable[[int, int], int]

# (kind, R): the published terms by N, from the OEIS sequence named.
PUBLISHED: dict[tuple[str, int], dict[int, int]] = {
    ("labelled", 1): dict(enumerate([1, 2, 6, 24, 120], 1)),  # A000142
    ("labelled", 2): dict(enumerate([1, 4, 36, 576, 14400], 1)),  # A001044
    ("relabelled", 1): dict(enumerate([1, 2, 3, 5, 7, 11, 15], 1)),  # A000041
    ("relabelled", 2): dict(enumerate([1, 4, 11, 43, 161, 901], 1)),  # A110143
    ("relabelled", 3): dict(enumerate([1, 8, 49, 681, 14721], 1)),  # A152612
    ("relabelled", 4): dict(enumerate([1, 16, 251, 14491, 1730861], 1)),  # A160446, A160454
    ("bipartite", 1): dict(enumerate([1, 1, 1, 1, 1], 1)),
    ("bipartite", 2): dict(enumerate([1, 2, 3, 5, 7, 11, 15], 1)),  # A000041
    ("bipartite", 3): dict(enumerate([1, 4, 11, 43, 161], 1)),  # A110143
    ("connected", 2): dict(enumerate([1, 3, 26, 426, 11064], 1)),  # (n-1)! A003319(n+1)
    ("connected", 3): dict(enumerate([1, 7, 194, 12858], 1)),  # (n-1)! A027837
    ("rooted", 1): dict(enumerate([1, 1, 1, 1, 1], 1)),
    ("rooted", 2): dict(enumerate([1, 3, 13, 71, 461, 3447], 1)),  # A003319
    ("rooted", 3): dict(enumerate([1, 7, 97, 2143, 68641], 1)),  # A027837
    ("rooted", 4): {4: 54335},  # A057014
    ("rooted", 5): {5: 1035045121},  # A057014
    ("connected-relabelled", 1): dict(enumerate([1, 1, 1, 1, 1], 1)),
    ("connected-relabelled", 2): dict(enumerate([1, 3, 7, 26, 97, 624, 4163, 34470, 314493, 3202839], 1)),  # A057005
    ("connected-relabelled", 3): dict(enumerate([1, 7, 41, 604, 13753], 1)),  # A057006
    ("unordered-colours", 1): dict(enumerate([1, 2, 3, 5, 7, 11, 15], 1)),  # A362644
    ("unordered-colours", 2): dict(enumerate([1, 3, 8, 28, 96, 495, 2919], 1)),
    ("unordered-colours", 3): dict(enumerate([1, 4, 17, 159, 2655, 88885, 4255594], 1)),
    ("unordered-colours", 4): dict(enumerate([1, 5, 34, 888, 76854, 15719714], 1)),
    ("unordered-colours", 6): dict(enumerate([1, 7, 105, 20916, 39122096, 274390124129], 1)),
    ("maps", 1): dict(enumerate([1, 4, 27, 256, 3125, 46656], 1)),  # A000312
    ("maps", 2): dict(enumerate([1, 16, 729, 65536], 1)),  # A062206
    ("maps-relabelled", 1): dict(enumerate([1, 3, 7, 19, 47, 130, 343, 951], 1)),  # A001372
    ("maps-relabelled", 2): dict(enumerate([1, 10, 129, 2836, 83061], 1)),  # A054050
    ("matchings", 1): {1: 0, 2: 1, 3: 0, 4: 1, 6: 1},
    ("matchings", 3): {2: 1, 3: 0, 4: 5, 6: 16, 8: 86, 10: 448, 12: 3580, 14: 34981, 16: 448628},  # A002830
    ("matchings-connected", 2): {1: 0, 2: 1, 4: 1, 5: 0, 6: 1, 8: 1},
    # A002831 and A006712, which stood wrong from N = 10 on until 2014.
    ("matchings-connected", 3): {2: 1, 4: 4, 6: 11, 8: 60, 10: 318, 12: 2806, 14: 29359, 16: 396196, 18: 6231794},
    ("matchings-simple", 1): {1: 0, 2: 1, 4: 3, 6: 15, 8: 105},  # A001147
    ("matchings-simple", 3): {2: 0, 4: 6, 6: 480, 8: 197820, 10: 150474240, 12: 208857587400, 14: 471804812519040},
    ("one-factorisations", 1): {2: 1},  # A000438, with R = N - 1
    ("one-factorisations", 3): {4: 1},
    ("one-factorisations", 5): {6: 6},
    ("one-factorisations", 7): {8: 6240},
    ("latin-rectangles", 1): dict(enumerate([1, 1, 1, 1, 1], 1)),
    ("latin-rectangles", 2): dict(enumerate([0, 1, 2, 9, 44, 265, 1854], 1)),  # A000166
    ("latin-rectangles", 3): dict(enumerate([0, 0, 2, 24, 552, 21280], 1)),  # A000186
    ("latin-rectangles", 4): {3: 0, 4: 24, 5: 1344, 6: 393120, 7: 155185920, 8: 88390995840},  # A003170
    ("simple", 1): dict(enumerate([0, 1, 2, 9, 44, 265, 1854], 1)),
    ("simple", 2): dict(enumerate([0, 0, 2, 24, 552, 21280], 1)),
}

# (kind, R): up to which N all objects are listed, in about a second.
LISTED: dict[tuple[str, int], int] = {
    **{(kind, 1): 6 for kind in KINDS},
    **{(kind, 2): 5 for kind in KINDS},
    **{(kind, 3): 4 for kind in KINDS},
    **{(kind, 4): 3 for kind in KINDS},
    **{(kind, 6): 2 for kind in KINDS},
    ("labelled", 1): 5,
    ("labelled", 2): 4,
    ("labelled", 3): 3,
    ("labelled", 4): 2,
    **{(kind, 1): 5 for kind in KINDS if kind.startswith("maps")},
    **{(kind, 2): 3 for kind in KINDS if kind.startswith("maps")},
    **{(kind, colours): 2 for kind in KINDS if kind.startswith("maps") for colours in (3, 4, 6)},
    **{(kind, 1): 8 for kind in KINDS if kind.startswith("matchings")},
    **{(kind, 2): 8 for kind in KINDS if kind.startswith("matchings")},
    **{(kind, 3): 7 for kind in KINDS if kind.startswith("matchings")},
    **{(kind, 5): 6 for kind in KINDS if kind.startswith("matchings")},
    ("matchings-simple", 3): 8,
    ("one-factorisations", 3): 7,
    ("one-factorisations", 5): 6,
    ("one-factorisations", 7): 8,
}
EXACT = [kind for kind in KINDS if kind != "answer-vectors"]


def published_disagreements(kind: str, counter: Counter) -> list[str]:
    """Where the counter differs from a published term."""
    return [
        f"N = {entities}, R = {relations}: published {term}"
        for (published, relations), terms in PUBLISHED.items()
        for entities, term in terms.items()
        if published == kind and counter(entities, relations) != term
    ]


def listed_disagreements(kind: str, counter: Counter) -> list[str]:
    """Where the counter differs from the number of objects that are listed."""
    return [
        f"N = {entities}, R = {relations}: listed"
        for (listed, relations), largest in LISTED.items()
        for entities in range(1, largest + 1)
        if listed == kind and counter(entities, relations) != brute_force(kind, entities, relations)
    ]


@pytest.mark.parametrize("kind", EXACT)
def test_formula_published_terms_and_brute_force_agree(kind: str) -> None:
    counter = KINDS[kind].count
    assert counter is not None
    assert any(published == kind for published, _ in PUBLISHED)
    assert published_disagreements(kind, counter) == []
    assert listed_disagreements(kind, counter) == []


def wrong_burnside(entities: int, relations: int) -> int:
    """Forgets that the identity's class is not the only one: (N!)^R / N! rounded."""
    return math.factorial(entities) ** (relations - 1)


def wrong_matchings(entities: int, relations: int) -> int:
    """Lets no cycle be joined to itself: the [k even] term left out."""
    total = Fraction(0)
    for cycle_type in cycle_types(entities):
        fixed = [math.prod(range(m - 1, 0, -2)) * k ** (m // 2) if m % 2 == 0 else 0 for k, m in cycle_type]
        total += Fraction(math.prod(fixed) ** relations, centraliser_order(cycle_type))
    return int(total)


WRONG: list[tuple[str, Counter]] = [
    ("relabelled", wrong_burnside),
    ("relabelled", lambda n, r: counting.relabelled(n, r + 1)),
    ("bipartite", counting.relabelled),
    ("rooted", counting.connected),
    ("connected", counting.rooted),
    ("connected-relabelled", counting.relabelled),
    ("unordered-colours", counting.relabelled),
    ("unordered-colours", lambda n, r: -(-counting.relabelled(n, r) // math.factorial(r))),
    ("matchings", wrong_matchings),
    ("matchings-connected", matchings.matchings),
    ("matchings-simple", simple_graphs.one_factorisations),
    ("one-factorisations", simple_graphs.matchings_simple),
    ("latin-rectangles", counting.bipartite),
    ("simple", simple_graphs.latin_rectangles),
    ("labelled", counting.connected),
]


@pytest.mark.parametrize(("kind", "counter"), WRONG)
def test_a_wrong_formula_is_caught_by_both_sources(kind: str, counter: Counter) -> None:
    assert published_disagreements(kind, counter)
    assert listed_disagreements(kind, counter)


@pytest.mark.parametrize("kind", EXACT)
def test_one_wrong_value_is_caught(kind: str) -> None:
    right = KINDS[kind].count
    assert right is not None
    assert listed_disagreements(kind, lambda n, r: right(n, r) + ((n, r) == (2, 2))) == ["N = 2, R = 2: listed"]


def test_the_error_that_stood_in_the_literature_is_caught() -> None:
    """A002831 was wrong at N = 10 and 12 alone."""
    late = published_disagreements(
        "matchings-connected", lambda n, r: matchings.matchings_connected(n, r) + (n in (10, 12))
    )
    assert late == ["N = 10, R = 3: published 318", "N = 12, R = 3: published 2806"]


# Second formulas and independent oracles.


@given(st.integers(1, 14), st.integers(1, 5))
def test_relabelled_is_burnsides_sum_over_partitions(entities: int, relations: int) -> None:
    orders = [math.prod(k**m * math.factorial(m) for k, m in p.items()) for p in partitions(entities)]
    assert counting.relabelled(entities, relations) == sum(z ** (relations - 1) for z in orders)
    assert counting.bipartite(entities, relations) == sum(Fraction(z) ** (relations - 2) for z in orders)


@pytest.mark.parametrize("relations", [1, 2, 3, 5])
def test_connected_by_the_component_of_entity_0(relations: int) -> None:
    transitive = [0]
    for n in range(1, 26):
        rest = sum(math.comb(n - 1, k - 1) * transitive[k] * math.factorial(n - k) ** relations for k in range(1, n))
        transitive.append(math.factorial(n) ** relations - rest)
        assert counting.connected(n, relations) == transitive[n]


@pytest.mark.parametrize(("entities", "relations"), [(30, 1), (40, 2), (36, 3), (24, 6)])
def test_connected_classes_by_liskovets_formula(entities: int, relations: int) -> None:
    """n·c(n) = Σ_{d | n} μ(n/d) Σ_{k | d} k^{(R-1)d/k + 1} s(d/k), s the numbers of subgroups of the free group."""
    divisors = [d for d in range(1, entities + 1) if entities % d == 0]
    mobius = {1: 1}
    for d in divisors[1:]:
        mobius[d] = -sum(mobius[e] for e in divisors if d % e == 0 and e < d)
    total = 0
    for d in divisors:
        for k in (k for k in divisors if d % k == 0):
            subgroups = counting.rooted(d // k, relations)
            total += mobius[entities // d] * k ** ((relations - 1) * (d // k) + 1) * subgroups
    assert counting.connected_relabelled(entities, relations) * entities == total


@pytest.mark.parametrize(("entities", "relations"), [(3, 2), (4, 2), (3, 3)])
def test_subgroups_of_the_free_group_are_listed_by_coset_enumeration(entities: int, relations: int) -> None:
    """SymPy lists one subgroup of each conjugacy class; one of index n has as many conjugates as inequivalent roots."""
    group = FpGroup(free_group(",".join(f"x{r}" for r in range(relations)))[0], [])
    tables = [c.table for c in low_index_subgroups(group, entities) if len(c.table) == entities]
    assert counting.connected_relabelled(entities, relations) == len(tables)

    def seen_from(root: int, table: list[list[int]]) -> tuple[int, ...]:
        order = [root]
        for node in order:
            order += [answer for answer in dict.fromkeys(table[node]) if answer not in order]
        return tuple(order.index(answer) for node in order for answer in table[node])

    roots = sum(len({seen_from(root, table) for root in range(entities)}) for table in tables)
    assert counting.rooted(entities, relations) == roots


@pytest.mark.parametrize("matching", [False, True])
def test_classes_are_those_of_coloured_graph_isomorphism(matching: bool) -> None:
    """networkx decides isomorphism of the edge-coloured graphs themselves: N = 3, R = 2, and 3 matchings of 4 nodes."""
    entities, relations = (4, 3) if matching else (3, 2)
    rows = [p for p in itertools.permutations(range(entities))]
    if matching:
        rows = [p for p in rows if all(p[p[x]] == x != p[x] for x in range(entities))]
    classes: list[nx.MultiDiGraph[int]] = []
    for system in itertools.product(rows, repeat=relations):
        graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
        graph.add_edges_from((x, row[x], {"colour": r}) for r, row in enumerate(system) for x in range(entities))
        same_colours = categorical_multiedge_match("colour", None)
        if not any(nx.is_isomorphic(graph, other, edge_match=same_colours) for other in classes):
            classes.append(graph)
    counter = matchings.matchings if matching else counting.relabelled
    assert len(classes) == counter(entities, relations)
    connected = sum(nx.is_weakly_connected(graph) for graph in classes)
    counter = matchings.matchings_connected if matching else counting.connected_relabelled
    assert connected == counter(entities, relations)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8))
def test_inverse_euler_undoes_eulers_product(connected: list[int]) -> None:
    size = len(connected)
    structures = [1] + [0] * size
    for length, components in enumerate(connected, 1):
        for _ in range(components):
            for n in range(length, size + 1):
                structures[n] += structures[n - length]
    assert inverse_euler(structures)[1:] == connected


@given(st.permutations(range(7)), st.integers(1, 12))
def test_power_of_a_cycle_type_is_that_of_the_permutation(permutation: list[int], exponent: int) -> None:
    def cycle_type(image: list[int]) -> dict[int, int]:
        lengths = [len(c) for c in nx.strongly_connected_components(nx.DiGraph(enumerate(image)))]
        return {length: lengths.count(length) for length in lengths}

    image = list(range(7))
    for _ in range(exponent):
        image = [permutation[x] for x in image]
    assert dict(power(tuple(cycle_type(permutation).items()), exponent)) == cycle_type(image)


def test_what_n_minus_2_matchings_or_rows_leave_is_one_more() -> None:
    for entities in (4, 6, 8):
        every = simple_graphs.matchings_simple(entities, entities - 1)
        assert every == simple_graphs.matchings_simple(entities, entities - 2)
        assert every == math.factorial(entities - 1) * simple_graphs.one_factorisations(entities, entities - 1)
    for entities in range(2, 7):
        square = simple_graphs.latin_rectangles(entities, entities)
        assert square == simple_graphs.latin_rectangles(entities, entities - 1)
        assert square == [1, 2, 24, 1344, 1128960][entities - 2]  # A000479 shifted: Latin squares, first row in order


# Bad input.


def refusal(counter: Callable[..., object], kind: str, *sizes: object) -> str:
    with pytest.raises(InputError) as refused:
        counter(kind, *sizes, 2 if kind == "answer-vectors" else None)
    return str(refused.value)


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("counter", [count, brute_force])
@pytest.mark.parametrize("bad", [0, -1, 2.5, 2.0, True, "3", None])
def test_what_is_no_whole_number_gets_one_line(kind: str, counter: Callable[..., object], bad: object) -> None:
    for sizes, name in (((bad, 2), "entities"), ((2, bad), "relations")):
        assert refusal(counter, kind, *sizes) == f"{name} must be a whole number of at least 1, not {bad!r}"


@pytest.mark.parametrize("kind", EXACT)
@pytest.mark.parametrize("counter", [count, brute_force])
@pytest.mark.parametrize("large", [10**12, 10**5000], ids=["10^12", "10^5000"])
def test_absurd_sizes_get_one_line(kind: str, counter: Callable[..., object], large: int) -> None:
    line = refusal(counter, kind, large, 3)
    assert line.startswith(f"{kind}: ")
    assert "\n" not in line
    assert len(line) < 200
    if counter is count and count_is_zero_without_room(kind):
        assert KINDS[kind].count(2, large) == 0
    else:
        assert refusal(counter, kind, 2, large).startswith(f"{kind}: ")


def count_is_zero_without_room(kind: str) -> bool:
    """Whether too many relations for N entities leave nothing to count, however many they are."""
    return KINDS[kind].count(2, 5) == 0


def test_refusals_name_the_largest_size() -> None:
    with pytest.raises(
        InputError, match="102 entities are too many to count exactly; with 3 relations at most 100 are"
    ):
        count("matchings-simple", 102, 3)
    assert count("matchings-simple", 99, 3).value == 0
    with pytest.raises(InputError, match="with 3 relations the brute force reaches 5 entities"):
        brute_force("relabelled", 6, 3)
    line = refusal(count, "labelled", 10**12, 2)
    largest = int(line.removeprefix("labelled: 1000000000000 entities are too many to count exactly; ").split()[5])
    assert 2 * largest * largest.bit_length() <= 10**8 < 2 * (largest + 1) * (largest + 1).bit_length()


QUADRATIC = ("relabelled", "bipartite", "rooted", "connected", "connected-relabelled")


@pytest.mark.parametrize(
    ("kind", "steps", "limit"),
    [
        # N² operations on numbers of log2 (N!)^R <= R·N·(digits of N) bits; partitions of N times R·(R + 10).
        *((kind, lambda n, r: n**3 * r * len(f"{n:b}"), 10**12) for kind in QUADRATIC),
        ("matchings", lambda n, r: n**3 * r * len(f"{n:b}"), 10**11),
        ("matchings-connected", lambda n, r: n**3 * r * len(f"{n:b}"), 10**11),
        ("unordered-colours", lambda n, r: int(partition(n)) * r * (r + 10), 3 * 10**7),
    ],
)
def test_the_largest_size_is_the_last_within_the_limit_on_work(
    kind: str, steps: Callable[[int, int], int], limit: int
) -> None:
    for relations in (2, 5):
        line = refusal(count, kind, 10**12, relations)
        largest = int(line.partition("relations at most ")[2].split()[0])
        assert steps(largest, relations) <= limit < steps(largest + 1, relations)


def test_a_size_at_the_limit_is_accepted_and_too_many_relations_are_told_from_too_many_entities() -> None:
    def product(entities: int, relations: int) -> int:
        return entities * relations

    assert check_countable("it", 2, 5, product, limit=10) == (2, 5)
    with pytest.raises(InputError, match="it: 3 entities are too many to count exactly; with 5 relations at most 2 "):
        check_countable("it", 3, 5, product, limit=10)
    with pytest.raises(InputError, match="with 10 relations at most 1 are"):
        check_countable("it", 3, 10, product, limit=10)
    with pytest.raises(InputError, match="it: 11 relations are too many"):
        check_countable("it", 1, 11, product, limit=10)
    with pytest.raises(InputError, match=f"it: {10**30 - 1} entities"):
        check_countable("it", 10**30 - 1, 2, product, limit=10)
    with pytest.raises(InputError, match="it: more than 2\\^99 entities"):
        check_countable("it", 10**30, 2, product, limit=10)


def test_a_fraction_is_no_count() -> None:
    assert _whole(fmpq(6, 2)) == 3
    with pytest.raises(ArithmeticError, match="is 1/2, not a whole number"):
        _whole(fmpq(1, 2))


def test_connected_structures_of_sets_and_of_partitions() -> None:
    assert inverse_euler([fmpz(1)] * 5) == [0, 1, 0, 0, 0]
    assert inverse_euler([fmpz(each) for each in (1, 1, 2, 3, 5, 7)]) == [0, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("counter", [count, brute_force])
def test_kinds_and_hops_are_checked(counter: Callable[..., object]) -> None:
    with pytest.raises(InputError, match="unknown kind 'colourful'; it must be one of labelled, relabelled"):
        counter("colourful", 3, 2)
    with pytest.raises(InputError, match="relabelled takes no hops"):
        counter("relabelled", 3, 2, 2)
    with pytest.raises(InputError, match="answer-vectors needs a number of hops"):
        counter("answer-vectors", 3, 2)


def test_kinds_are_explained_in_a_line_each() -> None:
    for name, kind in KINDS.items():
        assert kind.name == name
        assert kind.explanation
        assert "\n" not in kind.explanation
