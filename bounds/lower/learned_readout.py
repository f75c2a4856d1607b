"""T2e, lower bound: with a learned read-out the exponent of the dichotomy is at least half of T2c's.

The rows u_a of the read-out (bias included) hold d·b bits each and may depend on g, as the rows e_x do; B counts the
rest. j = ⌊(k-1)/2⌋; M! counts the permutations σ of M answers that each family below realises freely.

    odd k = 2j+1,  M·(1 + 2(R + … + R^j)) <= N:                B + 2M·d·b >= R^{j+1}·log2 M!
    even k = 2j+2, M = R·m, 2m·(R + … + R^{j+1}) <= N:         B + (m+M)·d·b >= R^{j+1}·log2 M!

*Proof (odd).* Fix disjoint forward trees of depth j from M roots x_i (node (i, u) is where u leads) and backward trees
of depth j to M answers a_i (from node (i, v) the word v leads to a_i). Relation r sends the forward leaf (i, u) to the
backward leaf (σ_ru(i), u), the σ_ru ∈ S_M free. Each relation is a partial injection, so it extends to a permutation.
The query (x_i, u r u) has the answer a_{σ_ru(i)}. The argmax lies among the a_i, so B bits, M rows of e and M rows of
u determine all σ_ru, R^{j+1} of them. A root has no edge into it and an answer none out of it in the family, so x_i
and a_i may be one entity: hence the -1 of 1 + 2(R + …), where two separate trees have 2(1 + R + …) nodes.
*(Even.)* m roots with forward depth j+1, M = R·m answers with backward depth j; relation r sends the m·R forward
leaves (i, u_1 v) to the M backward leaves (σ_rv(i, u_1), v); R·R^j permutations. m of the answers may be the roots. ∎

*Tied* (u_a = e_a): only the rows of distinct entities count, M for odd k and M = R·m for even k, so that the bound
doubles (odd), or gains a factor 1 + 1/R (even): odd k costs d·b >= R^{j+1}·log2(M/e), which the tied upper bound of
T2e, (R^{j+1} + R^j)·p, meets up to 1 + 1/R.

**Loops.** When trees of that depth do not fit, shorter words do, as in T2c: let R >= 2 and g_0(x_i) = x_i. Then
0^{k-l}·w asks any word w of length l <= k with w_1 ≠ 0, and trees may be pruned: U, V are ℓ words of length i, first
letters ≠ 0 in U and last letters ≠ 0 in V, chosen so that level t above the leaves needs ⌈ℓ/R^t⌉ nodes; the middle
relation sends (i, u) to (σ_ru(i), φ(u)), φ: U → V a bijection.

    odd:   ℓ <= (R-1)·R^{i-1}, 1 <= i <= j, tree = 1 + Σ_{t<i} ⌈ℓ/R^t⌉:
           M·(2·tree - 1) <= N                                          B + 2M·d·b >= R·ℓ·log2 M!
    i = 0: the root is the leaf, and the middle relation is not 0:
           M <= N                                                       B + 2M·d·b >= (R-1)·log2 M!
    even:  ℓ <= R^i, 2i+2 <= k, M = (R-1)·m, forward (R-1)·ℓ leaves at depth i+1, backward ℓ at depth i:
           m·(1 + Σ_{t<=i} ⌈(R-1)ℓ/R^t⌉) + M·Σ_{t<=i} ⌈ℓ/R^t⌉ <= N      B + (m+M)·d·b >= R·ℓ·log2 M!

x_i and a_i may again be one entity for words of odd length: its loop is the edge of relation 0 into it, which V leaves
free. Once R^j exceeds N/M, odd words with ℓ about N/(2M) give d·b = Ω((N/M)·R·log M) or B = Ω(N·R·log M), for each M.

*Which M.* log2 M! is convex and 0 at M = 1, so for a fixed ℓ only the largest M matters, both for d and for B. For the
exact depth that is one bound. For loops, ℓ is the largest for each M; M runs over a geometric grid (all M up to 64):
sound, not optimal. Full trees with the most roots: B = Ω(N·R·log(N/R^{k/2})) or d·b = Ω(R^{⌈k/2⌉}·log(N/R^{k/2})).

Related: Ω(√N)-bit distance labels of bounded-degree graphs (Gavoille, Peleg, Pérennes, Raz 2004).
"""

from bounds.enclosure import Logarithm, log2_falling
from bounds.lower.bound import Bound, check_sizes, empty
from bounds.lower.dichotomy import nodes
from bounds.lower.frontier import BoundFamily, spaced
from theory.definitions.fact_system import check_count
from theory.errors import InputError
from theory.records.work import largest
from theory.statements.inequalities import stands_on

GRID = 64  # how many values of M the loops are tried with


def learned_readout(entities: int, relations: int, hops: int, *, tied: bool = False) -> BoundFamily:
    """T2e's lower bounds: full trees with the most roots, and loops over the grid of M."""
    check_sizes(entities, relations, hops)
    members = [empty("T2e", "no pair of trees fits, or nothing is asked for")]
    if roots := most_full_roots(entities, relations, hops):
        members.append(full_bound(entities, relations, hops, roots, tied=tied))
    return BoundFamily((*members, *loop_members(entities, relations, hops, tied=tied)))


def full_bound(entities: int, relations: int, hops: int, roots: int, *, tied: bool = False) -> Bound:
    """T2e with full trees from `roots` roots, M for odd k and m for even k: B + rows·d·b >= R^{j+1}·log2 M!."""
    check_sizes(entities, relations, hops)
    check_count("roots", roots)
    if roots > (most := most_full_roots(entities, relations, hops)):
        raise InputError(f"{roots} pairs of trees for {hops} hops do not fit {entities} entities; at most {most} do")
    answers = roots if hops % 2 else roots * relations
    rows = answers if tied else roots + answers
    information = log2_falling(answers, answers, relations ** ((hops + 1) // 2))
    return _bound(rows, information, "R^(j+1)·log2 M!", tied, f"full trees of {roots} roots and M = {answers} answers")


def most_full_roots(entities: int, relations: int, hops: int) -> int:
    """The largest number of roots with full trees; 0 if even one does not fit."""
    inner = nodes(relations, (hops - 1) // 2) - 1
    if hops % 2:
        return entities // (1 + 2 * inner)
    return entities // (2 * (inner + int(relations ** (hops // 2))))


def odd_loop_bound(entities: int, relations: int, hops: int, roots: int, *, tied: bool = False) -> Bound:
    """T2e by loops and words of odd length from M = `roots` roots, with the most leaves that fit."""
    _check_loops(entities, relations, hops, roots, most=entities)
    leaves = odd_loop_leaves(entities, relations, hops, roots)
    free = relations * leaves if leaves else relations - 1
    rows = roots if tied else 2 * roots
    formula = "R·ℓ·log2 M!" if leaves else "(R-1)·log2 M!"
    shape = f"relation 0 fixes M = {roots} roots, which are the answers, of trees with ℓ = {leaves} leaves"
    return _bound(rows, log2_falling(roots, roots, free), formula, tied, shape)


def even_loop_bound(entities: int, relations: int, hops: int, roots: int, *, tied: bool = False) -> Bound:
    """T2e by loops and words of even length from m = `roots` roots, with the most leaves that fit."""
    _check_loops(entities, relations, hops, roots, most=most_even_loop_roots(entities, relations, hops))
    leaves = even_loop_leaves(entities, relations, hops, roots)
    answers = (relations - 1) * roots
    information = log2_falling(answers, answers, relations * leaves)
    shape = f"relation 0 fixes m = {roots} roots of trees with ℓ = {leaves} leaves to each of M = {answers} answers"
    return _bound(roots + answers, information, "R·ℓ·log2 M!", tied, shape)


def most_even_loop_roots(entities: int, relations: int, hops: int) -> int:
    """The largest m for which words of two hops fit: m·(2R - 1) <= N; 0 for k = 1."""
    return entities // (2 * relations - 1) if hops >= 2 else 0


def odd_loop_leaves(entities: int, relations: int, hops: int, roots: int) -> int:
    """The most leaves of trees for words of odd length <= k that fit; 0 if the root alone does."""
    half = (hops - 1) // 2
    cap = (relations - 1) * relations ** (half - 1) if half else 0
    return largest(min(cap, entities), lambda count: roots * odd_loop_nodes(relations, count) <= entities)


def even_loop_leaves(entities: int, relations: int, hops: int, roots: int) -> int:
    """The most leaves of backward trees for words of even length <= k that fit."""
    cap = relations ** (hops // 2 - 1)
    return largest(min(cap, entities), lambda count: roots * even_loop_nodes(relations, count) <= entities)


def odd_loop_nodes(relations: int, leaves: int) -> int:
    """2·tree - 1 for each root, its own answer; tree = 1 + Σ_{t<i} ⌈ℓ/R^t⌉, i least with ℓ <= (R-1)·R^{i-1}."""
    tree, level = 1 + leaves, leaves
    while level > relations - 1:
        level = -(-level // relations)
        tree += level
    return 2 * tree - 1


def even_loop_nodes(relations: int, leaves: int) -> int:
    """1 + Σ_{t<=i} ⌈(R-1)ℓ/R^t⌉ + (R-1)·Σ_{t<=i} ⌈ℓ/R^t⌉ for each root, i least with ℓ <= R^i."""
    total, forward, backward = 1, (relations - 1) * leaves, leaves
    while True:
        total += forward + (relations - 1) * backward
        if backward <= 1:
            return total
        forward, backward = -(-forward // relations), -(-backward // relations)


def loop_members(entities: int, relations: int, hops: int, *, tied: bool = False) -> list[Bound]:
    """The bounds by loops, over the grid of M."""
    if relations < 2:
        return []
    odd = [odd_loop_bound(entities, relations, hops, m, tied=tied) for m in spaced(entities, GRID)]
    most = most_even_loop_roots(entities, relations, hops)
    return odd + [even_loop_bound(entities, relations, hops, m, tied=tied) for m in spaced(most, GRID)]


def _bound(rows: int, information: Logarithm, formula: str, tied: bool, shape: str) -> Bound:
    return Bound("T2e", rows, 1, information, formula, stands_on("T2e", "tied" if tied else "learned"), shape)


def _check_loops(entities: int, relations: int, hops: int, roots: int, most: int) -> None:
    check_sizes(entities, relations, hops)
    check_count("roots", roots)
    if relations < 2 or roots > most:
        raise InputError(f"loops need R >= 2 and at most {most} roots, not R = {relations} and {roots}")
