"""A fuzz of the command line: every command with hostile options and hostile files.

    python -m tests.fuzz_command_line --count 10000 --seed 0
    python -m tests.fuzz_command_line --seconds 600

Each invocation is a function of (seed, its number). It must end with status 0, 1 or 2; with 2 and one line on stderr
for what is wrong; without a traceback; within SECONDS_EACH of computing; with no file changed that it was handed, and
with nothing half-written or left behind. A model that is said to hold must be right by the campaign's evaluator, on
weights that the library reads and not this project. One invocation in a hundred is a process of its own, which must end
alike. A table of what happened is printed, with each finding; the exit status is 0 only without findings.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from click.testing import CliRunner

import georecall
from constructions.campaign.evaluator import evaluate
from tests.fuzz_arguments import Arguments
from tests.fuzz_world import make_world, read_model
from tests.helpers.places import ROOT
from theory import Block, FactSystem, Task, Transformer
from theory.records.facts import load_system
from theory.records.reading import INDEX

SECONDS_EACH = 30.0
ONE_PROCESS_IN = 100


class TooLong(BaseException):
    """An invocation that has not ended in time."""


@dataclass
class Findings:
    """What happened: invocations by (command, status), and each finding with the arguments that made it."""

    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    faults: list[tuple[str, int, list[str], str]] = field(default_factory=list)
    held: int = 0
    confirmed: int = 0

    def add(self, kind: str, number: int, arguments: list[str], what: str) -> None:
        """A finding, told at once."""
        self.faults.append((kind, number, arguments, what))
        print(f"{kind} (number {number}): {arguments}\n    {what[:600]}", file=sys.stderr, flush=True)

    def table(self) -> str:
        """Invocations by command and status, and the findings by kind."""
        names = sorted({command for command, _ in self.statuses})
        seen = sorted({status for _, status in self.statuses})
        head = "".join(f"{status:>8}" for status in seen)
        lines = [f"{'command':12}{'all':>8}{head}"]
        for name in [*names, "all"]:
            row = [
                sum(n for (c, s), n in self.statuses.items() if name in (c, "all") and s == status) for status in seen
            ]
            lines.append(f"{name:12}{sum(row):>8}" + "".join(f"{each:>8}" for each in row))
        kinds = Counter(kind for kind, *_ in self.faults)
        every = ("traceback", "status", "lines", "too long", "overwritten", "left behind", "false holds", "process")
        lines.append("; ".join(f"{kind}: {kinds[kind]}" for kind in every))
        lines.append(f"models that hold: {self.held}, of which {self.confirmed} are confirmed query by query")
        return "\n".join(lines)


class Fuzz:
    """A folder of right files, and invocations on them."""

    def __init__(self, folder: Path, seed: int, *, language_model: bool = False) -> None:
        self.folder, self.seed, self.cache = folder, seed, folder / "cache"
        self.world = make_world(folder / "world", language_model)
        self.before = {path: path.read_bytes() for path in self.world.values()}
        self.findings = Findings()

    def run(self, count: int, seconds: float) -> Findings:
        """At most so many invocations in at most so many seconds."""
        end = time.monotonic() + seconds
        for number in range(count):
            if time.monotonic() > end:
                break
            self.one(number)
        return self.findings

    def one(self, number: int) -> None:
        """One invocation and all that is asked of it."""
        rng = random.Random(f"{self.seed} {number}")
        scratch = self.folder / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        arguments = Arguments(rng, self.world, scratch).made()
        # Pruning changes the store that it is given, and nothing else.
        handed = {path: path.read_bytes() for path in sorted(scratch.glob("handed/**/*")) if path.is_file()}
        started = {path for path in scratch.rglob("*")}
        status, output, errors = in_process(arguments, self.cache)
        command = arguments[0] if arguments[0] in georecall.main.commands else "no command"
        self.findings.statuses[command, status] += 1
        fault = verdict_on(status, output, errors)
        if fault:
            self.findings.add(fault[0], number, arguments, fault[1])
        for path, content in {**handed, **self.before}.items():
            if not path.is_file() or path.read_bytes() != content:
                self.findings.add("overwritten", number, arguments, str(path))
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        for path in set(scratch.rglob("*")) - started:
            if (what := remains(path, status)) is not None:
                self.findings.add("left behind", number, arguments, what)
        if status == 0 and "--weights" in arguments and arguments[0] == "verify":
            self.confirm(number, arguments)
        if rng.randrange(ONE_PROCESS_IN) == 0 and "\udcff" not in "".join(arguments) and not fault:
            self.compare(number, arguments, status, handed)

    def confirm(self, number: int, arguments: list[str]) -> None:
        """The model that was said to hold is right, by an evaluator that shares no code with what said so."""
        weights, facts = (Path(arguments[arguments.index(name) + 1]) for name in ("--weights", "--system"))
        self.findings.held += 1
        right = is_right(weights, load_system(facts))
        self.findings.confirmed += right is True
        if right is False:
            self.findings.add("false holds", number, arguments, "the evaluator gives another answer")

    def compare(self, number: int, arguments: list[str], status: int, handed: dict[Path, bytes]) -> None:
        """The same in a process of its own, on the same files."""
        for path, content in handed.items():
            path.write_bytes(content)
        process = subprocess.run(
            [sys.executable, "-m", "georecall", *arguments],
            capture_output=True,
            errors="replace",
            cwd=ROOT,
            env={**os.environ, "XDG_CACHE_HOME": str(self.cache)},
        )
        if process.returncode != status or "Traceback" in process.stderr:
            self.findings.add("process", number, arguments, f"{status} in, {process.returncode} out: {process.stderr}")


@contextmanager
def limited() -> Iterator[None]:
    """TooLong after SECONDS_EACH of computing, or ten times as many of waiting: other programs may have the machine."""

    def stop(*_: Any) -> None:
        raise TooLong

    timers = {
        signal.SIGPROF: (signal.ITIMER_PROF, SECONDS_EACH),
        signal.SIGALRM: (signal.ITIMER_REAL, 10 * SECONDS_EACH),
    }
    before = {number: signal.signal(number, stop) for number in timers}
    for timer, seconds in timers.values():
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for number, (timer, _) in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])


def in_process(arguments: list[str], cache: Path) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of the command in this process."""
    with limited():
        result = CliRunner(env={"XDG_CACHE_HOME": str(cache)}).invoke(georecall.main, arguments)
    unforeseen = "" if result.exception is None or isinstance(result.exception, SystemExit) else repr(result.exception)
    return result.exit_code, result.stdout, result.stderr + unforeseen


def verdict_on(status: int, output: str, errors: str) -> tuple[str, str] | None:
    """The kind of fault and its words; None for an end as it should be."""
    if "TooLong" in errors:
        return "too long", errors
    if "Traceback" in errors + output or "a fault of this program" in errors:
        return "traceback", errors
    if status not in (0, 1, 2):
        return "status", f"{status}: {errors}"
    lines = [line for line in errors.splitlines() if line.startswith(("georecall: ", "Error: "))]
    last = (errors.strip().splitlines() or [""])[-1]
    if status == 2 and (len(lines) != 1 or lines[0] != last):
        return "lines", errors
    return None


def remains(path: Path, status: int) -> str | None:
    """What is wrong with a new file: a part of one, one that is not whole, or one although nothing was done."""
    if path.name.startswith(".") or path.suffix == ".part":
        return f"{path.name} is a part of a file"
    if path.is_dir() or path.suffix in (".pdf", ".png", ".html"):
        return None
    if status == 2 and not path.name.startswith("runs.sqlite"):
        return f"{path.name} was written, and the status is 2"
    if path.suffix == ".json":
        try:
            json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            return f"{path.name} is not whole: {error}"
    return None


def is_right(weights: Path, system: FactSystem) -> bool | None:
    """Whether the model answers every query; None for what the evaluator cannot tell."""
    index = next((path for path in (weights, weights / INDEX) if path.suffix == ".json" and path.is_file()), None)
    if index is not None:
        files = sorted({index.parent / name for name in json.loads(index.read_text())["weight_map"].values()})
    else:
        files = sorted(weights.glob("*.safetensors")) if weights.is_dir() else [weights]
    tensors: dict[str, Any] = {}
    metadata: dict[str, str] = {}
    try:
        for file in files:
            part, said_here = read_model(file)
            tensors, metadata = tensors | part, metadata | said_here
    except (TypeError, KeyError):  # bfloat16, which NumPy has not
        return None
    if any(name.rpartition(".")[2].startswith("b_V") for name in tensors):
        return None
    said = {name: json.loads(text) for name, text in metadata.items() if name not in ("attention", "format")}
    outer = {name.rpartition(".")[2]: array for name, array in tensors.items() if "blocks" not in name.split(".")}
    numbers = sorted({int(name.split(".")[1]) for name in tensors if name.startswith("blocks.")})
    blocks = []
    for number in numbers:
        own = {n.rpartition(".")[2]: a for n, a in tensors.items() if n.startswith(f"blocks.{number}.")}
        empty = own["W_V"][:, :, :0]
        blocks.append(Block(**{"W_Q": empty, "W_K": empty, **own}))
    model = Transformer(
        entities=system.entities,
        blocks=tuple(blocks),
        attention=metadata["attention"],
        **outer,
        **{name: said[name] for name in ("residual", "causal", "beta") if name in said},
    )
    return (
        evaluate(
            model, system, Task(said.get("hops", 1), said.get("stride", 0), said.get("disjoint_attributes", False))
        ).is_right()
        is True
    )


def main() -> int:
    """The command: prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        transformers = importlib.util.find_spec("transformers") is not None
        findings = Fuzz(Path(folder), chosen.seed, language_model=transformers).run(chosen.count, chosen.seconds)
    print(f"seed {chosen.seed}")
    print(findings.table())
    return 1 if findings.faults else 0


if __name__ == "__main__":
    sys.exit(main())
