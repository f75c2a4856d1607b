"""A fuzz of the command line: every command with hostile options and hostile files.

    python -m tests.fuzz_command_line --count 10000 --seed 0
    python -m tests.fuzz_command_line --seconds 600

Each invocation is a function of (seed, its number). It must end with status 0, 1 or 2; with 2 and one line on stderr
for what is wrong; without a traceback; in SECONDS_EACH seconds; without a change to any file that it was handed, and
with nothing half-written or left behind. A model that is said to hold must be right by `tests.reference`, on weights
that the library reads and not this project. One invocation in a hundred is a process of its own, which must end alike.
A table of what happened is printed, with each finding; the exit status is 0 only without findings.
"""

from __future__ import annotations

import argparse
import json
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
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

from click.testing import CliRunner

import georecall
from tests.fuzz_world import copied, make_world, read_model, spoil
from tests.reference import Reference
from theory import Block, FactSystem, Task, Transformer
from theory.loading import load_system

ROOT = Path(__file__).resolve().parent.parent
SECONDS_EACH = 20
ONE_PROCESS_IN = 100
SMALL = ("1", "2", "3", "4", "5", "7", "12")
HOSTILE = (
    *("", "0", "-1", "-0", "1e3", "1.5", "nan", "inf", "²", "1_0", "+3", " 3 ", "0x10", "9" * 30, "9" * 5000, "1" + "0" * 12),
    *("2:1", "1:9999999999", "1,1", ":", ",", "1:", "true", "x" * 300, "a\nb", "\x1b[31m", "--help", "-", "\udcff", "é"),
)
CLAIMS = ("T1", "T1b", "T1c", "T1d", "T2", "T2b", "T2e", "T3", "T3b", "T4", "T5", "T6", "T7", "T99", "t1", "")
KINDS = ("labelled", "relabelled", "simple", "matchings", "answer-vectors", "regular", "nothing", "")


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
            row = [sum(n for (c, s), n in self.statuses.items() if name in (c, "all") and s == status) for status in seen]
            lines.append(f"{name:12}{sum(row):>8}" + "".join(f"{each:>8}" for each in row))
        kinds = Counter(kind for kind, *_ in self.faults)
        every = ("traceback", "status", "lines", "too long", "overwritten", "left behind", "false holds", "process")
        lines.append("; ".join(f"{kind}: {kinds[kind]}" for kind in every))
        lines.append(f"models that hold: {self.held}, of which {self.confirmed} are confirmed query by query")
        return "\n".join(lines)


class Fuzz:
    """A folder of right files, and invocations on them."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.seed = folder, seed
        self.world = make_world(folder / "world")
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
        handed = {path: path.read_bytes() for path in sorted(scratch.rglob("*")) if path.is_file()}
        started = {path for path in scratch.rglob("*")}
        status, output, errors = in_process(arguments)
        self.findings.statuses[arguments[0] if arguments else "", status] += 1
        fault = verdict_on(status, output, errors)
        if fault:
            self.findings.add(*fault[:1], number, arguments, fault[1])
        for path, content in (handed if "prune" in arguments else {**handed, **self.before}).items():
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
            self.findings.add("false holds", number, arguments, "the reference gives another answer")

    def compare(self, number: int, arguments: list[str], status: int, handed: dict[Path, bytes]) -> None:
        """The same in a process of its own, on the same files."""
        for path, content in handed.items():
            path.write_bytes(content)
        process = subprocess.run(
            [sys.executable, "-m", "georecall", *arguments], capture_output=True, text=True, cwd=ROOT, errors="replace"
        )
        if process.returncode != status or "Traceback" in process.stderr:
            self.findings.add("process", number, arguments, f"{status} in, {process.returncode} out: {process.stderr}")


@contextmanager
def limited() -> Iterator[None]:
    """TooLong after SECONDS_EACH."""

    def stop(*_: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS_EACH)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def in_process(arguments: list[str]) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of the command in this process."""
    with limited():
        result = CliRunner().invoke(georecall.main, arguments)
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
    """Whether the model answers every query, in fractions; None for what the reference does not compute."""
    files = sorted(weights.parent.glob("*.safetensors")) if weights.suffix == ".json" else [weights]
    if weights.is_dir():
        files = sorted(weights.glob("*.safetensors"))
    tensors: dict[str, Any] = {}
    metadata: dict[str, str] = {}
    try:
        for file in files:
            part, metadata = read_model(file)
            tensors |= part
    except (TypeError, KeyError):  # bfloat16, which NumPy has not
        return None
    if metadata["attention"] == "softmax" or any(name.rpartition(".")[2].startswith("b_V") for name in tensors):
        return None
    said = {name: json.loads(text) for name, text in metadata.items() if name not in ("attention", "format")}
    outer = {name.rpartition(".")[2]: array for name, array in tensors.items() if "blocks" not in name.split(".")}
    numbers = sorted({int(name.split(".")[1]) for name in tensors if name.startswith("blocks.")})
    blocks = []
    for number in numbers:
        own = {n.rpartition(".")[2]: a for n, a in tensors.items() if n.startswith(f"blocks.{number}.")}
        empty = own["W_V"][:, :, :0]
        blocks.append(Block(**{"W_Q": empty, "W_K": empty, **own}))
    options = {name: said[name] for name in ("residual", "causal") if name in said}
    model = Transformer(
        entities=system.entities, blocks=tuple(blocks), attention=metadata["attention"], **outer, **options
    )
    task = Task(said.get("hops", 1), said.get("stride", 0), said.get("disjoint_attributes", False))
    reference = Reference(model)
    words = product(range(system.relations), repeat=task.hops)
    return all(
        reference.outcome(system, task, subject, word).margin > Fraction(0)
        for word in words
        for subject in range(system.entities)
    )


class Arguments:
    """The arguments of one invocation, drawn at random, with the files that they name."""

    def __init__(self, rng: random.Random, world: dict[str, Path], scratch: Path) -> None:
        self.rng, self.world, self.scratch = rng, world, scratch

    def made(self) -> list[str]:
        """A command with its arguments."""
        commands = {
            self.verify_model: 45,
            self.verify: 8,
            self.construct: 10,
            self.count: 8,
            self.bounds: 10,
            self.runs: 10,
            self.figures: 2,
            self.mechanism: 2,
            self.probe: 3,
            self.compare: 1,
            self.nonsense: 1,
        }
        (chosen,) = self.rng.choices(list(commands), list(commands.values()))
        return chosen()

    def value(self, *right: str) -> str:
        """One of the values that are right, or a hostile one."""
        return self.rng.choice(HOSTILE) if self.rng.random() < 0.25 or not right else self.rng.choice(right)

    def file(self, *names: str) -> str:
        """One of the files: as it is, spoilt, missing, a folder, or under an impossible name."""
        name = self.rng.choice(names)
        chance = self.rng.random()
        if chance < 0.15:
            return str(self.world[name])
        if chance < 0.2:
            odd = ("missing.npy", "x" * 300 + ".json", "", "/dev/null", str(self.scratch), "/", "a\nb.safetensors")
            return self.rng.choice((*odd, str(self.rng.choice(list(self.world.values())))))
        path = copied(self.world[name], self.scratch / "handed" / name)
        for other in self.world:  # the other parts of a model in several files
            if Path(other).parent == Path(name).parent != Path("."):
                copied(self.world[other], self.scratch / "handed" / other)
        spoil(path, self.rng)
        if Path(name).parent != Path(".") and self.rng.random() < 0.3:
            return str(path.parent)
        return str(path)

    def output(self, suffix: str) -> str:
        """A new file, or one that can or must not be written."""
        chance = self.rng.random()
        if chance < 0.8:
            return str(self.scratch / f"new{suffix}")
        handed = [str(path) for path in sorted(self.scratch.rglob("*"))]
        odd = (str(self.scratch / "no" / f"x{suffix}"), "", "/", "/dev/null", str(self.scratch / ("x" * 300)))
        return self.rng.choice((*odd, *handed, *handed, *(str(path) for path in self.world.values())))

    def sometimes(self, name: str, *right: str, chance: float = 0.4) -> list[str]:
        """An option with a value, or nothing."""
        return [name, self.value(*right)] if self.rng.random() < chance else []

    def sizes(self, *names: str) -> list[str]:
        return [each for name in names for each in self.sometimes(f"--{name}", *SMALL, chance=0.85)]

    def verify_model(self) -> list[str]:
        number = self.rng.randrange(sum(name.endswith(".safetensors") and name.startswith("m") for name in self.world))
        facts = next(name for name in self.world if name in (f"m{number}.npy", f"m{number}.json"))
        weights = f"m{number}.safetensors"
        if self.rng.random() < 0.1:
            weights, facts = self.rng.choice([name for name in self.world if name.startswith("split/")]), "graph.json"
        # Mostly one of the two is spoilt, so that the other is not to blame.
        whole = {"--weights": str(self.world[weights]), "--system": str(self.world[facts])}
        spoilt = self.rng.choice((["--weights"], ["--weights"], ["--weights"], ["--system"], ["--weights", "--system"]))
        found = {**whole, **{name: self.file(weights if name == "--weights" else facts) for name in spoilt}}
        given = [each for pair in found.items() for each in pair]
        given += ["--rational"] if self.rng.random() < 0.5 else []
        return ["verify", *given, *(["--json", self.output(".json")] if self.rng.random() < 0.2 else [])]

    def verify(self) -> list[str]:
        given = [self.value(*CLAIMS)] if self.rng.random() < 0.9 else []
        given += self.sizes("entities", "relations") + self.sometimes("--hops", "1", "2", "3")
        given += self.sometimes("--bits", "1", "2") + self.sometimes("--stride", "1", "2") + self.sometimes("--seed", "0")
        if "--entities" not in given and "--relations" not in given:
            given.append("nothing")  # the preset's sizes would take long
        return ["verify", *given, *(["--json", self.output(".json")] if self.rng.random() < 0.2 else [])]

    def construct(self) -> list[str]:
        given = [self.value(*CLAIMS), *self.sizes("entities", "relations"), *self.sometimes("--hops", "1", "2", "3")]
        given += self.sometimes("--bits", "1", "2") + self.sometimes("--stride", "1", "2")
        given += self.sometimes("--name", "circle", "signs", chance=0.2) + self.sometimes("--seed", "0", "7")
        given += ["--out", self.output(".safetensors")]
        return ["construct", *given, *(["--system-out", self.output(".npy")] if self.rng.random() < 0.5 else [])]

    def count(self) -> list[str]:
        given = [self.value(*KINDS), *self.sizes("entities", "relations"), *self.sometimes("--hops", "1", "2", "3")]
        given += ["--check"] if self.rng.random() < 0.2 else []
        given += self.sometimes("--digits", "0", "3", "20") + (["--list"] if self.rng.random() < 0.1 else [])
        return ["count", *given, *(["--json", self.output(".json")] if self.rng.random() < 0.2 else [])]

    def bounds(self) -> list[str]:
        right = {
            "--entities": ("64", "2:5", "4096", "1,7", "1000000000000"),
            "--relations": ("2", "1:3", "1000"),
            "--hops": ("1", "1:4", "64"),
            "--bits": ("1", "1,2,16", "1000000"),
            "--shared-bits": ("0", "100", "1" + "0" * 30),
            "--error": ("0", "0.01", "1/100", "1/0", "1/" + "9" * 4300, "0." + "1" * 60, "1", "-1/2"),
            "--readout": ("fixed", "learned", "tied"),
            "--format": ("table", "csv", "json", "markdown", "latex"),
        }
        given = [each for name, values in right.items() for each in self.sometimes(name, *values)]
        given += ["--depth"] if self.rng.random() < 0.3 else []
        return ["bounds", *given, *(["--out", self.output(".txt")] if self.rng.random() < 0.2 else [])]

    def runs(self) -> list[str]:
        store = ["--store", self.file("runs.sqlite")]
        match self.rng.choice(("list", "show", "export", "prune")):
            case "show":
                return ["runs", "show", self.value("0", "a", "f", "00"), *store]
            case "export":
                return ["runs", "export", *store, "--out", self.output(".json")]
            case "prune":
                path = copied(self.world["runs.sqlite"], self.scratch / "pruned" / "runs.sqlite")
                spoil(path, self.rng)
                return ["runs", "prune", "--store", str(path), *(["--failed"] if self.rng.random() < 0.5 else [])]
            case other:
                return ["runs", other, *store]

    def figures(self) -> list[str]:
        folder = Path(self.file("results/standard.json", "results/mechanism.json", "results/probing.json")).parent
        names = ("construction", "parameters", "dimension", "transfer", "probing", "capacity_law", "hops", "x")
        return ["figures", self.value(*names), "--results", str(folder), "--out", str(self.scratch / "figures")]

    def mechanism(self) -> list[str]:
        model = self.value("0", "a") if self.rng.random() < 0.4 else self.file("m0.safetensors", "m3.safetensors")
        return ["mechanism", model, "--store", self.file("runs.sqlite"), *self.sometimes("--workers", "1")]

    def probe(self) -> list[str]:
        model = self.rng.choice((str(self.scratch), self.file("m0.safetensors"), self.value("minilm")))
        return ["probe", "--model", model, "--relations", self.file("relation.json"), *self.sometimes("--layers", "0")]

    def compare(self) -> list[str]:
        """Only what is refused: to train takes long."""
        wrong = self.rng.choice((["--preset", "x"], ["--device", "cuda:99"], ["--time-budget", "nan"], ["--workers", "0"]))
        return ["compare", "--store", self.file("runs.sqlite"), *wrong]

    def nonsense(self) -> list[str]:
        return [self.value("verify", "runs", "reproduce", "help") for _ in range(self.rng.randrange(4))] + ["--nothing"]


def main() -> int:
    """The command: prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        findings = Fuzz(Path(folder), chosen.seed).run(chosen.count, chosen.seconds)
    print(f"seed {chosen.seed}")
    print(findings.table())
    return 1 if findings.faults else 0


if __name__ == "__main__":
    sys.exit(main())
