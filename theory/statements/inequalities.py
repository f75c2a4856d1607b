"""The lower bounds as inequalities, each with the assumptions that it stands on: what the registry prints and what
`bounds` computes carry the same objects.

B is the number of bits outside the subject table (and outside a learned read-out) that may depend on the facts. All
logarithms are to base 2. Light to import.
"""

from __future__ import annotations

from dataclasses import dataclass

from theory.errors import InputError
from theory.statements.assumptions import (
    ANY,
    BIJECTIONS,
    BLIND_ATTENTION,
    EXACT,
    FIXED,
    HONEST,
    INVERSES,
    LEARNED,
    MAPS,
    MATCHINGS,
    NO_RESIDUAL,
    NOISE,
    NOISE_EVERYWHERE,
    ONE_BLOCK,
    ONE_COORDINATE,
    ONE_PASS,
    REALS,
    SINGLE_HOP,
    TIED,
    UNIFORM_ATTENTION,
    UNIVERSAL,
    Assumption,
    error_rate,
)


@dataclass(frozen=True)
class Inequality:
    """A lower bound: `name` says of which models, `formula` what holds. Any read-out is allowed unless one is named."""

    name: str
    assumptions: tuple[Assumption, ...]
    formula: str


INEQUALITIES: dict[str, tuple[Inequality, ...]] = {
    "T1c": (
        Inequality("universal", (BIJECTIONS, EXACT, SINGLE_HOP, ONE_PASS, UNIVERSAL), "d·b >= R·log N"),
        Inequality("any model", (BIJECTIONS, EXACT, SINGLE_HOP, ANY), "N·d·b + B >= R·log N!"),
    ),
    "T1e": (
        Inequality(
            "width",
            (BIJECTIONS, EXACT, ONE_PASS, UNIVERSAL, ONE_BLOCK, NO_RESIDUAL, BLIND_ATTENTION),
            "W·b_h >= log T_k",
        ),
    ),
    "T2c": (
        Inequality("trees", (BIJECTIONS, EXACT, ONE_PASS, FIXED), "B + m·d·b >= R·log (N-I)_n"),
        Inequality(
            "loops",
            (BIJECTIONS, EXACT, ONE_PASS, FIXED),
            "B + m·d·b >= log (N-m)_{m(DE-1)} + D·log (N-mE)_{m(D-1)E} + (R-D)·log (N)_{mDE}",
        ),
    ),
    "T2d": (Inequality("universal", (BIJECTIONS, EXACT, ONE_PASS, UNIVERSAL), "d·b >= log T_k"),),
    "T2e": (
        Inequality("learned", (BIJECTIONS, EXACT, ONE_PASS, LEARNED), "B + (m+M)·d·b >= R^⌈k/2⌉·log M!"),
        Inequality("tied", (BIJECTIONS, EXACT, ONE_PASS, TIED), "B + M·d·b >= R^⌈k/2⌉·log M!"),
    ),
    "T3c": (
        Inequality("fixed", (BIJECTIONS, EXACT, HONEST, FIXED), "B + m·(Σ R^{k_i})·d·b >= R·log (N-mI)_{mn}"),
        Inequality("learned", (BIJECTIONS, EXACT, HONEST, LEARNED), "T2e's loops, with the longest step for k"),
        Inequality("tied", (BIJECTIONS, EXACT, HONEST, TIED), "T2e's loops, with the longest step for k"),
    ),
    "T8": (
        Inequality(
            "universal",
            (BIJECTIONS, error_rate(), ONE_PASS, UNIVERSAL),
            "d·b >= R·(log N - h(ε) - ε·log(N-1)) at k = 1",
        ),
        Inequality(
            "any model",
            (BIJECTIONS, error_rate(), SINGLE_HOP, ANY),
            "N·d·b + B >= R·(log N! - N·h(ε) - N·ε·log(N-1))",
        ),
    ),
    "T9": (Inequality("trees", (MATCHINGS, EXACT, ONE_PASS, FIXED), "B + m·d·b >= R·log (N-mT)_{mn}"),),
    "T10": (
        Inequality("universal", (MAPS, EXACT, ONE_PASS, UNIVERSAL), "d·b >= R^k·log N"),
        Inequality("fixed", (MAPS, EXACT, ONE_PASS, FIXED), "B + m·d·b >= m·R^k·log N"),
        Inequality("learned", (MAPS, EXACT, ONE_PASS, LEARNED), "B + (m+q)·d·b >= m·R^k·log q"),
        Inequality("tied", (MAPS, EXACT, ONE_PASS, TIED), "B + m·d·b >= m·R^k·log m"),
    ),
    "T11": (Inequality("any model", (BIJECTIONS, EXACT, ANY), "N·d·b + B >= log ((N!)^{2R-2} / Σ_λ z_λ^{R-2})"),),
    "T12": (
        Inequality(
            "one coordinate",
            (BIJECTIONS, EXACT, SINGLE_HOP, ONE_PASS, UNIVERSAL, ONE_BLOCK, UNIFORM_ATTENTION, REALS, ONE_COORDINATE),
            "W >= (N^R - 1)/(R·(N-1)) - 1",
        ),
        Inequality(
            "d coordinates",
            (BIJECTIONS, EXACT, SINGLE_HOP, ONE_PASS, UNIVERSAL, ONE_BLOCK, UNIFORM_ATTENTION, REALS),
            "d·log (e²R²WN²/2d²) >= R·log N",
        ),
    ),
    "T13": (
        Inequality("universal", (BIJECTIONS, EXACT, ONE_PASS, UNIVERSAL, NOISE), "d·log(1 + ⌊A/2δ⌋) >= log T_k"),
        Inequality(
            "any model",
            (BIJECTIONS, EXACT, ANY, NOISE_EVERYWHERE),
            "N·d·log(1 + ⌊A/2δ⌋) + B >= log ((N!)^{2R-2} / Σ_λ z_λ^{R-2})",
        ),
    ),
    "T14": (
        Inequality(
            "universal",
            (BIJECTIONS, INVERSES, EXACT, SINGLE_HOP, ONE_PASS, UNIVERSAL),
            "d·b >= R·log ((N-1)² + 1)",
        ),
    ),
}


def stands_on(theorem: str, name: str) -> tuple[Assumption, ...]:
    """The assumptions of one inequality of a theorem. InputError, listing the names, when there is none of that name.

    >>> [each.name for each in stands_on("T2d", "universal")]
    ['bijections', 'exact', 'one pass', 'universal']
    """
    known = {each.name: each.assumptions for each in INEQUALITIES.get(theorem, ())}
    if name not in known:
        raise InputError(f"{theorem} has no inequality {name!r}; it has: {', '.join(known) or 'none'}")
    return known[name]
