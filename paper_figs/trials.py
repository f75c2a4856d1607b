"""How many runs memorised at each dimension of each curve: the part of a run store that the figures need.

    python -m paper_figs.trials runs.sqlite standard paper_figs/results/standard_trials.json

tallies the runs of a preset's curves (not those that the search made elsewhere, nor failed ones) and writes them as
JSON: for each curve its name and, by increasing dimension, [d, runs that memorised, runs, trained scalars]. A
comparison's report holds the thresholds alone. The same store gives the same bytes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from empirical.comparison.presets import preset
from empirical.execution.database import belongings
from empirical.execution.store import Store, StoredRun, open_store
from empirical.models.runs import MEMORISED_AT, RunConfig, RunResult
from empirical.statistics.threshold import tally
from theory.errors import InputError
from theory.records.outputs import Place, require_apart
from theory.records.writing import write_atomically


def trials(store: Store, preset_name: str) -> dict[str, Any]:
    """The tally of a preset's curves as JSON values. InputError if a curve of the preset has no run."""
    chosen = preset(preset_name)
    known: dict[RunConfig, StoredRun] = {}

    def result(config: RunConfig) -> RunResult | None:
        """What the store has of the run; of all its runs, only those that the searches ask for are read."""
        if (stored := store.find(config.key)) is not None:
            known[config] = stored
        return None if stored is None else stored.result

    traces = chosen.plan.traces(result)
    curves = []
    for trace in traces:
        if not trace.runs:
            raise InputError(f"the store has no run of the curve {trace.curve.name!r}; run the comparison to its end")
        sizes = {run.config.dimension: run.trained_scalars for run in trace.runs}
        counted = [each for each in tally(trace.runs) if each.runs]
        rows = [[each.dimension, each.successes, each.runs, sizes[each.dimension]] for each in counted]
        curves.append({"curve": trace.curve.name, "trials": rows})
    used = [known[run.config].provenance for trace in traces for run in trace.runs]
    origins = [dict(pairs) for pairs in sorted({tuple(sorted(each.items())) for each in used})]
    return {"preset": preset_name, "accuracy": MEMORISED_AT, "provenance": origins, "curves": curves}


def write(values: dict[str, Any], path: Path) -> None:
    """Write the tally, a line a curve."""
    lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in values["curves"])
    head = json.dumps({name: each for name, each in values.items() if name != "curves"})
    text = f'{head[:-1]}, "curves": [\n{lines}\n]}}\n'
    write_atomically(path, lambda file: file.write_text(text, encoding="utf-8"))


def main(arguments: list[str]) -> int:
    """The command: exit status 2, and one line, for what is wrong."""
    try:
        if len(arguments) != 3:
            raise InputError("give a run store, a preset, and the JSON file to write")
        store_path, path = Path(arguments[0]), Path(arguments[2])
        read = [Place("the store", each) for each in (store_path, *belongings(store_path))]
        require_apart(read, [Place("the tally", path)])
        with open_store(store_path, read_only=True) as store:
            write(trials(store, arguments[1]), path)
    except InputError as error:
        print(f"paper_figs.trials: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
