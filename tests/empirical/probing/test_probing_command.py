"""`georecall probe` from what a person types to files: a whole probe of a tiny model, and each fault in one line."""

from __future__ import annotations

import errno
import json
import shutil
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from click.testing import CliRunner, Result

REASON = "is not installed: pip install 'geometric-recall[probe]'"
torch = pytest.importorskip("torch", reason=f"torch {REASON}")
pytest.importorskip("transformers", reason=f"transformers {REASON}")
pytest.importorskip("tokenizers", reason=f"tokenizers {REASON}")

import georecall  # noqa: E402
from tests.helpers.tiny_language_models import save  # noqa: E402

torch.set_num_threads(1)  # several test processes share the cores

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def relation(name: str, objects: tuple[str, ...], subjects: int = 48) -> dict[str, Any]:
    """A relation of subjects of two letters each, in the format of the public data set."""
    names = [f"{LETTERS[x % 26]}{LETTERS[(7 * x + x // 26) % 26]}" for x in range(subjects)]
    samples = [{"subject": each, "object": objects[x * x % len(objects)]} for x, each in enumerate(names)]
    return {"name": name, "prompt_templates": [f"The {name} of {{}} is"], "samples": samples}


CAPITAL = relation("capital", ("Paris", "Abuja", "Niger", "Chad", "Moresby"))
NEIGHBOUR = relation("neighbour", ("France", "Guinea", "here"))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a tiny Llama, and of tiny BERTs with and without an output layer."""
    home = tmp_path_factory.mktemp("models")
    for family in ("llama", "bert", "bert_masked"):
        save(family, home / family)
    return home


@pytest.fixture
def place(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, with the models and two relations beside it, a cache of its own and no network."""

    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("something reached for the network")

    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copytree(models, tmp_path / "models")
    (tmp_path / "relations").mkdir()
    for content in (CAPITAL, NEIGHBOUR):
        write(tmp_path / "relations" / f"{content['name']}.json", content)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return tmp_path


def write(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def run(model: Any = "../models/llama", relations: Any = "../relations", *more: str) -> Result:
    return CliRunner().invoke(georecall.main, ["probe", "--model", str(model), "--relations", str(relations), *more])


OUTPUT = ("--json", "probe.json", "--out", "maps")


def written() -> list[str]:
    return sorted(str(path) for path in Path().rglob("*"))


def test_a_probe_from_end_to_end(place: Path) -> None:
    result = run("../models/llama", "../relations", *OUTPUT)
    assert (result.exit_code, result.stderr) == (0, "")
    for part in ("llama: d = 32, 3 blocks, 4 layers measured", "Linear read-outs", "Controls", "E7: "):
        assert part in result.stdout
    assert written() == ["maps", "maps/maps.safetensors", "probe.json"]
    report = json.loads(Path("probe.json").read_text())
    assert (report["model"], report["layers"], report["left_out"]) == ("llama", [0, 1, 2, 3], [])
    assert [each["name"] for each in report["relations"]] == ["capital", "neighbour"]
    assert [len(each["by_layer"]) for each in report["relations"]] == [4, 4]
    assert len(report["superposition"]) == 1
    assert len(report["provenance"]["model_sha256"]) == 64
    # Random weights know nothing, and nothing may be said in their favour.
    assert "supported" not in [each["status"] for each in report["verdicts"]]
    maps = safetensors.numpy.load_file("maps/maps.safetensors")
    assert set(maps) == {f"{name}.{part}" for name in ("capital", "neighbour") for part in PARTS}
    assert maps["capital.read"].shape == (32, report["maps"][0]["rank"])
    assert all(np.isfinite(array).all() for array in maps.values())
    # Once more, from the cache: the same. (Safetensors orders its metadata as it likes.)
    before = Path("probe.json").read_bytes()
    assert run("../models/llama", "../relations", *OUTPUT).stdout == result.stdout
    assert Path("probe.json").read_bytes() == before
    again = safetensors.numpy.load_file("maps/maps.safetensors")
    assert again.keys() == maps.keys()
    assert all((again[name] == maps[name]).all() for name in maps)


PARTS = ("centre", "read", "write", "offset")


@pytest.mark.parametrize("family", ["bert", "bert_masked"])
def test_encoders_are_probed_at_the_layers_asked_for(place: Path, family: str) -> None:
    result = run(f"../models/{family}", "../relations/capital.json", "--layers", "2:3", "--json", "probe.json")
    assert (result.exit_code, result.stderr) == (0, "")
    report = json.loads(Path("probe.json").read_text())
    assert report["layers"] == [0, 2, 3]
    assert (report["relations"][0]["known"] is None) == (family == "bert")
    assert report["superposition"] == report["swaps"] == []


def one_line(result: Result, message: str) -> None:
    """Exit status 2, the message alone on stderr, nothing on stdout and nothing written."""
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("georecall: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert result.stdout == ""
    assert written() == []


def changed(**changes: Any) -> dict[str, Any]:
    """The relation with another first sample, or other keys."""
    first = {key: value for key, value in changes.items() if key in ("subject", "object")}
    samples = [{**CAPITAL["samples"][0], **first}, *CAPITAL["samples"][1:]]
    return {**CAPITAL, "samples": samples, **{key: value for key, value in changes.items() if key not in first}}


RELATIONS: list[tuple[str, Any, str]] = [
    ("llama", "{", "is not JSON"),
    ("llama", "[" * 200_000, "it is nested too deeply"),
    ("llama", "1" * 5000, "fault.json"),  # no JSON, or no object: it depends on how long the process lets numbers be
    ("llama", [], "an object with name, prompt_templates and samples is expected"),
    ("llama", changed(name=3), "name is not a text"),
    ("llama", changed(prompt_templates=["The capital is"]), 'prompt_templates[0] has 0 times "{}"'),
    ("llama", changed(samples={}), "samples is missing or empty"),
    ("llama", changed(object=None), "samples[0].object is missing"),
    ("llama", changed(subject="\ud800"), "samples[0].subject holds half of a surrogate pair"),
    ("llama", relation("capital", ("Paris", "Abuja"), 39), "has 39 subjects; a probe needs at least 40"),
    ("llama", relation("a\nb", ("Paris",)), "(a b: all its objects have one direction"),
    ("llama", changed(subject="word " * 2000), "tokens; this model reads at most 2048"),
    ("bert", changed(object="☃"), "cannot spell the object '☃'"),
    ("bert_masked", changed(object="paris"), "spells 'Paris' and 'paris' alike"),
    ("bert_masked", changed(subject="\u200b"), "finds no token in the subject"),
    ("bert_masked", changed(subject="[MASK]"), "holds the model's mask token"),
]


@pytest.mark.parametrize(("family", "content", "message"), RELATIONS)
def test_a_fault_of_the_relations_is_one_line(place: Path, family: str, content: Any, message: str) -> None:
    file = write(place / "fault.json", content)
    one_line(run(f"../models/{family}", file, *OUTPUT), message)


SOURCES = [
    ("planets", "there are no relations 'planets'"),
    ("x" * 5000, "there are no relations"),
    ("nul\0", "there are no relations"),
    ("../models/llama/model.safetensors", "is not JSON"),
    ("../empty", "there is no .json file below ../empty"),
]


@pytest.mark.parametrize(("source", "message"), SOURCES, ids=range(len(SOURCES)))
def test_relations_that_are_not_there_are_one_line(place: Path, source: str, message: str) -> None:
    (place / "empty").mkdir()
    one_line(run("../models/llama", source, *OUTPUT), message)


def without(*patterns: str) -> Callable[[Path], None]:
    def spoil(directory: Path) -> None:
        for pattern in patterns:
            for file in directory.glob(pattern):
                file.unlink()

    return spoil


def configured(**changes: Any) -> Callable[[Path], None]:
    def spoil(directory: Path) -> None:
        content = json.loads((directory / "config.json").read_text())
        write(directory / "config.json", {**content, **changes})

    return spoil


def with_code(directory: Path) -> None:
    configured(model_type="evil", auto_map={"AutoConfig": "evil.Evil"})(directory)
    write(directory / "evil.py", "raise AssertionError('code of the checkpoint was run')")


def pickled(directory: Path) -> None:
    without("*.safetensors")(directory)
    torch.save({}, directory / "pytorch_model.bin")


MODELS: list[tuple[Callable[[Path], Any], str]] = [
    (shutil.rmtree, "there is no directory"),
    (without("*"), "it has no config.json"),
    (without("tokenizer*"), "has no tokeniser"),
    (without("*.safetensors"), "has no weights"),
    (pickled, "only as pickles"),
    (with_code, "cannot read"),
    (configured(num_hidden_layers=4), "lack model.layers.3"),
    (configured(architectures={"a": 1}), "architectures is not a list of names"),
    (configured(model_type=["llama"]), "cannot read"),
    (configured(quantization_config={"quant_method": "bitsandbytes", "load_in_4bit": True}), "quantised weights"),
    (lambda directory: write(directory / "config.json", "[" * 200_000), "cannot read"),
    (lambda directory: write(directory / "config.json", "null"), "cannot read"),
    (lambda directory: write(directory / "generation_config.json", "[3]"), "cannot read the weights"),
    (lambda directory: write(directory / "tokenizer_config.json", "[3]"), "cannot read the tokeniser"),
    (lambda directory: write(directory / "model.safetensors", "hello"), "cannot read the weights"),
]


@pytest.mark.parametrize(("spoil", "message"), MODELS, ids=range(len(MODELS)))
def test_a_fault_of_the_model_is_one_line(place: Path, spoil: Callable[[Path], Any], message: str) -> None:
    spoil(place / "models" / "llama")
    one_line(run("../models/llama", "../relations", *OUTPUT), message)


def test_a_model_that_is_not_there_is_one_line(place: Path) -> None:
    for model in ("gpt2", "x" * 5000, "nul\0"):
        one_line(run(model, "../relations", *OUTPUT), "there is no directory")
    one_line(run("../relations/capital.json", "../relations", *OUTPUT), "is neither a model's directory nor")


@pytest.mark.parametrize("layers", ["4", "0:9", "a", "", "-1", "3:1", "1,1", "0:" + "9" * 100, "9" * 5000])
def test_layers_that_are_none_are_one_line(place: Path, layers: str) -> None:
    one_line(run("../models/llama", "../relations", "--layers", layers, *OUTPUT), "layers")


@pytest.mark.parametrize("package", ["torch", "tokenizers", "transformers"])
def test_a_missing_package_is_one_line(place: Path, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    one_line(run("../models/llama", "../relations", *OUTPUT), f"the package {package} is needed for this")


def test_a_missing_package_of_facts_is_one_line(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "periodictable", None)
    one_line(run("../models/llama", "elements", *OUTPUT), "the package periodictable is needed for this")


def test_a_cache_that_cannot_be_written_is_one_line(place: Path) -> None:
    write(place / "cache", "a file")
    one_line(run("../models/llama", "../relations", *OUTPUT), "cache/geometric-recall/states: Not a directory")


@pytest.mark.parametrize("option", ["--json", "--out"])
def test_an_output_without_a_directory_is_one_line_before_anything_is_done(place: Path, option: str) -> None:
    one_line(run("../models/llama", "../relations", option, "no/where"), "there is no directory no")
    assert not (place / "cache").exists()


@pytest.mark.parametrize(("option", "kept"), [("--json", "directory"), ("--out", "file")])
def test_an_output_that_is_something_else_is_left_as_it_is(place: Path, option: str, kept: str) -> None:
    Path("directory").mkdir()
    Path("file").write_text("mine")
    result = run("../models/llama", "../relations/capital.json", "--layers", "0", option, kept)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "cannot write" in result.stderr
    assert written() == ["directory", "file"]
    assert Path("file").read_text() == "mine"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")])
def test_nothing_is_half_written(place: Path, error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted in the midst of writing, or on a full disk: what was there before is what is there after."""

    def half(write: Callable[..., int]) -> Callable[..., int]:
        def spoilt(path: Path, content: Any, *more: Any, **options: Any) -> int:
            write(path, content[: len(content) // 2], *more, **options)
            raise error

        return spoilt

    plain = run("../models/llama", "../relations/capital.json", "--layers", "0", *OUTPUT)
    assert plain.exit_code == 0
    states = place / "cache" / "geometric-recall" / "states"
    kept = [Path("probe.json"), Path("maps/maps.safetensors"), *states.iterdir()]
    assert len(kept) == 3
    before = [file.read_bytes() for file in kept]
    interrupted = isinstance(error, KeyboardInterrupt)
    # The record, the maps, and (of another relation's subjects) the states.
    attempts = [
        ("write_text", "capital", ("--json", "probe.json")),
        ("write_bytes", "capital", ("--out", "maps")),
        ("write_bytes", "few", ()),
    ]
    write(place / "relations" / "few.json", relation("few", ("Paris", "Abuja"), 41))
    for name, asked, output in attempts:
        with monkeypatch.context() as patched:
            patched.setattr(Path, name, half(getattr(Path, name)))
            result = run("../models/llama", f"../relations/{asked}.json", "--layers", "0", *output)
        assert result.exit_code == (130 if interrupted else 2)
        if not interrupted:
            assert result.stderr.count("\n") == 1
            assert "No space left on device" in result.stderr
        assert [file.read_bytes() for file in kept] == before
        assert written() == ["maps", "maps/maps.safetensors", "probe.json"]
        assert list(states.iterdir()) == kept[2:]
