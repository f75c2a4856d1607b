"""The documentation is true and whole: blocks run and print what the pages say, the site builds and opens offline."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.blocks import blocks, check_georecall, run_commands, run_page
from tests.helpers.browser import CHROMIUM, WITHOUT_CHROMIUM, open_page
from tests.helpers.pages import PageReader, requests
from tests.helpers.places import RESULTS, ROOT
from theory.statements.document import without_marks
from theory.statements.registry import theorems

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
NEED_TORCH = {"experiments.md", "run.md"}
PACKAGES = ("theory", "constructions", "bounds", "empirical", "paper_figs", "georecall")


@pytest.mark.parametrize("path", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda path: path.name)
def test_blocks_of_a_page(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if path.name in NEED_TORCH:
        pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'geometric-recall[empirical]'")
    (tmp_path / "docs").mkdir()
    for table in DOCS.glob("*.csv"):  # as in a clone of the repository
        shutil.copy(table, tmp_path / "docs")
    monkeypatch.chdir(tmp_path)
    assert run_page(path) == []


def test_commands_of_the_readme_exist() -> None:
    """What they do is tested beside the README; here, that none has an option that is gone."""
    commands = [
        line for block in blocks((ROOT / "README.md").read_text(encoding="utf-8")) for line in block.text.splitlines()
    ]
    ours = [line.partition("#")[0].split()[1:] for line in commands if line.startswith("georecall")]
    assert len(ours) > 5
    for words in ours:
        check_georecall(words)


FAULTS = {
    "```python\nprint(1 + 1)  # 3\n```\n": "it prints '2\\n'",
    "```python\nprint(2)\n```\n": "it prints '2\\n'",
    "```python\nprint(2)\nprint(3)\n```\n\n```text\n2\n```\n": "it prints '2\\n3\\n'",
    "```console\ngeorecall count labelled --entities 3 --relations 2\n```\n\n```text\n37\n```\n": "it prints '36\\n'",
    "```console\ngeorecall count nothing --entities 6 --relations 2\n```\n": "exit status 2",
    "```console\ngeorecall count relabelled --entities 6 --relations 2  # exit status 1\n```\n": "exit status 0",
    "```console\ngeorecall compare --no-such-option 3               # hours\n```\n": "No such option",
    "```console\ngeorecall compare --workers none                   # hours\n```\n": "not a valid integer",
    "```console\ngeorecall runs forget                              # hours\n```\n": "No such command",
    "```console\npip install '.[everything]'                        # minutes\n```\n": "no extra",
    "```console\nmake everything                                    # minutes\n```\n": "no target everything",
    "```console\npython -m theory.nothing                           # minutes\n```\n": "no such module",
    "```console\ncurl https://example.org                           # minutes\n```\n": "no program that the tests know",
    "```\nprint(1)\n```\n": "no language",
}


@pytest.mark.parametrize("page", FAULTS)
def test_a_false_block_is_found(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "page.md"
    path.write_text(page, encoding="utf-8")
    (fault,) = run_page(path)
    assert FAULTS[page] in fault


def test_long_python_must_import_what_there_is(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("```python\n# An hour.\nfrom theory import Task\n\nraise RuntimeError\n```\n", encoding="utf-8")
    assert run_page(path) == []
    path.write_text("```python\n# An hour.\nfrom theory import nothing\n```\n", encoding="utf-8")
    with pytest.raises(ImportError, match="nothing"):
        run_page(path)


def test_what_takes_long_is_parsed_and_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    printed, faults = run_commands("georecall compare --preset standard --store s.sqlite  # three hours\n", "here")
    assert (printed, faults, list(tmp_path.iterdir())) == ("", [], [])


def test_an_output_may_leave_lines_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "page.md"
    path.write_text("```python\nfor i in range(9):\n    print(i)\n```\n\n```text\n0\n…\n8\n```\n", encoding="utf-8")
    assert run_page(path) == []


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"[\w/]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert sorted(listed) == [path.relative_to(DOCS).as_posix() for path in PAGES]


def test_links_of_the_pages_lead_somewhere() -> None:
    """From one file to another, as on GitHub; the site's own check is in its build."""
    for path in (*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "README.md"):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_intervals_of_the_comparison_are_those_of_the_results() -> None:
    """Every "x [low, high]" of the page is a number of a verdict in the saved results, and so are its counts."""
    page = (DOCS / "experiments.md").read_text(encoding="utf-8")
    saved = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))]
    reports = [each for each in saved if "runs" in each]
    numbers = [verdict["numbers"] for report in reports for verdict in report["verdicts"]]
    known = {
        tuple(f"{found[key]:.2f}" for key in (name, f"{name}, low", f"{name}, high"))
        for found in numbers
        for name in found
        if f"{name}, low" in found
    }
    told = re.findall(r"(-?\d\.\d\d) \[(-?\d\.\d\d), (-?\d\.\d\d)\]", page)
    assert len(told) > 10
    assert [each for each in told if each not in known] == []
    page += (DOCS / "compression.md").read_text(encoding="utf-8")
    assert {f"{report['runs']} runs" in page for report in reports} == {True}


def test_intervals_of_the_readme_are_those_of_the_pages() -> None:
    told = re.findall(r"-?\d\.\d\d \[-?\d\.\d\d, -?\d\.\d\d\]", (ROOT / "README.md").read_text(encoding="utf-8"))
    pages = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("experiments.md", "compression.md"))
    assert len(told) >= 5
    assert [each for each in told if each not in pages] == []


def means(models: list[dict[str, Any]], *path: str) -> str:
    """The mean of a number over models, as the page shows it; a dash where the models have none."""
    found: list[Any] = models
    for name in path:
        found = [each.get(name) for each in found]
        if None in found:
            return "–"
    return f"{sum(each['value'] for each in found) / len(found) + 0:.2f}".replace("-0.00", "0.00")


def test_tables_of_the_mechanism_are_those_of_the_results() -> None:
    page = (DOCS / "mechanism.md").read_text(encoding="utf-8")
    study = json.loads((RESULTS / "mechanism.json").read_text(encoding="utf-8"))
    conditions: dict[str, list[dict[str, Any]]] = {}
    for each in study["models"]:
        conditions.setdefault(each["name"], []).append(each)
    lines = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| condition")]
    columns = (
        ("read_out", "fit", "r_squared"),
        ("read_out", "fit", "decoded"),
        ("transfer", "ways", "maps"),
        ("transfer", "ways", "inverse, again"),
        ("transfer", "ways", "fitted"),
        ("transfer", "redrawn", "inverse, again"),
        ("transfer", "redrawn", "fitted"),
        ("interventions", "ways", "maps", "success"),
        ("interventions", "ways", "maps", "leakage"),
    )
    expected = [
        f"| {name} | {len(models)} | {' | '.join(means(models, *column) for column in columns)} |"
        for name, models in conditions.items()
    ]
    assert sorted(lines) == sorted(expected)
    trained = [each for each in study["verdicts"] if each["as known"] is None]
    for claim in ("E3", "E5"):
        counts = Counter(each["status"] for each in trained if each["claim"] == claim)
        assert f"{claim} is supported in {counts['supported']}" in page or f"{claim} in {counts['supported']}" in page
        assert f"not supported in {counts['not supported']}" in page


def test_table_of_the_language_model_is_that_of_the_results() -> None:
    page = (DOCS / "probing.md").read_text(encoding="utf-8")
    found = json.loads((RESULTS / "smollm2.json").read_text(encoding="utf-8"))
    for relation in found["relations"]:
        headline = relation["headline"]
        read, controls = headline["accuracy"], ("majority", "shuffled", "randomised", "similarity")
        cells = (
            relation["name"],
            str(relation["subjects"]),
            f"{relation['known']['value']:.2f}",
            f"{read['value']:.2f} [{read['low']:.2f}, {read['high']:.2f}]",
            f"{max(headline[name]['value'] for name in controls):.2f}",
            f"{relation['by_layer'][0]['accuracy']['value']:.2f}",
            relation["source"],
        )
        assert f"| {' | '.join(cells)} |\n" in page
    for family in found["superposition"]:
        chosen = next(each for each in family["by_layer"] if each["layer"] == family["layer"])
        assert f"{chosen['together']['value']:.2f}" in page
        assert f"{family['subspaces']['mean']:.2f}" in page


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("g_0 .. e_x", "g_0 .. e_x"),
        ("(g_w(x))_w and a_{k-1}", r"(g_w(x))\_w and a\_{k-1}"),
        ("<c(a), c(a')> <= p < q", "&lt;c(a), c(a')> <= p < q"),
        ("d* = 3, *Proof.*, ended*", r"d\* = 3, *Proof.*, ended*"),
    ],
)
def test_formulas_are_no_marks(text: str, escaped: str) -> None:
    assert without_marks(text) == escaped
    assert without_marks(escaped) == escaped


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it: every warning is an error."""
    for module in ("mkdocs", "material", "mkdocstrings"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed: pip install 'geometric-recall[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    run = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return folder


def test_site_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) == len(PAGES) + 1  # and 404.html
    for path in (*pages, *site.rglob("*.css")):
        assert requests(path.read_text(encoding="utf-8")) == [], path


def test_every_link_of_the_site_has_its_target(site: Path) -> None:
    ids = {path: {*PageReader(path.read_text(encoding="utf-8")).ids} for path in site.rglob("*.html")}
    followed = 0
    for path in ids.keys() - {site / "404.html"}:  # which is served for any address
        for link in PageReader(path.read_text(encoding="utf-8")).of("a"):
            address, _, anchor = link.get("href", "").partition("#")
            if re.match(r"\w+:", address):
                continue
            target = (path.parent / address).resolve() if address else path
            assert target.exists(), f"{path.name}: {address}"
            assert not anchor or anchor.startswith("__") or anchor in ids[target], f"{path.name}: {address}#{anchor}"
            followed += 1
    assert followed > 100


def words_of(path: Path) -> str:
    """The text of a built page, without white space, so that marks within a word do not matter."""
    return "".join(PageReader(path.read_text(encoding="utf-8")).words.split())


def test_theorems_are_shown_as_they_are_written(site: Path) -> None:
    shown = words_of(site / "theory.html")
    for theorem in theorems().values():
        for said in (theorem.title, theorem.statement, theorem.proof):
            assert "".join(said.split()) in shown, theorem.identifier


def documented(package: str) -> Iterator[str]:
    """Every public module of a package, by its dotted name."""
    for path in sorted((ROOT / package).rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if not any(part.startswith("_") for part in name.split(".")):
            yield name


@pytest.mark.parametrize("package", PACKAGES)
def test_reference_has_every_module(site: Path, package: str) -> None:
    ids = {*PageReader((site / "reference" / f"{package}.html").read_text(encoding="utf-8")).ids}
    assert [name for name in documented(package) if name not in ids] == []


def test_reference_shows_formulas_as_they_are_written(site: Path) -> None:
    import bounds.lower.dichotomy
    import constructions.weights.t2e
    import empirical.comparison.laws

    for module in (bounds.lower.dichotomy, constructions.weights.t2e, empirical.comparison.laws):
        assert module.__doc__ is not None
        package = module.__name__.partition(".")[0]
        said = re.sub(r"[\s*`]+|^[-+] ", "", module.__doc__, flags=re.M)
        assert said in re.sub(r"[\s*`]+", "", words_of(site / "reference" / f"{package}.html")), module.__name__


def test_site_opens_without_a_server_and_without_complaint(site: Path, tmp_path: Path) -> None:
    if CHROMIUM is None:
        pytest.skip(WITHOUT_CHROMIUM)
    with open_page(tmp_path / "profile") as browser:
        for name in ("index.html", "theory.html", "reference/theory.html"):
            for width in (360, 1400):
                browser.show(width)
                browser.open(site / name)
                assert browser.evaluate("document.querySelector('h1').checkVisibility()")
                assert browser.evaluate("document.documentElement.scrollWidth") <= width
        assert browser.problems == []
