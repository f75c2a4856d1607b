"""Files are written whole or not at all, and what a killed run left half-written is cleared by the next.

A file NAME is filled under another name beside its own, `.NAME.georecall_part0`, and renamed. Whoever fills it holds a
lock on it, which the system takes away when that process ends, however it ends: so a part whose lock can be had belongs
to nobody, and the next run that writes NAME deletes it. A second process that writes NAME at the same time takes the
next number; the last to finish wins.

*Deleting is safe.* A part is deleted only under its lock, and only if its name still leads to what is locked; names are
given to new parts only (O_EXCL). So nobody deletes the part of a living process, nor a successor of the same name.

A device, a pipe and standard output are written to and never replaced. Behind a symbolic link the file that it leads to
is replaced, and the link stays. A new file has the permissions that the umask leaves; one that was there keeps its own.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from theory.errors import InputError

STANDARD_OUTPUT = Path("/dev/stdout")

# Parts that are looked for, in the way of the first: more than are ever written at once.
NUMBERS = 8
LONGEST_LABEL = 200  # bytes of NAME in the name of its part; the longest name of a file has 255


@dataclass(frozen=True)
class Kind:
    """What a file holds, in words ("weights are"), and the suffixes that say in which format."""

    what: str
    suffixes: tuple[str, ...]

    def require(self, path: Path) -> None:
        """InputError for another suffix."""
        if path.suffix not in self.suffixes:
            raise InputError(f"{path}: {self.what} written as {' or '.join(self.suffixes)}")


MODEL = Kind("weights are", (".safetensors",))
SYSTEM = Kind("a fact system is", (".npy", ".json"))


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a file, which then becomes `path` at once, or is sent there if that is a device or a pipe.

    InputError where it cannot be written; what was there is then as it was.
    """
    with told(path):
        if is_stream(path):
            with tempfile.TemporaryDirectory() as folder:
                filled = Path(folder, "content")
                write(filled)
                _send(filled, path)
            return
        target = _target(path)
        with part_of(target) as part:
            write(part)
            if target.exists():
                _take_after(part, target)
            os.replace(part, target)


def require_writable(path: Path) -> None:
    """InputError unless a file can be written there: a part of it is made, and removed, for root may write anything and
    still not on a read-only disk."""
    with told(path):
        if not is_stream(path):
            with part_of(_target(path)):
                pass
        elif not is_standard_output(path) and not os.access(path, os.W_OK):
            raise OSError(errno.EACCES, "it is read-only")


def require_writable_directory(path: Path) -> None:
    """InputError unless files can be written into the directory, or it can be made in one that is there."""
    with told(path):
        if os.path.isdir(path):
            with part_of(path / "any"):
                pass
        elif os.path.lexists(path):
            raise OSError(errno.ENOTDIR, "it is no directory")
        else:
            with part_of(_target(path)):
                pass


def make_directory(path: Path, *, parents: bool = False) -> None:
    """Make the directory unless it is there. InputError where it cannot be made."""
    with told(path):
        path.mkdir(parents=parents, exist_ok=True)


@contextlib.contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn an OSError into an InputError which says that the path cannot be written, and why."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None


def is_standard_output(path: Path) -> bool:
    """True iff what is written there appears on standard output: /dev/stdout, or a file or pipe that this leads to."""
    return path == STANDARD_OUTPUT or _leads_to(path, 1)


def is_stream(path: Path) -> bool:
    """True iff the path is written to and not replaced: a device, a pipe, a socket, standard output or error."""
    if is_standard_output(path) or _leads_to(path, 2):
        return True
    try:
        mode = os.stat(path).st_mode
    except OSError:  # there is none: what is in its way is told when it is written
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _leads_to(path: Path, descriptor: int) -> bool:
    """True iff the path is the file or pipe that is open there; a terminal, or /dev/null, is only a device."""
    with contextlib.suppress(OSError):
        found = os.stat(path)
        return not stat.S_ISCHR(found.st_mode) and os.path.samestat(found, os.fstat(descriptor))
    return False


def _send(content: Path, path: Path) -> None:
    with content.open("rb") as source:
        if is_standard_output(path):
            sys.stdout.flush()
            shutil.copyfileobj(source, sys.stdout.buffer)
            sys.stdout.flush()
        elif _leads_to(path, 2):
            shutil.copyfileobj(source, sys.stderr.buffer)
            sys.stderr.flush()
        else:
            with path.open("wb") as stream:
                shutil.copyfileobj(source, stream)


def _target(path: Path) -> Path:
    """The file behind all symbolic links, there or not. OSError if it is a directory, read-only, or has no folder."""
    with contextlib.suppress(FileNotFoundError):
        os.stat(path)  # what says that a name is too long, or links lead in a circle
    target = Path(os.path.realpath(path))
    for parent in (path.parent, target.parent):
        if not os.path.isdir(parent):
            raise OSError(errno.ENOENT, f"there is no directory {parent}")
    if target.is_dir():
        raise OSError(errno.EISDIR, "it is a directory")
    if target.exists() and not os.access(target, os.W_OK):
        raise OSError(errno.EACCES, "it is read-only")
    return target


def _take_after(part: Path, target: Path) -> None:
    """Give the part the owner, as far as that is allowed, and the permissions of the file that it replaces."""
    before = target.stat()
    with contextlib.suppress(PermissionError):
        os.chown(part, before.st_uid, before.st_gid)
    os.chmod(part, stat.S_IMODE(before.st_mode))


@contextlib.contextmanager
def part_of(target: Path, *, directory: bool = False) -> Iterator[Path]:
    """A new file, or directory, beside `target`, locked until the block ends and then removed unless it was renamed.

    Those that killed processes have left there are removed first. OSError where none can be made.
    """
    part, descriptor = _new_part(target, directory)
    try:
        yield part
    finally:
        _remove(part, descriptor)
        os.close(descriptor)


def _part(target: Path, number: int) -> Path:
    label = target.name
    if len(os.fsencode(label)) > LONGEST_LABEL:
        label = hashlib.sha256(os.fsencode(label)).hexdigest()
    return target.with_name(f".{label}.georecall_part{number}")


def _new_part(target: Path, directory: bool) -> tuple[Path, int]:
    """The part with the first number that no living process has, and the descriptor that holds its lock."""
    for number in range(NUMBERS):
        _clear(_part(target, number))
    number = 0
    while (made := _made(_part(target, number), directory)) is None:
        number += 1
    return made


def _made(part: Path, directory: bool) -> tuple[Path, int] | None:
    """A new part, locked; None if there is one of that name, or it was taken for a dead one before it was locked."""
    try:
        if directory:
            part.mkdir()
        flags = os.O_RDONLY if directory else os.O_RDWR | os.O_CREAT | os.O_EXCL
        descriptor = os.open(part, flags, 0o666)  # less the umask
    except FileExistsError:
        return None
    except FileNotFoundError:
        if part.parent.is_dir():
            return None
        raise
    _lock(descriptor, wait=True)
    if _is_open_as(part, descriptor):
        return part, descriptor
    os.close(descriptor)
    return None


def _clear(part: Path) -> None:
    """Remove the part if there is one and no process has its lock."""
    try:
        descriptor = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # there is none, or it is another user's
        return
    try:
        if _lock(descriptor, wait=False):
            _remove(part, descriptor)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, *, wait: bool) -> bool:
    """True iff this process has the lock now; where the file system knows no locks, nobody has."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _is_open_as(part: Path, descriptor: int) -> bool:
    """True iff the name leads to what is open: it has neither been renamed nor removed."""
    try:
        return os.path.samestat(os.lstat(part), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _remove(part: Path, descriptor: int) -> None:
    """Remove what is open, and locked, if it still has this name."""
    if not _is_open_as(part, descriptor):
        return
    if part.is_dir():
        shutil.rmtree(part, ignore_errors=True)
    else:
        part.unlink()
