"""The README and the theory page are true: code prints what its comments say, commands run, numbers are computed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.helpers.places import ROOT
from theory.statements.document import as_markdown
from theory.statements.registry import evaluate

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.S)


def test_python_blocks_print_what_their_comments_say() -> None:
    code = "\n".join(blocks("python"))
    expected = re.findall(r"^print\(.*\)  # (\S+(?: \S+)*?)(?: = .*)?$", code, flags=re.M)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    printed = run.stdout.splitlines()
    assert len(expected) == 4
    assert printed[:4] == expected
    assert "expected" in printed[4]
    assert "margin" in printed[4]


def test_commands_run(tmp_path: Path) -> None:
    commands = [line.split("#")[0].split() for block in blocks("console") for line in block.splitlines()]
    ours = [command for command in commands if command and command[0] == "georecall"]
    assert {command[1] for command in ours} == {"verify", "construct", "ask", "bounds", "count"}
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "countries.csv").write_bytes((ROOT / "docs" / "countries.csv").read_bytes())
    for command in ours:
        run = subprocess.run(
            [sys.executable, "-m", "georecall", *command[1:]], capture_output=True, text=True, cwd=tmp_path
        )
        assert run.returncode == 0, run.stdout + run.stderr
    assert (tmp_path / "ledger.json").exists()
    makes = [command for command in commands if command and command[0] == "make"]
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert makes
    assert all(f"\n{command[1]}:" in targets for command in makes)


def test_table_of_one_bijection_is_computed() -> None:
    rows = re.findall(r"^\| ([\d,]+) \| d = ([\d,]+).*\n", README, flags=re.M)
    assert [row[0] for row in rows] == ["64", "1,024", "4,096"]
    for entities, one_hot in ((int(n.replace(",", "")), int(d.replace(",", ""))) for n, d in rows):
        cells = []
        bits = (entities - 1).bit_length()
        for theorem, width in (("T2b", 1), ("T1", 1), ("T1b", bits)):
            dimension = evaluate(theorem, "dimension", entities=entities, relations=1, bits=width)
            parameters = evaluate(theorem, "parameters", entities=entities, relations=1, bits=width)
            cells.append(f"d = {dimension}, {parameters:,}")
        assert one_hot == 2 * entities + 3
        assert f"| {' | '.join(cells)} |\n" in README


def test_theory_page_is_made_from_the_registry() -> None:
    assert (ROOT / "docs" / "theory.md").read_text(encoding="utf-8") == as_markdown()
