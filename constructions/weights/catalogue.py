"""Every construction by theorem and name, with one signature, so that checks, tests and the command line can go through
them.

The names are those of `theory.statements.registry`; a setting is the number of hops, the bits of a subject entry, and
the stride of a chain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from constructions.weights import t1, t1b, t1d, t2, t2b, t2e, t3, t3b, t4, t6
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
class Entry:
    """A construction: `build(system, setting)`, and the task that the result is for.

    `uses` names the parts of the setting that matter. `exact` is False for the real-valued and softmax constructions,
    which are checked by intervals.
    """

    theorem: str
    name: str
    build: Callable[[FactSystem, Setting], Transformer]
    uses: tuple[str, ...] = ()
    exact: bool = True

    def task(self, setting: Setting) -> Task:
        """The task: one hop unless hops matter, a chain if strides do (T3's is 1)."""
        if self.theorem == "T6":
            return Task(disjoint_attributes=True)
        hops = setting.hops if "hops" in self.uses else 1
        if self.name == "split":
            hops = odd(hops)
        stride = {"T3": 1, "T3b": min(setting.stride, hops)}.get(self.theorem, hops)
        return Task(hops, stride)


def odd(hops: int) -> int:
    """The number of hops, or one less if it is even: what T2e's split serves."""
    return hops - 1 + hops % 2


CATALOGUE: tuple[Entry, ...] = (
    Entry("T1", "plain", lambda g, s: t1.construct(g)),
    Entry("T1", "residual", lambda g, s: t1.construct(g, residual=True)),
    Entry("T1b", "digits", lambda g, s: t1b.construct(g, s.bits), ("bits",)),
    Entry("T1b", "circle", lambda g, s: t1b.construct_circle(g), exact=False),
    Entry("T1d", "lookup", lambda g, s: t1d.construct(g, s.bits), ("bits",)),
    Entry("T1d", "concatenated", lambda g, s: t1d.construct_concatenated(g, s.bits), ("bits",)),
    Entry("T2", "direct", lambda g, s: t2.construct(g, s.hops, s.bits), ("hops", "bits")),
    Entry("T2b", "memory", lambda g, s: t2b.construct(g, s.hops), ("hops",)),
    Entry("T2e", "untied", lambda g, s: t2e.construct(g, s.hops), ("hops",)),
    Entry("T2e", "tied", lambda g, s: t2e.construct(g, s.hops, tied=True), ("hops",)),
    Entry("T2e", "split", lambda g, s: t2e.construct_split(g, odd(s.hops)), ("hops",)),
    Entry("T3", "parabola", lambda g, s: t3.construct(g, s.hops, s.bits), ("hops", "bits")),
    Entry("T3", "signs", lambda g, s: t3.construct_with_signs(g, s.hops, s.bits), ("hops", "bits")),
    Entry(
        "T3", "parabola, softmax", lambda g, s: t3.construct(g, s.hops, s.bits, softmax=True), ("hops", "bits"), False
    ),
    Entry(
        "T3",
        "signs, softmax",
        lambda g, s: t3.construct_with_signs(g, s.hops, s.bits, softmax=True),
        ("hops", "bits"),
        False,
    ),
    Entry(
        "T3b",
        "fixed",
        lambda g, s: t3b.construct(g, s.hops, min(s.stride, s.hops), s.bits),
        ("hops", "bits", "stride"),
    ),
    Entry("T3b", "learned", lambda g, s: t3b.construct_learned(g, s.hops, min(s.stride, s.hops)), ("hops", "stride")),
    Entry("T4", "deep", lambda g, s: t4.construct(g, s.hops), ("hops",)),
    Entry("T6", "linear", lambda g, s: t6.construct(g)),
)


def entry(theorem: str, name: str | None = None) -> Entry:
    """The construction of a theorem with that name, or its first. InputError, listing the names, when there is none."""
    for candidate in entries(theorem):
        if name in (None, candidate.name):
            return candidate
    raise InputError(f"{theorem} has no construction {name!r}; it has: {', '.join(e.name for e in entries(theorem))}")


def entries(theorem: str) -> tuple[Entry, ...]:
    """The constructions of a theorem, the first being the one meant when none is named. InputError when it has none."""
    found = tuple(entry for entry in CATALOGUE if entry.theorem == theorem)
    if not found:
        raise InputError(
            f"{theorem} has no construction; {', '.join(dict.fromkeys(e.theorem for e in CATALOGUE))} have"
        )
    return found
