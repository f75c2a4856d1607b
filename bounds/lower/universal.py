"""T2d and T1e: what a universal model pays for k hops in one pass, in dimension and in width.

**T2d.** *d·b >= log2 T_k* (fixed read-out), T_k the number of answer vectors (g_w(x))_w of one subject: its row must
tell them apart. T_k is exact where `answer_vectors` proves its formula exact, and where there are so few systems that
it can search them all. Elsewhere log2 T_k is bounded from below by the largest of

* the last term of the formula, T_k >= ((N)_{R^{k-1}})^R: all words of length k-1 apart, any R injections of their
  nodes (N >= `exact_from`);
* T2c for one root, trees or loops, whose right sides count answer vectors of one subject;
* `further.long_words`, for k >= N.

R^k·(log2 N - 1) <= log2 T_k <= R^k·log2 N for R >= 2 and 1 + … + R^k <= N: T2 is optimal up to 1 + o(1). T_k <= (N!)^R
always.

**T1e.** *W·b_h >= log2 T_k* for a universal model without residual stream whose attention pattern does not depend on
the entity: the row e_x acts through W pre-activations of b_h bits alone. (With R hardmax heads and no MLP at all,
relations can be selected by attention.)
"""

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from bounds.counting.answer_vectors import answer_vectors, exact_from
from bounds.enclosure import log2, log2_falling
from bounds.lower.beyond import long_words
from bounds.lower.bound import Bound, check_sizes
from bounds.lower.dichotomy import fixed_readout
from bounds.lower.frontier import BoundFamily, strongest_for_dimension
from theory.statements.inequalities import stands_on

FORMULA_STEPS = 50_000  # k·R^{2(k-1)} up to which the formula is evaluated: some hundredths of a second
SEARCHED_SYSTEMS = 20_000  # (N!)^R up to which answer vectors are searched for


@lru_cache(maxsize=4096)
def universal_hops(entities: int, relations: int, hops: int) -> Bound:
    """T2d: d·b >= log2 T_k, exact or from below; its argument says which, and how it was found."""
    check_sizes(entities, relations, hops)
    assumptions = stands_on("T2d", "universal")
    if hops == 1:
        return Bound("T2d", 1, 0, log2(entities, relations), "log2 T_k", assumptions, "T_1 = N^R")
    formula_holds = entities >= exact_from(relations, hops)
    if relations == 1 or (formula_holds and _short(relations, hops)) or _few_systems(entities, relations):
        count = answer_vectors(entities, relations, hops)
        if count.kind == "exact":
            return Bound("T2d", 1, 0, log2(count.value), "log2 T_k", assumptions, f"T_k exactly, by {count.method}")
    candidates = [long_words(entities, relations, hops)]
    candidates.append(strongest_for_dimension(fixed_readout(entities, relations, hops)))
    if formula_holds:
        last = log2_falling(entities, relations ** (hops - 1), relations)
        candidates.append(
            Bound("T2d", 1, 0, last, "R·log2 (N)_{R^(k-1)}", assumptions, "the last term of the formula of T2d")
        )
    best = strongest_for_dimension(BoundFamily(tuple(candidates)))
    below = f"T_k from below: {best.argument}"
    information = best.information.times(Fraction(1, best.rows))
    return Bound("T2d", 1, 0, information, best.formula, assumptions, below)


@lru_cache(maxsize=4096)
def universal_width(entities: int, relations: int, hops: int) -> Bound:
    """T1e: W·b_h >= log2 T_k."""
    bound = universal_hops(entities, relations, hops)
    return replace(bound, theorem="T1e", rows=0, units=1, assumptions=stands_on("T1e", "width"))


def _short(relations: int, hops: int) -> bool:
    return bool(relations == 1 or hops * relations ** (2 * hops - 2) <= FORMULA_STEPS)


def _few_systems(entities: int, relations: int) -> bool:
    """(N!)^R <= SEARCHED_SYSTEMS, without computing a large factorial."""
    systems = 1
    for number in range(2, entities + 1):
        systems *= number**relations
        if systems > SEARCHED_SYSTEMS:
            return False
    return True
