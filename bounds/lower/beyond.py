"""Beyond the numbered theorems: very long words (T2c, k >= N), errors at k hops (T8), T2e's constant for odd k.

**Long words.** For R >= 2 and k >= N >= 5, fixed read-out, no chain of thought:

    B + d·b >= R·log2 N! - 2·log2 N + log2(N-4)

*Proof.* Take the systems in which relation 0 fixes the root x and every entity can be reached from x. By the loop all
words of length <= k are asked of x (T2c). Words of length <= N-1 reach every entity, and one letter more tells its R
answers: the answers of x determine g. It remains to count these systems. Of the (N-1)!·(N!)^{R-1} with the loop, those
in which x reaches just s entities number at most C(N-1,s-1)·(s-1)!·(s!)^{R-1}·((N-s)!)^R, a share of C(N,s)^{-(R-1)}.
Summed over s = 1..N-1 this is at most 2/N + (N-3)·2/(N(N-1)) < 4/N. ∎

All (N!)^R systems together have R·log2 N! bits: a model with B = 0 must hold in *each* row all but about log2 N bits
of the whole graph.

**Errors at k hops.** Universal, fixed read-out, error rate ε <= 1 - 1/N averaged over all queries of k hops. With I, n
of T2c at m = 1 and π the share of systems whose words of length < k lead from x to distinct nodes,

    d·b >= π·R·log2 (N-I)_n - R^k·(h(ε) + ε·log2(N-1)),        π = (N-1)_{RI} / ((N)_I)^R

*Proof.* Let g be uniform. Where the nodes are distinct, the answers given the nodes are R injections of the last
level's n nodes into N - I entities, uniform: the answers of x have entropy at least π·R·log2 (N-I)_n. Of this the row
leaves at most R^k times Fano's term (T8). ∎

At k = 1 it is T8. It is positive only while R^k words can hardly meet (R^{2k} << N) and ε is small; a T2c of its kind
for any model fails, since few queries (one root's) may carry all of the errors.

**The middle split.** T2e's construction "split" (`constructions.weights.t2e`, odd k = 2j+1) has R^j·(⌈R/2⌉ + 1)·p
coordinates for R >= 2. T2e's lower bound is d·b >= ½R^{j+1}·log2(M/e) at B = 0, so that its constant is ½ up to 1 + 2/R
and lower terms for odd k. For even k, R^{j+1}·(R/(R+1))·log2(M/e) from below and R^{j+1}·p from above agree as well. A
tied row would hold both kinds of blocks, and gains nothing.
"""

from fractions import Fraction

from bounds.enclosure import Logarithm, log2, log2_falling, power_of_two_below, sign
from bounds.lower.bound import Bound, check_sizes, empty
from bounds.lower.dichotomy import most_tree_roots, nodes
from bounds.lower.information import at_error, uncertainty_per_query
from theory.statements.inequalities import stands_on


def long_words(entities: int, relations: int, hops: int) -> Bound:
    """B + d·b >= R·log2 N! - 2·log2 N + log2(N-4) for R >= 2 and k >= N >= 5; empty elsewhere."""
    check_sizes(entities, relations, hops)
    if relations < 2 or not hops >= entities >= 5:
        return empty("T2c", "long words need R >= 2 and k >= N >= 5")
    information = log2_falling(entities, entities, relations) - log2(entities, 2) + log2(entities - 4)
    shape = "relation 0 fixes the root, which reaches every entity by words of length <= k"
    return Bound("T2c", 1, 1, information, "R·log2 N! - 2·log2 N + log2(N-4)", stands_on("T2c", "loops"), shape)


def universal_hops_with_errors(entities: int, relations: int, hops: int, error: Fraction) -> Bound:
    """d·b >= π·R·log2 (N-I)_n - R^k·(h(ε) + ε·log2(N-1)), π rounded down to a multiple of 2^-64; 0 if negative."""
    check_sizes(entities, relations, hops)
    uncertainty = uncertainty_per_query(entities, error)
    information = Logarithm()
    if uncertainty is not None and most_tree_roots(entities, relations, hops):
        inner, last = nodes(relations, hops - 2), relations ** (hops - 1)
        share = log2_falling(entities - 1, relations * inner) - log2_falling(entities, inner, relations)
        answers = log2_falling(entities - inner, last, relations).times(power_of_two_below(share))
        rest = answers - uncertainty.times(relations**hops)
        information = rest if sign(rest) > 0 else Logarithm()
    formula = "π·R·log2 (N-I)_n - R^k·(h(ε) + ε·log2(N-1))"
    return Bound("T8", 1, 0, information, formula, at_error("universal", error))
