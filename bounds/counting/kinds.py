"""The kinds of object that can be counted, by name: one table for the command line, the tests and the documentation."""

from collections.abc import Callable
from dataclasses import dataclass

from bounds.counting import fact_systems as counting
from bounds.counting import maps, matchings, simple_graphs
from bounds.counting.answer_vectors import Count, answer_vectors
from theory.errors import InputError


@dataclass(frozen=True)
class Kind:
    """One kind: its name, what it counts in one line, its OEIS numbers and its exact count as a function of N and R.

    `count` is None for answer-vectors, which depend on the number of hops too.
    """

    name: str
    explanation: str
    oeis: str
    count: Callable[[int, int], int] | None


KINDS = {
    kind.name: kind
    for kind in [
        Kind(
            "labelled",
            "fact systems: R-tuples of permutations of N entities, (N!)^R",
            "A000142, A001044, A000442 (R = 1, 2, 3)",
            counting.labelled,
        ),
        Kind(
            "relabelled",
            "fact systems up to relabelling the entities (simultaneous conjugation)",
            "A160449",
            counting.relabelled,
        ),
        Kind(
            "connected",
            "labelled fact systems whose graph is connected (transitive R-tuples)",
            "(N-1)! times A049290",
            counting.connected,
        ),
        Kind(
            "rooted",
            "connected fact systems with a root, up to relabelling: subgroups of index N of the free group of rank R",
            "A049290",
            counting.rooted,
        ),
        Kind(
            "connected-relabelled",
            "connected fact systems up to relabelling the entities",
            "A057004",
            counting.connected_relabelled,
        ),
        Kind(
            "bipartite",
            "fact systems with subjects and attributes relabelled independently",
            "A160449, R shifted by one",
            counting.bipartite,
        ),
        Kind(
            "unordered-colours",
            "multisets of R permutations up to relabelling: entities and relations relabelled",
            "A362644",
            counting.unordered_colours,
        ),
        Kind("maps", "systems of R arbitrary maps of N entities, N^(N·R)", "A000312 (R = 1)", maps.maps),
        Kind(
            "maps-relabelled",
            "systems of R arbitrary maps up to relabelling the entities",
            "A001372, A054050 (R = 1, 2)",
            maps.maps_relabelled,
        ),
        Kind(
            "matchings",
            "R perfect matchings of N nodes up to relabelling: undirected, parallel edges allowed; 0 for odd N",
            "A002830 (R = 3)",
            matchings.matchings,
        ),
        Kind(
            "matchings-connected",
            "the connected ones among matchings",
            "A002831 (R = 3)",
            matchings.matchings_connected,
        ),
        Kind(
            "matchings-simple",
            "R pairwise disjoint perfect matchings of N labelled nodes: properly coloured simple R-regular graphs",
            "A006712 (R = 3)",
            simple_graphs.matchings_simple,
        ),
        Kind(
            "one-factorisations",
            "sets of R disjoint perfect matchings of N labelled nodes; for R = N-1 of the complete graph",
            "A000438 (R = N-1)",
            simple_graphs.one_factorisations,
        ),
        Kind(
            "latin-rectangles",
            "R × N Latin rectangles, first row in order: no subject has the same attribute twice",
            "A000166, A000186, A003170 (R = 2, 3, 4)",
            simple_graphs.latin_rectangles,
        ),
        Kind(
            "simple",
            "labelled fact systems without loops and parallel edges",
            "A000166, A000186, A003170 (R = 1, 2, 3)",
            simple_graphs.simple,
        ),
        Kind(
            "answer-vectors",
            "T_k: the answers of one subject to all R^k words of k = hops relations, over all fact systems",
            "none",
            None,
        ),
    ]
}


def count(kind: str, entities: int, relations: int, hops: int | None = None) -> Count:
    """The number of objects of a kind; all are exact but some answer-vectors, and the result says which.

    InputError if the kind is unknown, `hops` is missing for answer-vectors or given for another kind, or a size is
    refused.
    """
    if kind not in KINDS:
        raise InputError(f"unknown kind {kind!r}; it must be one of {', '.join(KINDS)}")
    counter = KINDS[kind].count
    if counter is None:
        if hops is None:
            raise InputError(f"{kind} needs a number of hops")
        return answer_vectors(entities, relations, hops)
    if hops is not None:
        raise InputError(f"{kind} takes no hops; only answer-vectors does")
    return Count(counter(entities, relations), "exact", "formula or recurrence")
