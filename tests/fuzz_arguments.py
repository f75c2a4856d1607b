"""What the fuzz of the command line types: arguments drawn at random, right and hostile, and the files they name."""

from __future__ import annotations

import random
from pathlib import Path

from tests.fuzz_world import copied, spoil

SMALL = ("1", "2", "3", "4", "5", "7", "12")
HOSTILE = (
    *(
        "",
        "0",
        "-1",
        "-0",
        "1e3",
        "1.5",
        "nan",
        "inf",
        "²",
        "1_0",
        "+3",
        " 3 ",
        "0x10",
        "9" * 30,
        "9" * 5000,
        "1" + "0" * 12,
    ),
    *(
        "2:1",
        "1:9999999999",
        "1,1",
        ":",
        ",",
        "1:",
        "true",
        "x" * 300,
        "a\nb",
        "\x1b[31m",
        "--help",
        "-",
        "\udcff",
        "é",
    ),
)
CLAIMS = ("T1", "T1b", "T1c", "T1d", "T2", "T2b", "T2e", "T3", "T3b", "T4", "T5", "T6", "T7", "T99", "t1", "")
KINDS = ("labelled", "relabelled", "simple", "matchings", "answer-vectors", "regular", "nothing", "")


class Arguments:
    """The arguments of one invocation, drawn at random, with the files that they name."""

    def __init__(self, rng: random.Random, world: dict[str, Path], scratch: Path) -> None:
        self.rng, self.world, self.scratch = rng, world, scratch
        self.inputs: list[str] = []  # that are named so far: no output may replace them

    def made(self) -> list[str]:
        """A command with its arguments."""
        commands = {
            self.verify_model: 45,
            self.verify: 8,
            self.construct: 10,
            self.count: 8,
            self.bounds: 10,
            self.runs: 10,
            self.figures: 1,
            self.mechanism: 1,
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
        self.inputs.append(self._file(*names))
        return self.inputs[-1]

    def _file(self, *names: str) -> str:
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
        odd = (str(self.scratch / "no" / f"x{suffix}"), "", "/", "/dev/null", str(self.scratch / ("x" * 300)))
        return self.rng.choice((*odd, *self.inputs, *self.inputs))

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
        self.inputs = list(found.values())
        given = [each for pair in found.items() for each in pair]
        given += ["--rational"] if self.rng.random() < 0.5 else []
        return ["verify", *given, *(["--json", self.output(".json")] if self.rng.random() < 0.2 else [])]

    def verify(self) -> list[str]:
        given = [self.value(*CLAIMS)]
        if self.rng.random() < 0.03:  # all of them, at small sizes
            given = ["--entities", self.rng.choice(("2", "3")), "--relations", self.rng.choice(("1", "2"))]
        else:
            given += self.sizes("entities", "relations")
        given += self.sometimes("--hops", "1", "2") + self.sometimes("--seed", "0")
        given += self.sometimes("--bits", "1", "2") + self.sometimes("--stride", "1", "2")
        if "--entities" not in given and "--relations" not in given:
            given.append("nothing")  # the preset's sizes would take long
        return ["verify", *given, *(["--json", self.output(".json")] if self.rng.random() < 0.2 else [])]

    def construct(self) -> list[str]:
        sizes = self.sizes("entities", "relations")
        if self.rng.random() < 0.5:
            kinds = ("facts.csv", "facts.tsv", "facts.edges", "graph.json", "relation.json", "m1.npy", "m0.json")
            sizes = ["--facts", self.file(*kinds), *self.sometimes("--several", "any", "refuse")]
        given = [self.value(*CLAIMS), *sizes, *self.sometimes("--hops", "1", "2", "3")]
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
        given += [] if "--relations" in given else ["--relations", "3"]
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
        parts = [name for name in self.world if name.startswith("llama/")]
        if parts and self.rng.random() < 0.15:
            model = str(Path(self.file(*parts)).parent)
        else:
            model = self.rng.choice((str(self.scratch), self.file("m0.safetensors"), self.value("minilm")))
        return ["probe", "--model", model, "--relations", self.file("relation.json"), *self.sometimes("--layers", "0")]

    def compare(self) -> list[str]:
        """Only what is refused: to train takes long."""
        wrong = self.rng.choice(
            (["--preset", "x"], ["--device", "cuda:99"], ["--time-budget", "nan"], ["--workers", "0"])
        )
        return ["compare", "--store", self.file("runs.sqlite"), *wrong]

    def nonsense(self) -> list[str]:
        return [self.value("verify", "runs", "reproduce", "help") for _ in range(self.rng.randrange(4))] + ["--nothing"]
