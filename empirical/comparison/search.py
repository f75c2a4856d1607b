"""Where is the threshold? Which runs to train next, for all curves at once, given the runs that are known.

The search of a curve is a sequence of batches, each decided from the batches before:

1. *Bracket*: one seed at E8's predicted dimension, then geometrically up until it memorises, down until it does not.
2. *Bisect* (at the geometric mean) until the dimension that memorises and the one that does not are one step apart: a
   step is 1, or `resolution` of the dimension where that is more.
3. *Fill*: all seeds at both, then step by step outwards until at most a quarter of the seeds memorise at the low end
   and at least three quarters at the high end, so that the success probability is seen to cross 1/2. (Where `certain`
   is 1: until none does and all do.)

A dimension counts as memorising when at least half of its seeds do. More seeds may overturn what one seed said; the
bracket then moves, by the same rules. Nothing assumes that success is monotone in d: see `threshold.inversions`.

A `failed` run says nothing about memorisation. It is left out, and another seed takes its place; where twice the seeds
wanted are used up, the search of the curve stops and says so.

The search is a pure function: it is replayed from its beginning on the known results, each looked up when its turn
comes, and what it asks for is the part of the current batch that is missing. So an interrupted sweep goes on as if it
had not been interrupted, whatever part of a batch was finished, and runs that the search did not ask for do not
influence it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from math import ceil, floor, sqrt

from empirical.comparison.capacity import first_guess
from empirical.comparison.curves import Curve
from empirical.models.runs import MEMORISED_AT, RunConfig, RunResult
from empirical.statistics.threshold import Trials, tally
from theory.definitions.fact_system import check_count
from theory.errors import InputError

FOUND = "found"

Known = Callable[[RunConfig], RunResult | None]  # what is known of a run; None: it has not ended


@dataclass(frozen=True)
class Trace:
    """How far the search of one curve has come.

    `runs` are the results that it has used, in the order in which it asked for them; `missing` are those that it waits
    for; `stopped` says why it asks for no more (`found`, or what was in the way) and is empty while it does.
    """

    curve: Curve
    runs: tuple[RunResult, ...]
    missing: tuple[RunConfig, ...]
    stopped: str


@dataclass(frozen=True)
class Plan:
    """The search settings: `seeds` a dimension, at most `budget` runs a curve, dimensions 1 .. `largest_dimension`.

    `growth` is the factor of the bracket, `resolution` the step relative to the dimension, `certain` the share of seeds
    at which filling ends. `at_once` curves are searched at a time, in their order; None: all of them.
    """

    curves: tuple[Curve, ...]
    seeds: int = 5
    budget: int = 60
    largest_dimension: int = 512
    growth: float = 1.5
    resolution: float = 0.05
    certain: float = 3 / 4
    at_once: int | None = None

    def __post_init__(self) -> None:
        for name in ("seeds", "budget", "largest_dimension"):
            check_count(name, getattr(self, name))
        if not self.growth > 1 or not 0 <= self.resolution < 1:
            raise InputError("growth must be above 1 and resolution in [0, 1)")
        if not 1 / 2 < self.certain <= 1:
            raise InputError(f"certain must be a share above 1/2, not {self.certain!r}")
        if self.at_once is not None:
            check_count("at_once", self.at_once)
        if len(set(self.curves)) < len(self.curves):
            raise InputError("a curve occurs twice in the plan")

    def next_batch(self, known: Known) -> tuple[RunConfig, ...]:
        """The runs to train now, for all curves that are searched, each once; empty when every search has stopped."""
        return tuple(dict.fromkeys(config for trace in self.under_way(known) for config in trace.missing))

    def under_way(self, known: Known) -> tuple[Trace, ...]:
        """How far the curves have come that are searched now: the first `at_once` whose search has not stopped."""
        unfinished = (trace for trace in (self.trace(curve, known) for curve in self.curves) if not trace.stopped)
        return tuple(islice(unfinished, self.at_once))

    def traces(self, known: Known) -> tuple[Trace, ...]:
        """How far each curve has come."""
        return tuple(self.trace(curve, known) for curve in self.curves)

    def trace(self, curve: Curve, known: Known) -> Trace:
        """Replays the search of one curve on the known results."""
        runs: list[RunResult] = []
        while True:
            wanted = self._next(curve, tally(runs, MEMORISED_AT))
            if isinstance(wanted, str):
                return Trace(curve, tuple(runs), (), wanted)
            if len(runs) == self.budget:
                return Trace(curve, tuple(runs), (), f"budget of {self.budget} runs used")
            batch = [curve.config(dimension, seed) for dimension, seed in wanted[: self.budget - len(runs)]]
            found = [known(config) for config in batch]
            missing = tuple(config for config, result in zip(batch, found, strict=True) if result is None)
            if missing:
                return Trace(curve, tuple(runs), missing, "")
            runs += [result for result in found if result is not None]

    def _next(self, curve: Curve, trials: tuple[Trials, ...]) -> list[tuple[int, int]] | str:
        """The next batch as (dimension, seed), or why there is none."""
        table = {each.dimension: each for each in trials}
        for each in trials:
            if each.runs == 0 and each.left_out >= 2 * self.seeds:
                return f"every run failed at dimension {each.dimension}"
        unsettled = [each for each in trials if each.runs == 0]
        if unsettled:
            return [seed for each in unsettled for seed in self._seeds(table, each.dimension, 1)]
        lower, upper = bracket(trials)
        if lower is None or upper is None:
            outward = self._outward(curve, lower, upper)
            if outward is None and lower is not None:
                return self._seeds(table, lower, self.seeds) or f"not memorised up to dimension {lower}"
            if outward is not None:
                return self._seeds(table, outward, 1)
        elif upper - lower > self._step(lower):
            middle = min(max(round(sqrt(lower * upper)), lower + 1), upper - 1)
            return self._seeds(table, middle, 1)
        return self._fill(table, lower, upper)

    def _outward(self, curve: Curve, lower: int | None, upper: int | None) -> int | None:
        """The next dimension of the bracket; None where there is none left."""
        if lower is None and upper is None:
            return min(first_guess(curve), self.largest_dimension)
        if lower is not None:
            return min(ceil(lower * self.growth), self.largest_dimension) if lower < self.largest_dimension else None
        assert upper is not None
        return max(1, floor(upper / self.growth)) if upper > 1 else None

    def _fill(self, table: dict[int, Trials], lower: int | None, upper: int | None) -> list[tuple[int, int]] | str:
        """All seeds on both sides of the crossing and outwards from it; lower is None where d = 1 memorises."""
        ends = [end for end in (lower, upper) if end is not None]
        wanted = [seed for end in ends for seed in self._seeds(table, end, self.seeds)]
        wanted = wanted or self._flank(table, lower, -1) + self._flank(table, upper, 1)
        return wanted or (FOUND if lower is not None else "memorised at dimension 1 already")

    def _flank(self, table: dict[int, Trials], dimension: int | None, direction: int) -> list[tuple[int, int]]:
        """The runs that are missing on one side of the crossing, up to where nearly all seeds agree."""
        while dimension is not None and 1 <= dimension <= self.largest_dimension:
            wanted = self._seeds(table, dimension, self.seeds)
            if wanted:
                return wanted
            rate = table[dimension].rate
            if rate >= self.certain if direction > 0 else rate <= 1 - self.certain:
                return []
            dimension += direction * self._step(dimension)
        return []

    def _seeds(self, table: dict[int, Trials], dimension: int, counted: int) -> list[tuple[int, int]]:
        """The next seeds at a dimension towards that many counted runs; no more once 2·seeds are used."""
        known = table.get(dimension, Trials(dimension, 0, 0, 0))
        used = known.runs + known.left_out
        more = min(counted - known.runs, 2 * self.seeds - used)
        return [(dimension, seed) for seed in range(used, used + more)]

    def _step(self, dimension: int) -> int:
        return max(1, floor(self.resolution * dimension))


def among(results: Iterable[RunResult]) -> Known:
    """These results, and no others, as what is known."""
    return {result.config: result for result in results}.get


def bracket(trials: Iterable[Trials]) -> tuple[int | None, int | None]:
    """The smallest dimension that memorises, after the largest below it that does not; None where there is none."""
    counted = [each for each in trials if each.runs]
    upper = min((each.dimension for each in counted if each.rate >= 1 / 2), default=None)
    below = [each.dimension for each in counted if each.rate < 1 / 2 and (upper is None or each.dimension < upper)]
    return max(below, default=None), upper
