"""How precise must trained weights be? The bits that each tensor of a run needs, and the noise that its rows survive.

*Stored bits* s: the information of the facts (`bounds.counting.families`) over all scalars that learn. Every run
that is measured has memorised, so that it holds nearly all of it.

*Bits needed* b: each trained tensor is rounded to the nearest of 2^b values, evenly spaced from its least to its
largest entry; b is the least for which, at it and at every number of bits above it up to `MOST_BITS`, the model
still answers 99 % of all queries.

*Noise survived* δ: every subject's row is moved by uniform noise in [-δ, δ] times the root mean square of all of
them; δ is the largest of `NOISES` such that at it, and at every smaller one, 99 % are answered on average over
`DRAWS` draws. This is drawn and no worst case: T13 bounds what every perturbation must leave right. *Row bits* are
T13's Σ log2(1 + ⌊A/2δ⌋) of a row under that noise, over its d coordinates.

*The line* b = intercept + slope·s is fitted by least squares to the runs of independent bijections. Of every other
family it is asked how many bits its runs need beyond the line (`Beyond`): at what its facts hold, and at what as many
independent bijections would hold in as many scalars. A family that is stored as independent facts lies on the line at
the second, one that is stored as what it is at the first. Intervals are 95 %, robust to what runs of one size,
dimension and condition share; those of a family take the line as given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bounds.counting.families import information
from bounds.tables.layout import Cell, Table, render
from constructions.noise.perturbation import row_bits
from empirical.execution.provenance import provenance
from empirical.execution.records import as_lines
from empirical.execution.store import Store, StoredRun, open_store
from empirical.models.runs import MEMORISED_AT
from theory import FactSystem, InputError, Transformer
from theory.definitions.transformer import run_with_cache

MOST_BITS = 24
NOISES = tuple(2.0 ** (step / 4) for step in range(-48, 5))
DRAWS = 3
FEWEST = 10  # runs of independent bijections: a line through fewer says nothing
INDEPENDENT = "independent"

Parameters = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class RunPrecision:
    """One run: its sizes, the bits that it stores a scalar, those that it would store if its facts were independent
    bijections, those that its tensors need, the noise that it survives; `row` is None where that is none.
    """

    family: str
    entities: int
    relations: int
    dimension: int
    seed: int
    condition: str
    scalars: int
    stored: float
    as_independent: float
    needed: int
    noise: float
    row: float | None


@dataclass(frozen=True)
class Line:
    """needed ≈ intercept + slope·stored, each with its 95 % interval, and the share of the variance it explains."""

    intercept: tuple[float, float, float]
    slope: tuple[float, float, float]
    r_squared: float

    def beyond(self, needed: float, stored: float) -> float:
        """How many bits more are needed than the line says."""
        return needed - self.intercept[0] - self.slope[0] * stored


@dataclass(frozen=True)
class Beyond:
    """The mean of what a family's runs need beyond the line, with its interval: at what they store, and at what they
    would store if their facts were independent."""

    family: str
    runs: int
    at_stored: tuple[float, float, float]
    at_independent: tuple[float, float, float]


def rounded(tensor: NDArray[Any], bits: int) -> NDArray[np.float64]:
    """The tensor with each entry at the nearest of 2^bits values, evenly spaced from its least to its largest."""
    values = np.asarray(tensor, np.float64)
    if not values.size:
        return values
    low, high = values.min(), values.max()
    step = (high - low) / (2**bits - 1)
    return low + np.rint((values - low) / step) * step if step else values


def accuracy(transformer: Transformer, system: FactSystem) -> float:
    """The share of all facts of one hop that the model answers, in float64; a tie is a failure."""
    relations, subjects = np.divmod(np.arange(system.relations * system.entities), system.entities)
    logits, _ = run_with_cache(transformer, np.stack([subjects, system.entities + relations], axis=1))
    answers = system.answers[relations, subjects]
    best = logits == logits.max(axis=1, keepdims=True)
    return float((best[np.arange(len(answers)), answers] & (best.sum(axis=1) == 1)).mean())


def bits_needed(parameters: Parameters, right: Callable[[Parameters], float]) -> int:
    """The least number of bits of every tensor's entries from which on the share that is `right` is 99 %."""
    for bits in range(MOST_BITS, 0, -1):
        fewer = {name: rounded(tensor, bits) for name, tensor in parameters.items()}
        if right(fewer) < MEMORISED_AT:
            return bits + 1
    return 1


def noise_survived(transformer: Transformer, system: FactSystem, seed: int) -> float:
    """The noise up to which rows may be moved, over their root mean square; 0 if not even the least of `NOISES`."""
    rows, tokens = np.split(np.asarray(transformer.W_E, np.float64), [system.entities])
    size = root_mean_square(rows)
    draws = np.random.default_rng(seed).uniform(-size, size, (DRAWS, *rows.shape))
    survived = 0.0
    for noise in NOISES:
        moved = (replace(transformer, W_E=np.concatenate([rows + noise * draw, tokens])) for draw in draws)
        if np.mean([accuracy(each, system) for each in moved]) < MEMORISED_AT:
            break
        survived = noise
    return survived


def root_mean_square(rows: NDArray[Any]) -> float:
    """The root of the mean square of all entries."""
    return float(np.sqrt((np.asarray(rows, np.float64) ** 2).mean()))


def measure(run: StoredRun, parameters: Parameters) -> RunPrecision:
    """What one run that has memorised needs and survives."""
    import torch

    from empirical.models.conversion import to_transformer
    from empirical.models.model import system_of

    config = run.result.config

    system = system_of(config)

    def model(tensors: Parameters) -> Transformer:
        """The model with these tensors."""
        return to_transformer(
            {name: torch.tensor(np.asarray(each, np.float32)) for name, each in tensors.items()}, config
        )

    transformer = model(parameters)
    noise = noise_survived(transformer, system, config.seed)
    spread = Fraction(noise * root_mean_square(transformer.W_E[: system.entities]))
    held, most = (information(each, config.entities, config.relations).low for each in (config.family, INDEPENDENT))
    return RunPrecision(
        family=config.family,
        entities=config.entities,
        relations=config.relations,
        dimension=config.dimension,
        seed=config.seed,
        condition=_condition(run),
        scalars=run.result.trained_scalars,
        stored=float(held) / run.result.trained_scalars,
        as_independent=float(most) / run.result.trained_scalars,
        needed=bits_needed(parameters, lambda tensors: accuracy(model(tensors), system)),
        noise=noise,
        row=row_bits(transformer, spread) / config.dimension if noise else None,
    )


def _condition(run: StoredRun) -> str:
    """What is not as in most runs, in words."""
    config = run.result.config
    said = [] if config.readout == "learned" else [f"read-out {config.readout}"]
    said += [f"weight decay {config.weight_decay:g}"] if config.weight_decay else []
    said += [f"rate {config.learning_rate:g}"] if config.learning_rate != 0.1 else []
    return ", ".join([*said, f"{config.steps} steps"])


def line(measured: Sequence[RunPrecision]) -> Line | None:
    """The line through the runs of independent bijections; None where they are too few, or all store the same."""
    runs = [each for each in measured if each.family == INDEPENDENT]
    stored = np.array([each.stored for each in runs])
    if len(runs) < FEWEST or np.ptp(stored) == 0 or len(set(map(_group, runs))) < 3:
        return None
    fit = _fitted([each.needed for each in runs], np.column_stack([np.ones(len(runs)), stored]), runs)
    ends = fit.conf_int()
    intercept, slope = ((float(fit.params[i]), float(ends[i][0]), float(ends[i][1])) for i in range(2))
    return Line(intercept, slope, float(fit.rsquared))


def beyond(measured: Sequence[RunPrecision], given: Line) -> list[Beyond]:
    """What each family but independent bijections needs beyond the line, where three sizes or conditions of it are
    known."""
    found = []
    for family in dict.fromkeys(each.family for each in measured if each.family != INDEPENDENT):
        runs = [each for each in measured if each.family == family]
        if len(set(map(_group, runs))) >= 3:
            at = [_mean(runs, [given.beyond(each.needed, each.stored) for each in runs])]
            at.append(_mean(runs, [given.beyond(each.needed, each.as_independent) for each in runs]))
            found.append(Beyond(family, len(runs), *at))
    return found


def _mean(runs: Sequence[RunPrecision], values: Sequence[float]) -> tuple[float, float, float]:
    fit = _fitted(values, np.ones(len(values)), runs)
    low, high = fit.conf_int()[0]
    return float(fit.params[0]), float(low), float(high)


def _fitted(values: Sequence[float], design: Any, runs: Sequence[RunPrecision]) -> Any:
    from statsmodels.regression.linear_model import OLS

    groups = np.unique([str(_group(each)) for each in runs], return_inverse=True)[1]
    model = OLS(np.asarray(values, float), design)
    return model.fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)


def _group(run: RunPrecision) -> tuple[int, int, int, str]:
    """What runs of one size, dimension and condition share."""
    return run.entities, run.relations, run.dimension, run.condition


def measure_store(path: Path, show: Callable[[int, str], None]) -> list[RunPrecision]:
    """Every run of one hop in the store that has memorised and whose weights were kept; `show(number, family)` is
    called after each. InputError where there is none.
    """
    found: list[RunPrecision] = []
    with open_store(path, read_only=True) as store:
        for run in _memorised(store):
            found.append(measure(run, store.load_weights(run.result.config.key)))
            show(len(found), found[-1].family)
    if not found:
        raise InputError(f"{path} holds no run of one hop that has memorised and whose weights were kept")
    return found


def _memorised(store: Store) -> Iterator[StoredRun]:
    for run in store.all_runs(status="memorised", hops=1):
        if run.weights is not None and not run.result.config.scrambled:
            yield run


def as_json(measured: Sequence[RunPrecision]) -> str:
    """The record: the line, every run, and the versions that measured them."""
    found = line(measured)
    return as_lines(
        {
            "provenance": provenance("cpu"),
            "line": None if found is None else asdict(found),
            "beyond": [] if found is None else [asdict(each) for each in beyond(measured, found)],
            "measured": [asdict(each) for each in measured],
        }
    )


def as_text(measured: Sequence[RunPrecision], width: int | None = None) -> str:
    """A line a family and size, medians over its runs; then the line through independent bijections, and what each
    other family needs beyond it."""
    groups: dict[tuple[str, int, int], list[RunPrecision]] = {}
    for each in measured:
        groups.setdefault((each.family, each.entities, each.relations), []).append(each)
    names = ("stored", "as_independent", "needed", "noise", "row")
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (*group, len(own), *(_median([getattr(each, name) for each in own]) for name in names))
        for group, own in groups.items()
    )
    heads = ("family", "entities", "relations", "runs", "stored", "if independent", "needed", "noise", "row bits")
    notes = (
        "Medians. stored: bits of the facts a scalar that learns; if independent: those of as many independent "
        "bijections; needed: bits of each tensor's entries; noise: of the rows, over their root mean square; row bits: "
        "log2(1 + A/2δ) a coordinate under it (T13).",
    )
    text = render(Table("Precision of trained weights", heads, rows, notes, keys=3), "table", width)
    found = line(measured)
    return text if found is None else text + "\n" + _beyond_text(measured, found, width)


def _beyond_text(measured: Sequence[RunPrecision], found: Line, width: int | None) -> str:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (each.family, each.runs, interval(each.at_stored), interval(each.at_independent))
        for each in beyond(measured, found)
    )
    notes = (
        f"The line: needed = {interval(found.intercept)} + {interval(found.slope)} times stored, R² = "
        f"{found.r_squared:.2f}, of the runs of independent bijections.",
    )
    heads = ("family", "runs", "at stored", "at if independent")
    return render(Table("Bits needed beyond the line", heads, rows, notes, keys=1), "table", width)


def interval(values: tuple[float, float, float]) -> str:
    """A number with its interval, two places each."""
    value, low, high = (f"{each + 0:.2f}" for each in values)
    return f"{value} [{low}, {high}]"


def _median(values: Sequence[float | None]) -> str:
    known = [each for each in values if each is not None]
    return f"{median(known):.3g}" if known else "–"
