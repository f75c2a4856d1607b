"""How many fact systems each structured family holds, exactly: a uniform system carries log2 of it in bits.

Each count is a bijection between the family and free choices:
independent: R permutations, (N!)^R; inverses and synonyms: half of the relations, (N!)^{R/2}; fourfold synonyms: a
quarter, (N!)^{R/4}; blocks: a permutation of each of 4 blocks for each relation, ((N/4)!)^{4R}; xor: a mask for each
relation, N^R; hidden shift: g_0 is any permutation and g_0⁻¹g_r any shift, N!·N^{R-1}; powers of a cycle: g_0 is any
cycle of all N entities and gives the others, (N-1)!.
"""

from math import factorial

from flint import arb, ctx, fmpz

from theory.definitions.families import BLOCKS, check_family


def family_count(family: str, entities: int, relations: int) -> int:
    """The number of systems of the family. InputError where `draw_family` raises it."""
    n, r = check_family(family, entities, relations)
    match family:
        case "independent":
            return int(factorial(n) ** r)
        case "inverses" | "synonyms":
            return int(factorial(n) ** (r // 2))
        case "fourfold-synonyms":
            return int(factorial(n) ** (r // 4))
        case "blocks":
            return int(factorial(n // BLOCKS) ** (BLOCKS * r))
        case "xor":
            return int(n**r)
        case "hidden-shift":
            return int(factorial(n) * n ** (r - 1))
        case "cycle-powers":
            return factorial(n - 1)
    raise AssertionError(f"the family {family!r} is drawn but not counted")


def relative_information(family: str, entities: int, relations: int) -> float:
    """ι, the family's bits over those of R independent permutations: log(count) / log((N!)^R), rounded to a float."""
    with ctx.workprec(128):
        own, free = (arb(fmpz(family_count(name, entities, relations))).log() for name in (family, "independent"))
        return float(own / free)
