"""T2d: the number T_k(N, R) of answer vectors, that is of everything one subject's embedding may have to say.

The answer vector of an entity x is (g_w(x))_w over all R^k words w of length k. T_k counts the vectors that occur as g
runs through all (N!)^R fact systems. A universal model must tell them apart by e_x alone, so d·b >= log2 T_k.

**Upper bound.** Write (n)_j = n(n-1)..(n-j+1). With S_0(n) = n^R let, for t = 0, 1, ..

    S_t(n) = Σ_l a_{t+1}(l)·(n)_l,        S_{t+1}(n) = Σ_l a_{t+1}(l)·((n)_l)^R,        T_k <= S_{k-1}(N).

The *pattern* of level t says which words of length t lead from x to the same node; a_t(l) is the number of conceivable
patterns with l nodes, a_0(1) = 1. Every g_r is injective, so a pattern of level t+1 with l nodes is a pattern of level
t, with j nodes say, and R injections of these into l nodes that together reach all l, whose names do not count: there
are M(j,l) = (1/l!) Σ_i (-1)^{l-i} C(l,i) ((i)_j)^R ways (inclusion-exclusion; renaming moves every choice). Hence
a_{t+1}(l) = Σ_j a_t(j)·M(j,l); in other words l!·a_{t+1}(l) is the l-th difference of S_t at 0. An answer vector
determines the pattern of level k-1, again as the g_r are injective, and is that pattern with R injections of its j
nodes into the entities. Patterns with more than N nodes drop out, as (N)_l = 0 for l > N. Also T_k <= (N!)^R.

**Exact** it is for k = 1, for N = 1, and for k >= 2 whenever N >= `exact_from(R, k)`, which is

    1 + max( 2R, 1 + ⌊(R+1)²/4⌋ )                                         for k = 2,
    1 + max( R + .. + R^{k-2} + 2·R^{k-1},  R·(R^{k-1} - R + 1) )         for k >= 3.

Proof. Given a pattern with j nodes at level k-1 and R injections f_r of them into the entities, choose entities for the
nodes of levels 1 .. k-1: all distinct, none of them x, and a node that relation r enters not among the values of f_r.
Then the choice and the f_r define R partial injections, which extend to permutations with just these answers. Let F_v
collect the values of f_r over the relations r that enter the node v. By Hall's theorem the choice exists if
|S| <= N - 1 - |∩_{v in S} F_v| for every set S of nodes. Let c be the least number of relations that enter a node of S;
the intersection has at most c·j elements. If c = 1, |S| + j <= (R + .. + R^{k-1}) + R^{k-1}. If c >= 2, a node of S at
level t takes at least c - 1 from the R·j_{t-1} nodes that level t could have, so j <= R^{k-1} - (c-1)·|S|, and
|S| + c·j <= c·R^{k-1} - (c(c-1) - 1)·|S| is largest at |S| = 1: with N >= 2 + c·(R^{k-1} - c + 1) for 2 <= c <= R the
choice exists. For k = 2 the maximum over c is the one above. For k >= 3 the best c is R, by more than 1, and there is
one case left: N = 1 + R·j, j = R^{k-1} - R + 1, R >= 3, where Hall's condition fails for a single node v at level k-1
alone, entered by all R relations, all R·j values being distinct and none of them x. Then choose v = x, and for the node
of level 1 that relation t enters the value f_t(v): so x has the same answers at both of its places. Every other node
is entered by one relation only, and is chosen one after the other: N - R - j entities are neither x nor a node of level
1 nor a value of that relation, and no more than R² + .. + R^{k-1} - R nodes need one.

**Too large** it is for R >= 2, k >= 2 and 2 <= N < `exact_from(R, k)`.

Proof. Where N <= R + .. + R^{k-2} + 2·R^{k-1}, let f_r = f, the same for every r, with values other than x.

* N > R^{k-1}. Take the pattern in which all nodes of a level differ. If x, the nodes of levels 1 .. k-1 and the values
  are all distinct then N > R + .. + R^{k-1} + R^{k-1}. If not, two levels share a node (if y_{ur}, the node of the word
  ur, is a value, then y_u is at level k-1 as g_r is injective): y_u = y_v with |u| < |v|, and lengthening both words
  alike, |v| = k-1. So g_r(y_u) is a value of f that does not depend on r; but the nodes y_{ur} differ.
* 3 <= N <= R^{k-1}. Take j = N-1 and at least two nodes at level 1; such a pattern exists. Every entity but x is a
  value, so it has under every relation a preimage at level k-1. Some node y_r ≠ x of level 1 has x for this preimage,
  so x is at level k-1, g_r(x) does not depend on r, and level 1 has one node only.
* N = 2. There are 2^R systems, and the formula is 2^R·(a_{k-1}(1) + a_{k-1}(2)), twice as much or more.
* k = 2 and 2R < N <= 1 + ⌊(R+1)²/4⌋. Take j = ⌊(R+1)/2⌋ nodes at level 1, one of them, y, entered by R - j + 1
  relations, and f_r that all avoid x, but of these relations together have all other entities as values. If y ≠ x then
  y = f_r(i) for such an r, where i is a node with g_r(i) = y = g_r(x); so i = x. Hence in any case x is at level 1,
  entered by some s, and g_s(x) = x is a value of f_s.
* k >= 3, R >= 3 and R^{k-1} < N <= R·j, j = R^{k-1} - R + 1. Take j nodes at level k-1, one of them, v, entered by all
  R relations from one parent, and injections f_r that together have every entity but x as a value, with f_0(v) = f_1(v)
  and no node of that level given the same value by all of them. If v = x, the nodes of level 1 that relations 0 and 1
  enter are f_0(v) and f_1(v), which are equal; but they differ. If v = f_r(i) for some node i of level k-1, then
  g_r(i) = v, so that i is the parent of v, all relations lead from i to v, and all f_r(i) are v, which was excluded.

For R = 1, g^k is the identity if every number up to N divides k, and then T_k = 1; otherwise T_k = N.

**Below** `exact_from`, `answer_vectors` searches all partial systems along the words from x, naming new entities in
order of appearance; a vector with v entities besides x stands for (N-1)_v vectors. If that takes too long, it returns
the smaller of the two upper bounds and says so.
"""

import math
from dataclasses import dataclass
from typing import Literal

from flint import fmpz

from theory.definitions.fact_system import check_count
from theory.errors import InputError

MOST_STEPS = 10**8
"""Limit of k·(min(R^{k-1}, N) + 30)², about the steps of the formula; the 30 stands for what a hop takes at least."""
MOST_BITS = 10**8
LONGEST_SEARCH = 10**6
"""Limit of the steps of a search, one for each word of each partial system."""
MOST_WORDS = 10_000
"""Limit of k·R^k in a search."""
DEEPEST_SEARCH = 400
"""Limit of N·R in a search, which recurses once for each pair of an entity and a relation."""


@dataclass(frozen=True)
class Count:
    """A number of objects: exact, or only known to be an upper bound; `method` says in a phrase how it was found."""

    value: int
    kind: Literal["exact", "upper bound"]
    method: str


def answer_vectors(entities: int, relations: int, hops: int) -> Count:
    """T_k(N, R): exact by the formula or by a search, otherwise the better of two upper bounds, which `kind` then says.

    InputError unless all three are whole numbers >= 1 and the formula is short enough to evaluate.
    """
    upper_bound = formula(entities, relations, hops)
    n, r, k = int(entities), int(relations), int(hops)
    if r == 1 and 1 < n <= k:
        same = all(k % length == 0 for length in range(2, n + 1))
        return Count(1 if same else n, "exact", "the cycles of one permutation")
    if k == 1 or n == 1 or n >= exact_from(r, k):
        return Count(upper_bound, "exact", "formula of T2d")
    found = _search(n, r, k)
    if found is not None:
        return Count(found, "exact", "search of all partial systems")
    systems = fmpz.fac_ui(fmpz(n)) ** r
    if systems < upper_bound:
        return Count(int(systems), "upper bound", "number of fact systems")
    return Count(upper_bound, "upper bound", "formula of T2d")


def formula(entities: int, relations: int, hops: int) -> int:
    """S_{k-1}(N), an upper bound on T_k(N, R) that is exact from `exact_from` on."""
    n = check_count("entities", entities)
    r = check_count("relations", relations)
    k = check_count("hops", hops)
    nodes = min(_power_up_to(r, k - 1, n), n)
    if k * (nodes + 30) ** 2 > MOST_STEPS:
        raise InputError(
            f"answer-vectors: the formula takes hops·min(R^(hops-1), N)^2 steps, and about {MOST_STEPS} can be taken; "
            "lower the hops, the relations or the entities"
        )
    if r * nodes * n.bit_length() > MOST_BITS:
        raise InputError(
            f"answer-vectors: T_k may have R·min(R^(hops-1), N)·log2 N bits, and at most {MOST_BITS} are computed; "
            "lower the hops, the relations or the entities"
        )
    return int(_systems(_patterns(r, k - 1, n), r, n))


def exact_from(relations: int, hops: int) -> int:
    """The least N from which the formula is exact: 1 for k = 1, otherwise as in the module's docstring."""
    r, k = check_count("relations", relations), check_count("hops", hops)
    if k == 1:
        return 1
    if k == 2:
        return 1 + max(2 * r, 1 + (r + 1) ** 2 // 4)
    last: int = r ** (k - 1)
    middle_levels = k - 2 if r == 1 else (last - r) // (r - 1)
    return 1 + max(middle_levels + 2 * last, r * (last - r + 1))


def _patterns(relations: int, level: int, most: int) -> list[fmpz]:
    """[a_t(0), a_t(1), ..] for t = level, up to a_t(min(R^t, most))."""
    patterns = [fmpz(0), fmpz(1)]
    for _ in range(level):
        nodes = min((len(patterns) - 1) * relations, most)
        differences = [_systems(patterns, relations, n) for n in range(nodes + 1)]
        for order in range(1, nodes + 1):
            for n in range(nodes, order - 1, -1):
                differences[n] -= differences[n - 1]
        patterns = [difference // fmpz.fac_ui(fmpz(order)) for order, difference in enumerate(differences)]
    return patterns


def _systems(patterns: list[fmpz], relations: int, entities: int) -> fmpz:
    """Σ_l a(l)·((n)_l)^R for n = entities: a pattern's l nodes, sent into n entities by R injections. Horner."""
    total = fmpz(0)
    for nodes in range(min(len(patterns) - 1, entities), -1, -1):
        total = patterns[nodes] + fmpz(entities - nodes) ** relations * total
    return total


def _search(entities: int, relations: int, hops: int) -> int | None:
    """T_k(N, R) from all partial systems along the words from x = 0, up to renaming; None if that takes too long.

    Words are numbered by length, so that word w > 0 is word (w-1) // R followed by relation (w-1) % R.
    """
    if _power_up_to(relations, hops, MOST_WORDS) * hops > MOST_WORDS or entities * relations > DEEPEST_SEARCH:
        return None
    shorter = sum(relations**length for length in range(hops))
    words = shorter + relations**hops
    node = [0] * words
    image: list[dict[int, int]] = [{} for _ in range(relations)]
    vectors: set[tuple[int, ...]] = set()
    steps = 0

    def follow(word: int, named: int) -> None:
        """Extends the partial system that has led to all words before this one, in every way."""
        nonlocal steps
        while word < words and node[(word - 1) // relations] in image[(word - 1) % relations]:
            node[word] = image[(word - 1) % relations][node[(word - 1) // relations]]
            word += 1
            steps += 1
        steps += 1
        if steps > LONGEST_SEARCH:
            return
        if word == words:
            names: dict[int, int] = {0: 0}
            vectors.add(tuple(names.setdefault(entity, len(names)) for entity in node[shorter:]))
            return
        subject, answers = node[(word - 1) // relations], image[(word - 1) % relations]
        for entity in set(range(min(named + 1, entities))).difference(answers.values()):
            node[word] = answers[subject] = entity
            follow(word + 1, max(named, entity + 1))
            del answers[subject]

    follow(1, 1)
    if steps > LONGEST_SEARCH:
        return None
    return sum(math.perm(entities - 1, max(vector)) for vector in vectors)


def _power_up_to(base: int, exponent: int, limit: int) -> int:
    """base^exponent where that is at most `limit`, otherwise some larger number that is quick to compute."""
    if base == 1:
        return 1
    power: int = base ** min(exponent, limit.bit_length())
    return power
