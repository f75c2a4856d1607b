"""The library in six verbs: `construct`, `verify`, `certify`, `count`, `bounds`, and the vocabulary that they speak.

    >>> import georecall
    >>> system = georecall.FactSystem.random(entities=100, relations=4)
    >>> model = georecall.construct("T1", system)
    >>> for row in georecall.verify(model, system):
    ...     print(row.construction, "|", row.rung, row.status, row.margin)
    model | exhaustive queries holds 2
    model | certificate holds 2
    model, noise | exhaustive queries holds None

Nothing here needs PyTorch, and SymPy is loaded only by what asks the registry.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from theory import Block, FactSystem, InputError, Task, Transformer

if TYPE_CHECKING:
    from bounds.tables.rows import BoundRow
    from constructions.verification.result import Result
    from theory.records.ledger import Row

__all__ = [
    "Block",
    "FactSystem",
    "InputError",
    "Task",
    "Transformer",
    "bounds",
    "certify",
    "construct",
    "count",
    "task_of",
    "verify",
]


def construct(
    theorem: str, system: FactSystem, *, name: str | None = None, hops: int = 1, bits: int = 1, stride: int = 1
) -> Transformer:
    """The weights that a theorem claims to exist, for a fact system.

    Arguments:
        theorem: the identifier, such as "T1" or "T2e"; InputError for one without a construction.
        system: the facts, R maps of N entities; T2e and T3b with a learned read-out need permutations. T14's
            model is asked for more: `system.with_inverses()`, or `system.compositions()`.
        name: which of the theorem's constructions, such as "residual"; the first, unless given.
        hops: k, the relations in a query; ignored by theorems about one hop. Default 1.
        bits: b, the bits of an entry of a subject's row, 1 to 30; ignored where entries are signs. Default 1.
        stride: j, the hops of each step of a chain (T3b). Default 1.

    Returns the transformer; `task_of` gives the task that it is made for, with the same arguments.

    >>> construct("T2e", FactSystem.random(100, 8), hops=3).dimension
    448
    """
    from constructions.weights.catalogue import Setting, entry

    return entry(theorem, name).build(system, Setting(hops, bits, stride))


def task_of(theorem: str, *, name: str | None = None, hops: int = 1, stride: int = 1) -> Task:
    """The task that a theorem's construction is made for.

    Arguments:
        theorem, name, hops, stride: as for `construct`.

    >>> task_of("T3", hops=4)
    Task(hops=4, stride=1, disjoint_attributes=False)
    """
    from constructions.weights.catalogue import Setting, entry

    return entry(theorem, name).task(Setting(hops=hops, stride=stride))


def verify(model: Transformer, system: FactSystem, task: Task | None = None) -> list[Row]:
    """Check a model, whoever made it, on every query, in exact arithmetic: what `georecall verify --weights` does.

    Arguments:
        model: the weights; floats are taken as the binary fractions that they are, softmax is enclosed by intervals.
        system: the facts that the model should recall.
        task: what is asked: hops, and the steps of a chain. Default: one hop.

    Returns the rows of the ledger: one for all queries, all logits, where these can be listed, with the smallest
    counterexample if there is one, and one for the certificate where it accepts (or where nothing can be listed).
    InputError when model, system and task do not fit together.

    >>> right, wrong = FactSystem([[1, 0]]), FactSystem([[0, 1]])
    >>> print(verify(construct("T1", right), wrong)[0].counterexample.margin)
    -2
    """
    from constructions.suite.checks import check_transformer

    return check_transformer(model, system, task or Task())


def certify(
    model: Transformer, system: FactSystem, task: Task | None = None, claimed_margin: int | Fraction = 0
) -> Result:
    """Prove all N·R^k queries from the weights, without listing them; refusing proves nothing.

    Arguments:
        model, system, task: as for `verify`.
        claimed_margin: the margin to prove, at least; 0 asks for a positive one. Default 0.

    Returns the result: whether it `holds`, `queries`, the `margin` that is proved, and the `reason` of a refusal.

    >>> facts = FactSystem.random(1000, 8)
    >>> proof = certify(construct("T1", facts), facts)
    >>> proof.holds, proof.queries, proof.margin
    (True, 8000, Fraction(2, 1))
    """
    from constructions.verification.certificate import certify as certified

    return certified(model, system, task or Task(), claimed_margin)


def count(kind: str, entities: int, relations: int, hops: int | None = None) -> int:
    """The exact number of objects of a kind: R-regular edge-coloured graphs of N nodes, and their like.

    Arguments:
        kind: one of the names that `georecall count --list` explains, such as "relabelled".
        entities: N, the nodes.
        relations: R, the colours.
        hops: k, for "answer-vectors" alone.

    InputError for an unknown kind, and for sizes at which the count would take too long.

    >>> count("relabelled", 6, 2)
    901
    """
    from bounds.counting.kinds import count as counted

    found = counted(kind, entities, relations, hops)
    return found if isinstance(found, int) else found.value


def bounds(
    entities: int,
    relations: int,
    *,
    hops: int = 1,
    bits: int = 1,
    shared_bits: int = 0,
    readout: Literal["fixed", "learned", "tied"] = "fixed",
    error: Fraction | int = 0,
    maps: bool = False,
) -> list[BoundRow]:
    """Lower bounds beside what the constructions reach, at one setting, with the assumptions of each number.

    Arguments:
        entities, relations, hops: N >= 2, R, k.
        bits: b, the bits of an entry of a subject's row.
        shared_bits: B, the bits outside the tables that may depend on the facts. Default 0.
        readout: whether the read-out is fixed before the facts are known, learned, or tied to the subject table.
        error: ε, the fraction of queries that may be wrong (T8), exactly. Default 0.
        maps: whether the facts are arbitrary maps (T10) instead of bijections. Default False.

    Returns a row for each bound and each construction; InputError for sizes beyond what is tabulated.

    >>> [(row.label, row.dimension) for row in bounds(4096, 2, bits=4)][:2]
    [('universal', 6), ('any model, fixed', 6)]
    """
    from bounds.tables.dimensions import bound_rows, settings

    asked = settings([entities], [relations], [hops], [bits], shared_bits, readout, Fraction(error), maps)
    return bound_rows(asked)
