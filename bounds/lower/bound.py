"""What a lower bound is: one linear inequality between the bits of a model and a logarithm of a count.

A model has subject rows of d numbers of b bits, and B further bits that may depend on the fact system g (a fixed
read-out and whatever else is chosen before g is known costs nothing). Every bound of this package reads

    rows·d·b + shared·B + units·W·b_h  >=  information

with exact integers on the left (W hidden units of b_h bits occur in T1e alone) and an exact `Logarithm` on the right.
"""

from dataclasses import dataclass
from fractions import Fraction

from bounds.enclosure import Interval, Logarithm, ceiling, constant
from theory.definitions.fact_system import check_count
from theory.errors import InputError
from theory.statements.assumptions import Assumption

# What `check_sizes` accepts. The sizes promised are 10^12, 1000 and 64; beyond these limits R^k alone fills pages.
LARGEST_ENTITIES, LARGEST_RELATIONS, LARGEST_HOPS = 10**15, 10**4, 1000


@dataclass(frozen=True)
class Bound:
    """rows·d·b + shared·B + units·W·b_h >= information: what holds, by which theorem, and on which assumptions.

    `argument` says which trees, loops or counts give the right side; it assumes nothing of the model.
    """

    theorem: str
    rows: int
    shared: int
    information: Logarithm
    formula: str
    assumptions: tuple[Assumption, ...]
    argument: str = ""
    units: int = 0

    @property
    def value(self) -> int | Interval:
        """The right side in bits: an exact integer, or an interval around it."""
        return self.information.value()

    @property
    def left_side(self) -> str:
        """What is bounded, for example "B + 12·d·b"."""
        factors = ((self.shared, "B"), (self.rows, "d·b"), (self.units, "W·b_h"))
        return " + ".join(name if factor == 1 else f"{factor}·{name}" for factor, name in factors if factor)

    def smallest_dimension(self, bits: int, shared_bits: int = 0) -> int:
        """The smallest integer d >= 0 that the bound admits with b-bit entries and B = shared_bits."""
        check_count("bits", bits)
        check_count("shared bits", shared_bits, at_least=0)
        self._require(self.rows, "d·b")
        rest = self.information - constant(self.shared * shared_bits)
        return max(0, ceiling(rest.times(Fraction(1, self.rows * bits))))

    def smallest_shared_bits(self, bits: int, dimension: int) -> int:
        """The smallest integer B >= 0 that the bound admits at dimension d with b-bit entries."""
        check_count("bits", bits)
        check_count("dimension", dimension, at_least=0)
        self._require(self.shared, "B")
        rest = self.information - constant(self.rows * dimension * bits)
        return max(0, ceiling(rest.times(Fraction(1, self.shared))))

    def smallest_width(self, activation_bits: int) -> int:
        """The smallest integer W >= 0 that the bound admits with pre-activations of b_h = activation_bits bits."""
        check_count("activation bits", activation_bits)
        self._require(self.units, "W·b_h")
        return max(0, ceiling(self.information.times(Fraction(1, self.units * activation_bits))))

    def _require(self, factor: int, name: str) -> None:
        if not factor:
            raise InputError(f"{self.theorem} bounds {self.left_side}, which {name} is no part of")


def check_sizes(entities: int, relations: int, hops: int = 1) -> None:
    """InputError unless 2 <= N <= 10^15, 1 <= R <= 10^4 and 1 <= k <= 1000 are whole numbers."""
    limits = (("entities", entities, 2, LARGEST_ENTITIES), ("relations", relations, 1, LARGEST_RELATIONS))
    for name, value, least, most in (*limits, ("hops", hops, 1, LARGEST_HOPS)):
        check_count(name, value, at_least=least)
        if value > most:
            raise InputError(f"{name} must be at most {most}: larger bounds fill pages and serve no one")


def empty(theorem: str, reason: str) -> Bound:
    """The bound d·b + B >= 0, for sizes at which the theorem says nothing."""
    return Bound(theorem, 1, 1, Logarithm(), "0", (), reason)
