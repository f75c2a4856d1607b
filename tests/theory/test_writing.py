"""Files are whole or as they were; what is no plain file is written to; parts of killed processes are cleared."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.devices import device
from theory import InputError
from theory.records import writing
from theory.records.writing import (
    make_directory,
    part_of,
    require_writable,
    require_writable_directory,
    write_atomically,
)


def write(path: Path, content: str = "new") -> None:
    write_atomically(path, lambda file: file.write_text(content))


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("umask")
def test_a_new_file_has_what_the_umask_leaves_and_an_old_one_what_it_had(tmp_path: Path) -> None:
    write(tmp_path / "new")
    assert mode(tmp_path / "new") == 0o640
    (tmp_path / "old").write_text("old")
    (tmp_path / "old").chmod(0o604)
    write(tmp_path / "old")
    assert mode(tmp_path / "old") == 0o604
    assert (tmp_path / "old").read_text() == "new"


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("there", "missing"):
        (tmp_path / name).symlink_to(Path("folder", name))
    (tmp_path / "folder" / "there").write_text("old")
    for name in ("there", "missing"):
        write(tmp_path / name)
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "folder" / name).read_text() == "new"
        assert not (tmp_path / "folder" / name).is_symlink()
    assert sorted(path.name for path in (tmp_path / "folder").iterdir()) == ["missing", "there"]


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    require_writable(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write(pipe, "through the pipe")
    reader.join(10)
    assert read == ["through the pipe"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_devices_are_written_to(tmp_path: Path) -> None:
    null, full = device(tmp_path, "null"), device(tmp_path, "full")
    before = full.stat()
    require_writable(null)
    write(null)
    with pytest.raises(InputError, match=rf"cannot write {full}: No space left on device$"):
        write(full)
    for each in (null, full):
        assert stat.S_ISCHR(each.stat().st_mode)
    assert full.stat().st_rdev == before.st_rdev


STANDARD = """
from pathlib import Path
from theory.records.writing import write_atomically
print("before")
write_atomically(Path({path!r}), lambda file: file.write_text("content\\n"))
print("after", flush=True)
"""


@pytest.mark.parametrize("path", ["link", "log"])
def test_what_standard_output_leads_to_is_not_replaced_under_it(path: str, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/stdout")
    with (tmp_path / "log").open("w") as log:
        run_python(STANDARD.format(path=str(tmp_path / path)), stdout=log)
    assert (tmp_path / "log").read_text() == "before\ncontent\nafter\n"


def test_standard_error_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/stderr")
    with (tmp_path / "log").open("w") as log:
        run_python(STANDARD.format(path=str(tmp_path / "link")), stderr=log, stdout=subprocess.PIPE)
        log.write("further\n")
    assert (tmp_path / "log").read_text() == "content\nfurther\n"


def run_python(code: str, **options: object) -> None:
    subprocess.run([sys.executable, "-c", code], check=True, **options)  # type: ignore[call-overload]


def test_standard_output_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(writing, "STANDARD_OUTPUT", tmp_path / "-")
    require_writable(tmp_path / "-")
    write(tmp_path / "-", "content")
    assert capsys.readouterr().out == "content"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (".", "it is a directory"),
        ("nowhere/x", "there is no directory"),
        ("file/x", "Not a directory"),
        ("x" * 256, "File name too long"),
        ("x/" * 3000, "File name too long"),
        ("circle", "symbolic links"),
        ("/sys/x", "cannot write /sys/x"),  # where root may do anything, but nobody can
    ],
)
def test_what_cannot_be_written_is_known_before(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file")
    (tmp_path / "circle").symlink_to("circle")
    path = tmp_path / name
    for attempt in (require_writable, write):
        with pytest.raises(InputError) as caught:
            attempt(path)
        assert message in str(caught.value)
        assert str(caught.value).startswith("cannot write ")
    assert (tmp_path / "file").read_text() == "a file"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["circle", "file"]


def test_a_name_as_long_as_names_may_be_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 127)
    require_writable(path)
    write(path)
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_read_only_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o444)
    if os.geteuid() == 0:  # to whom the system says yes
        monkeypatch.setattr(os, "access", lambda path, mode: False)
    for attempt in (require_writable, write):
        with pytest.raises(InputError, match="it is read-only"):
            attempt(path)
    assert path.read_text() == "old"


def test_directories(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file")
    require_writable_directory(tmp_path)
    require_writable_directory(tmp_path / "new")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    for path, message in {
        tmp_path / "file": "it is no directory",
        tmp_path / "no" / "where": "there is no directory",
        tmp_path / ("x" * 256): "File name too long",
        Path("/sys/x"): "cannot write /sys/x",
    }.items():
        with pytest.raises(InputError, match=message):
            require_writable_directory(path)
    make_directory(tmp_path / "a" / "b", parents=True)
    make_directory(tmp_path / "a" / "b")
    with pytest.raises(InputError, match="cannot write"):
        make_directory(tmp_path / "file")


KILLED = """
import sys, time
from pathlib import Path
from theory.records.writing import part_of
with part_of(Path(sys.argv[1]), directory=len(sys.argv) > 2) as part:
    (part / "inside" if part.is_dir() else part).write_text("half")
    print(part.name, flush=True)
    time.sleep(600)
"""


def writer(path: Path, *more: str) -> tuple[subprocess.Popen[str], Path]:
    """A process in the middle of a write, and its part."""
    started = subprocess.Popen([sys.executable, "-c", KILLED, str(path), *more], stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    return started, path.parent / started.stdout.readline().strip()


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate(timeout=10)


@pytest.mark.parametrize("kind", ["file", "directory"])
def test_the_part_of_a_killed_process_is_cleared_and_that_of_a_living_one_is_not(kind: str, tmp_path: Path) -> None:
    path, more = tmp_path / "out.json", ["directory"] if kind == "directory" else []
    (tmp_path / ".out.json.mine").write_text("no part of ours")
    dead, first = writer(path, *more)
    alive, second = writer(path, *more)
    try:
        assert first != second
        kill(dead)
        assert first.exists()
        write(path)
        assert path.read_text() == "new"
        assert not first.exists()
        assert second.exists()
    finally:
        kill(alive)
    assert second.exists()
    require_writable(path)
    assert sorted(each.name for each in tmp_path.iterdir()) == [".out.json.mine", "out.json"]


def test_a_part_is_removed_with_what_failed_and_never_a_successor_of_its_name(tmp_path: Path) -> None:
    path = tmp_path / "out.json"

    def fail(file: Path) -> None:
        file.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, fail)
    assert list(tmp_path.iterdir()) == []
    with part_of(path) as part:
        part.rename(path)
        part.write_text("of another process by now")
    assert part.read_text() == "of another process by now"
