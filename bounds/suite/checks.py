"""The lower bounds in the ledger: what counting every small case, and exact comparison, says of each.

T2c, T9   the proof's families, counted: as many systems, and as few with the same answers, as the proof says
T9        the answers over all systems of matchings: no bound asks for more
T2e       the proof's families, built, every query followed: all tables of answers occur
T2d       T_k by listing all systems, against the formula and the statement of when it is exact
T8        the best error rate of every code, against the bound at it
T1c       T1b meets it with no gap for N = 2^p and b | p; as many relabelling classes as Burnside counts
T10       the answers of a few roots, over all systems of maps: every vector of values occurs, also into few answers
T11       the tables of all answers, over all systems, against the bound, which is met at N = 2, k = 2
T12       models of few units on rows of one or two reals: no more vectors of answers than counted, every cell visited
T13       at A = 2^b - 1 and noise 1/2 it is T2d at b bits; the shifted construction meets it for N = 2^p and b | p
T14       one subject's answers to relations and their inverses, over all systems; T14's rows are below the bound
T1e, T3c  rest on T_k and on T2c's and T2e's counts: that they are the same numbers, and the width of T1 and T2
"""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from math import factorial

from bounds.counting.answer_vectors import answer_vectors
from bounds.counting.brute_force import brute_force
from bounds.counting.fact_systems import relabelled
from bounds.enclosure import log2, sign
from bounds.lower.centralisers import information_at_hops
from bounds.lower.chains import honest_chain
from bounds.lower.dichotomy import fixed_readout
from bounds.lower.frontier import smallest_dimension
from bounds.lower.guessing import GuessingEvidence, check_guessing
from bounds.lower.information import universal_single_hop, universal_with_errors
from bounds.lower.involutions import involutions
from bounds.lower.maps import most_map_roots, universal_maps
from bounds.lower.precision import least_noisy_dimension, least_width, most_vectors
from bounds.lower.reversal import most_answers, universal_inverses
from bounds.lower.universal import universal_hops, universal_width
from bounds.suite.cells import random_row_model
from bounds.suite.families import (
    Evidence,
    answers_of_all_maps,
    answers_of_all_matchings,
    answers_of_all_systems,
    answers_with_inverses,
    check_families,
)
from bounds.suite.learned_families import LearnedEvidence, check_learned_families
from theory import relabelling_classes
from theory.errors import InputError
from theory.records.ledger import Check, Row
from theory.statements.registry import evaluate

CLAIMS = ("T1c", "T1e", "T2c", "T2d", "T2e", "T3c", "T8", "T9", "T10", "T11", "T12", "T13", "T14")

# Systems, tables and codes enumerated at most, by preset.
SYSTEMS = {"quick": 50_000, "full": 600_000}
TABLES = {"quick": 150, "full": 1_500}
CODES = {"quick": 300, "full": 3_000}


Found = Evidence | LearnedEvidence | GuessingEvidence


def checks_of_preset(claims: Sequence[str], preset: str) -> list[Check]:
    """The checks of a preset, "quick" or "full", for those of the claims that are lower bounds."""
    if preset not in SYSTEMS:
        raise InputError(f"unknown preset {preset!r}; it must be {' or '.join(SYSTEMS)}")
    runs: dict[str, list[tuple[str, Callable[[], Row]]]] = {
        "T1c": [("no gap", _no_gap), ("classes", _classes)],
        "T1e": [("width", _width)],
        "T2c": [("families", partial(_counted, "T2c", preset))],
        "T2d": [("answer vectors", _answer_vectors)],
        "T2e": [("families", partial(_learned, preset))],
        "T3c": [("one step", _one_step)],
        "T8": [("codes", partial(_codes, preset)), ("no errors", _no_errors)],
        "T9": [("families", partial(_counted, "T9", preset)), ("matchings", _answers_of_matchings)],
        "T10": [("free edges", partial(_free_edges, preset))],
        "T11": [("tables", partial(_tables, preset))],
        "T12": [("cells", partial(_cells, preset)), ("attained", _attained)],
        "T13": [("no gap under noise", _no_gap_under_noise)],
        "T14": [("answers of inverses", partial(_with_inverses, preset)), ("read-out needed", _readout_needed)],
    }
    return [Check(claim, name, "counting", run) for claim in claims for name, run in runs.get(claim, [])]


def _row(claim: str, name: str, failures: Sequence[str], coverage: str) -> Row:
    return Row(
        claim,
        name,
        "exhaustive systems",
        "fails" if failures else "holds",
        coverage,
        detail=failures[0] if failures else "",
    )


def _judge(claim: str, name: str, evidence: Iterable[Found], what: str) -> Row:
    """Every piece of evidence holds; the coverage says how many there were, and up to which sizes."""
    found = list(evidence)
    failures = [f"N = {one.entities}, R = {one.relations}: {one.bound.formula}" for one in found if not one.holds]
    if not found:
        failures.append("there was nothing to count")
    return _row(claim, name, failures, f"{len(found)} {what}")


def _counted(claim: str, preset: str) -> Row:
    found: list[Evidence] = [one for one in check_families(SYSTEMS[preset]) if one.bound.theorem == claim]
    return _judge(claim, "families", found, f"families of at most {SYSTEMS[preset]} systems, every system listed")


def _learned(preset: str) -> Row:
    evidence = check_learned_families(TABLES[preset])
    return _judge("T2e", "families", evidence, f"families of at most {TABLES[preset]} tables, every query followed")


def _codes(preset: str) -> Row:
    evidence = check_guessing(CODES[preset])
    return _judge("T8", "codes", evidence, f"sizes with at most {CODES[preset]} codes, every code tried")


def _no_errors() -> Row:
    grid = list(product(range(2, 30), range(1, 6)))
    failures = [
        f"N = {n}, R = {r}: T8 at ε = 0 is not T1c"
        for n, r in grid
        if sign(universal_with_errors(n, r, Fraction(0)).information - universal_single_hop(n, r).information)
    ]
    return _row("T8", "no errors", failures, f"T8 at ε = 0 is T1c, exactly, at {len(grid)} sizes")


def _no_gap() -> Row:
    grid = [(p, b, r) for p in range(1, 41) for b in range(1, p + 1) if p % b == 0 for r in (1, 2, 3, 16, 1000)]
    failures = []
    for p, b, r in grid:
        size = {"entities": 2**p, "relations": r}
        least = universal_single_hop(2**p, r).smallest_dimension(b)
        if least != evaluate("T1b", "dimension", **size, bits=b):
            failures.append(f"p = {p}, b = {b}, R = {r}: T1b has more than the least dimension, {least}")
    return _row("T1c", "no gap", failures, f"T1b's dimension is the least for N = 2^p and b | p, at {len(grid)} sizes")


def _classes() -> Row:
    sizes = [(2, 1), (2, 4), (3, 2), (3, 3), (4, 2), (4, 3), (5, 2), (6, 2)]
    failures = []
    for n, r in sizes:
        listed, counted = sum(1 for _ in relabelling_classes(n, r)), relabelled(n, r)
        if listed != counted:
            failures.append(f"N = {n}, R = {r}: {listed} classes are listed, but Burnside's lemma counts {counted}")
    coverage = f"the classes that are checked one by one are as many as Burnside's lemma counts, at {len(sizes)} sizes"
    return _row("T1c", "classes", failures, coverage)


def _answer_vectors() -> Row:
    grid = [(n, r, k) for n, r, k in product(range(2, 7), range(1, 4), range(1, 4)) if _listable(n, r, k)]
    failures = []
    for n, r, k in grid:
        claimed, listed = answer_vectors(n, r, k), brute_force("answer-vectors", n, r, k)
        if claimed.value < listed or (claimed.kind == "exact" and claimed.value != listed):
            failures.append(f"T_{k}({n}, {r}) is {listed}, but {claimed.value} is given as {claimed.kind}")
        if sign(log2(listed) - universal_hops(n, r, k).information) < 0:
            failures.append(f"the bound for N = {n}, R = {r}, k = {k} exceeds log2 {listed}")
    return _row("T2d", "answer vectors", failures, f"T_k by listing every system, at {len(grid)} sizes")


def _listable(entities: int, relations: int, hops: int) -> bool:
    """Small enough to list every system in seconds."""
    systems = 1
    for factor in range(2, entities + 1):
        systems *= factor**relations
    return systems * int(relations**hops) <= 200_000


def _width() -> Row:
    grid = list(product((2, 3, 16, 100, 1024), range(1, 5), range(1, 4)))
    failures = []
    for n, r, k in grid:
        least = universal_width(n, r, k).smallest_width(1)
        built = evaluate("T2", "width", entities=n, relations=r, hops=k)
        if built < least or universal_width(n, r, k).information != universal_hops(n, r, k).information:
            failures.append(f"N = {n}, R = {r}, k = {k}: width {built} against at least {least}")
    return _row("T1e", "width", failures, f"T2's width is at least T1e's, which is log T_k, at {len(grid)} sizes")


def _one_step() -> Row:
    grid = list(product((16, 100, 4096), (2, 3), range(1, 5)))
    failures = []
    for n, r, k in grid:
        chain = smallest_dimension(honest_chain(n, r, (k,)), 1)
        if chain != smallest_dimension(fixed_readout(n, r, k), 1):
            failures.append(f"N = {n}, R = {r}, k = {k}: a chain of one step is not bounded as one pass is")
    return _row(
        "T3c", "one step", failures, f"a chain of one step is bounded as one pass is (T2c), at {len(grid)} sizes"
    )


def _free_edges(preset: str) -> Row:
    """Every vector of values is the answers of some system of maps, into all entities and into few of them."""
    sizes = (
        (n, r, k) for n, r, k in product(range(2, 7), range(1, 4), range(1, 4)) if n ** (n * r) <= SYSTEMS[preset] // 10
    )
    failures, cases = [], 0
    for n, r, k in sizes:
        for roots, answers in product(range(1, most_map_roots(n, r, k) + 1), range(2, n + 1)):
            found = answers_of_all_maps(n, r, k, roots, answers)
            if found != answers ** (roots * r**k):
                failures.append(f"N = {n}, R = {r}, k = {k}: {found} vectors of {roots} roots into {answers} answers")
            cases += 1
        bound = universal_maps(n, r, k)
        if most_map_roots(n, r, k) and sign(log2(n ** (r**k)) - bound.information):
            failures.append(f"N = {n}, R = {r}, k = {k}: the bound is not log2 T_k")
    return _row("T10", "free edges", failures, f"{cases} families of vectors, every system of maps listed")


def _answers_of_matchings() -> Row:
    """No bound, from however many roots, asks for more than there are vectors of answers."""
    grid = [(4, 1, 3), (4, 2, 2), (4, 3, 2), (4, 3, 3), (6, 2, 2), (6, 2, 4), (6, 3, 2), (6, 3, 3), (8, 2, 3)]
    failures, number = [], 0
    for n, r, k in grid:
        family = involutions(n, r, k)
        for bound in (*family.members, *(each.at(m) for each in family.ranges for m in range(1, each.last + 1))):
            number += 1
            answers = answers_of_all_matchings(n, r, k, bound.rows)
            if sign(log2(answers) - bound.information) < 0:
                failures.append(f"N = {n}, R = {r}, k = {k}, {bound.rows} roots: {answers} vectors of answers")
    return _row("T9", "matchings", failures, f"{number} bounds at {len(grid)} sizes, every system of matchings listed")


def _tables(preset: str) -> Row:
    grid = [(2, r, k) for r in (2, 3, 4) for k in (1, 2, 3, 4)] + [(3, 2, k) for k in (1, 2, 3)]
    grid += [(3, 3, 2), (4, 2, 2)] + [(3, 4, 2), (4, 3, 2)] * (preset == "full")
    failures = []
    for n, r, k in grid:
        tables = answers_of_all_systems(n, r, k, n)
        above = sign(log2(tables) - information_at_hops(n, r).information)
        if above < 0 or (above and (n, k) == (2, 2)):
            failures.append(f"N = {n}, R = {r}, k = {k}: {tables} tables of answers")
    return _row(
        "T11", "tables", failures, f"the tables of all answers counted at {len(grid)} sizes, every system listed"
    )


def _cells(preset: str) -> Row:
    sizes = [(n, r, w, 1) for n, r, w in product((2, 3), (1, 2, 3), (1, 2))] + [
        (2, 2, 1, 2),
        (3, 1, 1, 2),
        (2, 1, 2, 2),
    ]
    failures, models = [], 0
    for n, r, w, d in sizes:
        for seed in range(5 if preset == "quick" else 50):
            found = len(random_row_model(n, r, w, d, seed).vectors())
            if found > most_vectors(n, r, w, d):
                failures.append(f"N = {n}, R = {r}, W = {w}, d = {d}, seed {seed}: {found} vectors of answers")
            models += 1
    return _row(
        "T12", "cells", failures, f"{models} models of one or two coordinates, every cell of their rows visited"
    )


# The seeds of models of random whole numbers with as few units as T12 allows, and all N^R vectors of answers.
ATTAINING = {(2, 2): 0, (2, 3): 7505}


def _attained() -> Row:
    failures = []
    for (n, r), seed in ATTAINING.items():
        found = len(random_row_model(n, r, least_width(n, r), 1, seed).vectors())
        if found != n**r:
            failures.append(f"N = {n}, R = {r}: {found} of {n**r} vectors of answers")
    return _row(
        "T12", "attained", failures, f"one coordinate at the least width has all N^R vectors, at {len(ATTAINING)} sizes"
    )


def _no_gap_under_noise() -> Row:
    half, failures, sizes = Fraction(1, 2), [], 0
    for p, b, r in product(range(1, 13), range(1, 13), (1, 2, 3, 16)):
        least = least_noisy_dimension(2**p, r, 1, Fraction(2**b - 1), half)
        built = evaluate("T13", "dimension", entities=2**p, relations=r, bits=b)
        if least != universal_single_hop(2**p, r).smallest_dimension(b) or built < least:
            failures.append(f"p = {p}, b = {b}, R = {r}: at least {least}, not T1c's dimension")
        if p % b == 0 and built != least:
            failures.append(f"p = {p}, b = {b}, R = {r}: T13 has {built}, and {least} is the least")
        sizes += 1
    return _row(
        "T13", "no gap under noise", failures, f"under noise 1/2 digits of b bits are worth b bits, at {sizes} sizes"
    )


def _with_inverses(preset: str) -> Row:
    grid = [(n, r) for n, r in product(range(2, 7), range(1, 4)) if factorial(n) ** r <= SYSTEMS[preset]]
    failures = []
    for n, r in grid:
        listed = answers_with_inverses(n, r)
        if listed != most_answers(n, r) or sign(log2(listed) - universal_inverses(n, r).information):
            failures.append(f"N = {n}, R = {r}: {listed} vectors of answers, and {most_answers(n, r)} are claimed")
    coverage = f"a subject's answers to relations and their inverses, by listing every system, at {len(grid)} sizes"
    return _row("T14", "answers of inverses", failures, coverage)


def _readout_needed() -> Row:
    """T14's rows, of as many bits as coordinates, hold less than a fixed read-out would need them to."""
    grid = list(product((64, 100, 1024, 4096), range(2, 33)))
    failures = []
    for n, r in grid:
        built = evaluate("T14", "dimension", entities=n, relations=r, construction="inverses")
        if built >= universal_inverses(n, r).smallest_dimension(1):
            failures.append(f"N = {n}, R = {r}: T14 has d = {built}, which a fixed read-out would allow")
    coverage = f"T14's dimension is below the least with a fixed read-out, b = 1, at {len(grid)} sizes"
    return _row("T14", "read-out needed", failures, coverage)
