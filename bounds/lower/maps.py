"""T10: arbitrary maps, one pass. Without injectivity the last edges are free, and nothing is saved in the middle.

Let m roots have trees with m(1 + R + … + R^{k-1}) <= N distinct nodes. The m·R^k edges out of the last level are
entries of the table of answers that no tree uses, and a map may take any value there:

    universal   T_k = N^{R^k}                     d·b >= R^k·log2 N
    fixed       N^{m·R^k} tables of answers       B + m·d·b >= m·R^k·log2 N
    learned     q^{m·R^k} into q fixed answers    B + (m+q)·d·b >= m·R^k·log2 q        2 <= q <= N
    tied        the m roots as answers            B + m·d·b >= m·R^k·log2 m

Where full trees do not fit, words shorter than k are not asked, and T10 says nothing; whatever holds for models of all
bijections holds for models of all maps too.

*Which m and q.* The more roots the better, for d and for B, unless they are rows of the read-out too: m is the largest
that fits. For a learned read-out q, for a tied one m, runs over a geometric grid: sound, not optimal.

>>> universal_maps(1024, 2, 3).smallest_dimension(1)
80
"""

from bounds.enclosure import log2
from bounds.lower.bound import Bound, check_sizes, empty
from bounds.lower.dichotomy import nodes
from bounds.lower.frontier import BoundFamily, spaced
from theory.statements.inequalities import stands_on

GRID = 64  # how many values of q, or of m, are tried


def most_map_roots(entities: int, relations: int, hops: int) -> int:
    """The largest m with m(1 + R + … + R^{k-1}) <= N; 0 if no tree fits."""
    check_sizes(entities, relations, hops)
    return entities // nodes(relations, hops - 1)


def universal_maps(entities: int, relations: int, hops: int) -> Bound:
    """T10, universal: d·b >= R^k·log2 N where one tree fits, else d·b >= 0."""
    if not most_map_roots(entities, relations, hops):
        return _nothing()
    information = log2(entities, relations**hops)
    return Bound("T10", 1, 0, information, "R^k·log2 N", stands_on("T10", "universal"), "T_k = N^(R^k)")


def fixed_maps(entities: int, relations: int, hops: int) -> Bound:
    """T10 with a fixed read-out, from the most roots that fit."""
    if not (roots := most_map_roots(entities, relations, hops)):
        return _nothing()
    information = log2(entities, roots * relations**hops)
    return Bound("T10", roots, 1, information, "m·R^k·log2 N", stands_on("T10", "fixed"), f"m = {roots} roots")


def learned_maps(entities: int, relations: int, hops: int, *, tied: bool = False) -> BoundFamily:
    """T10 with a learned or tied read-out, over the grid of q (tied: of m)."""
    roots = most_map_roots(entities, relations, hops)
    grid = [number for number in spaced(roots if tied else entities, GRID) if number > 1] if roots else []
    members = (_answers_bound(relations, hops, q if tied else roots, q, tied=tied) for q in grid)
    return BoundFamily((_nothing(), *members))


def _answers_bound(relations: int, hops: int, roots: int, answers: int, *, tied: bool) -> Bound:
    information = log2(answers, roots * relations**hops)
    rows, formula = (roots, "m·R^k·log2 m") if tied else (roots + answers, "m·R^k·log2 q")
    shape = f"m = {roots} roots" if tied else f"m = {roots} roots and q = {answers} answers"
    return Bound("T10", rows, 1, information, formula, stands_on("T10", "tied" if tied else "learned"), shape)


def _nothing() -> Bound:
    return empty("T10", "no full tree fits, or nothing is asked for")
