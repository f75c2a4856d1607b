"""What the command `probe` does and says: from what a person types to the report and its text."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from bounds.tables.layout import Table, render
from bounds.tables.ranges import parse_sizes
from empirical.probing.facts.packages import needed
from empirical.probing.measures.measure import LayerReading, Progress, RelationReading, silent
from empirical.probing.probe import ProbeReport, with_enough_subjects, write, write_maps
from empirical.probing.probe import probe as probe_model
from empirical.probing.verdicts import rows as verdict_rows
from empirical.statistics.shares import Share
from theory.records.console import terminal
from theory.records.ledger import Row

__all__ = ["ProbeReport", "probe", "progress_bar", "rows", "text", "write", "write_maps"]

ALL = "all"
BUILT_IN = "builtin"


def probe(model: str, relations: str, layers: str = ALL, *, seed: int = 0, progress: Progress = silent) -> ProbeReport:
    """Probe a model for the relations of a source.

    `model` is a local directory, a .gguf file or the name of a packaged model; `relations` a JSON file, a directory of
    them, the name of a built-in set, or "all" for every built-in one; `layers` "all" or numbers and ranges, as in
    0,8,12:20. InputError for whatever of these is not so, a missing package, and what `probe.probe` refuses.
    """
    for package in ("torch", "tokenizers"):  # the imports below would miss them in many lines
        needed(package)
    from empirical.probing.facts.relations import read_relations
    from empirical.probing.language_models.pretrained import load_pretrained

    chosen = read_relations(BUILT_IN if relations == ALL else relations)
    with_enough_subjects(chosen)  # before the model is loaded, which takes a while
    progress("load the model", 0, 1)
    loaded = load_pretrained(model)
    places = None if layers == ALL else parse_sizes(layers, "layers", at_least=0, at_most=loaded.layers)
    found = probe_model(loaded, chosen, places, asks=loaded.kind != "encoder", seed=seed, progress=progress)
    known = {"model_sha256": loaded.sha256 or "", "transformers": importlib.metadata.version("transformers")}
    return replace(found, provenance={**found.provenance, **known})


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A progress bar on stderr, what is done and how far it is, gone at the end; nothing where that is no terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    name = TextColumn("{task.description}", markup=False)
    columns = (name, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = terminal(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as shown:
        bar = shown.add_task("", total=None)

        def show(what: str, done: int, total: int) -> None:
            """Set the bar to `done` of `total`, under the words of `what`."""
            shown.update(bar, description=what, completed=done, total=total)

        yield show


def rows(report: ProbeReport) -> list[Row]:
    """The verdicts as rows of the ledger."""
    return verdict_rows(report.verdicts, report.model, [each.name for each in report.relations])


def text(report: ProbeReport) -> str:
    """The headlines, superposition, exchanges and verdicts, for a terminal."""
    parts = [f"{report.model}: d = {report.dimension}, {report.blocks} blocks, {len(report.layers)} layers measured\n"]
    parts += [f"left out: {name}: {reason}\n" for name, reason in report.left_out]
    parts.append(render(_headlines(report.relations), "table"))
    parts.append(render(_controls(report.relations), "table"))
    if report.superposition:
        parts.append(render(_superposition(report), "table"))
    if report.swaps:
        parts.append(render(_swaps(report), "table"))
    for each in report.verdicts:
        numbers = ", ".join(f"{name} = {value:.3g}" for name, value in each.numbers)
        reason = f" ({each.reason})" if each.reason else ""
        parts.append(f"{each.claim}: {each.statement}: {each.status}{reason}\n    {numbers}\n")
    return "\n".join(parts)


def _shown(found: Share | None) -> str | None:
    return None if found is None else f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"


def _value(found: Share | None) -> str | None:
    return None if found is None else f"{found.value:.2f}"


def _headlines(found: Sequence[RelationReading]) -> Table:
    sizes = ("relation", "subjects", "facts", "objects", "directions", "model knows", "layers")
    heads = (*sizes, "read", "known", "unknown", "as the model", "unseen objects")
    lines = tuple(
        (
            *(each.name, each.subjects, each.facts, each.objects, each.directions),
            *(_value(each.known), _layers(each.headline)),
            _shown(each.headline.accuracy),
            *(_value(getattr(each.headline, name)) for name in ("known", "unknown", "agreement", "unseen")),
        )
        for each in found
    )
    notes = (
        "Facts: pairs of a subject and an object; any object listed for a subject is right.",
        "Read: accuracy of a linear map on subjects left out, the layer chosen on inner folds; 95 % interval over",
        "subjects. Known, unknown: on facts that the model itself answers rightly, wrongly. As the model: agreement",
        "with its answers. Unseen objects: accuracy where training had no subject of the object.",
    )
    return Table("Linear read-outs", heads, lines, notes)


def _layers(reading: LayerReading) -> str:
    return ",".join(str(layer) for layer in sorted(set(reading.layers)))


def _controls(found: Sequence[RelationReading]) -> Table:
    heads = ("relation", "read", "majority", "shuffled", "randomised", "similarity", "layer 0", "gain", "p", "p sim.")
    lines = tuple(
        (
            each.name,
            *(f"{getattr(each.headline, name).value:.2f}" for name in CONTROLS),
            f"{each.by_layer[0].accuracy.value:.2f}",
            _shown(each.headline.gain),
            f"{each.headline.p_controls:.2g}",
            f"{each.headline.p_similarity:.2g}",
        )
        for each in found
    )
    notes = (
        "Gain: over the strongest of majority, shuffled, randomised and similarity. p: against the first three;",
        "p sim.: against similarity; both by Holm's correction over the relations.",
    )
    return Table("Controls", heads, lines, notes)


CONTROLS = ("accuracy", "majority", "shuffled", "randomised", "similarity")


def _superposition(report: ProbeReport) -> Table:
    fit = ("R² alone", "lost without", "R² of all", "R² shuffled")
    heads = ("relation", "layer", "subjects", *fit, "overlap", "shuffled", "random")
    lines: list[tuple[str | int | None, ...]] = []
    for family in report.superposition:
        spaces, sums = family.subspaces, family.explained
        whole = (_shown(sums.together), f"{sums.shuffled.value:.2f}", f"{spaces.mean:.2f}", f"{spaces.shuffled:.2f}")
        random = f"{spaces.random:.2f} [{spaces.random_low:.2f}, {spaces.random_high:.2f}]"
        for number, part in enumerate(family.parts):
            first = (*whole, random) if number == 0 else (None,) * 5
            alone, lost = f"{part.alone.value:.3f}", f"{part.lost_without.value:.3f}"
            lines.append((part.relation, family.layer, family.subjects, alone, lost, *first))
    notes = (
        "R²: of subjects' states left out, by the relation alone, by all together, and what all lose without it.",
        "Overlap: mean squared cosine of the principal angles of the read-outs' subspaces.",
    )
    return Table("Superposition", heads, tuple(lines), notes)


def _swaps(report: ProbeReport) -> Table:
    changes = ("success", "leakage", "random: success", "leakage", "shuffled: success", "leakage")
    heads = ("relation", "layer", "strength", *changes)
    lines = []
    for each in report.swaps:
        through = (_shown(each.through_map.success), _shown(each.through_map.leakage))
        controls = [
            f"{value.value:.2f}"
            for effect in (each.random, each.shuffled)
            for value in (effect.success, effect.leakage)
        ]
        lines.append((each.relation, each.layer, f"{each.strength:g}", *through, *controls))
    notes = (
        "Success: the exchanged relation's answer becomes the intended one. Leakage: answers of other relations that",
        "change at all. Random and shuffled: changes of the same norm.",
    )
    return Table("One relation's component exchanged", heads, tuple(lines), notes)
