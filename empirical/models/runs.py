"""What a training run is, and what came of it: the two records that training, search, store and analysis share.

A run trains one single-layer model on all facts of one system, drawn from a family, and asks whether it memorised
them. Its configuration is complete: the same configuration gives the same system, the same initial weights and the same
trajectory (to the rounding of the device), so a run is known by the hash of its configuration.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal

from theory.definitions.fact_system import check_count
from theory.definitions.families import check_family
from theory.errors import InputError

TableKind = Literal["learned", "frozen"]
ReadoutKind = Literal["learned", "frozen", "tied"]
AttentionKind = Literal["uniform", "learned"]
Precision = Literal["float32", "tf32", "bfloat16"]
RunStatus = Literal["memorised", "not memorised", "failed"]

# A model has memorised when it answers at least this fraction of all its queries; 1.0 is reported beside it.
MEMORISED_AT = 0.99


@dataclass(frozen=True)
class RunConfig:
    """One training run: N, R, k, the embedding dimension d, the MLP width, the condition, the protocol and the seed.

    `chain` asks k hops by chain of thought, one hop a token; otherwise they are answered in one pass. `subjects` and
    `readout` say which tables learn: frozen ones keep their random initial values; `tied` reads out with the subject
    table. `attention` is uniform (for k > 1 in one pass: one head a position, with a learned output matrix) or learned
    (softmax). `steps` is the budget of full-batch AdamW steps, `learning_rate` its peak, `check_every` the interval at
    which accuracy over all queries is measured. `precision` is that of the training products; evaluation is always
    float32. `family` is the one that the system is drawn from (`theory.definitions.families`). With `scrambled` each
    word of k relations has a bijection of its own, drawn at random, in place of the composition.
    """

    entities: int
    relations: int
    dimension: int
    width: int
    hops: int = 1
    chain: bool = False
    subjects: TableKind = "learned"
    readout: ReadoutKind = "learned"
    attention: AttentionKind = "uniform"
    residual: bool = False
    learning_rate: float = 0.1
    weight_decay: float = 0.0
    steps: int = 2000
    check_every: int = 25
    precision: Precision = "float32"
    seed: int = 0
    family: str = "independent"
    scrambled: bool = False

    def __post_init__(self) -> None:
        check_count("entities", self.entities, at_least=2)
        check_count("seed", self.seed, at_least=0)
        for name in ("relations", "dimension", "width", "hops", "steps", "check_every"):
            check_count(name, getattr(self, name))
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise InputError(f"{name} is {getattr(self, name)!r}; it must be one of {', '.join(allowed)}")
        if not self.learning_rate > 0 or self.weight_decay < 0:
            raise InputError("the learning rate must be positive and the weight decay not negative")
        check_family(self.family, self.entities, self.relations)
        if self.scrambled and (self.hops == 1 or self.chain or self.family != "independent"):
            raise InputError("scrambled words have independent bijections, and need several hops in one pass")
        if self.readout == "tied" and self.subjects == "frozen":
            raise InputError("a read-out tied to a frozen subject table learns nothing; freeze both or neither")

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, as JSON values; those of `LATER` only where they are not their defaults."""
        return {name: value for name, value in vars(self).items() if name not in LATER or value != LATER[name]}

    @property
    def logits(self) -> int:
        """The logits of one step: N for each fact, of which there are N·R^k in one pass and N·R along a chain."""
        return self.entities**2 * self.relations ** (1 if self.chain else self.hops)

    @property
    def key(self) -> str:
        """SHA-256 of the configuration in canonical JSON: the name of the run."""
        text = json.dumps(self.as_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


# Fields that came later: a run that has their defaults keeps the name that it had before there were any.
LATER: dict[str, Any] = {"family": "independent", "scrambled": False}

CHOICES: dict[str, tuple[str, ...]] = {
    "subjects": ("learned", "frozen"),
    "readout": ("learned", "frozen", "tied"),
    "attention": ("uniform", "learned"),
    "precision": ("float32", "tf32", "bfloat16"),
}


@dataclass(frozen=True)
class RunResult:
    """What came of a run. `accuracy` is over all queries at the end (not the best along the way); None when the run
    failed.

    `failed` (NaN, out of memory, a dead worker: `error` says which) is never counted as `not memorised`. `history`
    holds (step, loss, accuracy) at each check; `trained_scalars` counts every trained number; `exact` says that the
    float weights, taken as fractions, pass the exact check of every query (None: not tried).
    """

    config: RunConfig
    status: RunStatus
    accuracy: float | None
    steps_taken: int
    seconds: float
    history: tuple[tuple[int, float, float], ...] = ()
    trained_scalars: int = 0
    exact: bool | None = None
    error: str = ""

    @property
    def perfect(self) -> bool:
        """True iff every query was answered."""
        return self.accuracy == 1.0
