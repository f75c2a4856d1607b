"""Holds the weights and numbers of the Coq theorems against those that `constructions` and `bounds` build, entry by
entry.

    python proofs/compare.py          from the repository's root, after `make proofs`

Coq evaluates (`vm_compute`) the very formulas that the theorems are about (`Export.v`). Compared are the shape and
every entry of every tensor, the flags (attention, residual, causal), and for lower bounds the rows, the share of B and
every logarithm of the right side.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bounds.enclosure import log2_falling
from bounds.lower.bound import Bound
from bounds.lower.dichotomy import loop_bound, tree_bound
from bounds.lower.information import total_information, universal_single_hop
from bounds.lower.learned_readout import full_bound
from bounds.lower.maps import fixed_maps, learned_maps, most_map_roots, universal_maps
from constructions.weights.catalogue import Setting, entry
from theory import FactSystem, Transformer

FOLDER = Path(__file__).resolve().parent
ATTENTION = ("uniform", "hardmax", "softmax")
Numbers = list[list[int]]


@dataclass(frozen=True)
class Case:
    """A construction that has a proof: its theorem and name in `constructions.weights.catalogue`, the Coq file and
    formula.

    `term` gives the Coq formula of the weights, in which `g` is the table of facts, for (N, R, setting).
    """

    theorem: str
    name: str
    file: str
    term: Callable[[int, int, Setting], str]
    settings: Sequence[tuple[int, int, Setting]]

    def __str__(self) -> str:
        return f"{self.theorem} {self.name}"


@dataclass(frozen=True)
class BoundCase:
    """A lower bound that has a proof: the Coq formula, and the bound that Python computes."""

    theorem: str
    file: str
    term: str
    bound: Bound


SINGLE = [(n, r, Setting()) for n, r in ((2, 1), (5, 3), (8, 2), (3, 4))]
DIGITS = [(n, r, Setting(bits=b)) for n, r, b in ((2, 1, 1), (5, 3, 2), (8, 2, 3), (9, 2, 2), (3, 2, 5))]
HOPS = [
    (n, r, Setting(hops=k, bits=b))
    for n, r, k, b in ((2, 1, 1, 1), (4, 1, 3, 2), (5, 2, 1, 2), (5, 2, 2, 1), (3, 3, 1, 1), (3, 3, 2, 2), (2, 2, 3, 1))
]
STRIDES = [
    (n, r, Setting(hops=k, stride=j, bits=b))
    for n, r, k, j, b in (
        (2, 1, 3, 2, 1),
        (5, 2, 1, 1, 2),
        (5, 2, 3, 2, 1),
        (3, 3, 4, 2, 2),
        (4, 2, 5, 3, 2),
        (6, 2, 2, 2, 3),
    )
]

CASES = (
    Case("T1", "plain", "T1", lambda n, r, s: f"t1 {n} {r} false g", SINGLE),
    Case("T1", "residual", "T1", lambda n, r, s: f"t1 {n} {r} true g", SINGLE),
    Case("T1b", "digits", "T1b", lambda n, r, s: f"t1b {n} {r} {s.bits} g", DIGITS),
    Case("T1d", "lookup", "T1dLookup", lambda n, r, s: f"t1d_lookup {n} {r} {s.bits} g", DIGITS),
    Case("T1d", "concatenated", "T1dConcatenated", lambda n, r, s: f"t1d_concatenated {n} {r} {s.bits} g", DIGITS),
    Case("T2", "direct", "T2", lambda n, r, s: f"t2 {n} {r} {s.hops} {s.bits} g", HOPS),
    Case("T2e", "untied", "T2eUpper", lambda n, r, s: f"t2e {n} {r} {s.hops} false g", HOPS),
    Case("T2e", "tied", "T2eUpper", lambda n, r, s: f"t2e {n} {r} {s.hops} true g", HOPS),
    Case("T3", "parabola", "T3Parabola", lambda n, r, s: f"t3_parabola {n} {r} {s.hops} {s.bits} g", HOPS),
    Case("T3", "signs", "T3Signs", lambda n, r, s: f"t3_signs {n} {r} {s.hops} {s.bits} g", HOPS),
    Case(
        "T3", "parabola, softmax", "T3Softmax", lambda n, r, s: f"t3_parabola_softmax {n} {r} {s.hops} {s.bits} g", HOPS
    ),
    Case("T3", "signs, softmax", "T3Softmax", lambda n, r, s: f"t3_signs_softmax {n} {r} {s.hops} {s.bits} g", HOPS),
    Case("T3b", "fixed", "T3b", lambda n, r, s: f"t3b_fixed {n} {r} {s.hops} {s.stride} {s.bits} g", STRIDES),
    Case("T6", "linear", "T6", lambda n, r, s: f"t6 {n} {r} g", SINGLE),
)


def bound_cases() -> Iterator[BoundCase]:
    """Every lower bound that has a proof, at several sizes."""
    for n, r in ((2, 1), (5, 3), (12, 4)):
        yield BoundCase("T1c", "T1c", f"t1c_universal_bound {n} {r}", universal_single_hop(n, r))
        yield BoundCase("T1c", "T1c", f"t1c_every_bound {n} {r}", total_information(n, r))
    for n, r, k, m in ((7, 2, 1, 3), (9, 2, 2, 3), (30, 3, 3, 2), (12, 1, 4, 2)):
        yield BoundCase("T2c", "T2c", f"t2c_tree_bound {n} {r} {k} {m}", tree_bound(n, r, k, m))
    for n, r, k, m, d, e in ((5, 2, 1, 3, 1, 1), (9, 2, 3, 2, 2, 2), (30, 3, 4, 2, 3, 4), (20, 4, 3, 5, 2, 2)):
        yield BoundCase("T2c", "T2cLoops", f"t2c_loop_bound {n} {r} {m} {d} {e}", loop_bound(n, r, k, m, d, e))

    for n, r, k, m in ((7, 2, 1, 7), (20, 2, 3, 4), (64, 2, 5, 4), (30, 3, 3, 2), (9, 3, 2, 1), (24, 2, 4, 2)):
        for tied in (False, True):
            term = f"t2e_{'odd' if k % 2 else 'even'}_bound {r} {(k - 1) // 2} {m} {str(tied).lower()}"
            yield BoundCase("T2e", "T2eLower", term, full_bound(n, r, k, m, tied=tied))

    for n, r, k in ((2, 1, 1), (9, 2, 3), (40, 3, 3)):
        m = most_map_roots(n, r, k)
        yield BoundCase("T10", "T10", f"t10_universal_bound {n} {r} {k}", universal_maps(n, r, k))
        yield BoundCase("T10", "T10", f"t10_fixed_bound {n} {r} {k} {m}", fixed_maps(n, r, k))
        last = learned_maps(n, r, k).members[-1]  # that of the largest q, which is N
        yield BoundCase("T10", "T10", f"t10_learned_bound {r} {k} {m} {n}", last)
        if m > 1:
            yield BoundCase("T10", "T10", f"t10_tied_bound {r} {k} {m}", learned_maps(n, r, k, tied=True).members[-1])


def evaluate(files: Sequence[str], terms: Sequence[str]) -> list[Numbers]:
    """What Coq makes of terms of type seq (seq Z), with the files of these names imported. Raises RuntimeError with
    Coq's message if it does not accept them."""
    lines = [
        "From Coq Require Import ZArith.",
        "From mathcomp Require Import all_ssreflect all_algebra.",
        "From Recall Require Import Model Weights Bound Export.",
        *(f"From Recall Require {file}." for file in sorted(set(files))),
        "Set Printing Width 1000000. Set Printing Depth 10000000.",
        *(f"Eval vm_compute in ({term} : seq (seq Z))." for term in terms),
    ]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "compared.v"
        source.write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = ["coqc", "-q", "-w", "none", "-R", str(FOLDER), "Recall", str(source)]
        run = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if run.returncode:
        raise RuntimeError(f"coqc does not accept the comparison: {run.stderr.strip()}")
    found = re.findall(r"^     = (.*?)\n     : ", run.stdout, re.MULTILINE | re.DOTALL)
    if len(found) != len(terms):
        raise RuntimeError(f"coqc answered {len(found)} of {len(terms)} questions")
    return [parse(text) for text in found]


def parse(text: str) -> Numbers:
    """Coq's [:: [:: 1; 2]; [::]] as [[1, 2], []]."""
    value = ast.literal_eval(re.sub(r"%\w+", "", text).replace("[::", "[").replace(";", ","))
    return [[int(number) for number in row] for row in value]


def numbers_of(transformer: Transformer) -> Numbers:
    """The flags, then shape and entries of every tensor, in the order of `Export.v`."""
    flags = [ATTENTION.index(transformer.attention), int(transformer.residual), int(transformer.causal)]
    tensors = (part for _, array in transformer.tensors() for part in (array.shape, array.reshape(-1)))
    return [flags, *([int(number) for number in part] for part in tensors)]


def differences(transformer: Transformer, exported: Numbers) -> list[str]:
    """Where Coq's numbers differ from a transformer's, one line a part; [] if all are the same."""
    names = ["flags", *(f"{name} {part}" for name, _ in transformer.tensors() for part in ("shape", "entries"))]
    expected = numbers_of(transformer)
    if len(expected) != len(exported):
        return [f"{len(exported)} parts instead of {len(expected)}"]
    found = []
    for name, mine, theirs in zip(names, expected, exported, strict=True):
        if len(mine) != len(theirs):
            found.append(f"{name}: {len(theirs)} numbers instead of {len(mine)}")
        elif mine != theirs:
            place = next(i for i, (a, b) in enumerate(zip(mine, theirs, strict=True)) if a != b)
            found.append(f"{name}: number {place} is {theirs[place]} in Coq, {mine[place]} in Python")
    return found


def request(case: Case, system: FactSystem, setting: Setting, positions: int) -> str:
    """The Coq term that exports a construction's weights for a fact system."""
    n, r = system.entities, system.relations
    rows = "; ".join("[:: " + "; ".join(map(str, row)) + "]" for row in system.answers.tolist())
    answers = entry(case.theorem, case.name).task(setting).outputs(n, r)
    return (
        f"let g := facts [:: {rows}] in export {n} {r} {answers} {positions} "
        f"(Recall.{case.file}.{case.term(n, r, setting)})"
    )


def bound_differences(bound: Bound, exported: Numbers) -> list[str]:
    """Where Coq's bound differs from Python's: rows, share of B, or the multiset of logarithms."""
    (rows, shared), *terms = exported
    found = []
    if (rows, shared) != (bound.rows, bound.shared):
        found.append(f"rows and share of B are {rows}, {shared} in Coq, {bound.rows}, {bound.shared} in Python")
    total: Counter[tuple[int, int]] = Counter()
    for times, top, length in terms:
        for _, upper, run in log2_falling(top, length).terms:
            total[upper, run] += times
    mine = {(top, length): times for times, top, length in bound.information.terms}
    if {key: times for key, times in total.items() if times} != mine:
        found.append(f"the right side has the terms {dict(total)} in Coq, {mine} in Python")
    return found


def compare() -> list[tuple[str, list[str]]]:
    """Every case with its differences, in one run of Coq."""
    built = []
    for case in CASES:
        for n, r, setting in case.settings:
            known = entry(case.theorem, case.name)
            system = FactSystem.random(n, r, seed=n + r, maps=known.maps and (n + r) % 2 == 1)
            model = known.build(system, setting)
            built.append((case, f"{case} at N={n}, R={r}, {setting}", system, setting, model))
    bounds = list(bound_cases())
    terms = [request(case, system, setting, len(model.W_pos)) for case, _, system, setting, model in built]
    terms += [f"export_bound (Recall.{case.file}.{case.term})" for case in bounds]
    answers = evaluate([case.file for case in CASES] + [case.file for case in bounds], terms)
    found = [
        (label, differences(model, answer)) for (_, label, _, _, model), answer in zip(built, answers, strict=False)
    ]
    for known, answer in zip(bounds, answers[len(built) :], strict=True):
        found.append((f"{known.theorem} bound {known.term}", bound_differences(known.bound, answer)))
    return found


def main() -> int:
    """Print a line for each case; 1 if any differs."""
    results = compare()
    for label, lines in results:
        print(f"{label}: {'the same' if not lines else '; '.join(lines)}")
    print(f"{sum(not lines for _, lines in results)} of {len(results)} are the same")
    return int(any(lines for _, lines in results))


if __name__ == "__main__":
    sys.exit(main())
