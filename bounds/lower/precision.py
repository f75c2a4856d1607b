"""T12 and T13: what precision is worth, in width and against noise.

**T12.** Single hop, universal, one pass, one block with uniform attention, entries of any precision. On one coordinate
the answers of a subject change at most N - 1 times between two kinks, of which there are W:

    d = 1      W >= (N^R - 1)/(R(N-1)) - 1
    any d      d·log2(e²R²WN²/2d²) >= R·log2 N       for d <= R·W and d <= R·N²/2; beyond R·W, W counts as d/R

**T13.** Under noise below δ a coordinate in [0, A] tells at most 1 + ⌊A/2δ⌋ values apart, and takes the place of one of
log2(1 + ⌊A/2δ⌋) bits in every bound that counts rows: d·log2(1 + ⌊A/2δ⌋) >= log2 T_k for universal models in one pass.

>>> least_width(16, 2), least_real_dimension(4096, 8, 16)
(8, 3)
>>> least_noisy_dimension(4096, 2, 2, extent=Fraction(1), noise=Fraction(1, 2))
48
"""

from fractions import Fraction

from flint import arb, ctx

from bounds.enclosure import START_PRECISION, ceiling, log2, sign
from bounds.lower.bound import check_sizes
from bounds.lower.universal import universal_hops
from theory.definitions.fact_system import check_count
from theory.errors import InputError


def least_width(entities: int, relations: int) -> int:
    """T12: the least width of a model with one coordinate."""
    check_sizes(entities, relations)
    vectors: int = entities**relations - 1
    changes = relations * (entities - 1)
    return max(0, -(-vectors // changes) - 1)


def most_vectors(entities: int, relations: int, width: int, dimension: int) -> int:
    """T12: how many vectors of answers the rows of a model can have at most, rounded down."""
    check_sizes(entities, relations)
    if dimension == 1:
        return relations * (width + 1) * (entities - 1) + 1
    with ctx.workprec(START_PRECISION):
        cells = (_cells(entities, relations, width, dimension) * dimension).exp()
        most = cells.upper().floor().unique_fmpz()
    if most is None:
        raise InputError(f"the number of cells at d = {dimension} is beyond {START_PRECISION} bits")
    return int(most)


def _cells(entities: int, relations: int, width: int, dimension: int) -> arb:
    """log(e²R²WN²/2d²), where R·W counts as d at least."""
    units = max(relations * width, dimension)
    cells = Fraction(units * relations * entities * entities, 2 * dimension * dimension)
    return 2 + (arb(cells.numerator) / cells.denominator).log()


def least_real_dimension(entities: int, relations: int, width: int) -> int:
    """T12: the least number of coordinates, of whatever precision, at a width; one only where both inequalities do."""
    check_sizes(entities, relations)
    check_count("width", width)
    low, high = (0 if width >= least_width(entities, relations) else 1), relations * entities * entities // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _enough_cells(entities, relations, width, middle) else (middle, high)
    return high


def _enough_cells(entities: int, relations: int, width: int, dimension: int) -> bool:
    """(e²R²WN²/2d²)^d >= N^R; they are never equal, because no power of e is rational."""
    precision = START_PRECISION
    while True:
        with ctx.workprec(precision):
            left = dimension * _cells(entities, relations, width, dimension) - relations * arb(entities).log()
            if left > 0 or left < 0:
                return bool(left > 0)
        precision *= 2


def levels(extent: Fraction, noise: Fraction) -> int:
    """T13: how many values a coordinate in [0, extent] tells apart under noise below `noise` > 0: 1 + ⌊A/2δ⌋."""
    if extent < 0 or noise <= 0:
        raise InputError(f"a range of {extent} under noise {noise}: a range is not negative, and noise is above 0")
    return 1 + extent // (2 * noise)


def least_noisy_dimension(entities: int, relations: int, hops: int, extent: Fraction, noise: Fraction) -> int:
    """T13: the least d of a universal model, k hops in one pass, with rows in [0, extent]^d, which answers rightly
    under every perturbation of a row below `noise`. InputError where one value is all that can be told apart.
    """
    information, apart = universal_hops(entities, relations, hops).information, levels(extent, noise)
    if apart == 1:
        raise InputError(f"noise {noise} leaves nothing of a range of {extent}: no dimension is enough")
    if apart & (apart - 1) == 0:
        return ceiling(information.times(Fraction(1, apart.bit_length() - 1)))
    low, high = 0, ceiling(information)  # a coordinate has a bit at least
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if sign(log2(apart, middle) - information) >= 0 else (middle, high)
    return high
