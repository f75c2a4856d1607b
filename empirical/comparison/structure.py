"""E9: what does a memorising transformer compress? Structured fact systems against independent ones of the same size.

A *setting* is a size and a condition in which every family of `theory.definitions.families` is trained, with the same
seeds, so the same initial weights, as independent bijections. Each curve is trained at every d from one at which no
seed memorises to one at which all do.

*Threshold of a seed.* With t the number of these d at which it fails, counted from the first (Spearman and Kärber's
estimate, which needs no curve and no monotone success), the seed's threshold lies between t - 1 and t.

*ρ*, the cost of a family: every scalar that learns (`capacity.learned_scalars`) at its threshold, over the same for
independent systems; geometric mean over the paired seeds, thresholds taken in the middle, t - 1/2. The interval is 95 %
of all resamples of the seeds, at its lower end with the family's thresholds at t - 1 and the independent ones' at t, at
its upper end the reverse: so it holds whatever lies between two whole dimensions too, which no number of seeds shows.

*ι*, the information of a family over that of independent bijections, is counted (`bounds.counting.families`). ρ = 1
where structure is not used; ρ = ι where only information costs. The *share saved* is (1 - ρ) / (1 - ι).

*Stored bits*, a measure without a threshold: what the cross-entropy saves of log2 N bits a fact, less what is saved by
knowing that a relation is a bijection, N·log2 N - log2 N! each, over the scalars that learn.

References: C. Spearman, The method of right and wrong cases without Gauss's formulae, British Journal of Psychology 2
(1908); G. Kärber, Archiv für experimentelle Pathologie und Pharmakologie 162 (1931).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Literal

import numpy as np

from bounds.counting.families import relative_information
from empirical.comparison.capacity import bits_per_relation, learned_scalars
from empirical.comparison.curves import Curve
from empirical.comparison.search import FOUND, Trace
from empirical.models.runs import MEMORISED_AT, RunResult
from empirical.statistics.threshold import success
from empirical.statistics.verdict import Outcome, Verdict, rule_of

FRESH = "fresh"  # independent systems of other seeds
MUST_COMPRESS = ("synonyms", "fourfold-synonyms")
FRESH_TOLERANCE = 0.05  # of ρ of fresh independent systems
REACHES = 0.9  # what the interval of ρ must reach where nothing is compressed
ROBUST_LEAST = 4  # of the five conditions
PAIRED_LEAST = 4  # seeds, of five: a run that failed takes its seed out
MOST_RESAMPLED = 6  # seeds whose resamples are all listed

Role = Literal["deciding", "further size", "robustness"]
Saved = Literal["compressed", "not compressed", "undecided"]
OUTCOMES: dict[Saved, Outcome] = {
    "compressed": "supported",
    "not compressed": "not supported",
    "undecided": "undecided",
}
OPPOSITES: tuple[tuple[Saved, Saved], ...] = (("compressed", "not compressed"), ("not compressed", "compressed"))


@dataclass(frozen=True)
class Setting:
    """A size and a condition: the curve of each system, `independent` and `FRESH` among them."""

    name: str
    role: Role
    curves: tuple[tuple[str, Curve], ...]


@dataclass(frozen=True)
class Cost:
    """What a system costs in a setting. `outcome` is by the rule of `costs`, None where ι is not below 1.

    `thresholds` are t of the seeds, by number; `trials` are [d, runs that memorised, runs, mean accuracy, stored bits a
    learned scalar]. ρ, its interval and the share saved are None where `reason` says what is missing.
    """

    setting: str
    system: str
    information: float
    rho: float | None
    low: float | None
    high: float | None
    share_saved: float | None
    scalars: float | None
    outcome: Saved | None
    reason: str
    thresholds: dict[str, int]
    trials: tuple[tuple[int, int, int, float, float], ...]

    def as_json(self) -> dict[str, Any]:
        """The cost as JSON values."""
        return asdict(self)


def costs(setting: Setting, traces: Mapping[Curve, Trace]) -> tuple[Cost, ...]:
    """Every system of a setting beside the independent one; undecided where runs are missing.

    With the interval of ρ: compressed if it lies below (1 + ι)/2; not compressed if it lies above that and reaches 0.9;
    else undecided. Systems with ι >= 1 (independent, fresh, maps) have a ρ and no outcome.
    """
    curves = dict(setting.curves)
    plain = curves["independent"]
    base, why_base = seed_thresholds(traces[plain])
    found = []
    for system, curve in setting.curves:
        own, why = (base, why_base) if curve == plain else seed_thresholds(traces[curve])
        share = relative_information(curve.condition.family, curve.entities, curve.relations)
        paired = sorted(set(own) & set(base))
        reason = why or why_base
        if not reason and len(paired) < PAIRED_LEAST:
            reason = f"{len(paired)} seeds are paired; {PAIRED_LEAST} are needed"
        rho: tuple[float, float, float] | None = None
        scalars = None
        if not reason:
            rho = relative_cost(curve, [own[seed] for seed in paired], plain, [base[seed] for seed in paired])
            scalars = float(np.exp(np.mean([np.log(learned_scalars(curve, own[seed] - 1 / 2)) for seed in paired])))
        value, low, high = rho or (None, None, None)
        saved = None if value is None or share >= 1 else (1 - value) / (1 - share)
        outcome: Saved | None = None if share >= 1 else "undecided"
        if rho is not None and share < 1:
            outcome = judged(rho, share)
        numbered = {str(seed): own[seed] for seed in sorted(own)}
        trials = tuple(_trials(curve, traces[curve].runs))
        found.append(
            Cost(setting.name, system, share, value, low, high, saved, scalars, outcome, reason, numbered, trials)
        )
    return tuple(found)


def judged(rho: tuple[float, float, float], share: float) -> Saved:
    """The rule of `costs` for ρ = (value, low, high) and ι."""
    _, low, high = rho
    if high < (1 + share) / 2:
        return "compressed"
    return "not compressed" if low > (1 + share) / 2 and high >= REACHES else "undecided"


def seed_thresholds(trace: Trace) -> tuple[dict[int, int], str]:
    """t of each seed, by its number from 0, and why there are none (empty where there are)."""
    if trace.stopped != FOUND:
        return {}, trace.stopped or "the search has not ended"
    outcomes: dict[int, dict[int, bool]] = {}
    for run in trace.runs:
        counted = success(run, MEMORISED_AT)
        if counted is not None:
            outcomes.setdefault(run.config.dimension, {})[run.config.seed - trace.curve.first_seed] = counted
    whole = {d: seeds for d, seeds in outcomes.items() if len(seeds) >= PAIRED_LEAST}
    nothing = [d for d, seeds in whole.items() if not any(seeds.values())]
    everything = [d for d, seeds in whole.items() if all(seeds.values()) and any(below < d for below in nothing)]
    if not everything:
        return {}, "no dimension at which no seed memorises, and above it one at which all do"
    last = min(everything)
    first = max(d for d in nothing if d < last)
    if missing := [d for d in range(first, last) if d not in whole]:
        return {}, f"dimension {missing[0]} was not trained with all seeds"
    span = [whole[d] for d in range(first, last + 1)]
    seeds = set.intersection(*(set(each) for each in span))
    return {seed: first + sum(not each[seed] for each in span) for seed in seeds}, ""


def relative_cost(curve: Curve, own: Sequence[int], plain: Curve, base: Sequence[int]) -> tuple[float, float, float]:
    """(ρ, low, high) from the paired seeds' thresholds t of a curve and of the independent one."""

    def logs(of_own: float, of_base: float) -> Any:
        """log ρ of each seed, with the thresholds this far below t."""
        return np.array(
            [
                np.log(learned_scalars(curve, one - of_own)) - np.log(learned_scalars(plain, other - of_base))
                for one, other in zip(own, base, strict=True)
            ]
        )

    value = float(np.exp(logs(1 / 2, 1 / 2).mean()))
    low = np.quantile(_resampled_means(logs(1, 0)), 0.025, method="inverted_cdf")
    high = np.quantile(_resampled_means(logs(0, 1)), 0.975, method="inverted_cdf")
    return value, float(np.exp(low)), float(np.exp(high))


def _resampled_means(values: Any) -> Any:
    """The means of all resamples with replacement; of many seeds, of as many drawn at random as there are of six."""
    count = len(values)
    if count <= MOST_RESAMPLED:
        chosen = np.array(list(product(range(count), repeat=count)))
    else:
        chosen = np.random.default_rng(0).integers(count, size=(MOST_RESAMPLED**MOST_RESAMPLED, count))
    return values[chosen].mean(axis=1)


def controls(found: Sequence[Cost]) -> tuple[bool, str]:
    """Whether a setting's controls pass, and if not which does not: synonyms are compressed, twofold and fourfold, and
    ρ of fresh independent systems is within 0.05 of 1.
    """
    by_system = {each.system: each for each in found}
    for system in MUST_COMPRESS:
        if system in by_system and by_system[system].outcome != "compressed":
            return False, f"{system} are {by_system[system].outcome}"
    rho = by_system[FRESH].rho
    if rho is None:
        return False, f"fresh independent systems: {by_system[FRESH].reason}"
    if abs(rho - 1) > FRESH_TOLERANCE:
        return False, f"fresh independent systems have ρ = {rho:.3f}"
    return True, ""


def verdict(system: str, settings: Sequence[Setting], found: Mapping[str, Sequence[Cost]]) -> Verdict:
    """E9: training compresses the structure of a family.

    In a setting, with the interval of ρ: compressed if it lies below (1 + ι)/2; not compressed if it lies above that
    and reaches 0.9; else undecided; and no setting counts whose controls fail (synonyms, twofold and fourfold, must be
    compressed, and fresh independent systems have ρ = 1 ± 0.05). Supported if the family is compressed at (N, R) =
    (64, 16) and (128, 16) and in four of the five robustness conditions, and not the opposite at a further size; not
    supported if it is not compressed there, by the same count. Else undecided.
    """
    outcomes: dict[Role, list[Saved]] = {"deciding": [], "further size": [], "robustness": []}
    numbers: list[tuple[str, float]] = []
    reasons = []
    curves = 0
    for setting in settings:
        own = next((each for each in found[setting.name] if each.system == system), None)
        if own is None:
            continue
        passed, why = controls(found[setting.name])
        outcomes[setting.role].append(own.outcome or "undecided" if passed else "undecided")
        if why := own.reason or why:
            reasons.append(f"{setting.name}: {why}")
        if own.rho is not None and own.low is not None and own.high is not None:
            curves += 1
            if setting.role == "deciding":
                numbers += [(f"ι, {setting.name}", own.information), (f"ρ, {setting.name}", own.rho)]
                numbers += [(f"ρ low, {setting.name}", own.low), (f"ρ high, {setting.name}", own.high)]
    decided: Saved = "undecided"
    for one, opposite in OPPOSITES:
        agree = all(each == one for each in outcomes["deciding"])
        conditions = outcomes["robustness"].count(one)
        numbers.append((f"conditions in which {one}", float(conditions)))
        if agree and conditions >= ROBUST_LEAST and opposite not in outcomes["further size"]:
            decided = one
    reason = "; ".join(reasons) if decided == "undecided" else ""
    return Verdict(
        "E9", f"training compresses {system}", OUTCOMES[decided], rule_of(verdict), tuple(numbers), curves, None, reason
    )


def verdicts(settings: Sequence[Setting], found: Mapping[str, Sequence[Cost]]) -> tuple[Verdict, ...]:
    """The verdict on each family whose ι is below 1 in every setting that has it."""
    systems = dict.fromkeys(each.system for setting in settings for each in found[setting.name] if each.information < 1)
    return tuple(verdict(system, settings, found) for system in systems)


def _trials(curve: Curve, runs: Sequence[RunResult]) -> list[tuple[int, int, int, float, float]]:
    by_dimension: dict[int, list[RunResult]] = {}
    for run in runs:
        if success(run, MEMORISED_AT) is not None:
            by_dimension.setdefault(run.config.dimension, []).append(run)
    rows = []
    for dimension, counted in sorted(by_dimension.items()):
        accuracy = float(np.mean([run.accuracy for run in counted]))
        memorised = sum(run.status == "memorised" for run in counted)
        rows.append((dimension, memorised, len(counted), accuracy, stored_bits(curve, counted)))
    return rows


def stored_bits(curve: Curve, runs: Sequence[RunResult]) -> float:
    """The mean over runs at one dimension of the stored bits a learned scalar, as the module's head says."""
    facts = curve.entities * curve.answers_per_subject
    losses = [run.history[-1][1] if run.history else np.log(curve.entities) for run in runs]
    uncertainty = facts * float(np.mean(losses)) / np.log(2)
    known = curve.answers_per_subject * bits_per_relation(curve.entities)
    if curve.condition.family == "maps":
        known = facts * np.log2(curve.entities)
    return float((known - uncertainty) / learned_scalars(curve, runs[0].config.dimension))
