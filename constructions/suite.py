"""The suite: which checks each claim gets, in which sizes, and running them into the ledger.

Two presets. `quick` gives every construction every rung at sizes that take seconds; `full` adds the large ones. A
user's sizes replace the preset's: then each construction is checked at that size alone, query by query where these can
be listed and sampled where not, and by its certificate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from constructions import checks
from constructions.catalogue import CATALOGUE, Entry, Setting, entries
from constructions.checks import Sizes
from theory import InputError
from theory.ledger import Check, Row

CLAIMS = ("T1", "T1b", "T1d", "T2", "T2b", "T2e", "T3", "T3b", "T4", "T5", "T6", "T7")

# T5 and T7 are claims about other theorems' constructions.
UNIVERSAL = ("T1 plain", "T1b digits", "T1d lookup", "T1d concatenated", "T2 direct", "T3 parabola", "T3b fixed")
SUPERPOSED = ("T1 plain", "T1b digits", "T2 direct", "T3 parabola")

# Run in low precision too, at the medium sizes.
ROUNDED = {"T1 plain": ("float32", "bfloat16"), "T3 parabola": ("float32",)}

# Sizes (N, R, setting) by construction, else by theorem, else the one at "".
Table = dict[str, tuple[int, int, Setting]]
MEDIUM: Table = {
    "T1": (1000, 8, Setting()),
    "T1b": (1000, 8, Setting(bits=4)),
    "T1b circle": (24, 3, Setting()),
    "T1d": (40, 2, Setting(bits=3)),
    "T2b": (40, 2, Setting(hops=3)),
    "T3 parabola, softmax": (6, 2, Setting(hops=2, bits=2)),
    "T3 signs, softmax": (6, 2, Setting(hops=2, bits=2)),
    "": (50, 3, Setting(hops=3, bits=2, stride=2)),
}
LARGE: Table = {
    "T1": (2**14, 16, Setting()),
    "T1b": (2**14, 16, Setting(bits=4)),
    "T1d": (100, 2, Setting(bits=3)),
    "T2b": (200, 2, Setting(hops=2)),
    "T3": (4096, 16, Setting(hops=1000, bits=4)),
    "T4": (200, 3, Setting(hops=4)),
    "T6": (300, 5, Setting()),
    "": (500, 3, Setting(hops=4, bits=3, stride=3)),
}
LARGEST: Table = {
    "T1 plain": (2**20, 16, Setting()),
    "T2": (4096, 4, Setting(hops=4)),
    "T2e": (4096, 4, Setting(hops=4)),
    "T3b": (4096, 4, Setting(hops=200, stride=3)),
}


def checks_of_preset(claims: Sequence[str], preset: str, seed: int = 0) -> list[Check]:
    """The checks of a preset, "quick" or "full", for those of the claims that are about constructions."""
    if preset not in ("quick", "full"):
        raise InputError(f"unknown preset {preset!r}; it must be quick or full")
    planned: list[Check] = []
    for claim in claims:
        if claim == "T5":
            planned += _transfers(Sizes(37, 3, Setting(hops=3, bits=2, stride=2), seed))
        elif claim == "T7":
            planned += _superpositions(Sizes(200, 3, Setting(hops=2, bits=2), seed))
        elif claim in CLAIMS:
            for entry in entries(claim):
                planned += _checks_of_entry(entry, preset, seed)
    return planned


def checks_of_size(claims: Sequence[str], sizes: Sizes) -> list[Check]:
    """The checks of the claims at one size. With no claims named, all, where what cannot be built there is undecided.

    InputError for a claim that is not about constructions.
    """
    if not claims:
        return [_tolerant(check) for check in checks_of_size(CLAIMS, sizes)]
    planned: list[Check] = []
    for claim in claims:
        if claim not in CLAIMS:
            raise InputError(
                f"{claim} is a lower bound, checked at sizes of its own: leave out --entities, --relations"
            )
        if claim == "T5":
            planned += _transfers(sizes)
        elif claim == "T7":
            planned += _superpositions(sizes)
        else:
            for entry in entries(claim):
                planned += _checks_of_entry_at(entry, sizes)
    return planned


def _checks_of_entry_at(entry: Entry, sizes: Sizes) -> Iterator[Check]:
    certified = entry.name != "circle"
    if entry.exact or not certified or checks.can_be_enclosed(entry, sizes):
        yield _planned(entry, "queries", checks.check_queries, entry, sizes)
    if certified:
        yield _planned(entry, "certificate", checks.check_certificate, entry, sizes)


def _tolerant(check: Check) -> Check:
    def run() -> Row:
        """The row of the check, or one that is undecided, with the reason, where its sizes raise InputError."""
        try:
            return check.run()
        except InputError as error:
            return Row(check.claim, check.construction, "sampled", "undecided", "nothing", detail=str(error))

    return replace(check, run=run)


def _planned(entry: Entry, kind: str, check: Callable[..., Row], *arguments: object, **options: object) -> Check:
    return Check(entry.theorem, entry.name, kind, partial(check, *arguments, **options))


def _size_of(table: Table, entry: Entry, seed: int) -> Sizes:
    chosen = table.get(f"{entry.theorem} {entry.name}") or table.get(entry.theorem) or table[""]
    return Sizes(*chosen, seed)


def _checks_of_entry(entry: Entry, preset: str, seed: int) -> Iterator[Check]:
    two_hops, one_hop = Setting(hops=2, bits=2), Setting(hops=1, bits=2)
    yield _planned(entry, "queries", checks.check_queries, entry, _size_of(MEDIUM, entry, seed))
    if entry.name != "circle":
        yield _planned(entry, "certificate", checks.check_certificate, entry, _size_of(LARGE, entry, seed))
    for precision in ROUNDED.get(f"{entry.theorem} {entry.name}", ()):
        yield _planned(entry, precision, checks.check_rounding, entry, _size_of(MEDIUM, entry, seed), precision)
    if not entry.exact:
        return
    yield _planned(entry, "random systems", checks.search_for_failure, entry, two_hops, seed)
    yield _planned(entry, "all systems", checks.check_systems, entry, Sizes(3, 2, two_hops), classes=False)
    yield _planned(entry, "all classes", checks.check_systems, entry, Sizes(4, 2, two_hops), classes=True)
    if preset == "full":
        yield _planned(entry, "all systems", checks.check_systems, entry, Sizes(5, 2, one_hop), classes=False)
        yield _planned(entry, "all classes", checks.check_systems, entry, Sizes(6, 2, one_hop), classes=True)
        if entry.theorem in LARGEST or f"{entry.theorem} {entry.name}" in LARGEST:
            yield _planned(entry, "certificate", checks.check_certificate, entry, _size_of(LARGEST, entry, seed))


def _chosen(names: tuple[str, ...]) -> list[Entry]:
    return [entry for entry in CATALOGUE if f"{entry.theorem} {entry.name}" in names]


def _transfers(sizes: Sizes) -> list[Check]:
    return [
        Check("T5", f"{entry.theorem} {entry.name}", "transfer", partial(checks.check_transfer, entry, sizes))
        for entry in _chosen(UNIVERSAL)
    ]


def _superpositions(sizes: Sizes) -> list[Check]:
    return [
        Check("T7", f"{entry.theorem} {entry.name}", "superposition", partial(checks.check_superposition, entry, sizes))
        for entry in _chosen(SUPERPOSED)
    ]
