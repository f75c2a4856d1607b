"""Every construction by theorem and name, with one signature, so that checks, tests and the command line can go through
them.

The names are those of `theory.statements.registry`; a setting is the number of hops, the bits of a subject entry, and
the stride of a chain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from constructions.weights import t1, t1b, t1d, t2, t2b, t2e, t3, t3b, t4, t6, t13, t14
from theory import FactSystem, InputError, Task, Transformer
from theory.definitions.fact_system import check_count

MOST_HOPS = 10_000  # R^k, the number of words, is a number of so many digits


@dataclass(frozen=True)
class Setting:
    """What a construction is built for, besides the facts; a construction ignores what it has no use for.

    InputError for more hops than a power of the relations can be written out for.
    """

    hops: int = 1
    bits: int = 1
    stride: int = 1

    def __post_init__(self) -> None:
        for name in ("hops", "stride"):
            if check_count(name, getattr(self, name)) > MOST_HOPS:
                raise InputError(f"{name} is {getattr(self, name)}; at most {MOST_HOPS} can be built")


@dataclass(frozen=True)
class Asked:
    """Which relations a model is asked for that is built for R of them: `system` makes them of the facts, `number` says
    how many they are, `names` what they are called.
    """

    system: Callable[[FactSystem], FactSystem]
    number: Callable[[int], int]
    names: Callable[[Sequence[str]], tuple[str, ...]]


THESE = Asked(lambda g: g, lambda r: r, tuple)
INVERSES_TOO = Asked(
    FactSystem.with_inverses, lambda r: 2 * r, lambda names: (*names, *(f"{name}, inverse" for name in names))
)
COMPOSED = Asked(
    FactSystem.compositions, lambda r: r * r, lambda names: tuple(f"{u}, then {v}" for u in names for v in names)
)


@dataclass(frozen=True)
class Entry:
    """A construction: `build(system, setting)`, and `task(setting)`, the task that the result is for.

    `uses` names the parts of the setting that matter; `formulas` the construction of the registry that says what it
    costs (its own name, unless given). `exact` is False for the real-valued and softmax constructions, which are
    checked by intervals; `certified` is False where no certificate is known. `maps` is False where the relations must
    be bijections. `asked` makes the facts that are asked for from those that it is built for.
    """

    theorem: str
    name: str
    build: Callable[[FactSystem, Setting], Transformer]
    task: Callable[[Setting], Task]
    uses: tuple[str, ...] = ()
    exact: bool = True
    certified: bool = True
    formulas: str = ""
    maps: bool = True
    asked: Asked = THESE

    @property
    def label(self) -> str:
        """The theorem and the name, as in "T1 plain"."""
        return f"{self.theorem} {self.name}"


def one_hop(setting: Setting) -> Task:
    """Single hop, whatever the setting."""
    return Task()


def disjoint(setting: Setting) -> Task:
    """Single hop, with attributes of its own for each relation."""
    return Task(disjoint_attributes=True)


def one_pass(setting: Setting) -> Task:
    """All hops at once."""
    return Task(setting.hops, setting.hops)


def odd_pass(setting: Setting) -> Task:
    """All hops at once, one hop less if they are even: what T2e's split serves."""
    return one_pass(replace(setting, hops=odd(setting.hops)))


def hop_by_hop(setting: Setting) -> Task:
    """A chain of thought with a token a hop."""
    return Task(setting.hops, 1)


def strided(setting: Setting) -> Task:
    """A chain of thought with a token every `stride` hops."""
    return Task(setting.hops, min(setting.stride, setting.hops))


def odd(hops: int) -> int:
    """The number of hops, or one less if it is even."""
    return hops - 1 + hops % 2


HOPS, BITS = ("hops",), ("bits",)
CATALOGUE: tuple[Entry, ...] = (
    Entry("T1", "plain", lambda g, s: t1.construct(g), one_hop),
    Entry("T1", "residual", lambda g, s: t1.construct(g, residual=True), one_hop),
    Entry("T1b", "digits", lambda g, s: t1b.construct(g, s.bits), one_hop, BITS),
    Entry("T1b", "circle", lambda g, s: t1b.construct_circle(g), one_hop, exact=False, certified=False),
    Entry("T1d", "lookup", lambda g, s: t1d.construct(g, s.bits), one_hop, BITS),
    Entry("T1d", "concatenated", lambda g, s: t1d.construct_concatenated(g, s.bits), one_hop, BITS),
    Entry("T2", "direct", lambda g, s: t2.construct(g, s.hops, s.bits), one_pass, HOPS + BITS),
    Entry("T2b", "memory", lambda g, s: t2b.construct(g, s.hops), one_pass, HOPS),
    Entry("T2e", "untied", lambda g, s: t2e.construct(g, s.hops), one_pass, HOPS, maps=False),
    Entry("T2e", "tied", lambda g, s: t2e.construct(g, s.hops, tied=True), one_pass, HOPS, maps=False),
    Entry("T2e", "split", lambda g, s: t2e.construct_split(g, odd(s.hops)), odd_pass, HOPS, maps=False),
    Entry("T3", "parabola", lambda g, s: t3.construct(g, s.hops, s.bits), hop_by_hop, HOPS + BITS),
    Entry("T3", "signs", lambda g, s: t3.construct_with_signs(g, s.hops, s.bits), hop_by_hop, HOPS + BITS),
    Entry(
        "T3",
        "parabola, softmax",
        lambda g, s: t3.construct(g, s.hops, s.bits, softmax=True),
        hop_by_hop,
        HOPS + BITS,
        exact=False,
        formulas="parabola",
    ),
    Entry(
        "T3",
        "signs, softmax",
        lambda g, s: t3.construct_with_signs(g, s.hops, s.bits, softmax=True),
        hop_by_hop,
        HOPS + BITS,
        exact=False,
        formulas="signs",
    ),
    Entry(
        "T3b",
        "fixed",
        lambda g, s: t3b.construct(g, s.hops, min(s.stride, s.hops), s.bits),
        strided,
        (*HOPS, *BITS, "stride"),
    ),
    Entry(
        "T3b",
        "learned",
        lambda g, s: t3b.construct_learned(g, s.hops, min(s.stride, s.hops)),
        strided,
        (*HOPS, "stride"),
        maps=False,
    ),
    Entry("T4", "deep", lambda g, s: t4.construct(g, s.hops), one_pass, HOPS),
    Entry("T6", "linear", lambda g, s: t6.construct(g), disjoint),
    Entry("T13", "shifted", lambda g, s: t13.construct(g, s.bits), one_hop, BITS),
)
"""The constructions that are asked for the facts that they are built for."""

STRUCTURED: tuple[Entry, ...] = (
    Entry("T14", "inverses", lambda g, s: t14.construct_inverses(g), one_hop, maps=False, asked=INVERSES_TOO),
    Entry("T14", "compositions", lambda g, s: t14.construct_compositions(g), one_hop, maps=False, asked=COMPOSED),
)
"""Those that are asked for more: relations that the facts determine."""


def entry(theorem: str, name: str | None = None) -> Entry:
    """The construction of a theorem with that name, or its first. InputError, listing the names, when there is none."""
    for candidate in entries(theorem):
        if name in (None, candidate.name):
            return candidate
    raise InputError(f"{theorem} has no construction {name!r}; it has: {', '.join(e.name for e in entries(theorem))}")


def entries(theorem: str) -> tuple[Entry, ...]:
    """The constructions of a theorem, the first being the one meant when none is named. InputError when it has none."""
    every = (*CATALOGUE, *STRUCTURED)
    found = tuple(entry for entry in every if entry.theorem == theorem)
    if not found:
        raise InputError(f"{theorem} has no construction; {', '.join(dict.fromkeys(e.theorem for e in every))} have")
    return found
