"""T9: undirected graphs. R perfect matchings of N entities (fixed-point-free involutions), fixed read-out, no chain of
thought.

A word is reduced if no two letters in a row are equal; the others say nothing, since g_r g_r is the identity. The
reduced words of length < k lead from a root to at most T = 1 + R·(1 + (R-1) + … + (R-1)^{k-2}) nodes, and each
relation r continues n = (R-1)^{k-1} of those of length k-1 (all that do not end in r). For m roots with m·(T + n) <=
N:

    B + m·d·b >= R·log2 (N - mT)_{mn}

*Proof.* Take the systems in which the m·T nodes are distinct and the edges asked, out of the last level, leave the
trees. In relation r every node of a tree is matched, either by a tree edge or to one of the (N - mT)_{mn} choices of
distinct outside nodes, and the rest of the entities can be matched in c = (N - mT - mn - 1)!! ways. With the
(N-m)_{m(T-1)} choices of the trees these are (N-m)_{m(T-1)}·((N-mT)_{mn}·c)^R systems, of which at most
(N-m)_{m(T-1)}·c^R share their answers to all words of length k. ∎

About R(R-1)^{k-1}·log2 N at m = 1; concave in m (see `frontier`). A word of length k-2 is one of length k with a
letter doubled, so k' = k, k-2, … are all available. One relation (R = 1) has no reduced words of length 2 or more:
only odd k say anything.

**Pruned**, where even one such tree does not fit: keep ℓ of the nodes of length k-1, in lexicographic order, and those
above them, ⌈ℓ/(R-1)^t⌉ at t levels above. Now n_r <= ℓ nodes are continued by r, and Σ n_r = (R-1)·ℓ. The proof holds
with Π_r (N-T)_{n_r} answers; log (N-T)_n is concave in n, so their logarithm is least where R-1 of the n_r are ℓ and
one is 0:

    B + d·b >= (R-1)·log2 (N-T)_ℓ,      T + ℓ <= N

Tree nodes that some relation neither joins nor is asked about are matched with the rest, c = (N - 2·edges - 2n_r -
1)!! of them now.
"""

from bounds.enclosure import log2_falling
from bounds.lower.bound import Bound, check_sizes, empty
from bounds.lower.dichotomy import nodes
from bounds.lower.frontier import BoundFamily, Range
from theory.definitions.fact_system import check_count
from theory.errors import InputError
from theory.records.work import largest
from theory.statements.inequalities import stands_on


def involutions(entities: int, relations: int, hops: int) -> BoundFamily:
    """T9 for every number of roots, and for k' = k, k-2, … hops."""
    _check_matchings(entities, relations, hops)
    ranges = tuple(_range(entities, relations, length) for length in range(hops, 0, -2))
    members = [empty("T9", "no tree of reduced words fits, or nothing is asked for")]
    too_large = [length for length in range(2 - hops % 2, hops + 1, 2) if not most_roots(entities, relations, length)]
    if too_large:
        members.append(pruned_bound(entities, relations, too_large[0]))
    return BoundFamily(tuple(members), ranges)


def involution_bound(entities: int, relations: int, hops: int, roots: int) -> Bound:
    """T9 with trees of reduced words from `roots` roots: B + m·d·b >= R·log2 (N - mT)_{mn}."""
    _check_matchings(entities, relations, hops)
    check_count("roots", roots)
    if roots > (most := most_roots(entities, relations, hops)):
        raise InputError(
            f"{roots} trees of reduced words of {hops} hops do not fit {entities} entities; at most {most} do"
        )
    inner, asked = roots * reduced_nodes(relations, hops - 1), roots * (relations - 1) ** (hops - 1)
    information = log2_falling(entities - inner, asked, relations)
    shape = f"trees of {hops} hops from m = {roots} roots"
    return Bound("T9", roots, 1, information, "R·log2 (N - mT)_{mn}", stands_on("T9", "trees"), shape)


def pruned_bound(entities: int, relations: int, hops: int) -> Bound:
    """T9 with one tree, pruned to the most leaves that fit: B + d·b >= (R-1)·log2 (N-T)_ℓ."""
    _check_matchings(entities, relations, hops)
    full = relations * (relations - 1) ** (hops - 2) if hops > 1 else 1

    def fits(leaves: int) -> bool:
        """Whether the tree pruned to so many leaves and as many answers are no more than the N entities."""
        return pruned_nodes(relations, hops - 1, leaves) + leaves <= entities

    leaves = largest(min(full, entities), fits) if relations > 1 else 0
    if not leaves:
        return empty("T9", f"no pruned tree of {hops} hops fits {entities} entities")
    information = log2_falling(entities - pruned_nodes(relations, hops - 1, leaves), leaves, relations - 1)
    shape = f"a tree of {hops} hops with ℓ = {leaves} leaves"
    return Bound("T9", 1, 1, information, "(R-1)·log2 (N-T)_ℓ", stands_on("T9", "trees"), shape)


def pruned_nodes(relations: int, depth: int, leaves: int) -> int:
    """1 + Σ_{t<depth} ⌈ℓ/(R-1)^t⌉ nodes: the first ℓ reduced words of that length and their prefixes."""
    total, level = 1, leaves
    for _ in range(depth):
        total += level
        level = -(-level // (relations - 1))
    return total


def reduced_nodes(relations: int, depth: int) -> int:
    """The number of reduced words of length <= depth: 1 + R·(1 + (R-1) + … + (R-1)^{depth-1})."""
    return 1 + relations * nodes(relations - 1, depth - 1)


def most_roots(entities: int, relations: int, hops: int) -> int:
    """The largest m with m·(T + n) <= N; 0 where no word of that length is reduced."""
    if relations == 1 and hops > 1:
        return 0
    return entities // (reduced_nodes(relations, hops - 1) + int((relations - 1) ** (hops - 1)))


def _range(entities: int, relations: int, hops: int) -> Range:
    return Range(lambda m: involution_bound(entities, relations, hops, m), most_roots(entities, relations, hops))


def _check_matchings(entities: int, relations: int, hops: int) -> None:
    check_sizes(entities, relations, hops)
    if entities % 2:
        raise InputError(f"perfect matchings need an even number of entities, not {entities}")
