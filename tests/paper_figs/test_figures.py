"""Figures are drawn from saved results alone: from these the same bytes, from anything else one line that says so."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'geometric-recall[figures]'")

import matplotlib

from empirical.comparison import compare
from empirical.comparison.capacity import scalars, tables_learned
from empirical.comparison.curves import Curve
from empirical.comparison.presets import PRESETS, preset
from empirical.execution.store import open_store
from empirical.models.runs import RunConfig, RunResult
from empirical.statistics.threshold import Trials, fit_threshold
from paper_figs import catalogue, saved, style, trials
from paper_figs.catalogue import FIGURES, TRIALS
from tests.helpers.comparisons import TINY, TINY_CURVES, made_up, result
from tests.helpers.places import RESULTS, ROOT
from tests.paper_figs.test_figure_layout import drawn, faults
from theory import FactSystem, InputError
from theory.statements.registry import evaluate, theorems

REPORT = json.loads((RESULTS / "standard.json").read_text(encoding="utf-8"))
TALLY = json.loads((RESULTS / "standard_trials.json").read_text(encoding="utf-8"))
COMMITTED = [name for name, each in FIGURES.items() if all((RESULTS / one.file).is_file() for one in each.sources)]
FROM_RESULTS = [name for name, each in FIGURES.items() if each.sources]

DRAW_ALL = """
import hashlib, sys
from pathlib import Path
from paper_figs import catalogue
assert "matplotlib" not in sys.modules, "the list of figures needs no matplotlib"
for path in catalogue.figures(sys.argv[3:], Path(sys.argv[1]), Path(sys.argv[2])):
    print(path.name, hashlib.sha256(path.read_bytes()).hexdigest())
assert not {"torch", "matplotlib.pyplot"} & set(sys.modules), sorted(sys.modules)
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Every figure as it is written here, by its file's name."""
    paths = catalogue.figures(COMMITTED, RESULTS, tmp_path_factory.mktemp("figures") / "new" / "folder")
    return {path.name: path.read_bytes() for path in paths}


def test_every_figure_is_written_as_pdf_and_png(written: dict[str, bytes]) -> None:
    assert list(written) == [f"{name}{suffix}" for name in COMMITTED for suffix in (".pdf", ".png")]
    assert all(data.startswith(b"%PDF" if name.endswith(".pdf") else b"\x89PNG") for name, data in written.items())


def test_the_figures_of_the_documentation_are_those_that_are_drawn(written: dict[str, bytes]) -> None:
    shown = sorted((ROOT / "docs" / "figures").iterdir())
    assert shown
    for path in shown:
        assert path.read_bytes() == written[path.name], path.name


def test_the_results_of_every_figure_are_committed() -> None:
    assert list(FIGURES) == COMMITTED


def test_fonts_are_embedded_and_nothing_is_dated(written: dict[str, bytes]) -> None:
    for name, data in written.items():
        assert b"CreationDate" not in data
        assert matplotlib.__version__.encode() not in data[:2000] + data[-2000:]
        assert (b"/FontFile2" in data) == name.endswith(".pdf")
        assert b"/Type3" not in data


def test_another_process_writes_the_same_bytes(written: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "matplotlibrc").write_text("font.size: 20\naxes.grid: False\nsavefig.dpi: 50\n")
    surroundings = {**os.environ, "PYTHONHASHSEED": "7", "MATPLOTLIBRC": str(tmp_path), "SOURCE_DATE_EPOCH": "1"}
    command = [sys.executable, "-c", DRAW_ALL, str(RESULTS), str(tmp_path / "out"), *COMMITTED]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=surroundings, check=False)
    assert run.returncode == 0, run.stderr
    found = dict(line.split() for line in run.stdout.splitlines())
    assert found == {name: hashlib.sha256(data).hexdigest() for name, data in written.items()}


def test_svg_is_the_same_each_time() -> None:
    first, second = (catalogue.as_svg("construction") for _ in range(2))
    assert first == second
    assert first.startswith(b"<?xml")
    assert b"<dc:date>" not in first


def test_style_ends_with_the_drawing() -> None:
    before = dict(matplotlib.rcParams)
    catalogue.draw("construction")
    assert dict(matplotlib.rcParams) == before


def test_only_three_kinds_of_files_are_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.pdf or \.png or \.svg"):
        style.save(catalogue.draw("construction"), tmp_path / "figure.jpg")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_name_is_told_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"'depht' is no figure; there are {', '.join(FIGURES)}"):
        catalogue.figures(["depth", "depht"], RESULTS, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_name_given_twice_is_drawn_once(tmp_path: Path) -> None:
    paths = catalogue.figures(["construction", "construction"], RESULTS, tmp_path)
    assert [path.name for path in paths] == ["construction.pdf", "construction.png"]


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "paper_figs.style")
    with pytest.raises(InputError, match=r"geometric-recall\[figures\]"):
        catalogue.draw("construction")
    assert catalogue.listing()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot write .*Not a directory"):
        catalogue.figures(["construction"], RESULTS, tmp_path / "file" / "out")


def test_list_names_figures_data_and_commands() -> None:
    listed = catalogue.listing()
    for each in FIGURES.values():
        assert f"{each.name}: {each.title}\n" in listed
        assert all(f"{source.file}: {source.command}" in listed for source in each.sources)


@pytest.mark.parametrize("name", FROM_RESULTS)
def test_missing_results_are_told_with_their_command(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        catalogue.draw(name, tmp_path)
    first = FIGURES[name].sources[0]
    assert f"there is no {tmp_path / first.file}" in str(caught.value)
    assert f"make it with: {first.command}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_folder_that_is_meant_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"of the working directory .--results names another folder"):
        catalogue.draw("dimension")


def changed(values: Any, change: Callable[[Any], object]) -> str:
    copy = json.loads(json.dumps(values))
    change(copy)
    return json.dumps(copy)


LEARNED_128 = [each["curve"] for each in REPORT["thresholds"]].index("N=128 R=2 k=1 width=4d")  # in every figure
SPOILED: dict[str, tuple[str, str]] = {
    "no JSON": ("{", "is not JSON"),
    "a list": ("[]", "no 'complete'"),
    "not complete": (changed(REPORT, lambda r: r.update(complete=False)), "not complete"),
    "another preset": (
        changed(REPORT, lambda r: r.update(preset="paper")),
        "it lacks the curve|are of the preset|asks for no hops",
    ),
    "an unknown preset": (changed(REPORT, lambda r: r.update(preset="mine")), "preset is 'mine'"),
    "no thresholds": (changed(REPORT, lambda r: r.pop("thresholds")), "no 'thresholds'"),
    "a curve less": (changed(REPORT, lambda r: r["thresholds"].pop(LEARNED_128)), "it lacks the curve"),
    "a word for a number": (changed(REPORT, lambda r: r["thresholds"][0].update(low="low")), "low is 'low'"),
    "a missing entry": (changed(REPORT, lambda r: r["thresholds"][0].pop("high")), "no Comparison"),
}


@pytest.mark.parametrize("name", [name for name in FROM_RESULTS if FIGURES[name].sources[0].file == "standard.json"])
@pytest.mark.parametrize("fault", SPOILED)
def test_foreign_results_are_refused(name: str, fault: str, tmp_path: Path) -> None:
    text, words = SPOILED[fault]
    (tmp_path / "standard.json").write_text(text, encoding="utf-8")
    (tmp_path / TRIALS.file).write_text(json.dumps(TALLY), encoding="utf-8")
    with pytest.raises(InputError, match=words) as caught:
        catalogue.draw(name, tmp_path)
    assert "make it with: georecall compare" in str(caught.value)


@pytest.mark.parametrize("name", ["capacity_law", "bits"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.update(preset="quick"), "are of the preset 'quick'"),
        (lambda t: t["curves"].pop(0), "there are no trials"),
        (lambda t: t["curves"][0]["trials"][0].pop(), "a trial is"),
        (lambda t: t["curves"][0]["trials"][0].__setitem__(0, 1.5), "a trial is"),
        (lambda t: t.pop("curves"), "no 'curves'"),
    ],
)
def test_foreign_trials_are_refused(name: str, change: Callable[[Any], object], words: str, tmp_path: Path) -> None:
    (tmp_path / "standard.json").write_text(json.dumps(REPORT), encoding="utf-8")
    (tmp_path / TRIALS.file).write_text(changed(TALLY, change), encoding="utf-8")
    with pytest.raises(InputError, match=words):
        catalogue.draw(name, tmp_path)


def test_committed_trials_give_the_committed_thresholds() -> None:
    known = {each["curve"]: each for each in REPORT["thresholds"] if each["accuracy"] == 0.99}
    found = saved.trials_of(TALLY, REPORT)
    assert {curve.name for curve in found} == set(known)
    for curve, counted in found.items():
        fitted = fit_threshold([Trials(each.dimension, each.memorised, each.runs, 0) for each in counted], 0.99)
        # The last digit of an optimum is the machine's.
        committed = tuple(known[curve.name][key] for key in ("dimension", "low", "high"))
        assert (fitted.dimension, fitted.low, fitted.high) == pytest.approx(committed, rel=1e-12)
    assert sum(each.runs for counted in found.values() for each in counted) == REPORT["runs"] - REPORT["failed"]


def test_trials_are_those_of_the_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(PRESETS, "tiny", TINY)
    store = tmp_path / "runs.sqlite"
    made_up(TINY, lambda config: result(config, config.dimension >= 4), store)
    assert trials.main([str(store), "tiny", str(tmp_path / "trials.json")]) == 0
    tally = json.loads((tmp_path / "trials.json").read_text(encoding="utf-8"))
    found = saved.trials_of(tally, {"preset": "tiny", "complete": True})
    assert list(found) == list(TINY_CURVES)
    for counted in found.values():
        assert [(each.dimension, each.memorised) for each in counted if each.runs == 2] == [(3, 0), (4, 2)]
    with open_store(store, read_only=True) as opened:
        assert sum(each.runs for counted in found.values() for each in counted) == len(list(opened.all_runs()))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give a run store"),
        (["{store}", "huge", "{out}"], "preset is 'huge'"),
        (["{folder}/none.sqlite", "quick", "{out}"], "none.sqlite"),
        (["{store}", "quick", "{out}"], "has no run of the curve"),
    ],
)
def test_trials_of_nothing_are_refused(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, out = tmp_path / "runs.sqlite", tmp_path / "trials.json"
    with open_store(store):
        pass
    filled = [each.format(store=store, out=out, folder=tmp_path) for each in arguments]
    assert trials.main(filled) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert words in line
    assert not out.exists()


def stored(config: RunConfig) -> RunResult:
    """A run that memorises from a dimension on that E8 would not be surprised at."""
    answers = config.relations ** (1 if config.chain else config.hops)
    need = 0.7 * answers * (1 + (config.subjects == "frozen") + (config.readout != "learned"))
    count = scalars(Curve(config, config.width), config.dimension, "tables and MLP")
    return replace(result(config, config.dimension >= need), trained_scalars=int(count))


@pytest.mark.parametrize(("name", "missing"), [("quick", []), ("paper", ["hops"])])
def test_other_presets_are_drawn_as_far_as_they_go(name: str, missing: list[str], tmp_path: Path) -> None:
    """The comparison itself writes the report, and no training from T2e: both it and the trials are real."""
    store = tmp_path / "runs.sqlite"
    report = made_up(replace(PRESETS[name], middle_sizes=()), stored, store)
    compare.write(report, tmp_path / "standard.json")
    assert trials.main([str(store), name, str(tmp_path / TRIALS.file)]) == 0
    for each in ("dimension", "capacity_law", "bits", "hops"):
        if each in missing:
            with pytest.raises(InputError, match="the preset asks for no hops"):
                catalogue.draw(each, tmp_path)
        else:
            assert faults(catalogue.draw(each, tmp_path)) == []


def series(axes: Any, colour: str, marker: str) -> list[tuple[list[float], list[float]]]:
    """What is drawn in a panel with that colour and marker."""
    return [
        (line.get_xdata().tolist(), line.get_ydata().tolist())
        for line in axes.lines
        if line.get_color() == colour and line.get_marker() == marker
    ]


def test_dimension_shows_the_thresholds_and_the_formula() -> None:
    axes = drawn("dimension").axes[0]
    assert axes.get_title("left") == "(a) R = 2"
    chosen = [each for each in saved.points(REPORT, "capacity") if each.curve.relations == 2]
    expected = [each.dimension for each in sorted(chosen, key=lambda each: each.curve.entities)]
    assert [y for _, y in series(axes, style.BLUE, "o")] == [expected]
    theory = {tuple(line.get_ydata()) for line in axes.lines}
    assert tuple(evaluate("T1", "dimension", entities=2**n, relations=2) for n in range(5, 11)) in theory


def test_hops_shows_ratios_to_one_hop() -> None:
    axes = drawn("hops").axes[0]
    known = {
        (each.curve.relations, each.curve.hops): each.dimension
        for each in saved.points(REPORT, "hops tied")
        if each.curve.entities == 64
    }
    expected = [known[2, k] / known[2, 1] for k in (1, 2, 3)]
    assert [y for _, y in series(axes, style.ORANGE, "v")] == [expected]
    assert [1, 2, 4] in [line.get_ydata().tolist() for line in axes.lines]


def test_capacity_law_pools_every_run_once() -> None:
    chosen, counted = preset("standard"), saved.trials_of(TALLY, REPORT)
    # A chain of hops and its one-hop model are the same runs.
    curves = {each.trained: each for _, group in reversed(chosen.law_held_out) for each in reversed(group)}
    curves = {*{**curves, **{each.trained: each for each in chosen.law_fitted}}.values()}
    figure = drawn("capacity_law")
    for axes, own in (
        (figure.axes[0], [each for each in curves if tables_learned(each)]),
        (figure.axes[2], list(curves)),
    ):
        faint = [line for line in axes.lines if line.get_alpha() == 0.3]
        assert sum(len(line.get_xdata()) for line in faint) == sum(len(counted[each]) for each in own)


def test_capacity_law_draws_the_beta_of_the_verdicts() -> None:
    numbers = next(each["numbers"] for each in REPORT["verdicts"] if each["claim"] == "E8")
    title = drawn("capacity_law").axes[0].get_title("left")
    assert f"β = {numbers['β']:.2f} [{numbers['β, low']:.2f}, {numbers['β, high']:.2f}]" in title


def test_bits_a_scalar_are_those_of_the_trials() -> None:
    """At whole dimensions that were tried the number of scalars is the one that was counted."""
    from paper_figs.figures.bits import _trained_scalars

    counted = saved.trials_of(TALLY, REPORT)
    for point in saved.points(REPORT, "frozen both"):
        trained = _trained_scalars(point.curve, counted)
        for each in counted[point.curve]:
            assert trained(each.dimension) == pytest.approx(each.trained_scalars)


def test_construction_shows_what_the_weights_compute() -> None:
    from paper_figs.figures import construction

    system = FactSystem.random(construction.ENTITIES, construction.RELATIONS, construction.SEED)
    answer = int(system.answers[construction.RELATION, construction.SUBJECT])
    numbers, scores = drawn("construction").axes
    assert scores.get_title("left") == f"(b) answer {answer}, margin 2"
    lengths = [bar.get_width() for bar in scores.patches]
    assert np.argmax(lengths) == answer
    cells = [text.get_text().replace("−", "-") for text in numbers.texts]
    code = [f"{2 * (answer >> place & 1) - 1:+d}" for place in range(3)]
    last = cells.index("MLP out: blocks' sum - 1")
    assert cells[last + 1 : last + 10] == [*code, *["0"] * 6]


def test_parameters_are_those_of_the_table_in_the_readme() -> None:
    from paper_figs.figures import parameters

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for entities, dimension in parameters.COMPILED_DIMENSIONS.items():
        assert f"| {entities:,} | d = {dimension:,}" in readme
    for entities, number in parameters.COMPILED_PARAMETERS.items():
        assert f"| {entities:,} | d = {2 * entities + 3:,}, {number:,} |" in readme


def test_map_names_files_and_tests_that_exist_and_every_figure() -> None:
    text = (ROOT / "paper_figs" / "README.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")
    ]
    head, *body = [row for row in rows if len(row) == 6]
    assert head == ["claim", "theorem", "file", "test", "command", "figure"]
    listed = set()
    for _, theorem, file, test, command, figure in body:
        for path in [*file.split(", "), *test.split(", ")]:
            assert (ROOT / path.strip("`")).is_file(), path
        assert command.startswith(("`georecall ", "`python -m "))
        listed |= set(figure.strip("`").split("`, `"))
        assert theorem == "–" or all(each in theorems() for each in theorem.split(", "))
    assert listed - {"–"} == set(FIGURES)
    assert {each for row in body for each in row[1].split(", ")} - {"–"} == set(theorems())


def test_captions_cite_their_claims() -> None:
    for each in FIGURES.values():
        assert all(claim in theorems() or claim in {f"E{n}" for n in range(1, 10)} for claim in each.claims)
        assert each.caption.endswith(".")
        assert each.title
