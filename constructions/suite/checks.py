"""One function for each kind of check of a construction; each gives a row of the ledger.

Whatever the rung, the dimension, width and number of parameters of the weights that were built are compared with the
registry's formulas, and a row fails when they differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from constructions.noise.perturbation import check_under_noise
from constructions.noise.tolerance import tolerated
from constructions.suite import t5, t7
from constructions.suite.work import Extent, building, certifying, enclosing, fitting, listing, perturbing, running
from constructions.verification import systems as many
from constructions.verification.certificate import certify
from constructions.verification.exact import require_integers
from constructions.verification.exhaustive import (
    as_answered,
    check_every_query,
    check_sampled_queries,
    queries_at_once,
    require_fit,
)
from constructions.verification.interval import check_every_query_by_intervals, circle_margin
from constructions.verification.result import Result
from constructions.verification.rounding import bfloat16, check_rounded
from constructions.weights import t1b, t1d, t2b
from constructions.weights.catalogue import Entry, Setting
from theory import FactSystem, InputError, Task, Transformer, all_words
from theory.definitions.fact_system import all_map_systems
from theory.definitions.right_answers import RightAnswers
from theory.definitions.transformer import Rounding
from theory.records.facts import Several, load_facts, load_names
from theory.records.ledger import Row, Rung, Status
from theory.records.loading import load_model_as_said
from theory.records.reading import within
from theory.records.work import ENDLESS, LONG, Size, Work, announce, require_possible, smaller, spelt
from theory.statements.registry import Construction, Quantity, evaluate, theorem
from theory.statements.symbols import values

# At most this many logits are computed query by query; beyond it queries are sampled.
MOST_FACTS = 2**28
MOST_PARAMETERS = 2**33
MOST_LOGITS = 2 * 10**9
MOST_LOGITS_BY_INTERVALS = 10**7
MOST_LISTED = 15 * LONG
SAMPLES = 2000

ROUNDINGS: dict[str, Rounding] = {"float32": np.float32, "bfloat16": bfloat16}


@dataclass(frozen=True)
class Sizes:
    """The size of one check: N, R, the setting (k, b, j), the seed of the random system, and whether it has any `maps`
    for relations instead of bijections.
    """

    entities: int
    relations: int
    setting: Setting
    seed: int = 0
    maps: bool = False

    def system(self) -> FactSystem:
        """The random fact system of this size and seed."""
        return FactSystem.random(self.entities, self.relations, self.seed, maps=self.maps)


def formulas(entry: Entry) -> Construction:
    """The registry's formulas of a construction (softmax changes none of them)."""
    return theorem(entry.theorem).construction(entry.formulas or entry.name)


def claimed_margin(entry: Entry) -> int:
    """The margin that the theorem claims; 0, that is a positive one, for softmax and for the circle."""
    return formulas(entry).margin if entry.exact else 0


def build(entry: Entry, sizes: Sizes, facts: FactSystem | None = None) -> tuple[FactSystem, Transformer]:
    """The facts that are asked for, made from a random system of these sizes unless one is given, and the model built
    for it. InputError, naming a size that would do, for what is too large.
    """
    require_work(entry, sizes, building)
    system = sizes.system() if facts is None else facts
    return entry.asked.system(system), entry.build(system, sizes.setting)


def _require_buildable(entry: Entry, sizes: Sizes) -> None:
    """InputError for more than 2^28 facts or 2^33 weights, and beyond the construction's own limit."""
    if sizes.entities * sizes.relations > MOST_FACTS:
        raise InputError(f"N·R = {sizes.entities * sizes.relations} facts are too many; at most 2^28 can be built")
    if entry.theorem == "T2b":
        t2b.require_width(sizes.entities, sizes.relations, sizes.setting.hops)
    if entry.name == "lookup":
        t1d.require_table(sizes.entities, sizes.relations)
    parameters = _formula(entry, sizes, "parameters")
    if parameters > MOST_PARAMETERS:
        raise InputError(
            f"{entry.theorem} ({entry.name}) would have {spelt(parameters)} weights; at most 2^33 can be built"
        )


def extent_of(entry: Entry, sizes: Sizes) -> Extent:
    """What the construction comes to at these sizes, from the registry's formulas."""
    task = entry.task(sizes.setting)
    dimension, length = _formula(entry, sizes, "dimension"), (sizes.entities - 1).bit_length()
    relations = entry.asked.number(sizes.relations)
    read_whole = entry.theorem in ("T2e", "T6", "T14") or entry.name == "learned"
    return Extent(
        entities=sizes.entities,
        answers=task.outputs(sizes.entities, relations),
        queries=sizes.entities * relations**task.hops,
        words=relations ** min(task.stride or task.hops, task.hops),
        steps=task.steps,
        positions=task.positions,
        dimension=dimension,
        width=_formula(entry, sizes, "width"),
        read=dimension if read_whole else min(dimension, length + 2),
        dense=entry.theorem == "T2b",
    )


def require_work(entry: Entry, sizes: Sizes, estimate: Callable[[Extent], Work]) -> Work:
    """The work that is estimated; InputError, naming a size that would do, where it is too much or cannot be built."""
    setting = sizes.setting

    def at(other: Sizes) -> Work:
        """The work at other sizes."""
        try:
            _require_buildable(entry, other)
        except InputError:
            return ENDLESS
        return estimate(extent_of(entry, other))

    possible = [
        Size("entities", sizes.entities, lambda n: at(replace(sizes, entities=n)), least=2),
        Size("hops", setting.hops, lambda k: at(replace(sizes, setting=replace(setting, hops=k)))),
        Size("relations", sizes.relations, lambda r: at(replace(sizes, relations=r))),
    ]
    try:
        _require_buildable(entry, sizes)
    except InputError as error:
        raise InputError(f"{error}; {smaller(possible)}") from None
    require_possible(f"{entry.theorem} ({entry.name})", work := at(sizes), possible)
    return work


def can_be_enclosed(entry: Entry, sizes: Sizes) -> bool:
    """True iff the logits of all queries are few enough to be enclosed by intervals one by one."""
    return extent_of(entry, sizes).logits <= MOST_LOGITS_BY_INTERVALS


def can_be_listed(extent: Extent) -> bool:
    """True iff every query can be run, in minutes."""
    return extent.logits <= MOST_LOGITS and listing(extent).nanoseconds <= MOST_LISTED


def querying(entry: Entry) -> Callable[[Extent], Work]:
    """The work of `check_queries`, which lists, encloses or draws them."""
    if not entry.exact:
        return enclosing
    return lambda extent: listing(extent, None if can_be_listed(extent) else SAMPLES)


def fitting_of(entry: Entry, sizes: Sizes) -> Callable[[Extent], Work]:
    """The work of `check_superposition`: T3's codes are those of single relations, the others' of words."""
    length = (sizes.entities - 1).bit_length()
    return lambda extent: fitting(extent, extent.words * length)


def check_queries(entry: Entry, sizes: Sizes) -> Row:
    """Every query, all logits, exactly or enclosed by intervals; sampled queries where there are too many to list."""
    if not entry.exact and not can_be_enclosed(entry, sizes):
        raise InputError(
            f"{entry.theorem} ({entry.name}): {spelt(extent_of(entry, sizes).logits)} logits are too many to enclose "
            f"one by one; at most {MOST_LOGITS_BY_INTERVALS} are"
        )
    require_work(entry, sizes, querying(entry))
    (system, transformer), task = build(entry, sizes), entry.task(sizes.setting)
    if not entry.exact:
        return _check_by_intervals(entry, sizes, transformer, system)
    if can_be_listed(extent_of(entry, sizes)):
        verdict = check_every_query(transformer, system, task, claimed_margin(entry))
        return _with_result(_row(entry, sizes, "exhaustive queries", "all queries, all logits", transformer), verdict)
    verdict = check_sampled_queries(transformer, system, task, SAMPLES, sizes.seed, claimed_margin(entry))
    return _with_result(_row(entry, sizes, "sampled", f"{SAMPLES} queries drawn at random", transformer), verdict)


def _check_by_intervals(entry: Entry, sizes: Sizes, transformer: Transformer, system: FactSystem) -> Row:
    task, circle = entry.task(sizes.setting), entry.name == "circle"
    errors = t1b.circle_errors(system) if circle else None
    verdict = check_every_query_by_intervals(transformer, system, task, weight_errors=errors)
    coverage = "all queries, all logits enclosed"
    row = _row(entry, sizes, "exhaustive queries", coverage, transformer)
    if circle and verdict.low is not None and verdict.high is not None:
        low, high = circle_margin(sizes.entities)
        if not (verdict.low <= high and low <= verdict.high):
            row = _judged(row, "fails", "the margin is not 1 - cos(2π/N)")
    return _with_result(row, verdict)


def check_certificate(entry: Entry, sizes: Sizes) -> Row:
    """All queries at once, from the weights."""
    require_work(entry, sizes, certifying)
    (system, transformer), task = build(entry, sizes), entry.task(sizes.setting)
    found = certify(transformer, system, task, claimed_margin(entry))
    row = _row(entry, sizes, "certificate", f"all {spelt(found.queries)} queries of one system", transformer)
    return _with_result(row, found)


def check_rounding(entry: Entry, sizes: Sizes, precision: str) -> Row:
    """Every query run in float32 or bfloat16: measured, the margin beside the largest error of a logit."""
    (system, transformer), task = build(entry, sizes), entry.task(sizes.setting)
    found = check_rounded(transformer, system, task, ROUNDINGS[precision])
    coverage = f"all queries in {precision}; largest error of a logit {_rough(found.largest_error)}"
    row = _row(entry, sizes, "measured", coverage, transformer)
    row = replace(row, queries=found.queries, systems=1, margin=found.margin)
    reason = "a logit overflowed" if found.margin is None else "rounding ate the margin"
    return _judged(row, "holds" if found.holds else "fails", "" if found.holds else reason)


def check_systems(entry: Entry, sizes: Sizes, *, classes: bool) -> Row:
    """Every query of all (N!)^R systems of a small size, or of one of each class under relabelling."""
    check = many.check_all_classes if classes else many.check_all_systems
    verdict = check(
        _builder(entry, sizes.setting),
        sizes.entities,
        sizes.relations,
        entry.task(sizes.setting),
        claimed_margin(entry),
        entry.asked.system,
    )
    what = (
        f"one system of each of {verdict.systems} relabelling classes" if classes else f"all {verdict.systems} systems"
    )
    row = _row(entry, sizes, "exhaustive systems", what, _builder(entry, sizes.setting)(sizes.system()))
    return _with_result(row, verdict)


def check_on_maps(check: Callable[[Entry, Sizes], Row], entry: Entry, sizes: Sizes) -> Row:
    """T10: the check of a construction, on a system of arbitrary maps."""
    return replace(check(entry, replace(sizes, maps=True)), claim="T10", construction=entry.label)


def check_all_maps(entry: Entry, sizes: Sizes) -> Row:
    """T10: every query of all N^(N·R) systems of maps of a small size."""
    systems, builder = all_map_systems(sizes.entities, sizes.relations), _builder(entry, sizes.setting)
    verdict = many.check_systems(builder, systems, entry.task(sizes.setting), claimed_margin(entry))
    row = _row(entry, sizes, "exhaustive systems", f"all {verdict.systems} systems of maps", builder(sizes.system()))
    return _with_result(replace(row, claim="T10", construction=entry.label), verdict)


def search_for_failure(entry: Entry, setting: Setting, seed: int) -> Row:
    """Systems drawn by hypothesis, shrunk to the smallest failure if one fails."""
    verdict = many.search_systems(
        _builder(entry, setting), entry.task(setting), claimed_margin(entry), seed=seed, asked=entry.asked.system
    )
    row = _row(entry, Sizes(2, 1, setting, seed), "sampled", f"{verdict.systems} systems drawn at random", None)
    return _with_result(replace(row, entities=None, relations=None), verdict)


def check_transfer(entry: Entry, sizes: Sizes) -> Row:
    """T5: nothing but the subject table depends on the facts, and after a swap of tables every query is answered."""
    require_work(entry, sizes, listing)
    task = entry.task(sizes.setting)
    _, frozen = build(entry, sizes)
    new, donor = build(entry, replace(sizes, seed=sizes.seed + 1))
    verdict = check_every_query(t5.transplant(frozen, donor), new, task, claimed_margin(entry))
    row = _row(entry, sizes, "exhaustive queries", "all queries of a second system after the swap", frozen)
    row = _with_result(replace(row, claim="T5", construction=entry.label), verdict)
    differing = t5.differing_tensors(frozen, donor)
    return _judged(row, "fails", f"{', '.join(differing)} depend on the facts") if differing else row


def check_superposition(entry: Entry, sizes: Sizes) -> Row:
    """T7: the subject rows are linear in the codes of the answers to words. Beside it R² for single relations alone,
    the control, which is well below 1 where there are many more subjects than unknowns.
    """
    require_work(entry, sizes, fitting_of(entry, sizes))
    (system, transformer), task = build(entry, sizes), entry.task(sizes.setting)
    length = task.hops if formulas(entry).superposed == "words" else 1
    found = t7.superposition(transformer, system, all_words(sizes.relations, length))
    coverage = f"all {sizes.entities} subject rows against words of {length} hops: R² = {found.r_squared:.3g}"
    row = _row(entry, sizes, "exhaustive queries", coverage, transformer)
    row = replace(row, claim="T7", construction=entry.label, systems=1)
    if not found.exact:
        return _judged(row, "fails", f"the rows are no superposition; R² = {found.r_squared:.6g}")
    if length > 1:
        control = t7.superposition(transformer, system, all_words(sizes.relations, 1))
        row = replace(row, coverage=f"{coverage} (control, single relations: {control.r_squared:.2f})")
    return row


def claimed_noise(entry: Entry, sizes: Sizes) -> Fraction:
    """The noise below which every query is claimed to be right (T13)."""
    noise = formulas(entry).noise
    assert noise is not None, f"no noise is claimed of {entry.label}"
    value = noise.xreplace(values(sizes.entities, sizes.relations, sizes.setting.hops, sizes.setting.bits))
    return Fraction(int(value.p), int(value.q))


def check_noise(entry: Entry, sizes: Sizes) -> Row:
    """T13: every query under the worst perturbation of its subject's row, just below the noise that is claimed; and how
    far the margin has fallen at it.
    """
    require_work(entry, sizes, perturbing)
    (system, transformer), task = build(entry, sizes), entry.task(sizes.setting)
    claimed = claimed_noise(entry, sizes)
    below = claimed * (1 - Fraction(1, 2**16))
    verdict = check_under_noise(transformer, system, task, below)
    at = check_under_noise(transformer, system, task, claimed)
    coverage = f"all queries, every perturbation of a row by at most {claimed} less 2^-16 of it in each coordinate"
    if at.high is not None:
        coverage += f"; at {claimed} the least margin is {at.high}"
    row = _row(entry, sizes, "exhaustive queries", coverage, transformer)
    return _with_result(replace(row, claim="T13", construction=entry.label), verdict)


def check_model(weights: Path, facts: Path, *, rational: bool, several: Several = "refuse") -> list[Row]:
    """A user's model against a user's facts, both from files, for the task in the model's file.

    Raises InputError when a file cannot be read, does not fit the other, or holds fractional weights and `rational`
    does not allow them.
    """
    own, named = load_facts(facts, several), load_names(weights)
    if named is not None:
        with within(facts):
            own = own.in_order_of(named)
    system, right = own.system, own.right
    transformer, task, assumed = load_model_as_said(weights, system.entities)
    if not rational and transformer.attention != "softmax":
        require_integers(transformer)
    said = [assumed] if assumed else []
    if named is None and own.entities[0] != "0":
        said.append("entities have the numbers in which they are first named, for the model's file has no names")
    if not right.plain:
        said.append(_said_of(right))
    elif not system.bijective:
        said.append("not all relations are bijections")
    note = f" ({'; '.join(said)})" if said else ""
    rows = check_transformer(
        transformer, system, task, name=weights.name, note=note, right=None if right.plain else right
    )
    return [replace(row, detail=own.told(row.counterexample)) if row.counterexample else row for row in rows]


def _said_of(right: RightAnswers) -> str:
    """What is asked of facts of which some are missing or have several objects."""
    said = f"{int(right.known.sum())} facts"
    if not right.known.all():
        said += "; what leads over a missing one is not asked"
    if not right.single:
        said += "; of several objects any is right"
    return said


def check_transformer(
    transformer: Transformer,
    system: FactSystem,
    task: Task,
    *,
    name: str = "model",
    note: str = "",
    right: RightAnswers | None = None,
) -> list[Row]:
    """Any model against any facts: query by query, where they can be listed, and by certificate.

    A certificate that is refused proves nothing and is left out, unless the queries are too many to list. Float weights
    are taken as the fractions that they are. `note` is said with what was covered. Where facts are missing or have
    several objects, `right` says what is asked and what is right; what the certificate proves of a system that agrees
    with them, it proves of them. InputError when the model, the system and the task do not fit together, when no query
    is asked, and when there is a `right`, nothing can be listed, and the certificate is refused.
    """
    require_fit(transformer, system, task)
    row = Row(
        claim="model",
        construction=name,
        rung="exhaustive queries",
        status="holds",
        coverage=f"all queries, all logits{note}",
        entities=system.entities,
        relations=system.relations,
        hops=task.hops,
        stride=task.stride if task.steps > 1 else None,
        dimension=transformer.dimension,
        width=transformer.width,
        parameters=transformer.parameters,
        systems=1,
    )
    softmax = transformer.attention == "softmax"
    queries = right.asked(task.hops) if right is not None else system.entities * system.relations**task.hops
    if not queries:
        raise InputError(f"the facts answer no query of {task.hops} hops")
    work = running(transformer, task, queries, queries_at_once(transformer, task.positions))
    most = MOST_LOGITS_BY_INTERVALS if softmax else MOST_LOGITS
    listed = queries * task.steps * transformer.answers <= most and not work.too_much
    if listed:
        announce(f"running all {queries} queries of {name}", work)
    rows = []
    if right is not None:
        return _check_right(row, transformer, system, task, right, queries, listed and not softmax, note)
    if listed and softmax:
        rows.append(_with_result(row, check_every_query_by_intervals(transformer, system, task)))
    elif listed:
        rows.append(_with_result(row, check_every_query(transformer, system, task, rational=True)))
    certificate = certify(transformer, system, task)
    if certificate.holds or not listed:
        proved = replace(row, rung="certificate", coverage=f"all {spelt(certificate.queries)} queries{note}")
        rows.append(_with_result(proved, certificate))
    if all(each.status == "holds" for each in rows):
        rows += tolerated(replace(row, construction=f"{name}, noise"), transformer, system, task, note)
    return rows


def _check_right(
    row: Row,
    transformer: Transformer,
    system: FactSystem,
    task: Task,
    right: RightAnswers,
    queries: int,
    listed: bool,
    note: str,
) -> list[Row]:
    """The rows of a model where facts are missing or have several objects: every query asked, if they can be `listed`,
    and the certificate of a system that agrees with the facts, if it holds.
    """
    rows = []
    if listed:
        row = replace(row, coverage=f"all {spelt(queries)} queries, all logits{note}")
        rows.append(_with_result(row, check_every_query(transformer, system, task, rational=True, right=right)))
        system = as_answered(transformer, system, task, right)
    certificate = certify(transformer, system, task)
    if certificate.holds:
        proved = replace(row, rung="certificate", coverage=f"all {spelt(queries)} queries{note}")
        rows.append(_with_result(proved, replace(certificate, queries=queries)))
    if not rows:
        raise InputError(
            "where facts are missing or have several objects each query is run, which is done under uniform and "
            f"hardmax attention and for at most {MOST_LOGITS} logits; and the certificate is refused: "
            f"{certificate.reason}"
        )
    return rows


def _builder(entry: Entry, setting: Setting) -> Callable[[FactSystem], Transformer]:
    return lambda system: entry.build(system, setting)


def _row(entry: Entry, sizes: Sizes, rung: Rung, coverage: str, transformer: Transformer | None) -> Row:
    """A row that holds so far, with the sizes; it fails when the weights contradict the registry's formulas."""
    task = entry.task(sizes.setting)
    row = Row(
        claim=entry.theorem,
        construction=entry.name,
        rung=rung,
        status="holds",
        coverage=coverage,
        entities=sizes.entities,
        relations=sizes.relations,
        hops=task.hops,
        bits=sizes.setting.bits if "bits" in entry.uses else None,
        stride=task.stride if task.steps > 1 else None,
        seed=sizes.seed,
    )
    if transformer is None:
        return row
    row = replace(row, dimension=transformer.dimension, width=transformer.width, parameters=transformer.parameters)
    wrong = _violated_formula(entry, sizes, transformer)
    return _judged(row, "fails", wrong) if wrong else row


def _formula(entry: Entry, sizes: Sizes, quantity: Quantity) -> int:
    """What the registry says of a construction at these sizes."""
    task = entry.task(sizes.setting)
    return evaluate(
        entry.theorem,
        quantity,
        entities=sizes.entities,
        relations=sizes.relations,
        hops=task.hops,
        bits=sizes.setting.bits,
        stride=task.stride,
        construction=formulas(entry).name,
    )


def _violated_formula(entry: Entry, sizes: Sizes, transformer: Transformer) -> str:
    quantities: tuple[Quantity, ...] = ("dimension", "width", "parameters")
    for quantity in quantities:
        built, value = getattr(transformer, quantity), _formula(entry, sizes, quantity)
        bound_only = formulas(entry).width_is_bound and quantity != "dimension"
        if built > value or (built < value and not bound_only):
            return f"the {quantity} is {built}, but the formula says {value}"
    return ""


def _judged(row: Row, status: Status, detail: str) -> Row:
    """The row with a status, unless it has failed already."""
    return row if row.status == "fails" else replace(row, status=status, detail=detail)


def _with_result(row: Row, result: Result) -> Row:
    """The row with what was found; a row that contradicts the formulas fails whatever that is."""
    row = replace(row, queries=result.queries, systems=result.systems, margin=result.margin)
    return _judged(replace(row, counterexample=result.counterexample), result.status, result.detail)


def _rough(error: Fraction | None) -> str:
    """An error in a few digits, if need be as the power of two below it."""
    if error is None:
        return "infinite"
    return f"{float(error):g}" if error < 2**1000 else f"above 2^{int(error).bit_length() - 1}"
