"""The Coq proofs: they compile without axioms, and they are about the very weights and numbers that Python builds.

What needs Coq skips itself where there is none; the scan for proofs left out, the stamp and the list of theorems are
tested everywhere.
"""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from constructions.weights.catalogue import Setting, entry
from proofs import check, compare
from tests.helpers.blocks import ROOT
from theory import FactSystem, Transformer
from theory.lemmas import collection
from theory.records import stamp
from theory.records.ledger import RUNGS
from theory.statements.document import as_markdown
from theory.statements.registry import theorems

PROOFS = ROOT / "proofs"
SOURCES = sorted(PROOFS.glob("*.v"))
needs_coq = pytest.mark.skipif(shutil.which("coqc") is None, reason=check.ABSENT)


def folder_with(tmp_path: Path, **files: str) -> Path:
    """A folder of proofs with these files, T.v first among equals, and a list that names theorem T.t for T1."""
    shutil.copy(PROOFS / "Makefile", tmp_path)
    (tmp_path / "theorems.toml").write_text('[T1]\ntheorems = ["T.t"]\nmissing = ""\n', encoding="utf-8")
    for name, text in files.items():
        (tmp_path / f"{name}.v").write_text(text, encoding="utf-8")
    return tmp_path


def stamped(folder: Path, answer: str = stamp.CLOSED) -> Path:
    check.write_stamp(stamp.statements(folder), {"T.t": answer}, folder)
    return folder


# What is listed.


def test_the_list_names_theorems_that_are_there() -> None:
    for statement in stamp.statements():
        assert statement.identifier in theorems()
        assert statement.theorems
        for theorem in statement.theorems:
            file, name = theorem.split(".")
            source = check.without_comments((PROOFS / f"{file}.v").read_text(encoding="utf-8"))
            assert re.search(rf"^Theorem {name}\b", source, re.MULTILINE), theorem


def test_every_theorem_is_listed() -> None:
    listed = {theorem for statement in stamp.statements() for theorem in statement.theorems}
    there = {
        f"{path.stem}.{name}"
        for path in SOURCES
        for name in re.findall(r"^Theorem (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert there == listed


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_a_file_begins_with_what_it_proves(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("(** * ")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_a_file_mirrors_python_that_is_there(path: Path) -> None:
    header = path.read_text(encoding="utf-8").split("*)")[0]
    for named in re.findall(r"\[((?:theory|constructions|bounds)/[\w/]+\.py)\]", header):
        assert (ROOT / named).is_file(), named


def test_the_page_says_what_is_proved_and_what_is_not() -> None:
    page = (ROOT / "docs" / "proofs.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if re.match(r"\| T\d+\w* \|", line)]
    assert rows == check.page_rows(stamp.statements())
    proved = {statement.identifier for statement in stamp.statements()}
    *_, rest = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8").split("## Not in Coq yet\n\n")
    assert rest.partition(":")[0].split(", ") == [each for each in theorems() if each not in proved]


def test_the_page_quotes_theorems_as_they_stand() -> None:
    page = (ROOT / "docs" / "proofs.md").read_text(encoding="utf-8")
    quoted = re.findall(r"^```text\n(Theorem .*?)^```$", page, re.MULTILINE | re.DOTALL)
    sources = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    assert len(quoted) == 2
    for theorem in quoted:
        assert theorem in sources


# Nothing is left out.


def test_no_proof_is_left_out() -> None:
    assert SOURCES
    assert check.left_out() == []


@pytest.mark.parametrize(
    "text",
    [
        "Theorem t : False. Proof. Admitted.",
        "Theorem t : False. Proof. admit. Qed.",
        "Axiom t : False.",
        "Parameter t : False.",
        "Parameters t u : False.",
        "Conjecture t : False.",
        "Unset Guard Checking.",
        "Unset  Universe  Checking.",
        '(* "*)" (* *) *) Axiom t : False.',
    ],
)
def test_a_proof_left_out_is_found(tmp_path: Path, text: str) -> None:
    places = check.left_out(folder_with(tmp_path, T=f"(** header *)\n{text}\n"))
    assert len(places) == 1
    assert places[0].startswith("T.v:2: ")


def test_words_in_comments_are_no_assumptions(tmp_path: Path) -> None:
    text = '(* Axiom (* Admitted *) admit *)\nDefinition admitted := tt. Check "Axiom".\n'
    assert check.left_out(folder_with(tmp_path, T=text)) == []


def test_without_coq_the_packages_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(check.shutil, "which", lambda _: None)
    with pytest.raises(check.ProofError, match="libcoq-mathcomp-algebra"):
        check.compile_all()


# The stamp.


def checked(folder: Path) -> dict[str, tuple[str, ...]]:
    return {each.identifier: each.theorems for each in stamp.read_stamp(folder).statements}


def test_a_stamp_counts(tmp_path: Path) -> None:
    folder = stamped(folder_with(tmp_path, T="", U=""))
    assert checked(folder) == {"T1": ("T.t",)}
    assert stamp.read_stamp(folder).fault == ""
    assert str(stamp.read_stamp(folder)).startswith("1 theorems compiled by Coq ")


def test_no_stamp_counts_for_nothing(tmp_path: Path) -> None:
    found = stamp.read_stamp(folder_with(tmp_path, T=""))
    assert (found.statements, found.fault, str(found)) == ((), "", "not compiled here")


def test_without_proofs_nothing_is_stated_or_checked(tmp_path: Path) -> None:
    """As in an installed package."""
    assert stamp.statements(tmp_path / "proofs") == []
    assert stamp.read_stamp(tmp_path / "proofs") == stamp.Stamp()


@pytest.mark.parametrize("name", ["T.v", "U.v", "theorems.toml"])
def test_a_stale_stamp_counts_for_nothing_and_says_so(tmp_path: Path, name: str) -> None:
    folder = stamped(folder_with(tmp_path, T="(** t *)", U="(** u *)"))
    path = folder / name
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    found = stamp.read_stamp(folder)
    assert (found.statements, found.fault) == (
        (),
        f"the stamp of the proofs is stale: {name} changed since `make proofs`",
    )
    path.write_bytes(content)
    assert checked(folder) == {"T1": ("T.t",)}


@pytest.mark.parametrize("files", [{"T": ""}, {"T": "", "U": "", "V": ""}])
def test_a_file_more_or_less_makes_the_stamp_stale(tmp_path: Path, files: dict[str, str]) -> None:
    folder = stamped(folder_with(tmp_path, **files))
    if "U" in files:
        (folder / "U.v").unlink()
    else:
        (folder / "U.v").write_text("", encoding="utf-8")
    assert checked(folder) == {}
    assert "U.v changed" in stamp.read_stamp(folder).fault


def test_a_stamped_assumption_counts_for_nothing(tmp_path: Path) -> None:
    assert checked(stamped(folder_with(tmp_path, T=""), "Axioms:\nclassic : ...")) == {}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"files": 1}', "\0"])
def test_a_damaged_stamp_counts_for_nothing(tmp_path: Path, text: str) -> None:
    folder = folder_with(tmp_path, T="")
    (folder / "stamp.json").write_text(text, encoding="utf-8")
    assert checked(folder) == {}
    assert "cannot be read" in stamp.read_stamp(folder).fault


def test_a_stamp_without_a_theorem_counts_for_nothing(tmp_path: Path) -> None:
    folder = stamped(folder_with(tmp_path, T=""))
    written = json.loads((folder / "stamp.json").read_text(encoding="utf-8"))
    (folder / "stamp.json").write_text(json.dumps({**written, "theorems": {}}), encoding="utf-8")
    assert checked(folder) == {}


# The rung.


def kinds_with(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The ledger's checks of T1 that stand on Coq, by construction, with the rung of their rows."""
    found = stamp.read_stamp(folder)
    monkeypatch.setattr(collection, "read_stamp", lambda: found)
    checks = collection.checks_of_claims(["T1"])
    return {check.construction: check.run().rung for check in checks if check.kind == "Coq"}


def test_machine_checked_is_the_highest_rung() -> None:
    assert RUNGS[-2:] == ("symbolic", "machine-checked")


def test_a_stamped_statement_stands_on_the_rung_with_the_name_of_its_theorem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kinds_with(stamped(folder_with(tmp_path, T="")), monkeypatch) == {"T.t": "machine-checked"}
    assert [check for check in collection.checks_of_claims(["T1b"]) if check.kind == "Coq"] == []


def test_what_a_statement_leaves_out_is_said() -> None:
    row = collection.machine_checked(stamp.Statement("T1b", ("T1b.T1b",), "the circle"))
    assert row.coverage == "all sizes, by the Coq theorems T1b.T1b; not checked of it: the circle"


def test_a_changed_byte_takes_the_rung_away_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = stamped(folder_with(tmp_path, T=""))
    (folder / "T.v").write_text(" ", encoding="utf-8")
    assert kinds_with(folder, monkeypatch) == {}
    assert caplog.messages == ["the stamp of the proofs is stale: T.v changed since `make proofs`"]


def test_without_a_stamp_nothing_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert kinds_with(folder_with(tmp_path, T=""), monkeypatch) == {}
    assert caplog.messages == []


def test_the_page_of_theorems_names_the_coq_theorems() -> None:
    page = as_markdown()
    for statement in stamp.statements():
        section = page.split(f"\n## {statement.identifier}. ")[1].split("\n## ")[0]
        for theorem in statement.theorems:
            assert f"`{theorem}`" in section


# Coq's part.


@needs_coq
def test_the_proofs_compile_and_assume_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert check.main() == 0
    printed = capfd.readouterr().out
    for statement in stamp.statements():
        for theorem in statement.theorems:
            assert re.search(rf"{theorem.split('.')[1]} .* none$", printed, re.MULTILINE), theorem
    assert checked(PROOFS) == {each.identifier: each.theorems for each in stamp.statements()}


@needs_coq
def test_two_at_once_do_not_compile_into_each_others_files(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = folder_with(tmp_path, T="Theorem t : 1 = 1. Proof. reflexivity. Qed.\n")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(check.compile_all, [folder] * 2))
    assert capfd.readouterr().out.count("coqc -q") == 1


CLASSICAL = "From Coq Require Import Classical.\nTheorem t (P : Prop) : P \\/ ~ P. Proof. exact (classic P). Qed.\n"


@needs_coq
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (CLASSICAL, "not closed under the global context: T.t"),
        ("Theorem t : 1 = 2. Proof. reflexivity. Qed.\n", "Coq does not accept the proofs"),
        ("Theorem u : 1 = 1. Proof. reflexivity. Qed.\n", "not all there"),
        ("Theorem t : False. Proof. Admitted.\n", "left out"),
    ],
)
def test_what_does_not_stand_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str, reason: str
) -> None:
    folder = stamped(folder_with(tmp_path, T=text))
    assert check.main(folder) == 1
    assert reason in capfd.readouterr().err
    assert checked(folder) == {}


@needs_coq
def test_the_theorems_are_about_the_weights_and_numbers_of_python() -> None:
    check.compile_all()
    results = compare.compare()
    assert len(results) == sum(len(case.settings) for case in compare.CASES) + len(list(compare.bound_cases()))
    assert [(label, lines) for label, lines in results if lines] == []


def test_every_construction_with_a_proof_is_compared() -> None:
    """A theorem on weights, one that says what they cost (.._size), needs a case."""
    compared = {case.file for case in compare.CASES}
    listed = [theorem.split(".") for statement in stamp.statements() for theorem in statement.theorems]
    assert {file for file, name in listed if name.endswith("_size")} == compared


def test_every_bound_with_numbers_is_compared() -> None:
    compared = {case.term.split()[0] for case in compare.bound_cases()}
    defined = {
        name for path in SOURCES for name in re.findall(r"^Definition (t\w*_bound)\b", path.read_text("utf-8"), re.M)
    }
    assert defined == compared


# A comparison that finds nothing wrong must find what is wrong.


def altered(transformer: Transformer, name: str) -> Transformer:
    """The transformer with the last entry of one tensor larger by one."""
    *path, field = name.split(".")

    def change(array: np.ndarray) -> np.ndarray:
        copy = np.array(array)
        copy.flat[-1] += 1
        return copy

    if not path:
        return dataclasses.replace(transformer, **{field: change(getattr(transformer, field))})
    block = transformer.blocks[int(path[1])]
    blocks = list(transformer.blocks)
    blocks[int(path[1])] = dataclasses.replace(block, **{field: change(getattr(block, field))})
    return dataclasses.replace(transformer, blocks=tuple(blocks))


@pytest.mark.parametrize("case", compare.CASES, ids=str)
def test_a_changed_entry_is_found(case: compare.Case) -> None:
    """What Coq would print is stood in for by Python's own numbers, so that this runs without Coq."""
    n, r, setting = case.settings[-1]
    model = entry(case.theorem, case.name).build(FactSystem.random(n, r), setting)
    numbers = compare.numbers_of(model)
    assert compare.differences(model, numbers) == []
    for name, array in model.tensors():
        if array.size:
            found = compare.differences(altered(model, name), numbers)
            assert len(found) == 1
            assert found[0].startswith(f"{name} entries: number {array.size - 1} is ")


def test_a_changed_flag_is_found() -> None:
    model = entry("T2").build(FactSystem.random(4, 2), Setting(hops=2))
    numbers = compare.numbers_of(model)
    changes = ({"attention": "uniform"}, {"residual": True}, {"causal": True})
    for number, change in enumerate(changes):
        found = compare.differences(dataclasses.replace(model, **change), numbers)
        assert len(found) == 1
        assert found[0].startswith(f"flags: number {number} is ")


def test_a_changed_shape_is_found() -> None:
    model = entry("T1").build(FactSystem.random(4, 2), Setting())
    longer = dataclasses.replace(model, W_pos=np.zeros((3, model.dimension), np.int8))
    assert [line.split(":")[0] for line in compare.differences(longer, compare.numbers_of(model))] == [
        "W_pos shape",
        "W_pos entries",
    ]


def test_a_changed_number_of_a_bound_is_found() -> None:
    bound = next(case.bound for case in compare.bound_cases() if case.term.startswith("t2c_loop_bound"))
    right = [[bound.rows, bound.shared], *([int(c), top, length] for c, top, length in bound.information.terms)]
    assert compare.bound_differences(bound, right) == []
    for row in range(len(right)):
        for place in range(len(right[row])):
            wrong = [list(numbers) for numbers in right]
            wrong[row][place] += 1
            assert len(compare.bound_differences(bound, wrong)) == 1


def test_coqs_lists_are_read() -> None:
    assert compare.parse("[:: [:: 1%Z; -2]; [::]; [:: (-3)%Z]]") == [[1, -2], [], [-3]]


@needs_coq
def test_what_coq_does_not_accept_is_told() -> None:
    check.compile_all()
    with pytest.raises(RuntimeError, match="nothing_there"):
        compare.evaluate(["T1"], ["nothing_there"])
