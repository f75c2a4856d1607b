"""T2c: with a fixed read-out, either the dimension grows like R^k or the rest of the model holds the facts.

Any model without chain of thought whose answer to (x, w) depends on g only through e_x and B other bits.

**Trees.** For m >= 1 and m·(1 + R + … + R^{k-1}) <= N, with I = m·(1 + … + R^{k-2}) (0 for k = 1) and n = m·R^{k-1}:

    B + m·d·b >= R·log2 (N-I)_n

*Proof.* Take the systems in which the words of length < k lead from the m roots to distinct nodes. Each relation maps
the I nodes above the last level to prescribed ones and is free elsewhere: (N-m)_{m(R+…+R^{k-1})}·((N-I)!)^R systems.
Given the answers to all words of length k, the images of the n nodes of the last level are known too, so at most
(N-m)_{m(R+…+R^{k-1})}·((N-I-n)!)^R systems remain, and the bits that the answers depend on tell the others apart. ∎

**Loops.** Trees that do not fit N entities give nothing, although longer words are no easier to answer. Let R >= 2 and
let relation 0 fix the roots. Then 0^{k-|v|}·v leads from a root where v does, so that every word v of length <= k is
asked, and the tree too is part of the answer. For 1 <= D <= R, 1 <= E <= D^{k-2} (E = 1 if D = 1; D = 1 if k = 1) and
m·D·E <= N:

    B + m·d·b >= log2 (N-m)_{m(DE-1)} + D·log2 (N-mE)_{m(D-1)E} + (R-D)·log2 (N)_{mDE}

*Proof.* From each root grow a tree in breadth-first order by relations 0..D-1, the root's loop being its edge of
relation 0, until E nodes, the root included, have all D edges: it has D·E nodes. There are D^{k-2} nodes of depth <=
k-2 in the full tree, so the nodes with edges have depth <= k-2, all nodes depth <= k-1, and every edge out of a node
is asked. Take the systems in which all nodes of the m trees are distinct: (N-m)_{m(DE-1)}·((N-mE)!)^D·(N!)^{R-D}. The
answers determine all R edges out of the mDE nodes, and leave at most ((N-mDE)!)^R systems. ∎

With D = R and E = R^{k-2} this is (R^k - 1)·log N up to lower terms, as good as trees; with m = 1 and E = ⌊N/R⌋ it
covers the regime in which R^k exceeds N, where it says that d·b + B is about R·N·log N, all there is to know; with D =
1 and m = N it is B + N·d·b >= (R-1)·log2 N!, the total information for any k. Fixing relation 0 to the identity
everywhere would leave words of R-1 relations, a factor (1 - 1/R)^k less. The loops serve chains of thought as well
(`chains`).

Both are concave in m, and loops at m = 1 in E, so `frontier` optimises exactly within each; the choice of D is sound,
not optimal. With R >= 2, at m = 1: d·b + B >= R^k·log2(N/2e); at the largest m: d·b >= ½R^k·log2(N/2e) or B >=
(N·R/8)·log2(N/2e).
"""

from bounds.enclosure import log2_falling
from bounds.lower.bound import Bound, check_sizes, empty
from bounds.lower.frontier import BoundFamily, Range
from theory.definitions.fact_system import check_count
from theory.errors import InputError
from theory.statements.inequalities import stands_on


def tree_bound(entities: int, relations: int, hops: int, roots: int) -> Bound:
    """T2c by trees from m = `roots` roots: B + m·d·b >= R·log2 (N-I)_n."""
    check_sizes(entities, relations, hops)
    check_count("roots", roots)
    if roots > (most := most_tree_roots(entities, relations, hops)):
        raise InputError(f"{roots} trees of depth {hops - 1} do not fit {entities} entities; at most {most} do")
    inner, last = roots * nodes(relations, hops - 2), roots * relations ** (hops - 1)
    formula = "R·log2 (N-I)_n, I = m(1+…+R^(k-2)), n = m·R^(k-1)"
    information = log2_falling(entities - inner, last, relations)
    return Bound("T2c", roots, 1, information, formula, stands_on("T2c", "trees"), f"trees from m = {roots} roots")


def loop_bound(entities: int, relations: int, hops: int, roots: int, branching: int, expanded: int) -> Bound:
    """T2c by loops: m = `roots` trees in which E = `expanded` nodes have all edges of D = `branching` relations."""
    check_sizes(entities, relations, hops)
    for name, value in (("roots", roots), ("branching", branching), ("expanded", expanded)):
        check_count(name, value)
    if relations < 2 or branching > relations or expanded > most_expanded(hops, branching):
        raise InputError(
            f"loops need R >= 2, D <= R and E <= D^(k-2), not R={relations}, D={branching}, E={expanded}, k={hops}"
        )
    size = roots * branching * expanded
    if size > entities:
        raise InputError(f"loops: {roots} trees of {branching * expanded} nodes do not fit {entities} entities")
    information = (
        log2_falling(entities - roots, size - roots)
        + log2_falling(entities - roots * expanded, size - roots * expanded, branching)
        + log2_falling(entities, size, relations - branching)
    )
    formula = "log2 (N-m)_{m(DE-1)} + D·log2 (N-mE)_{m(D-1)E} + (R-D)·log2 (N)_{mDE}"
    trees = f"m = {roots} roots of trees with D = {branching}, E = {expanded}"
    shape = f"relation 0 fixes the {trees}: all words of length <= k are asked"
    return Bound("T2c", roots, 1, information, formula, stands_on("T2c", "loops"), shape)


def fixed_readout(entities: int, relations: int, hops: int) -> BoundFamily:
    """T2c for every number of roots, by trees and by loops."""
    check_sizes(entities, relations, hops)
    ranges = [Range(lambda m: tree_bound(entities, relations, hops, m), most_tree_roots(entities, relations, hops))]
    ranges += loop_ranges(entities, relations, hops)
    return BoundFamily((empty("T2c", "no tree fits, or nothing is asked for"),), tuple(ranges))


def loop_ranges(entities: int, relations: int, hops: int) -> list[Range]:
    """The ranges of loops: in m with no edges, in m with full trees, and in E at m = 1."""
    if relations < 2:
        return []
    ranges = [Range(lambda m: loop_bound(entities, relations, hops, m, 1, 1), entities)]
    if hops >= 2:
        branching = min(relations, entities)
        full = branching ** (hops - 2)
        many = entities // (branching * full)
        ranges.append(Range(lambda m: loop_bound(entities, relations, hops, m, branching, full), many))
        largest = min(full, entities // branching)
        ranges.append(Range(lambda e: loop_bound(entities, relations, hops, 1, branching, e), largest))
    return ranges


def nodes(relations: int, depth: int) -> int:
    """1 + R + … + R^depth, the nodes of a full tree of that depth; 0 below depth 0."""
    if relations == 1:
        return max(0, depth + 1)
    return int((relations ** (depth + 1) - 1) // (relations - 1)) if depth >= 0 else 0


def most_tree_roots(entities: int, relations: int, hops: int) -> int:
    """The largest m with m·(1 + R + … + R^{k-1}) <= N; 0 if even one tree is too large."""
    return entities // nodes(relations, hops - 1)


def most_expanded(hops: int, branching: int) -> int:
    """The largest E: D^{k-2}, 1 for D = 1, and 0 where k = 1 leaves no room for D >= 2."""
    if branching == 1:
        return 1
    return int(branching ** (hops - 2)) if hops >= 2 else 0
