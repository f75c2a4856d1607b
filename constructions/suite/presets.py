"""The suite: which checks each claim gets, in which sizes, and running them into the ledger.

Two presets. `quick` gives every construction every rung at sizes that take seconds; `full` adds the large ones. A
user's sizes replace the preset's: then each construction is checked at that size alone, query by query where these can
be listed and sampled where not, and by its certificate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from constructions.suite import checks
from constructions.suite.checks import Sizes
from constructions.suite.work import Extent, certifying, enumerating, listing, perturbing
from constructions.weights.catalogue import CATALOGUE, STRUCTURED, Entry, Setting, entries
from theory import InputError
from theory.records.ledger import Check, Row
from theory.records.work import NO_WORK, Work
from theory.statements.registry import in_order

# The claims about other theorems' constructions, and the theorems that have constructions.
TRANSFER, SUPERPOSITION, MAPS, NOISE = "T5", "T7", "T10", "T13"
CLAIMS = tuple(in_order({TRANSFER, SUPERPOSITION, MAPS, *(entry.theorem for entry in (*CATALOGUE, *STRUCTURED))}))

# Run in low precision too, at the medium sizes.
ROUNDED = {"T1 plain": ("float32", "bfloat16"), "T3 parabola": ("float32",)}

# Sizes (N, R, setting) by construction, else by theorem, else the one at "".
SizeTable = dict[str, tuple[int, int, Setting]]
MEDIUM: SizeTable = {
    "T1": (1000, 8, Setting()),
    "T1b": (1000, 8, Setting(bits=4)),
    "T1b circle": (24, 3, Setting()),
    "T1d": (40, 2, Setting(bits=3)),
    "T2b": (40, 2, Setting(hops=3)),
    "T3 parabola, softmax": (6, 2, Setting(hops=2, bits=2)),
    "T3 signs, softmax": (6, 2, Setting(hops=2, bits=2)),
    "": (50, 3, Setting(hops=3, bits=2, stride=2)),
}
LARGE: SizeTable = {
    "T1": (2**14, 16, Setting()),
    "T1b": (2**14, 16, Setting(bits=4)),
    "T1d": (100, 2, Setting(bits=3)),
    "T2b": (200, 2, Setting(hops=2)),
    "T3": (4096, 16, Setting(hops=1000, bits=4)),
    "T4": (200, 3, Setting(hops=4)),
    "T6": (300, 5, Setting()),
    "": (500, 3, Setting(hops=4, bits=3, stride=3)),
}
LARGEST: SizeTable = {
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
        if claim == TRANSFER:
            planned += [plan.check() for plan in _transfers(Sizes(37, 3, Setting(hops=3, bits=2, stride=2), seed))]
        elif claim == SUPERPOSITION:
            planned += [plan.check() for plan in _superpositions(Sizes(200, 3, Setting(hops=2, bits=2), seed))]
        elif claim == MAPS:
            planned += _checks_on_maps(preset, seed)
        elif claim in CLAIMS:
            for entry in entries(claim):
                planned += _checks_of_entry(entry, preset, seed)
        if claim == NOISE:
            planned += [plan.check() for plan in _perturbations(Sizes(32, 3, Setting(hops=2, bits=2), seed))]
    return planned


def checks_of_size(claims: Sequence[str], sizes: Sizes) -> list[Check]:
    """The checks of the claims at one size. With no claims named, all, where what cannot be built there is undecided.

    InputError for a claim that is not about constructions.
    """
    for claim in claims:
        if claim not in CLAIMS:
            raise InputError(
                f"{claim} is a lower bound, checked at sizes of its own: leave out --entities, --relations"
            )
    plans = [plan for claim in claims or CLAIMS for plan in _plans_at(claim, sizes)]
    return [plan.check() for plan in plans] if claims else [_tolerant(plan) for plan in plans]


@dataclass(frozen=True)
class Plan:
    """A check of a construction, or of another claim about it, at some sizes, with the estimate of its work."""

    kind: str
    run: Callable[..., Row]
    entry: Entry
    sizes: Sizes
    estimate: Callable[[Extent], Work]
    claim: str = ""

    def check(self, *more: object) -> Check:
        """The check; InputError where its work is too much."""
        return self._check(checks.require_work(self.entry, self.sizes, self.estimate), *more)

    def unchecked(self) -> Check:
        """The check, of which nothing is known but what it is."""
        return self._check(NO_WORK)

    def _check(self, work: Work, *more: object) -> Check:
        name = self.entry.name if not self.claim else self.entry.label
        run = partial(self.run, self.entry, self.sizes, *more)
        return Check(self.claim or self.entry.theorem, name, self.kind, run, work)


def _plans_at(claim: str, sizes: Sizes) -> Iterator[Plan]:
    if claim == TRANSFER:
        yield from _transfers(sizes)
    elif claim == SUPERPOSITION:
        yield from _superpositions(sizes)
    elif claim == MAPS:
        for entry in CATALOGUE:
            if entry.maps:
                yield from map(_on_maps, _plans_of(entry, sizes))
    else:
        for entry in entries(claim):
            yield from _plans_of(entry, sizes)
    if claim == NOISE:
        yield from _perturbations(sizes)


def _plans_of(entry: Entry, sizes: Sizes) -> Iterator[Plan]:
    if entry.exact or not entry.certified or checks.can_be_enclosed(entry, sizes):
        yield _queries(entry, sizes)
    if entry.certified:
        yield _certificate(entry, sizes)


def _on_maps(plan: Plan) -> Plan:
    """The same on a system of arbitrary maps, as a check of T10."""
    return replace(plan, run=partial(checks.check_on_maps, plan.run), claim=MAPS)


def _checks_on_maps(preset: str, seed: int) -> Iterator[Check]:
    """Of every construction that holds for maps: one medium system by all rungs, and all systems of a small size."""
    for entry in CATALOGUE:
        if not entry.maps:
            continue
        yield from (_on_maps(plan).check() for plan in _plans_of(entry, _size_of(MEDIUM, entry, seed)))
        if entry.exact:
            small = Sizes(*((3, 2) if preset == "full" else (2, 2)), Setting(hops=2, bits=2))
            number = small.entities ** (small.entities * small.relations)
            run = partial(checks.check_all_maps, entry, small)
            yield Check(MAPS, entry.label, "all systems", run, enumerating(number))


def _queries(entry: Entry, sizes: Sizes) -> Plan:
    return Plan("queries", checks.check_queries, entry, sizes, checks.querying(entry))


def _certificate(entry: Entry, sizes: Sizes) -> Plan:
    return Plan("certificate", checks.check_certificate, entry, sizes, certifying)


def _tolerant(plan: Plan) -> Check:
    """The check of the plan, whose row is undecided, with the reason, where its sizes raise InputError."""
    known = plan.unchecked()

    def undecided(error: InputError) -> Row:
        """The row that says why."""
        return Row(known.claim, known.construction, "sampled", "undecided", "nothing", detail=str(error))

    def run(check: Check) -> Row:
        """The row of the check, or why there is none."""
        try:
            return check.run()
        except InputError as error:
            return undecided(error)

    try:
        check = plan.check()
    except InputError as error:
        return replace(known, run=partial(undecided, error))
    return replace(check, run=partial(run, check))


def _size_of(table: SizeTable, entry: Entry, seed: int) -> Sizes:
    chosen = table.get(entry.label) or table.get(entry.theorem) or table[""]
    return Sizes(*chosen, seed)


def _checks_of_entry(entry: Entry, preset: str, seed: int) -> Iterator[Check]:
    medium = _size_of(MEDIUM, entry, seed)
    yield _queries(entry, medium).check()
    if entry.certified:
        yield _certificate(entry, _size_of(LARGE, entry, seed)).check()
    for precision in ROUNDED.get(entry.label, ()):
        yield Plan(precision, checks.check_rounding, entry, medium, listing).check(precision)
    if not entry.exact:
        return
    two_hops, one_hop = Setting(hops=2, bits=2), Setting(hops=1, bits=2)
    search = partial(checks.search_for_failure, entry, two_hops, seed)
    yield Check(entry.theorem, entry.name, "random systems", search)
    yield _systems(entry, Sizes(3, 2, two_hops))
    yield _classes(entry, Sizes(4, 2, two_hops))
    if preset == "full":
        yield _systems(entry, Sizes(5, 2, one_hop))
        yield _classes(entry, Sizes(6, 2, one_hop))
        if entry.theorem in LARGEST or entry.label in LARGEST:
            yield _certificate(entry, _size_of(LARGEST, entry, seed)).check()


def _systems(entry: Entry, sizes: Sizes) -> Check:
    run = partial(checks.check_systems, entry, sizes, classes=False)
    number = math.factorial(sizes.entities) ** sizes.relations
    return Check(entry.theorem, entry.name, "all systems", run, enumerating(number))


def _classes(entry: Entry, sizes: Sizes) -> Check:
    """One system a class: about (N!)^(R-1) of them."""
    run = partial(checks.check_systems, entry, sizes, classes=True)
    number = math.factorial(sizes.entities) ** (sizes.relations - 1)
    return Check(entry.theorem, entry.name, "all classes", run, enumerating(number))


def _transfers(sizes: Sizes) -> list[Plan]:
    return [
        Plan("transfer", checks.check_transfer, entry, sizes, listing, TRANSFER)
        for entry in CATALOGUE
        if entry.exact and checks.formulas(entry).universal
    ]


def _perturbations(sizes: Sizes) -> list[Plan]:
    return [
        Plan("noise", checks.check_noise, entry, sizes, perturbing, NOISE)
        for entry in CATALOGUE
        if entry.exact and checks.formulas(entry).noise is not None
    ]


def _superpositions(sizes: Sizes) -> list[Plan]:
    return [
        Plan("superposition", checks.check_superposition, entry, sizes, checks.fitting_of(entry, sizes), SUPERPOSITION)
        for entry in CATALOGUE
        if entry.exact and checks.formulas(entry).superposed
    ]
