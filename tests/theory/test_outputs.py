"""No command can write over what it reads or what is no plain file, nor mix words into an output: for all commands and
all their options, so that a new one is tested as soon as it is there.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

import georecall
from empirical.execution.database import belongings
from empirical.execution.store import open_store
from empirical.models.runs import RunConfig, RunResult
from georecall.paths import Read, Write, WriteInto
from paper_figs.catalogue import STANDARD
from tests.helpers.devices import device
from theory import InputError
from theory.records.outputs import Place, require_apart


def leaves(group: click.Group, *names: str) -> Iterator[tuple[str, click.Command]]:
    """Every command that is no group, with its words."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from leaves(command, *names, name)
        else:
            yield " ".join([*names, name]), command


COMMANDS = dict(leaves(georecall.main))

# Parameters that are texts, and no paths.
TEXTS = {
    *("verify CLAIMS", "construct CLAIM", "construct --name", "count KIND", "bounds --entities", "bounds --relations"),
    *("bounds --hops", "bounds --bits", "bounds --shared-bits", "bounds --error", "bounds --format"),
    *("compare --preset", "compare --device", "compare --address", "mechanism --preset", "probe --layers"),
    *("runs show KEY", "figures NAMES", "ask SUBJECT", "ask RELATIONS"),
}


def name(parameter: click.Parameter) -> str:
    return max(parameter.opts, key=len) if isinstance(parameter, click.Option) else str(parameter.name).upper()


def parameters(kind: type[click.ParamType]) -> list[tuple[str, str]]:
    """(command, parameter) of every parameter whose type is of that kind."""
    return [
        (words, name(parameter))
        for words, command in COMMANDS.items()
        for parameter in command.params
        if isinstance(parameter.type, kind)
    ]


def test_every_path_of_every_command_says_whether_it_is_read_or_written() -> None:
    for words, command in COMMANDS.items():
        for parameter in command.params:
            harmless = (click.Choice, click.IntRange, click.FloatRange, type(click.BOOL), type(click.INT))
            known = isinstance(parameter.type, (Read, Write, WriteInto, *harmless))
            assert known or f"{words} {name(parameter)}" in TEXTS, f"{words} {name(parameter)}: {parameter.type}"


OUTPUTS = ("--json", "--out", "--system-out", "--report")


def test_what_is_called_as_outputs_are_is_one() -> None:
    written = [*parameters(Write), *parameters(WriteInto)]
    assert {option for _, option in written} == set(OUTPUTS)
    for words, command in COMMANDS.items():
        for parameter in command.params:
            assert (name(parameter) in OUTPUTS) == ((words, name(parameter)) in written)


# What each command needs besides an output. Files of these names are there: see `place`.
ARGUMENTS = {
    "verify": ["T1", "--entities", "5", "--relations", "2"],
    "construct": ["T1", "--entities", "5", "--relations", "2", "--out", "new.safetensors"],
    "ask": ["weights.safetensors", "France", "capital"],
    "count": ["labelled", "--entities", "3", "--relations", "2"],
    "bounds": ["--entities", "64", "--relations", "2", "--hops", "1"],
    "campaign": ["--mutants", "1"],
    "compare": [],
    "mechanism": ["facts.safetensors"],
    "probe": ["--model", "model", "--relations", "relations"],
    "reproduce": [],
    "figures": ["construction"],
    "runs list": [],
    "runs show": ["1f"],
    "runs export": ["--out", "new.json"],
    "runs precision": [],
    "runs prune": [],
}
# The file that stands for what a parameter reads, and the files that are read with it.
READS = {
    "--store": ("runs.sqlite", [path.name for path in belongings(Path("runs.sqlite"))]),
    "--weights": ("weights.safetensors", []),
    "--system": ("facts.npy", []),
    "MODEL": ("weights.safetensors", []),
    "--model": ("model", ["model/config.json", "model/model.safetensors"]),
    "--relations": ("relations", ["relations/deep/capital.json"]),
    "--results": ("results", [f"results/{STANDARD.file}"]),
    "MODELS": ("facts.safetensors", ["facts.npy", "facts.json"]),
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a file for everything that is read, and links to each."""
    monkeypatch.chdir(tmp_path)
    with open_store(Path("runs.sqlite")) as store:
        store.add(RunResult(RunConfig(5, 2, 3, 4, seed=0), "not memorised", 0.5, 10, 1.0))
    for folder in ("model", "relations/deep", "results", "runs.sqlite.weights", "runs.sqlite.mechanism"):
        Path(folder).mkdir(parents=True)
    for file, beside in READS.values():
        for each in (file, *beside):
            if not Path(each).exists():
                Path(each).write_text(f"content of {each}")
    return tmp_path


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a command would do is a failure: it must have been refused."""
    for command in COMMANDS.values():
        monkeypatch.setattr(command, "callback", lambda **values: pytest.fail("the work has begun"))


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(georecall.main, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit | InputError), result.exc_info
    return result


def command_line(words: str, option: str, value: str, *more: str) -> list[str]:
    arguments = [*ARGUMENTS[words], *more]
    if option in arguments:
        arguments[arguments.index(option) + 1] = value
    else:
        arguments += [option, value]
    return [*words.split(), *arguments]


def test_every_command_has_arguments_here() -> None:
    assert set(ARGUMENTS) == set(COMMANDS)


def aliases(file: str) -> list[str]:
    """Names of one file: its own, by its folder and that one's parent, a link, a link to a link, another hard link
    (which may be replaced where it is a file of a directory that is read: that one stays).
    """
    suffix = Path(file).suffix
    os.symlink(file, f"link{suffix}")
    os.symlink(f"link{suffix}", f"links{suffix}")
    found = [
        file,
        f"./{file}",
        f"../{Path.cwd().name}/{file}",
        str(Path(file).absolute()),
        f"link{suffix}",
        f"links{suffix}",
    ]
    if "/" not in file:
        os.link(file, f"hard{suffix}")
        found.append(f"hard{suffix}")
    return found


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(("words", "option"), parameters(Write), ids=str)
def test_no_output_replaces_what_the_command_reads(words: str, option: str, place: Path) -> None:
    """Every output onto every input, by every name that it has: one line, exit status 2, and nothing has changed."""
    inputs = [read for command, read in parameters(Read) if command == words]
    tried = 0
    for read in inputs:
        file, beside = READS[read]
        more = [] if read in (*ARGUMENTS[words], "MODELS") else [read, file]
        pair = {"--weights": ["--system", "facts.npy"], "--system": ["--weights", "weights.safetensors"]}.get(read, [])
        for target in [each for each in (file, *beside) if not Path(each).is_dir()]:
            for link in Path().glob("link*"):
                link.unlink()
            for hard in Path().glob("hard*"):
                hard.unlink()
            for alias in aliases(target):
                before = content(place)
                arguments = command_line(words, option, alias, *more, *pair)
                if words == "verify":
                    arguments = [each for each in arguments if each not in (*ARGUMENTS["verify"],)]
                elif read == "--system":  # the facts instead of sizes
                    sizes = ("--entities", "5", "--relations", "2", *pair)
                    arguments = [each for each in arguments if each not in sizes or each == "weights.safetensors"]
                result = run(*arguments)
                assert result.exit_code == 2, (arguments, result.output)
                # Weights have a suffix of their own, which no facts have.
                refusal = (
                    "weights are written as" if (words, option) == ("construct", "--out") else "would replace what"
                )
                assert refusal in result.output, (arguments, result.output)
                assert result.output.count("\n") == 1
                assert content(place) == before
                tried += 1
    assert tried or not inputs


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(("words", "option"), parameters(Write), ids=str)
def test_outputs_are_not_one_file(words: str, option: str, place: Path) -> None:
    for command, other in parameters(Write):
        if command == words and other != option:
            for one, another in (("same.safetensors", "./same.safetensors"), ("-", "-"), ("same.json", "same.json")):
                before = content(place)
                result = run(*command_line(words, option, one, other, another))
                assert result.exit_code == 2, result.output
                assert content(place) == before


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(("words", "option"), parameters(Write), ids=str)
def test_what_cannot_be_written_is_refused_before_the_work(words: str, option: str, place: Path) -> None:
    suffix = {"--system-out": ".npy"}.get(option, ".safetensors" if words == "construct" else ".json")
    for bad in (f"nowhere/x{suffix}", f"runs.sqlite/x{suffix}", f"/sys/x{suffix}", "x" * 256 + suffix):
        result = run(*command_line(words, option, bad))
        assert result.exit_code == 2, result.output
        assert "cannot write" in result.output
        assert result.output.count("\n") == 1
    Path(f"folder{suffix}").mkdir()
    assert "it is a directory" in run(*command_line(words, option, f"folder{suffix}")).output


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(("words", "option"), parameters(WriteInto), ids=str)
def test_a_directory_that_cannot_be_written_is_refused_before_the_work(words: str, option: str, place: Path) -> None:
    for bad in ("no/where", "runs.sqlite", "/sys", "/sys/x", "x" * 256):
        result = run(*command_line(words, option, bad))
        assert result.exit_code == 2, (bad, result.output)
        assert "cannot write" in result.output


# One output of each command that is quick; the others are `compare` and the like, whose outputs go the same way.
QUICK = ["verify", "count", "bounds", "runs export"]


@pytest.mark.parametrize("words", QUICK)
def test_an_output_on_standard_output_has_it_alone(words: str, place: Path) -> None:
    option = "--json" if words in ("verify", "count") else "--out"
    more = ["--format", "json"] if words == "bounds" else []
    result = run(*command_line(words, option, "-", *more))
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)
    if words != "bounds":
        assert result.stderr
    assert not Path("-").exists()


@pytest.mark.parametrize("words", QUICK)
def test_an_output_to_a_device_or_pipe_replaces_nothing(words: str, place: Path) -> None:
    option = "--json" if words in ("verify", "count") else "--out"
    for name, status in (("null", 0), ("full", 2)):
        file = device(place, name)
        number = file.stat().st_rdev
        result = run(*command_line(words, option, str(file)))
        assert result.exit_code == status, result.output
        assert stat.S_ISCHR(file.stat().st_mode)
        assert file.stat().st_rdev == number
        if status:
            assert f"cannot write {file}: No space left on device\n" in result.stderr
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert run(*command_line(words, option, "pipe")).exit_code == 0
    assert os.read(reader, 10)
    os.close(reader)
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)


def test_maps_are_not_written_over_a_model_that_is_read(place: Path) -> None:
    shutil.copy("facts.safetensors", "facts.maps.safetensors")
    before = content(place)
    result = run("mechanism", "facts.safetensors", "facts.maps.safetensors", "--out", ".")
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert "would replace what" in result.output
    assert content(place) == before


def test_drawings_are_not_mixed_into_the_results(place: Path) -> None:
    for out in ("results", "results/../results", "./results/"):
        result = run("figures", "construction", "--results", "results", "--out", out)
        assert result.exit_code == 2
    assert run("figures", "construction", "--results", ".", "--out", "figures").exit_code == 0


def test_lists_ask_for_no_place_to_write(place: Path) -> None:
    Path("figures").write_text("a file of that name")
    assert run("figures", "--list").exit_code == 0
    assert run("count", "--list", "--json", "nowhere/x").exit_code == 0


def test_places_are_told_apart(tmp_path: Path) -> None:
    store, other = Place("--store", tmp_path / "s"), Place("--out", tmp_path / "o")
    require_apart([store], [other])
    with pytest.raises(InputError, match=r"--out .*s would replace what --store .*s reads"):
        require_apart([store], [Place("--out", tmp_path / "x" / ".." / "s")])
    folder = Place("--results", tmp_path, ("*.json",))
    require_apart([folder], [Place("--out", tmp_path / "deep" / "x.pdf")])
    with pytest.raises(InputError, match="would replace"):
        require_apart([folder], [Place("--out", tmp_path / "deep" / "x.json")])
    null = device(tmp_path, "null")
    require_apart([], [Place("--json", null), Place("--out", null)])
