"""The verdicts of a saved comparison by the rules as they are now, from its stored thresholds; nothing is trained.

    python -m paper_figs.judged_again paper_figs/results/standard.json

writes the file anew: verdicts and the table of E8 are what `empirical.comparison.verdicts` says of the thresholds that
the file holds; everything else stays. `judged by` then says with which versions. A test holds the committed file to it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from empirical.comparison.verdicts import of_preset
from empirical.execution.provenance import provenance
from paper_figs.saved import as_results, measured_of, part, preset_of, read
from theory.errors import InputError
from theory.records.writing import write_atomically


def judged_again(report: dict[str, Any]) -> dict[str, Any]:
    """The report with verdicts and E8's table from its thresholds. InputError where it is no complete comparison."""
    verdicts, residuals = of_preset(preset_of(report), measured_of(report))
    table = [{"group": group, **row.as_json()} for group, row in residuals]
    part(report, "verdicts", list)
    return {**report, "verdicts": [each.as_dict() for each in verdicts], "capacity_law": table}


def main(arguments: list[str]) -> int:
    """The command: exit status 2, and one line, for what is wrong."""
    try:
        if len(arguments) != 1:
            raise InputError("give the JSON file of a comparison")
        path = Path(arguments[0])
        with as_results():
            found = judged_again(read(path)) | {"judged by": provenance("cpu")}
        text = json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        write_atomically(path, lambda file: file.write_text(text, encoding="utf-8"))
    except InputError as error:
        print(f"paper_figs.judged_again: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
