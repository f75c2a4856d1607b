"""T14, the lower half: with a read-out fixed in advance a relation and its inverse cost what two relations do.

A universal model in one pass knows the answers to g_0 .. g_{R-1} and to their inverses from the row of x alone. Of one
relation (g(x), g⁻¹(x)) is any pair of entities other than x, or (x, x): (N-1)² + 1 values, and of R relations as many
to the power of R. So d·b >= R·log2((N-1)² + 1) >= R·(2·log2 N - 1), since (N-1)² + 1 - N²/2 = (N-2)²/2.

>>> universal_inverses(64, 8).smallest_dimension(1)
96
"""

from bounds.enclosure import log2
from bounds.lower.bound import Bound, check_sizes
from theory.statements.inequalities import stands_on


def most_answers(entities: int, relations: int) -> int:
    """((N-1)² + 1)^R, the vectors of one subject's answers to R relations and their inverses."""
    check_sizes(entities, relations)
    return int(((entities - 1) ** 2 + 1) ** relations)


def universal_inverses(entities: int, relations: int) -> Bound:
    """T14, universal: d·b >= R·log2((N-1)² + 1)."""
    check_sizes(entities, relations)
    information = log2((entities - 1) ** 2 + 1, relations)
    return Bound("T14", 1, 0, information, "R·log2((N-1)² + 1)", stands_on("T14", "universal"))
