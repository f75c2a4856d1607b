"""How many fact systems have no loops and no parallel edges: labelled counts, at small sizes.

No inclusion-exclusion, but one idea: *settle one node at a time; the others are exchangeable.* A node that is not
settled yet is known by the set of colours that it still misses, and a state is the number of such nodes for each set
of colours. Settling a node picks a distinct partner for each colour that it misses, among the nodes that miss that
colour. A settled node never returns, so no edge is drawn twice and nothing else need be remembered. States that
differ by a permutation of the colours have equally many completions, and are kept once as far as they are recognised.

    missing   {0,1,2}   {0,1}   {0,2}   ..   {}        a cubic graph with colours 0, 1, 2:
    nodes        N        0       0     ..   0         at first all N nodes miss {0,1,2}

The same walk counts Latin rectangles (a column is settled by distinct symbols for its R rows; a symbol misses rows).
The number of states grows quickly with R, so each count has a table of the largest N that it accepts.

References: Read and Wormald, J. Graph Theory 4 (1980) 203; Stones, Electron. J. Combin. 17 (2010) A1; Mendelsohn and
Rosa, J. Graph Theory 9 (1985) 43 (one-factorisations). Read's own values for A006712 were wrong from N = 10 on
(corrected in 2014).
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from operator import add

from bounds.counting.sizes import check_countable

State = tuple[int, ...]
"""state[S] nodes miss exactly the colours in the bit mask S, 0 <= S < 2^R; state[0] nodes are finished."""

# The largest N for each R: seconds of work, half a minute at the slowest.
LARGEST_GRAPH = {1: 200, 2: 200, 3: 100, 4: 30, 5: 16, 6: 12, 7: 10}
LARGEST_RECTANGLE = {1: 200, 2: 100, 3: 50, 4: 14, 5: 8}


def matchings_simple(entities: int, relations: int) -> int:
    """R-tuples of pairwise disjoint perfect matchings of N labelled nodes; 0 for odd N and for R >= N.

    OEIS A006712 (R = 3, N = 2m).

    Simple undirected R-regular labelled graphs with a proper edge colouring in R named colours. R = N-1 equals R =
    N-2: what N-2 matchings leave of the complete graph is a perfect matching.
    """
    n, r = _check("matchings-simple", entities, relations, LARGEST_GRAPH, largest_otherwise=8)
    return _disjoint_matchings(n, r)


def one_factorisations(entities: int, relations: int) -> int:
    """Sets of R pairwise disjoint perfect matchings of N labelled nodes: `matchings_simple` / R!.

    OEIS A000438 (R = N-1, N = 2m).

    A one-factorisation of an R-regular graph splits its edges into perfect matchings. All R-regular graphs on N
    labelled nodes together have this many; R = N-1 leaves the complete graph alone.
    """
    n, r = _check("one-factorisations", entities, relations, LARGEST_GRAPH, largest_otherwise=8)
    return _disjoint_matchings(n, r) // math.factorial(min(r, n))


def latin_rectangles(entities: int, relations: int) -> int:
    """R × N Latin rectangles with the first row in order; 0 for R > N.

    OEIS A000166 (R = 2), A000186 (3), A003170 (4).

    Fact systems in which no subject has the same attribute twice (no parallel edges), up to relabelling the
    attributes alone, which acts freely: times N! they are the labelled ones. R = N equals R = N-1: the last row is
    what is left.
    """
    n, r = _check("latin-rectangles", entities, relations, LARGEST_RECTANGLE, largest_otherwise=6)
    return _rectangles(n, r)


def simple(entities: int, relations: int) -> int:
    """Labelled fact systems without loops and parallel edges: g_r(x) ≠ x and g_r(x) ≠ g_s(x).

    OEIS A000166 (R = 1), A000186 (2), A003170 (3).

    The identity is a further row, so these are the Latin rectangles of R + 1 rows with the first row in order. The
    edges x → y and y → x are not parallel.
    """
    n, r = _check("simple", entities, relations, {r - 1: n for r, n in LARGEST_RECTANGLE.items()}, largest_otherwise=6)
    return _rectangles(n, r + 1)


def _check(
    what: str, entities: object, relations: object, largest: dict[int, int], largest_otherwise: int
) -> tuple[int, int]:
    """(N, R) as ints, or an InputError if N is above its limit at this R."""
    return check_countable(what, entities, relations, lambda n, r: n - largest.get(r, largest_otherwise), limit=0)


def _disjoint_matchings(entities: int, relations: int) -> int:
    if entities % 2 == 1 or relations >= entities:
        return 0
    colours = min(relations, entities - 2)
    layer = Counter({_start(entities, colours): 1})
    for _ in range(entities):
        layer = _advance(_merge(layer), _settle_node)
    return layer[_finished(entities, colours)]


def _rectangles(entities: int, relations: int) -> int:
    if relations > entities:
        return 0
    rows = min(relations, entities - 1)
    layer = Counter({_start(entities, rows): 1})
    for _ in range(entities):
        layer = _advance(_merge(layer), lambda symbols: _join(symbols, range(rows)))
    return layer[_finished(entities, rows)] // math.factorial(entities)


def _start(entities: int, colours: int) -> State:
    """All nodes miss all colours."""
    return (*[0] * (2**colours - 1), entities)


def _finished(entities: int, colours: int) -> State:
    """No node misses any colour."""
    return (entities, *[0] * (2**colours - 1))


def _settle_node(state: State) -> Iterable[tuple[State, int]]:
    """(state, ways) after a node that misses the fewest colours is joined to its partners; unchanged if all are."""
    unfinished = [missing for missing in range(1, len(state)) if state[missing]]
    if not unfinished:
        return [(state, 1)]
    missing = min(unfinished, key=int.bit_count)
    colours = [colour for colour in range(missing.bit_length()) if missing >> colour & 1]
    return [(_changed(joined, 0, +1), ways) for joined, ways in _join(_changed(state, missing, -1), colours)]


def _join(state: State, colours: Iterable[int]) -> Iterable[tuple[State, int]]:
    """(state, ways) after each of the colours in turn has picked its own partner, among the nodes that miss it.

    A node that was picked is set aside, in a second state of its own, so that no other colour picks it again.
    """
    partial = Counter({(state, (0,) * len(state)): 1})
    for colour in colours:
        following: Counter[tuple[State, State]] = Counter()
        for (available, picked), ways in partial.items():
            for missing, nodes in enumerate(available):
                if nodes and missing >> colour & 1:
                    left = _changed(available, missing, -1)
                    following[left, _changed(picked, missing ^ 1 << colour, +1)] += ways * nodes
        partial = following
    joined: Counter[State] = Counter()
    for (available, picked), ways in partial.items():
        joined[tuple(map(add, available, picked))] += ways
    return joined.items()


def _advance(layer: Counter[State], settle: Callable[[State], Iterable[tuple[State, int]]]) -> Counter[State]:
    """All states one settled node later, with the number of ways to reach each."""
    following: Counter[State] = Counter()
    for state, ways in layer.items():
        for after, choices in settle(state):
            following[after] += ways * choices
    return following


def _merge(layer: Counter[State]) -> Counter[State]:
    """The layer with its states in standard form."""
    merged: Counter[State] = Counter()
    for state, ways in layer.items():
        merged[_standard_form(state)] += ways
    return merged


def _standard_form(state: State) -> State:
    """The state with its colours in the order of what can be said of each, whatever the others are called.

    States that differ by a permutation of the colours become equal, except where that order leaves colours tied.
    """
    kept = [(missing, nodes) for missing, nodes in enumerate(state) if nodes]

    def described(colour: int) -> list[tuple[int, int]]:
        """The size of each kept set of missing colours that has this one, with its nodes, in sorted order."""
        return sorted((missing.bit_count(), nodes) for missing, nodes in kept if missing >> colour & 1)

    order = sorted(range(len(state).bit_length() - 1), key=described)
    renamed = [0] * len(state)
    for missing, nodes in kept:
        renamed[sum(1 << place for place, colour in enumerate(order) if missing >> colour & 1)] = nodes
    return tuple(renamed)


def _changed(state: State, index: int, by: int) -> State:
    return (*state[:index], state[index] + by, *state[index + 1 :])
