"""What the command `mechanism` does and says: models and presets to a report, its text, its JSON and its ledger rows.

*The JSON report* (`empirical.execution.records`) holds

    preset            the preset's name, null where models alone were asked for
    provenance        versions, platform and commit (`empirical.execution.provenance`)
    threshold         how d* is counted, in words
    models            an object a model, as documented in `empirical.mechanism.study`: the intervention matrix relation
                      by relation is interventions.ways.maps.matrix; R² and decoding are in read_out.fit, their controls
                      in read_out["shuffled answers"] and ["random rows"]; transfer.ways.maps.value stands against
                      sizes.dimension / threshold
    verdicts          an object a claim and condition: status, rule, numbers with intervals
    failed            the models that failed, with the reason
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import safetensors.numpy

from bounds.tables.layout import Table, render
from empirical.comparison.command import WITHOUT_TORCH, can_train
from empirical.execution.provenance import provenance
from empirical.execution.records import as_lines
from empirical.execution.store import open_store
from empirical.mechanism.presets import preset as find_preset
from empirical.mechanism.study import Analysis, study_given
from empirical.mechanism.transfer import CLOSED, WAYS
from empirical.mechanism.verdicts import ConditionVerdict, verdicts
from empirical.mechanism.verdicts import rows as verdict_rows
from theory.errors import InputError
from theory.records.ledger import Row
from theory.records.writing import make_directory, write_atomically

GIVEN_SYSTEMS, GIVEN_STEPS = 3, 400  # for models that are named, as in the preset `standard`
THRESHOLD = "d* is that of the capacity law, 2 bits for each scalar of the tables that learn; it was not measured here"


@dataclass(frozen=True)
class MechanismReport:
    """The analyses of all models, what they come to, and the models that failed."""

    preset: str | None
    models: tuple[Analysis, ...]
    verdicts: tuple[ConditionVerdict, ...]
    failed: tuple[str, ...]

    def as_json(self) -> str:
        """The report as JSON, with the versions that made it."""
        values: dict[str, Any] = {
            "preset": self.preset,
            "provenance": provenance("cpu"),
            "threshold": THRESHOLD,
            "models": list(self.models),
            "verdicts": [each.as_dict() for each in self.verdicts],
            "failed": list(self.failed),
        }
        return as_lines(values)


def mechanism(
    models: Sequence[str],
    preset: str | None,
    store: Path,
    *,
    workers: int | None = None,
    out: Path | None = None,
    progress: Callable[[int, str], object] = lambda done, name: None,
) -> MechanismReport:
    """Study the models named (keys of runs of the store, or .safetensors files), or those of a preset.

    `out` is a directory, made if need be, for the fitted maps of the models named: <name>.maps.safetensors with `maps`
    [W, d, q] and `constant` [d]. InputError without PyTorch, for neither models nor preset or both, an unknown preset,
    and a model that cannot be studied; all models are read before the first is analysed.
    """
    if not can_train():
        raise InputError(WITHOUT_TORCH)
    if bool(models) == (preset is not None):
        raise InputError("name models (the key of a run, or a .safetensors file), or a preset: one of the two")
    if preset is not None:
        from empirical.mechanism.sweep import analyse

        if out is not None:
            raise InputError("--out writes the maps of models that are named; a preset has none")
        chosen = find_preset(preset)
        with open_store(store) as opened:
            found, failed = analyse(chosen, opened, workers, progress)
        return MechanismReport(preset, found, verdicts(found), failed)
    from empirical.mechanism.readout import all_maps, as_tensors
    from empirical.mechanism.studied_models import load

    if (model := _twice(models)) is not None:
        raise InputError(f"{model} is named twice; a model counts once")
    if out is not None and (name := _twice([Path(model).stem for model in models])) is not None:
        raise InputError(f"two models are called {name}, so that --out would write one file for both; rename one")
    studied = [load(model, store) for model in models]
    if out is not None:
        make_directory(out, parents=True)
    analyses = []
    for done, (model, one) in enumerate(zip(models, studied, strict=True), 1):
        analyses.append(study_given(one, GIVEN_SYSTEMS, GIVEN_STEPS))
        if out is not None:
            tensors = safetensors.numpy.save(as_tensors(all_maps(one)))
            write_atomically(out / f"{Path(model).stem}.maps.safetensors", partial(Path.write_bytes, data=tensors))
        progress(done, one.name)
    return MechanismReport(None, tuple(analyses), verdicts(analyses), ())


def _twice(names: Sequence[str]) -> str | None:
    """The first name that is there more than once."""
    return next((name for name in names if names.count(name) > 1), None)


def write(report: MechanismReport, path: Path) -> None:
    """Write the report as JSON."""
    write_atomically(path, lambda file: file.write_text(report.as_json(), encoding="utf-8"))


def rows(report: MechanismReport) -> list[Row]:
    """The verdicts as rows of the ledger."""
    return verdict_rows(report.verdicts)


def succeeded(report: MechanismReport) -> bool:
    """True iff no model failed and the analyses say of every construction what is known; the rest is a finding."""
    return not report.failed and all(each.as_known is not False for each in report.verdicts)


def text(report: MechanismReport) -> str:
    """Read-out, interventions and transfer of every condition, and how each claim fares, for a terminal."""
    parts = [_read_out_table(report), _transfer_table(report)]
    for claim in dict.fromkeys(each.claim for each in report.verdicts):
        own = [each for each in report.verdicts if each.claim == claim and each.kind != "construction"]
        counts = {status: sum(each.status == status for each in own) for status in ("supported", "not supported")}
        rest = len(own) - sum(counts.values())
        parts.append(
            f"{claim}: supported in {counts['supported']} of {len(own)} conditions, not supported in "
            f"{counts['not supported']}, undecided in {rest}\n"
        )
    wrong = [f"{each.claim} on {each.condition}: {each.status}" for each in report.verdicts if each.as_known is False]
    if wrong:
        parts.append("The analyses do not say what is known: " + "; ".join(wrong) + "\n")
    if report.failed:
        parts.append("Failed: " + "; ".join(report.failed) + "\n")
    return "\n".join(parts)


def _conditions(report: MechanismReport) -> list[tuple[str, str, list[Analysis]]]:
    found: dict[tuple[str, str], list[Analysis]] = {}
    for each in report.models:
        found.setdefault((each["group"], each["name"]), []).append(each)
    return [(group, name, own) for (group, name), own in found.items()]


def _mean(values: Sequence[float | None]) -> str | None:
    known = [value for value in values if value is not None]
    return f"{sum(known) / len(known):.3f}" if known else None


def _read_out_table(report: MechanismReport) -> str:
    heads = ("group", "model", "seeds", "recall", "R²", "decoded", "decoded, shuffled", "changed", "leaked", "selects")
    lines = []
    for group, name, own in _conditions(report):
        changes = [None if one["interventions"] is None else one["interventions"]["ways"]["maps"] for one in own]
        selects = {one["hidden_units"]["verdict"] for one in own if one["hidden_units"] is not None}
        lines.append(
            (
                *(group, name, str(len(own)), _mean([one["accuracy"] for one in own])),
                _mean([one["read_out"]["fit"]["r_squared"]["value"] for one in own]),
                _mean([one["read_out"]["fit"]["decoded"]["value"] for one in own]),
                _mean([one["read_out"]["shuffled answers"]["decoded"]["value"] for one in own]),
                *(_mean([one and one[part]["value"] for one in changes]) for part in ("success", "leakage")),
                selects.pop() if len(selects) == 1 else None,
            )
        )
    notes = (
        "Means over seeds. R², decoded: of subjects held out. Changed: answers that become the intended one when their",
        "component is changed along the fitted maps; leaked: other answers that change with it. Selects: the verdict.",
    )
    return render(Table("Read-out and interventions", heads, tuple(lines), notes), "table")


def _transfer_table(report: MechanismReport) -> str:
    redrawn = [*CLOSED, "fitted"]
    heads = ("group", "model", "d/d*", *WAYS, *(f"{way} (random MLP)" for way in redrawn), "steps")
    lines = []
    for group, name, own in _conditions(report):
        found = [one["transfer"] for one in own]
        ratio = None if own[0]["threshold"] is None else f"{own[0]['sizes']['dimension'] / own[0]['threshold']:.1f}"
        lines.append(
            (
                *(group, name, ratio),
                *(_mean([one["ways"][way] and one["ways"][way]["value"] for one in found]) for way in WAYS),
                *(_mean([one["redrawn"][way] and one["redrawn"][way]["value"] for one in found]) for way in redrawn),
                found[0]["cost"]["fitted"] and found[0]["cost"]["fitted"]["steps"],
            )
        )
    notes = (
        "Accuracy over all new facts with everything frozen but the subject table, means over seeds and new systems.",
        "Maps, inverse: in closed form, nothing is trained. Fitted: the table by gradient, in so many steps. "
        + THRESHOLD,
    )
    return render(Table("Freeze and swap", heads, tuple(lines), notes), "table")
