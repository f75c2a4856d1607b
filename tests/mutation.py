"""Mutation testing: how many small faults do the tests of a module notice?

    python tests/mutation.py bounds/enclosure.py --most 40     # a sample, the same for the same --seed
    python tests/mutation.py --all                             # every mutant of every module of HELD_BY: hours
    python tests/mutation.py --table                           # the stored scores, as docs/tests.md has them

The tree is copied to a temporary folder, and there every mutant is tried in a process of its own (`trying`). Every
outcome is appended to build/mutation.jsonl, so that an interrupted run goes on where it stopped; survivors are tried
again when a test has changed. Scores go into tests/mutation.json. A survivor that changes nothing is named in
tests/mutation_equivalent.toml, with the reason.
"""

import argparse
import gc
import hashlib
import json
import os
import shutil
import sys
import tempfile
import tomllib
from pathlib import Path

from mutants import Mutant, mutants_of
from trying import files_of, survives, try_quickly

ROOT = Path(__file__).resolve().parents[1]
LOG = ROOT / "build" / "mutation.jsonl"
SCORES = ROOT / "tests" / "mutation.json"
EQUIVALENT = ROOT / "tests" / "mutation_equivalent.toml"

_EXACT = ("exact_range", "exact", "exact_casts", "exhaustive")
_CERTIFICATE = (
    "certificate",
    "certificate_readout",
    "certificate_attacks",
    "certificate_range",
    "certificate_fractions",
    "certificate_conversion",
    "certificate_depth",
)

# Which tests are meant to hold which module.
HELD_BY = {
    "bounds/counting/answer_vectors.py": ("answer_vectors",),
    "bounds/counting/brute_force.py": ("counting", "answer_vectors"),
    "bounds/counting/cycle_index.py": ("counting",),
    "bounds/counting/fact_systems.py": ("counting",),
    "bounds/counting/families.py": ("fact_families",),
    "bounds/counting/kinds.py": ("counting", "answer_vectors", "bounds_commands"),
    "bounds/counting/logarithms.py": ("logarithms",),
    "bounds/counting/maps.py": ("counting",),
    "bounds/counting/matchings.py": ("counting",),
    "bounds/counting/simple_graphs.py": ("counting",),
    "bounds/counting/sizes.py": ("counting",),
    "bounds/enclosure.py": ("enclosure", "logarithms", "information"),
    "bounds/lower/beyond.py": ("information",),
    "bounds/lower/bound.py": ("information", "frontier"),
    "bounds/lower/centralisers.py": ("maps",),
    "bounds/lower/chains.py": ("information", "frontier"),
    "bounds/lower/dichotomy.py": ("information", "frontier"),
    "bounds/lower/frontier.py": ("frontier", "tables"),
    "bounds/lower/guessing.py": ("information",),
    "bounds/lower/information.py": ("information", "assumptions_needed"),
    "bounds/lower/involutions.py": ("information", "frontier", "assumptions_needed"),
    "bounds/lower/learned_readout.py": ("information", "families", "assumptions_needed"),
    "bounds/lower/maps.py": ("maps",),
    "bounds/lower/precision.py": ("precision",),
    "bounds/lower/reversal.py": ("structured",),
    "bounds/lower/universal.py": ("information", "assumptions_needed"),
    "bounds/suite/cells.py": ("precision",),
    "bounds/suite/checks.py": ("bounds_commands",),
    "bounds/suite/families.py": ("families", "maps"),
    "bounds/suite/learned_families.py": ("families",),
    "bounds/tables/command.py": ("bounds_commands",),
    "bounds/tables/depth.py": ("tables",),
    "bounds/tables/dimensions.py": ("tables", "maps"),
    "bounds/tables/layout.py": ("tables",),
    "bounds/tables/precision.py": ("precision", "tables"),
    "bounds/tables/ranges.py": ("tables",),
    "bounds/tables/rows.py": ("precision", "tables"),
    "bounds/tables/summary.py": ("tables",),
    "constructions/noise/perturbation.py": ("noise",),
    "constructions/noise/tolerance.py": ("noise",),
    "constructions/verification/balls.py": ("balls", "interval"),
    "constructions/verification/certificate.py": _CERTIFICATE,
    "constructions/verification/certify_attention.py": (*_CERTIFICATE, "noise"),
    "constructions/verification/certify_depth.py": _CERTIFICATE,
    "constructions/verification/certify_prompts.py": _CERTIFICATE,
    "constructions/verification/certify_readout.py": _CERTIFICATE,
    "constructions/verification/certify_step.py": _CERTIFICATE,
    "constructions/verification/exact.py": (*_EXACT, "certificate_fractions"),
    "constructions/verification/exhaustive.py": (*_EXACT, "right_answers"),
    "constructions/verification/integers.py": (*_EXACT, *_CERTIFICATE),
    "constructions/verification/interval.py": ("interval", "circle"),
    "constructions/verification/result.py": ("result", "exhaustive", "interval"),
    "constructions/verification/rounding.py": ("rounding",),
    "constructions/verification/systems.py": ("systems",),
    "empirical/comparison/beside_theory.py": ("laws",),
    "empirical/comparison/capacity.py": ("laws", "verdicts"),
    "empirical/comparison/capacity_fit.py": ("laws", "verdicts"),
    "empirical/comparison/curves.py": ("laws", "threshold", "verdicts"),
    "empirical/comparison/laws.py": ("laws", "verdicts"),
    "empirical/comparison/verdicts.py": ("verdicts",),
    "empirical/execution/database.py": ("store", "store_faults"),
    "empirical/execution/engine.py": ("engine", "killed_workers"),
    "empirical/execution/listing.py": ("store", "store_faults"),
    "empirical/execution/local_pool.py": ("worker", "engine", "killed_workers"),
    "empirical/execution/provenance.py": ("provenance",),
    "empirical/execution/records.py": ("records", "store"),
    "empirical/execution/store.py": ("store", "store_faults"),
    "empirical/execution/worker.py": ("worker", "engine", "killed_workers"),
    "empirical/mechanism/verdicts.py": ("mechanism_verdicts",),
    "empirical/statistics/regression.py": ("mechanism_readout", "mechanism_interventions", "probing_maps"),
    "empirical/statistics/shares.py": ("probing_maps", "mechanism_interventions"),
    "empirical/statistics/significance.py": ("probing_maps",),
    "empirical/statistics/subspaces.py": ("subspaces",),
    "empirical/statistics/threshold.py": ("threshold",),
    "empirical/statistics/verdict.py": ("verdict",),
    "theory/definitions/fact_system.py": ("fact_system",),
    "theory/definitions/task.py": ("task",),
    "theory/definitions/transformer.py": ("transformer",),
    "theory/statements/registry.py": ("registry",),
    "theory/statements/upper_bounds.py": ("registry",),
}

# What every module's tests would otherwise import anew.
_SLOW = (
    "hypothesis",
    "numpy",
    "scipy.stats",
    "scipy.optimize",
    "sympy",
    "z3",
    "flint",
    "networkx",
    "safetensors.numpy",
)


def _digest(*paths: Path) -> str:
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in paths)).hexdigest()[:16]


def _logged(module: str) -> list[dict]:
    """What earlier runs found of a module, the first first."""
    entries = map(json.loads, LOG.read_text().splitlines()) if LOG.exists() else ()
    return [entry for entry in entries if entry["module"] == module]


def _known(module: str, source: str, tests: str) -> dict[str, bool]:
    """Key of a mutant -> whether it survived these tests (who was noticed by older ones counts as noticed)."""
    return {
        entry["key"]: entry["survived"]
        for entry in _logged(module)
        if entry["source"] == source and (not entry["survived"] or entry["tests"] == tests)
    }


def copied_tree(root: Path, folder: str) -> Path:
    """A copy of the project in a folder, without what was built."""
    built = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "site", "*.egg-info", "*.sqlite*")
    return Path(shutil.copytree(root, Path(folder) / "tree", ignore=built))


def try_module(tree: Path, module: str, most: int | None, seed: int) -> None:
    """Try the mutants of one module, print the survivors, and store the score."""
    tests = HELD_BY[module]
    mutants = mutants_of((tree / module).read_text())
    reasons = tomllib.loads(EQUIVALENT.read_text()).get(module, {})
    for key in sorted(set(reasons) - {mutant.key for mutant in mutants}):
        print(f"{module}: {key} in {EQUIVALENT.name} is no mutant any more: {reasons[key]}")
    order = sorted(mutants, key=lambda mutant: hashlib.sha256(f"{seed} {mutant.key}".encode()).digest())
    sample = sorted(order[:most], key=lambda mutant: mutant.start)
    source = _digest(tree / module)
    held = _digest(*files_of(tree, tests))
    known = _known(module, source, held)

    def decided(mutant: Mutant, survived: bool) -> None:
        entry = {"module": module, "source": source, "tests": held, "key": mutant.key, "survived": survived}
        with LOG.open("a") as log:
            log.write(json.dumps(entry) + "\n")

    LOG.parent.mkdir(exist_ok=True)
    left = [mutant for mutant in sample if mutant.key not in known and mutant.key not in reasons]
    if left:
        sys.dont_write_bytecode = False
        tried = try_quickly(tree, module, tests, left, decided)
        sys.dont_write_bytecode = True  # a mutant of the same second and size as another would be taken for it
        known = _known(module, source, held)
        for mutant in left:
            if mutant.key not in known:
                decided(mutant, survives(tree, module, mutant, tried))
        known = _known(module, source, held)
    survivors = [mutant for mutant in sample if mutant.key not in reasons and known[mutant.key]]
    for mutant in survivors:
        print(f"{mutant.key} {module}:{mutant}")
    equivalent = sum(mutant.key in reasons for mutant in sample)
    score = {"mutants": len(mutants), "tried": len(sample), "equivalent": equivalent, "survived": len(survivors)}
    scores = json.loads(SCORES.read_text()) if SCORES.exists() else {}
    # What a mutant's first trial found, before any test was written because of it.
    first = {entry["key"]: entry["survived"] for entry in reversed(_logged(module))}
    score["first"] = sum(mutant.key in reasons or first[mutant.key] for mutant in sample)
    scores[module] = score
    # At once, for another run may be reading it.
    written = SCORES.with_suffix(".written")
    written.write_text(json.dumps(dict(sorted(scores.items())), indent=1) + "\n")
    written.replace(SCORES)
    killed = len(sample) - equivalent - len(survivors)
    print(
        f"{module}: {len(mutants)} mutants, {len(sample)} tried, {killed} killed, {equivalent} change nothing, "
        f"{len(survivors)} survived (at first {score['first']})",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", help="files such as bounds/enclosure.py; all of HELD_BY if none is named")
    parser.add_argument("--most", type=int, default=60, help="try a sample of so many mutants of each module")
    parser.add_argument("--all", action="store_true", help="try every mutant")
    parser.add_argument("--seed", type=int, default=0, help="which sample; a larger one contains a smaller one")
    parser.add_argument("--table", action="store_true", help="print the stored scores and try nothing")
    asked = parser.parse_args()
    for module in asked.modules:
        if module not in HELD_BY:
            parser.error(f"no tests are named for {module}: add it to HELD_BY in {Path(__file__).name}")
    if asked.table:
        print(table(json.loads(SCORES.read_text())))
        return
    os.environ |= {"CI": "1", "OMP_NUM_THREADS": "1"}  # the same examples of hypothesis for every mutant
    for name in _SLOW + ("torch",) * any(module.startswith("empirical") for module in asked.modules or HELD_BY):
        try:
            __import__(name)
        except ImportError:
            continue
    gc.freeze()  # what is loaded by now is never looked through again
    with tempfile.TemporaryDirectory() as folder:
        tree = copied_tree(ROOT, folder)
        untried = 0
        for module in asked.modules or HELD_BY:
            try:
                try_module(tree, module, None if asked.all else asked.most, asked.seed)
            except SystemExit as problem:  # of this module alone
                print(problem, flush=True)
                untried += 1
    sys.exit(untried > 0)


def table(scores: dict[str, dict]) -> str:
    """The stored scores as a table in Markdown."""
    rows = [
        "| module | mutants | tried | survived at first | killed | change nothing | survive |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    total = {name: sum(score[name] for score in scores.values()) for name in next(iter(scores.values()))}
    for module, score in [*((f"`{module}`", score) for module, score in scores.items()), ("all", total)]:
        killed = score["tried"] - score["equivalent"] - score["survived"]
        counts = (score["mutants"], score["tried"], score["first"], killed, score["equivalent"], score["survived"])
        rows.append(f"| {module} | " + " | ".join(f"{count:,}" for count in counts) + " |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
