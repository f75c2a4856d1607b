"""The report as a page: every claim on it, nothing loaded, no verdict hidden; read by a parser and by a browser."""

from __future__ import annotations

import base64
import builtins
import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import georecall
from bounds.tables.layout import shown
from constructions.suite.presets import checks_of_preset as checks_of_constructions
from tests.helpers.browser import CHROMIUM, WITHOUT_CHROMIUM, Page, open_page
from tests.helpers.pages import PageReader, faults, requests
from theory import FactSystem, InputError
from theory.records.ledger import Counterexample, Row, run_check
from theory.statements.registry import theorems

pytest.importorskip("jinja2", reason="Jinja is not installed: pip install 'geometric-recall[figures]'")

from paper_figs.catalogue import FIGURES
from paper_figs.report import Picture, as_html, bound_tables, pictures, write_report
from tests.helpers.places import RESULTS

PROVENANCE = {"command": "georecall verify T1", "python": "3.11", "made on": "a <test> & nothing else"}


def real_rows() -> list[Row]:
    """T7's checks and a lemma: real rows, in a second."""
    return [run_check(check) for check in checks_of_constructions(["T7"], "quick")]


def rows_of_every_kind() -> list[Row]:
    """A row of each theorem, a failure with its counterexample, an undecided one, and measured ones."""
    system = FactSystem.random(3, 2, seed=0)
    counterexample = Counterexample(system, 1, (0, 1), 2, 0, Fraction(-1), (0,))
    rows = [Row(name, "plain", "certificate", "holds", f"all queries of {name}", 7, 2, 1) for name in theorems()]
    rows[0] = replace(rows[0], margin=Fraction(2), dimension=6, width=6, seconds=0.126)
    failed = Row("T2", "direct", "exhaustive queries", "fails", "all queries", margin=Fraction(-1))
    return [
        *rows,
        replace(failed, detail="a wrong answer", counterexample=counterexample),
        Row(
            "T3",
            "parabola",
            "certificate",
            "undecided",
            "all queries",
            detail="<c(a), c(a')> & <script>alert(1)</script>",
        ),
        Row("T1b", "circle", "exhaustive queries", "holds", "by intervals", margin=Fraction(1, 10**12 + 1)),
        Row("model", "mine.safetensors", "exhaustive queries", "holds", "all queries, all logits"),
        Row("E1", "preset quick", "measured", "undecided", "d* grows as R·log N", detail="the intervals do not decide"),
        Row("T1", "plain", "measured", "fails", "all queries in bfloat16", detail="a margin of 0"),
    ]


def drawn() -> list[Picture]:
    """A drawn figure and one whose results are missing; drawing all takes seconds."""
    first, second, *_ = FIGURES.values()
    svg = base64.b64encode(
        b'<svg xmlns="http://www.w3.org/2000/svg" width="700" height="200"><text y="20">d</text></svg>'
    )
    return [
        Picture(first, f"data:image/svg+xml;base64,{svg.decode()}", ""),
        Picture(second, "", "there are no results <here>; make them with: georecall compare"),
    ]


@pytest.fixture(scope="module")
def page() -> str:
    return as_html([*rows_of_every_kind(), *real_rows()], drawn(), PROVENANCE)


def test_page_has_no_fault_and_loads_nothing(page: str) -> None:
    assert faults(page) == []
    assert requests(page) == []
    assert not PageReader(page).of("script")
    assert "default-src 'none'" in page


def test_planted_faults_of_a_page_are_found(page: str) -> None:
    planted = {
        "id 'T1' occurs twice": page.replace("<h1>", '<h1 id="T1">'),
        "link #nowhere leads nowhere": page.replace('href="#summary"', 'href="#nowhere"'),
        "no alternative text": page.replace("<h1>", '<img src="data:,"><h1>'),
        "jumps from level 2 to 4": page.replace("<h3", "<h4").replace("</h3", "</h4"),
        "tables have": page.replace("<caption>", "<p>", 1).replace("</caption>", "</p>", 1),
        "no scope": page.replace('<th scope="col">', "<th>", 1),
        "its language": page.replace('<html lang="en">', "<html>"),
        "is never closed": page.replace("</main>", ""),
    }
    for fault, broken in planted.items():
        assert broken != page
        assert any(fault in each for each in faults(broken)), fault
    loading = page.replace("<h1>", '<img alt="x" src="https://example.org/x.png"><h1>')
    assert requests(loading) == ["https://example.org/x.png"]
    assert requests(page.replace("<style>", "<style>@import '//example.org/x.css';")) == ["//example.org/x.css"]


def test_every_claim_has_its_place_statement_and_rows(page: str) -> None:
    read = PageReader(page)
    for name, theorem in theorems().items():
        assert name in read.ids
        for said in (theorem.title, theorem.statement, theorem.proof, f"all queries of {name}"):
            assert " ".join(said.split()) in read.words
    for row in real_rows():
        assert row.coverage in read.words
    for said in ("mine.safetensors", "≈ 1e-12", "N = 7, R = 2, k = 1", "d* grows as R·log N", "0.13"):
        assert said in read.words
    assert {"model", "measured-E1", "measured-T1", "T2-2"} <= {*read.ids}


def test_what_does_not_hold_is_said_first_in_words_and_symbols(page: str) -> None:
    read = PageReader(page)
    top = read.words.partition("The claims and what they stand on")[0]
    for said in (
        "✗ 1 fail",
        "? 1 undecided",
        f"✓ {len(theorems()) + 2 + len(real_rows())} hold",
        "✗ 1 fail ? 1 undecided ✓ 0 hold",
    ):
        assert said in top
    for said in (
        "expected 2, got 0, margin -1",
        "<script>alert(1)</script>",
        "the intervals do not decide",
        "margin of 0",
    ):
        assert said in top
    order = [top.index(f"{verdict} {entry}") for verdict, entry in ORDER]
    assert order == sorted(order)
    linked = [attributes["href"] for attributes in read.of("a")]
    assert {"#T2-2", "#T3-2", "#measured-E1-1", "#measured-T1-1"} <= {*linked}
    assert "✗ fails T2. k hops" not in top  # the claim says it again, in its own heading
    assert "T2. k hops in one pass ✗ fails" in read.words
    assert "T1. Single hop with signs ✓ holds" in read.words  # what was measured decides nothing


ORDER = (
    ("✗ fails", "T2, direct"),
    ("? undecided", "T3, parabola"),
    ("✗ fails", "T1, plain"),
    ("? undecided", "E1, preset"),
)


def test_a_page_where_everything_holds_says_so() -> None:
    words = PageReader(as_html(real_rows(), [], {})).words
    assert "Every one of them holds." in words
    assert "is not decided" not in words


def test_bound_tables_are_on_the_page(page: str) -> None:
    words = PageReader(page).words
    for bound in bound_tables():
        assert bound.table.title in words
        assert bound.command in words
        assert all(note in words for note in bound.table.notes)


def test_bound_tables_have_the_numbers_of_their_command() -> None:
    *dimensions, depth = bound_tables()
    for bound in dimensions:
        printed = printed_by(f"{bound.command} --format markdown")
        for line in bound.table.rows:
            assert f"| {' | '.join(map(shown, line))} |\n" in printed
    for number, line in enumerate(csv.DictReader(io.StringIO(printed_by(f"{depth.command} --format csv")))):
        names = ("steps", "stride", "least_any_spacing", "least_even_spacing", "dimension", "width", "construction")
        assert [line[name] for name in names] == [str(cell) for cell in depth.table.rows[number][:-1]]
    assert number + 1 == len(depth.table.rows)


def printed_by(command: str) -> str:
    run = CliRunner().invoke(georecall.main, command.split()[1:])
    assert run.exit_code == 0, run.output
    return run.stdout


def test_provenance_is_on_the_page(page: str) -> None:
    words = PageReader(page).words
    assert all(f"{name} {value}" in words for name, value in PROVENANCE.items())


def test_figures_carry_caption_data_and_command(page: str) -> None:
    read = PageReader(page)
    for picture in drawn():
        assert f"figure-{picture.entry.name}" in read.ids
        assert f"georecall figures {picture.entry.name}" in read.words
        for said in (picture.entry.title, picture.entry.caption, *(source.command for source in picture.entry.sources)):
            assert " ".join(said.split()) in read.words
    assert len(read.of("img")) == 1
    assert "? undecided Not drawn: there are no results <here>; make them with: georecall compare" in read.words
    assert {f"#figure-{name}" for name in ("dimension", "depth")} <= {each["href"] for each in read.of("a")}


def test_page_is_written_whole_with_figures_of_the_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'geometric-recall[figures]'")
    names = [*FIGURES][:: len(FIGURES) - 1]  # the first and the last
    monkeypatch.setattr("paper_figs.catalogue.FIGURES", {name: FIGURES[name] for name in names})
    path = tmp_path / "report.html"
    write_report(rows_of_every_kind(), path, RESULTS, PROVENANCE)
    text = path.read_text(encoding="utf-8")
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]
    assert faults(text) == []
    assert requests(text) == []
    read = PageReader(text)
    assert {f"figure-{name}" for name in names} <= {*read.ids}
    assert len(read.of("img")) == len(names)
    assert all(picture["src"].startswith("data:image/svg+xml;base64,") for picture in read.of("img"))


def test_a_figure_without_results_says_which_command_makes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (needy, *_) = (entry for entry in FIGURES.values() if entry.sources)
    monkeypatch.setattr("paper_figs.catalogue.FIGURES", {needy.name: needy})
    (found,) = pictures(tmp_path)
    assert not found.address
    assert needy.sources[0].command in found.reason


def test_the_same_rows_give_the_same_page() -> None:
    pages = [as_html(rows_of_every_kind(), drawn(), PROVENANCE) for _ in range(2)]
    assert pages[0] == pages[1]


def test_refusals_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no row to report"):
        as_html([], [], PROVENANCE)
    monkeypatch.setattr("paper_figs.catalogue.FIGURES", {})
    with pytest.raises(InputError, match="cannot write"):
        write_report(rows_of_every_kind(), tmp_path / "nowhere" / "report.html", RESULTS, PROVENANCE)
    real_import = builtins.__import__

    def without_jinja(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "jinja2":
            raise ImportError(name)
        return real_import(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without_jinja)
    with pytest.raises(InputError, match="needs Jinja"):
        as_html(rows_of_every_kind(), [], PROVENANCE)


@pytest.fixture(scope="module")
def opened(page: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The report in a browser."""
    if CHROMIUM is None:
        pytest.skip(WITHOUT_CHROMIUM)
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(page, encoding="utf-8")
    with open_page(tmp_path_factory.mktemp("profile")) as browser:
        browser.show(1400)
        browser.open(path)
        yield browser


def test_browser_finds_every_claim_and_complains_of_nothing(opened: Page) -> None:
    shown = opened.evaluate("[...document.querySelectorAll('article')].filter(e => e.checkVisibility()).map(e => e.id)")
    assert {*theorems(), "model", "measured-E1", "measured-T1"} == {*shown}
    assert opened.problems == []


def test_browser_notices_an_error_and_a_request(tmp_path: Path) -> None:
    if CHROMIUM is None:
        pytest.skip(WITHOUT_CHROMIUM)
    path = tmp_path / "broken.html"
    path.write_text("<img src='http://127.0.0.1:1/x.png'><script>nothing.here()</script>", encoding="utf-8")
    with open_page(tmp_path / "profile") as browser:
        browser.open(path)
        assert any("asks for http://127.0.0.1:1/x.png" in problem for problem in browser.problems)
        assert any("nothing is not defined" in problem for problem in browser.problems)


def test_every_link_leads_to_a_visible_place(opened: Page, page: str) -> None:
    followed = opened.evaluate(FOLLOW)
    links = [attributes["href"] for attributes in PageReader(page).of("a")]
    assert [link for link, _ in followed] == links
    assert [link for link, seen in followed if not seen] == []
    assert opened.problems == []


# Click each link within the page; the address must be the link's, and its target in the window.
FOLLOW = """
[...document.querySelectorAll('a[href^="#"]')].map(link => {
  link.click();
  const place = document.querySelector(':target');
  const box = place && place.getBoundingClientRect();
  const seen = place && location.hash === link.getAttribute('href')
    && box.height > 0 && box.top < innerHeight && box.bottom > 0;
  return [link.getAttribute('href'), Boolean(seen)];
})
"""


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 1400])
def test_page_fits_the_window_and_can_be_read(opened: Page, width: int, dark: bool) -> None:
    opened.show(width, dark=dark)
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    ground = opened.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") is not dark
    assert opened.evaluate(FAINT) == []


# Texts with a contrast below 4.5 : 1 (Web Content Accessibility Guidelines 2.2, success criterion 1.4.3).
FAINT = """
(() => {
  const channels = colour => colour.match(/[\\d.]+/g).map(Number);
  const luminance = colour => channels(colour).slice(0, 3)
    .map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = element => {
    for (let each = element; each; each = each.parentElement) {
      const colour = getComputedStyle(each).backgroundColor;
      if (channels(colour)[3] !== 0) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const faint = [];
  for (const element of document.body.querySelectorAll('*')) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.checkVisibility()) continue;
    const pair = [luminance(getComputedStyle(element).color), luminance(ground(element))].sort((a, b) => b - a);
    const contrast = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (contrast < 4.5) faint.push([element.tagName, element.className, element.textContent.slice(0, 40), contrast]);
  }
  return faint;
})()
"""


def test_faint_text_is_noticed(opened: Page) -> None:
    opened.show(1400)
    opened.evaluate("document.querySelector('h1').style.color = '#999'")
    faint = opened.evaluate(FAINT)
    opened.evaluate("document.querySelector('h1').style.color = ''")
    assert [each[0] for each in faint] == ["H1"]


def test_screen_reader_gets_tables_headings_and_verdicts(opened: Page) -> None:
    """Also as cards on a narrow window, where the tables are laid out as blocks."""
    for width in (1400, 360):
        opened.show(width)
        nodes = opened.call("Accessibility.getFullAXTree")["nodes"]
        roles = [node["role"]["value"] for node in nodes if "role" in node and not node["ignored"]]
        tables = opened.evaluate("document.querySelectorAll('table').length")
        assert roles.count("table") == tables
        assert roles.count("columnheader") > 4 * tables
        assert roles.count("rowheader") >= len(rows_of_every_kind())
        assert {"main", "navigation", "heading", "link", "banner"} <= {*roles}
        headings = [n["name"]["value"] for n in nodes if not n["ignored"] and n["role"]["value"] == "heading"]
        assert any("k hops in one pass" in name and "fails" in name for name in headings)


def test_print_is_light_and_shows_the_proofs(opened: Page) -> None:
    opened.show(1000, dark=True, media="print")
    assert opened.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    assert opened.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    tall = "document.querySelector('article details p:last-child').getBoundingClientRect().height"
    assert opened.evaluate(tall) > 20
    opened.show(1000)
    assert opened.pdf().startswith(b"%PDF")
