"""Compiles the Coq proofs, prints what each theorem assumes, and writes the stamp by which other parts know.

    make proofs          or: python proofs/check.py, with any Python from 3.11 on

Refused: a proof that Coq does not accept, any of the words by which a proof is left out or something is assumed, and a
theorem that rests on an axiom. The stamp holds the SHA-256 of every file, so that it counts for nothing as soon as one
of them changes. `theorems.toml` says which theorems belong to which statement of docs/theory.md; `theory.records.stamp`
reads both.
"""

from __future__ import annotations

import fcntl
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from theory.records import stamp
    from theory.records.stamp import Statement
else:  # by its path: the packages around it need libraries, and this program none
    SOURCE = Path(__file__).resolve().parent.parent / "theory" / "records" / "stamp.py"
    spec = importlib.util.spec_from_file_location("theory_records_stamp", SOURCE)
    sys.modules[spec.name] = stamp = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stamp)

FOLDER = stamp.FOLDER
CLOSED = stamp.CLOSED
# Of Debian 12.
PACKAGES = (
    "coq",
    "libcoq-mathcomp-ssreflect",
    "libcoq-mathcomp-fingroup",
    "libcoq-mathcomp-algebra",
    "libcoq-mathcomp-zify",
)
ABSENT = (
    f"Coq is not installed; the proofs need the packages {' '.join(PACKAGES)} "
    "(Debian 12; about 230 MB: apt-get install --no-install-recommends ...)"
)
FORBIDDEN = re.compile(
    r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjectures?|Declare\s+Module|bypass_check"
    r"|Unset\s+(?:Guard|Positivity|Universe)\s+Checking|Admit\s+Obligations)\b"
)


class ProofError(Exception):
    """Why the proofs do not stand, in one line for people."""


def without_comments(text: str) -> str:
    """The Coq text with its comments, which nest, and its strings blanked; lines stay lines."""
    out, depth, quoted, i = [], 0, False, 0
    while i < len(text):
        pair = text[i : i + 2]
        if not quoted and pair in ("(*", "*)") and (pair == "(*" or depth):
            depth += 1 if pair == "(*" else -1
            i += 2
            continue
        if text[i] == '"':
            quoted = not quoted
        elif text[i] == "\n" or not (depth or quoted):
            out.append(text[i])
        i += 1
    return "".join(out)


def left_out(folder: Path = FOLDER) -> list[str]:
    """Each place where a proof is left out or something is assumed, as "file:line: word"."""
    found = []
    for path in sorted(folder.glob("*.v")):
        for number, line in enumerate(without_comments(path.read_text(encoding="utf-8")).splitlines(), 1):
            found += [f"{path.name}:{number}: {match.group()}" for match in FORBIDDEN.finditer(line)]
    return found


def compile_all(folder: Path = FOLDER) -> None:
    """Compile what is out of date; who comes second waits and finds it done. Raises ProofError where Coq is missing
    or does not accept a file."""
    if shutil.which("coqc") is None:
        raise ProofError(ABSENT)
    with (folder / "Makefile").open(encoding="utf-8") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        run = subprocess.run(["make", "--no-print-directory", "-C", str(folder)], check=False)
    if run.returncode:
        raise ProofError("Coq does not accept the proofs: see above")


def assumptions(found: list[Statement], folder: Path = FOLDER) -> dict[str, str]:
    """What Coq prints of the assumptions of every theorem, by its name; `CLOSED` if there are none."""
    names = [name for each in found for name in each.theorems]
    lines = [f"From Recall Require {' '.join(sorted({name.split('.')[0] for name in names}))}."]
    lines += [f"Print Assumptions Recall.{name}. Check tt." for name in names]
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary) / "assumptions.v"
        source.write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = ["coqc", "-q", "-w", "none", "-R", str(folder), "Recall", str(source)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    answers = [part.strip() for part in re.split(r"^tt\n\s+: unit\n", run.stdout, flags=re.MULTILINE)][:-1]
    if run.returncode < 0:
        raise ProofError(f"Coq was stopped by signal {-run.returncode} while it looked for assumptions")
    if run.returncode or len(answers) != len(names):
        raise ProofError(f"the theorems of theorems.toml are not all there: {run.stderr.strip()}")
    return dict(zip(names, answers, strict=True))


def write_stamp(found: list[Statement], assumed: Mapping[str, str], folder: Path = FOLDER) -> None:
    """stamp.json: Coq's version, the files' hashes, and for each statement its theorems and what they assume."""
    version = subprocess.run(["coqc", "--print-version"], capture_output=True, text=True, check=False).stdout.split()
    content = {
        "coq": version[0] if version else "unknown",
        "files": stamp.digests(folder),
        "theorems": {each.identifier: {name: assumed[name] for name in each.theorems} for each in found},
    }
    path = folder / "stamp.json"
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)


def as_table(found: list[Statement], assumed: Mapping[str, str], folder: Path = FOLDER) -> list[str]:
    """A line for each theorem: statement, theorem, file, lines of the file, assumptions."""
    rows = [("statement", "theorem", "file", "lines", "assumptions")]
    for each in found:
        for theorem in each.theorems:
            file, name = theorem.split(".")
            lines = len((folder / f"{file}.v").read_text(encoding="utf-8").splitlines())
            answer = "none" if assumed[theorem] == CLOSED else assumed[theorem]
            rows.append((each.identifier, name, f"{file}.v", str(lines), answer))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return ["  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]) for row in rows]


def page_rows(found: list[Statement]) -> list[str]:
    """The rows of the table in docs/proofs.md; a test keeps the two the same."""
    return [
        f"| {each.identifier} | {', '.join(f'`{name}`' for name in each.theorems)} | {each.missing or 'nothing'} |"
        for each in found
    ]


def main(folder: Path = FOLDER) -> int:
    """Compile, check, stamp and print the table; 0 if every proof stands, 1 if not."""
    (folder / "stamp.json").unlink(missing_ok=True)
    try:
        if places := left_out(folder):
            raise ProofError(f"a proof is left out or something is assumed: {', '.join(places)}")
        compile_all(folder)
        found = stamp.statements(folder)
        assumed = assumptions(found, folder)
    except ProofError as error:
        print(f"proofs: {error}", file=sys.stderr)
        return 1
    print("\n".join(as_table(found, assumed, folder)))
    if resting := [name for name, answer in assumed.items() if answer != CLOSED]:
        print(f"proofs: not closed under the global context: {', '.join(resting)}", file=sys.stderr)
        return 1
    write_stamp(found, assumed, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
