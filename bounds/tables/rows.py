"""What a table of bounds is made of: a setting, and a bound or a construction in it."""

from dataclasses import dataclass
from fractions import Fraction

from theory.statements.assumptions import Assumption

LARGEST_TABLED = 10**400  # widths and numbers of parameters beyond it are left out: few programs could read them


@dataclass(frozen=True)
class BoundSetting:
    """N entities, R relations, k hops, b-bit subject entries, B shared bits, the read-out, the error rate ε, and
    whether the facts are any `maps` instead of bijections.
    """

    entities: int
    relations: int
    hops: int
    bits: int
    shared_bits: int = 0
    readout: str = "fixed"
    error: Fraction = Fraction(0)
    maps: bool = False


@dataclass(frozen=True)
class BoundRow:
    """One bound or construction in one setting.

    label: a construction's theorem, with its name where it has several; or what a lower bound applies to. dimension:
    the least that a lower bound admits, or what a construction has; None where nothing is known. total_bits: of all
    numbers that depend on the facts. against: a lower bound's theorem, or the lower bound that a construction is held
    against, and least the dimension which that admits. statement: a lower bound, its right side rounded down.
    """

    setting: BoundSetting
    label: str
    side: str
    dimension: int | None
    width: int | None = None
    parameters: int | None = None
    total_bits: int | None = None
    against: str = ""
    least: int | None = None
    statement: str = ""
    assumptions: tuple[Assumption, ...] = ()
    argument: str = ""

    @property
    def ratio(self) -> Fraction | None:
        """dimension / least, None where there is no bound or it is 0."""
        return Fraction(self.dimension, self.least) if self.dimension is not None and self.least else None


def unless_absurd(number: int) -> int | None:
    """The number, unless few programs could read it."""
    return number if number < LARGEST_TABLED else None
