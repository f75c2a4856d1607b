"""Mutation testing: how many small faults do the tests of a module notice?

    python tests/mutation.py bounds/enclosure.py --most 40     # a sample, the same for the same --seed
    python tests/mutation.py --all                             # every mutant of every module of HELD_BY: hours
    python tests/mutation.py --table                           # the stored scores, as docs/tests.md has them

The tree is copied to a temporary folder. The tests of a module are collected once, and a first run notes which lines of
it each one runs. A fork a mutant then runs the tests that run its line, the quickest first, up to the first failure. What
runs before any test, as constants and defaults do, is tried by loading everything anew. A test that takes far longer than
it did is killed and has failed.

Every outcome is appended to build/mutation.jsonl, so that an interrupted run goes on where it stopped; survivors are tried
again when a test has changed. Scores go into tests/mutation.json. A survivor that changes nothing is named in
tests/mutation_equivalent.toml, with the reason. Needs a system that can fork.
"""

import argparse
import gc
import hashlib
import inspect
import json
import math
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import pytest
from mutants import Mutant, mutants_of

ROOT = Path(__file__).resolve().parent.parent
LOG = ROOT / "build" / "mutation.jsonl"
SCORES = ROOT / "tests" / "mutation.json"
EQUIVALENT = ROOT / "tests" / "mutation_equivalent.toml"

# Which tests are meant to hold which module.
HELD_BY = {
    "bounds/answer_vectors.py": ("answer_vectors",),
    "bounds/bound.py": ("information", "frontier", "families"),
    "bounds/brute_force.py": ("counting", "answer_vectors"),
    "bounds/chains.py": ("information", "frontier"),
    "bounds/checks.py": ("bounds_commands",),
    "bounds/counting.py": ("counting",),
    "bounds/cycle_index.py": ("counting",),
    "bounds/depth.py": ("tables",),
    "bounds/dichotomy.py": ("information", "frontier", "tables"),
    "bounds/enclosure.py": ("enclosure", "logarithms", "information"),
    "bounds/families.py": ("families",),
    "bounds/frontier.py": ("frontier", "tables"),
    "bounds/further.py": ("information",),
    "bounds/guessing.py": ("information",),
    "bounds/information.py": ("information", "frontier"),
    "bounds/involutions.py": ("information", "frontier"),
    "bounds/kinds.py": ("counting", "answer_vectors", "bounds_commands"),
    "bounds/layout.py": ("tables",),
    "bounds/learned_families.py": ("families",),
    "bounds/learned_readout.py": ("information", "frontier", "families"),
    "bounds/logarithms.py": ("logarithms",),
    "bounds/matchings.py": ("counting",),
    "bounds/ranges.py": ("tables",),
    "bounds/report.py": ("bounds_commands",),
    "bounds/simple_graphs.py": ("counting",),
    "bounds/sizes.py": ("information", "frontier", "families"),
    "bounds/summary.py": ("tables",),
    "bounds/tables.py": ("tables",),
    "bounds/universal.py": ("information", "tables"),
    "empirical/capacity.py": ("laws", "verdicts"),
    "empirical/capacity_fit.py": ("laws", "verdicts"),
    "empirical/comparison.py": ("laws",),
    "empirical/curves.py": ("laws", "threshold", "verdicts"),
    "empirical/laws.py": ("laws", "verdicts"),
    "empirical/threshold.py": ("threshold",),
    "empirical/verdicts.py": ("verdicts",),
    "empirical/mechanism/regression.py": ("mechanism_readout", "mechanism_interventions"),
    "empirical/mechanism/verdicts.py": ("mechanism_command",),
    "empirical/probing/resampling.py": ("probing_maps",),
    "empirical/database.py": ("store", "store_faults"),
    "empirical/records.py": ("records", "store"),
    "empirical/store.py": ("store", "store_faults"),
    "theory/fact_system.py": ("fact_system", "systems"),
    "theory/task.py": ("task",),
    "theory/transformer.py": ("transformer",),
    "theory/registry.py": ("registry",),
    "theory/upper_bounds.py": ("registry",),
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
_MEMORY = 16 * 2**30
_NOTICED = 1, 2  # exit statuses of pytest: a test failed, or the tests could not be collected


@dataclass(frozen=True)
class Tried:
    """The tests of a module as it is: the lines that each one runs, those run before any, the seconds it takes."""

    lines: dict[str, set[int]]
    early: set[int]
    seconds: dict[str, float]

    def holding(self, line: int) -> set[str]:
        """The tests that run a line; all of them if it runs before any test."""
        return (
            set(self.seconds) if line in self.early else {name for name, lines in self.lines.items() if line in lines}
        )


class _Lines:
    """Notes the lines of one file that run."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __enter__(self) -> set[int]:
        lines: set[int] = set()

        def within(frame, event, argument):
            lines.add(frame.f_lineno)
            return within

        sys.settrace(
            lambda frame, event, argument: (
                within(frame, event, argument) if frame.f_code.co_filename == self.path else None
            )
        )
        return lines

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)


class _Quick:
    """A pytest plugin that collects the tests once, and forks for the tests as they are and for every mutant.

    In a fork the code of the mutant's functions is put in place of theirs. Where that cannot be all that the mutant
    changes, because its line runs before any test does, nothing is decided.
    """

    def __init__(
        self, tree: Path, module: str, mutants: Sequence[Mutant], decided: Callable[[Mutant, bool], None]
    ) -> None:
        self.tree, self.module, self.mutants, self.decided = tree, module, mutants, decided
        self.collecting = _Lines(tree / module)

    def pytest_collection(self) -> None:
        from hypothesis import Phase, settings

        # A failure need not be made small.
        settings.register_profile("mutation", settings.default, phases=[Phase.explicit, Phase.generate])
        settings.load_profile("mutation")
        self.early = self.collecting.__enter__()

    def pytest_collection_finish(self) -> None:
        self.collecting.__exit__()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        tried = self._as_they_are(session)
        original = (self.tree / self.module).read_text()
        for mutant in self.mutants:
            if mutant.line not in tried.early:
                self._try(session, tried, original, mutant)
        return True

    def _as_they_are(self, session: pytest.Session) -> Tried:
        watched = self.tree.parent / "watched.json"

        def watch() -> int:
            found = {}
            for item, following in zip(session.items, [*session.items[1:], None], strict=True):
                begun = time.process_time()
                with _Lines(self.tree / self.module) as lines:
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                found[item.nodeid] = sorted(lines), time.process_time() - begun
                if session.testsfailed:
                    return 1
            watched.write_text(json.dumps([sorted(self.early), found]))
            return 0

        if _forked(watch) != 0:
            pytest.exit("the tests do not pass as they are", returncode=_FAILED)
        return _read(watched)

    def _try(self, session: pytest.Session, tried: Tried, original: str, mutant: Mutant) -> None:
        chosen = tried.holding(mutant.line)
        items = sorted((item for item in session.items if item.nodeid in chosen), key=lambda i: tried.seconds[i.nodeid])

        def run() -> int:
            if not _replace_code(sys.modules[self.module[:-3].replace("/", ".")], mutant.source(original)):
                return _UNDECIDED
            for item, following in zip(items, [*items[1:], None], strict=False):
                signal.setitimer(signal.ITIMER_PROF, 2 + 5 * tried.seconds[item.nodeid])
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if session.testsfailed:
                    return 1
            return 0

        status = _forked(run, 60 + 10 * sum(tried.seconds.values()))
        if status in (0, 1, None):
            self.decided(mutant, status == 0)


class _Chosen:
    """A pytest plugin that runs some tests alone, the quickest first, and is killed by one that takes too long."""

    def __init__(self, tried: Tried, chosen: set[str]) -> None:
        self.seconds, self.chosen = tried.seconds, chosen

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        # A test that has another name since the module was changed is run too.
        items[:] = [item for item in items if item.nodeid in self.chosen or item.nodeid not in self.seconds]
        items.sort(key=lambda item: self.seconds.get(item.nodeid, 0))

    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        signal.setitimer(signal.ITIMER_PROF, 5 + 5 * self.seconds.get(item.nodeid, 1))


_FAILED, _UNDECIDED, _CRASHED = 71, 72, 73


def _forked(work: Callable[[], int], seconds: float = math.inf) -> int | None:
    """The exit status of a fork that does some work in silence; None if it was killed.

    What counts for a single test is processor time (`ITIMER_PROF`), which a busy machine does not change.
    """
    child = os.fork()
    if child == 0:
        status = _CRASHED
        try:
            os.setsid()
            silence = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(silence, stream)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            status = work()
        finally:
            os._exit(status)
    deadline = time.monotonic() + seconds
    while True:
        done, raw = os.waitpid(child, os.WNOHANG)
        if done:
            return os.WEXITSTATUS(raw) if os.WIFEXITED(raw) else None
        if time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(0.01)


def _read(watched: Path) -> Tried:
    early, found = json.loads(watched.read_text())
    lines = {name: set(lines) for name, (lines, _) in found.items()}
    return Tried(lines, set(early), {name: seconds for name, (_, seconds) in found.items()})


def _replace_code(module: ModuleType, source: str) -> bool:
    """Give the functions of a loaded module the code that they have in this source; whether any has another now."""
    codes = {}
    waiting = [compile(source, module.__file__, "exec")]
    while waiting:
        inner = [constant for constant in waiting.pop().co_consts if isinstance(constant, CodeType)]
        codes |= {code.co_qualname: code for code in inner}
        waiting += inner
    replaced = False
    for function in _functions(vars(module), module.__name__):
        code = codes.get(function.__code__.co_qualname)
        if code is not None and code != function.__code__:
            function.__code__ = code
            replaced = True
    return replaced


def _functions(members: Mapping[str, object], module: str) -> Iterator[FunctionType]:
    """The functions that a module defines, also as methods, as properties, and under decorators."""
    for member in members.values():
        if isinstance(member, type) and member.__module__ == module:
            yield from _functions(vars(member), module)
        for name in ("fget", "func", "__func__"):
            member = (
                getattr(member, name, member)
                if isinstance(member, property | cached_property | classmethod | staticmethod)
                else member
            )
        member = inspect.unwrap(member) if callable(member) else member
        if isinstance(member, FunctionType) and member.__module__ == module:
            yield member


def _pytest(tree: Path, files: Sequence[str], plugin: object) -> int:
    os.chdir(tree)
    sys.path[:] = [
        str(tree),
        str(tree / "tests"),
        *(entry for entry in sys.path if entry not in ("", str(ROOT / "tests"))),
    ]
    options = ["-x", "-q", "-p", "no:cacheprovider", "--assert=plain", f"--basetemp={tree.parent / 'temporary'}"]
    return pytest.main([*options, *files], plugins=[plugin])


def try_quickly(
    tree: Path, module: str, tests: Sequence[str], mutants: Sequence[Mutant], decided: Callable[[Mutant, bool], None]
) -> Tried:
    """Decide all mutants that can be decided without loading the module anew, and time the tests.

    Raises:
        SystemExit: if the tests fail as they are, or none of them runs a line of the module.
    """
    files = [f"tests/test_{name}.py" for name in tests]
    status = _forked(lambda: _pytest(tree, files, _Quick(tree, module, mutants, decided)))
    if status not in (0, 5):  # 5: pytest itself has run no test, only forks have
        sys.exit(f"{module}: the tests {', '.join(tests)} do not pass as they are (pytest ended with {status})")
    tried = _read(tree.parent / "watched.json")
    if not any(tried.lines.values()):
        sys.exit(f"{module}: none of the tests {', '.join(tests)} runs a line of it")
    for cached in (tree / module).parent.glob(f"__pycache__/{Path(module).stem}.*"):
        cached.unlink()
    return tried


def survives(tree: Path, module: str, mutant: Mutant, tried: Tried) -> bool:
    """Whether the tests pass with this mutant in place of the module's file, which is put back."""
    path = tree / module
    chosen = tried.holding(mutant.line)
    if not chosen:
        return True
    files = sorted({name.partition("::")[0] for name in chosen})
    original = path.read_text()
    path.write_text(mutant.source(original))
    try:
        status = _forked(lambda: _pytest(tree, files, _Chosen(tried, chosen)), 60 + 10 * sum(tried.seconds.values()))
    finally:
        path.write_text(original)
    if status not in (0, None, *_NOTICED):
        sys.exit(f"{module}:{mutant}: pytest ended with {status}, which says nothing")
    return status == 0


def _digest(*paths: Path) -> str:
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in paths)).hexdigest()[:16]


def _logged(module: str, source: str, tests: str) -> dict[str, bool]:
    """What earlier runs found of this source: key of a mutant -> whether it survived. Old survivors are left out."""
    found = {}
    for line in LOG.read_text().splitlines() if LOG.exists() else ():
        entry = json.loads(line)
        if (entry["module"], entry["source"]) == (module, source) and (
            not entry["survived"] or entry["tests"] == tests
        ):
            found[entry["key"]] = entry["survived"]
    return found


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
    held = _digest(*(tree / "tests" / f"test_{name}.py" for name in tests))
    known = _logged(module, source, held)

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
        known = _logged(module, source, held)
        for mutant in left:
            if mutant.key not in known:
                decided(mutant, survives(tree, module, mutant, tried))
        known = _logged(module, source, held)
    survivors = [mutant for mutant in sample if mutant.key not in reasons and known[mutant.key]]
    for mutant in survivors:
        print(f"{mutant.key} {module}:{mutant}")
    equivalent = sum(mutant.key in reasons for mutant in sample)
    score = {"mutants": len(mutants), "tried": len(sample), "equivalent": equivalent, "survived": len(survivors)}
    scores = json.loads(SCORES.read_text()) if SCORES.exists() else {}
    score["first"] = scores.get(module, {}).get("first") or [len(sample) - len(survivors), len(sample)]
    scores[module] = score
    SCORES.write_text(json.dumps(dict(sorted(scores.items())), indent=1) + "\n")
    killed = len(sample) - equivalent - len(survivors)
    print(
        f"{module}: {len(mutants)} mutants, {len(sample)} tried, {killed} killed, {equivalent} change nothing, "
        f"{len(survivors)} survived; at first {score['first'][0]} of {score['first'][1]} were killed",
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
        for module in asked.modules or HELD_BY:
            try_module(tree, module, None if asked.all else asked.most, asked.seed)


def table(scores: dict[str, dict]) -> str:
    """The stored scores as a table in Markdown."""
    rows = [
        "| module | mutants | tried | killed at first | killed now | change nothing | left |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for module, score in scores.items():
        killed = score["tried"] - score["equivalent"] - score["survived"]
        first, of = score["first"]
        rows.append(
            f"| `{module}` | {score['mutants']} | {score['tried']} | {first} of {of} | {killed} "
            f"| {score['equivalent']} | {score['survived']} |"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    main()
