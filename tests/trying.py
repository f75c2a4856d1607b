"""Whether the tests of a module notice a mutant of it, in a copy of the tree.

The tests are collected once. A first run notes which functions of the module each one calls; then a fork a mutant runs
those that call its own, the quickest first, up to the first failure. What runs before any test, as constants do,
is tried by loading everything anew. A test that takes far longer than it did is killed and has failed. Linux only.
"""

import ctypes
import inspect
import json
import math
import os
import resource
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType

import pytest
from mutants import Mutant

_MEMORY = 16 * 2**30
_NOTICED = 1, 2  # exit statuses of pytest: a test failed, or the tests could not be collected

Decided = Callable[[Mutant, bool], None]  # is told whether a mutant survived


@dataclass(frozen=True)
class Tried:
    """The tests of a module as it is: the lines that each one runs, those run before any, the seconds it takes."""

    lines: dict[str, set[int]]
    early: set[int]
    seconds: dict[str, float]

    def holding(self, line: int) -> set[str]:
        """The tests that run a line; all of them if it runs before any test."""
        every = line in self.early
        return {name for name, lines in self.lines.items() if every or line in lines}

    def order(self, item: pytest.Item, mutant: Mutant) -> tuple[bool, float]:
        """First what runs the mutant's line, and first of this what is quick."""
        return mutant.line not in self.lines.get(item.nodeid, ()), self.seconds.get(item.nodeid, 0)


class _Lines:
    """Notes the lines of all functions of a tree that are called, by file."""

    def __init__(self, tree: Path) -> None:
        self.tree = f"{tree}/"
        self.codes: set[CodeType] = set()

    def __enter__(self) -> "_Lines":
        sys.settrace(self._called)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)

    def _called(self, frame: FrameType, event: str, argument: object) -> None:
        if frame.f_code.co_filename.startswith(self.tree):
            self.codes.add(frame.f_code)

    def loaded(self) -> list[str]:
        """The files that were loaded."""
        return [code.co_filename.removeprefix(self.tree) for code in self.codes if code.co_name == "<module>"]

    def found(self) -> dict[str, list[int]]:
        lines: defaultdict[str, set[int]] = defaultdict(set)
        for code in self.codes:
            lines[code.co_filename.removeprefix(self.tree)] |= {
                line for *_, line in code.co_lines() if line is not None
            }
        return {file: sorted(numbers) for file, numbers in lines.items()}


class _Quick:
    """A pytest plugin that collects the tests once, and forks for the tests as they are and for every mutant.

    In a fork the code of the mutant's functions is put in place of theirs. Where that may not be all that the mutant
    changes, because its line runs before any test does, nothing is decided.
    """

    def __init__(self, tree: Path, module: str, mutants: Sequence[Mutant], decided: Decided, watched: Path) -> None:
        self.tree, self.module, self.mutants, self.decided, self.watched = tree, module, mutants, decided, watched
        self.collecting = _Lines(tree)
        self.collecting.__enter__()  # now, for a conftest may load the module before anything is collected

    def pytest_collection(self) -> None:
        from hypothesis import Phase, settings

        # A failure need not be made small.
        settings.register_profile("mutation", settings.default, phases=[Phase.explicit, Phase.generate])
        settings.load_profile("mutation")

    def pytest_collection_finish(self) -> None:
        self.collecting.__exit__()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if not self.watched.exists() and _forked(lambda: self._watch(session)) != 0:
            pytest.exit("the tests do not pass as they are", returncode=_FAILED)
        tried = _read(self.watched, self.module)
        original = (self.tree / self.module).read_text()
        for mutant in self.mutants:
            if mutant.line not in tried.early:
                self._try(session, tried, original, mutant)
        return True

    def _watch(self, session: pytest.Session) -> int:
        found = {}
        for item, following in zip(session.items, [*session.items[1:], None], strict=True):
            begun = time.process_time()
            with _Lines(self.tree) as lines:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            found[item.nodeid] = lines.found(), lines.loaded(), time.process_time() - begun
            if session.testsfailed:
                return 1
        self.watched.write_text(json.dumps([self.collecting.found(), found]))
        return 0

    def _try(self, session: pytest.Session, tried: Tried, original: str, mutant: Mutant) -> None:
        chosen = tried.holding(mutant.line)
        items = sorted(
            (item for item in session.items if item.nodeid in chosen), key=lambda item: tried.order(item, mutant)
        )

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
    """A pytest plugin that runs some tests alone, the quickest first, and is killed by what takes too long."""

    def __init__(self, tried: Tried, mutant: Mutant) -> None:
        self.tried, self.mutant = tried, mutant

    def pytest_collection(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 20)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        chosen = self.tried.holding(self.mutant.line)
        # A test that has another name since the module was changed is run too.
        items[:] = [item for item in items if item.nodeid in chosen or item.nodeid not in self.tried.seconds]
        items.sort(key=lambda item: self.tried.order(item, self.mutant))

    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        signal.setitimer(signal.ITIMER_PROF, 5 + 5 * self.tried.seconds.get(item.nodeid, 1))


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
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: no fork outlives what waits for it
            silence = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(silence, stream)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            status = work()
        finally:
            os._exit(status)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, raw = os.waitpid(child, os.WNOHANG)
        if done:
            return os.WEXITSTATUS(raw) if os.WIFEXITED(raw) else None
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _read(watched: Path, module: str) -> Tried:
    early, found = json.loads(watched.read_text())
    lines = {name: set(lines.get(module, ())) for name, (lines, *_) in found.items()}
    # What a test loads is there for all that come after it, as what is loaded before any.
    loading = (lines[name] for name, (_, loaded, _) in found.items() if module in loaded)
    return Tried(
        lines, set(early.get(module, ())).union(*loading), {name: seconds for name, (*_, seconds) in found.items()}
    )


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
    beside = ("", str(Path(__file__).parent))
    sys.path[:] = [str(tree), str(tree / "tests"), *(entry for entry in sys.path if entry not in beside)]
    options = ["-x", "-q", "-p", "no:cacheprovider", "--assert=plain", f"--basetemp={tree.parent / 'temporary'}"]
    return pytest.main([*options, *files], plugins=[plugin])


def files_of(tree: Path, tests: Sequence[str]) -> list[Path]:
    """The files of the tests of these names, in whatever room they are."""
    return [next((tree / "tests").rglob(f"test_{name}.py")) for name in tests]


def try_quickly(tree: Path, module: str, tests: Sequence[str], mutants: Sequence[Mutant], decided: Decided) -> Tried:
    """Decide all mutants that can be decided without loading the module anew; the tests as they are run once a tree.

    Raises:
        SystemExit: if the tests fail as they are, or none of them runs a line of the module.
    """
    files = [path.relative_to(tree).as_posix() for path in files_of(tree, tests)]
    watched = tree.parent / f"{'-'.join(tests)}.json"
    status = _forked(lambda: _pytest(tree, files, _Quick(tree, module, mutants, decided, watched)))
    if status not in (0, 5):  # 5: pytest itself has run no test, only forks have
        sys.exit(f"{module}: the tests {', '.join(tests)} do not pass as they are (pytest ended with {status})")
    tried = _read(watched, module)
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
        status = _forked(lambda: _pytest(tree, files, _Chosen(tried, mutant)), 60 + 10 * sum(tried.seconds.values()))
    finally:
        path.write_text(original)
    if status not in (0, None, *_NOTICED):
        sys.exit(f"{module}:{mutant}: pytest ended with {status}, which says nothing")
    return status == 0
