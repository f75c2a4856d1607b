"""Facts of one's own: what is read, what is refused and by which line, and models that are built for them and asked."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import georecall
from constructions.suite import checks
from constructions.suite.asking import ask, number_of
from constructions.weights import t1, t3
from theory import FactSystem, InputError, Task, all_words
from theory.definitions import right_answers
from theory.records.facts import load_facts, names_of, place_of
from theory.records.files import save_model, save_system

LONG = """subject,relation,object
France,capital,Paris
Paris,river,Seine
"São Tomé, island",capital,São Tomé
France,neighbour,Spain
Spain,neighbour,France
Spain,capital,Madrid
"""
WIDE = "country\tcapital\tcontinent\nFrance\tParis\tEurope\n\nPeru\tLima\t\n"


def written(folder: Path, text: str, name: str = "facts.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def said(path: Path) -> set[tuple[str, str, str]]:
    """The facts in a file, by name."""
    found = load_facts(path)
    return {
        (found.entities[x], found.relations[r], found.entities[found.system.answers[r, x]])
        for r, x in np.argwhere(found.known).tolist()
    }


def test_triples_are_read_with_their_names(tmp_path: Path) -> None:
    path = written(tmp_path, LONG)
    assert said(path) == {
        ("France", "capital", "Paris"),
        ("Paris", "river", "Seine"),
        ("São Tomé, island", "capital", "São Tomé"),
        ("France", "neighbour", "Spain"),
        ("Spain", "neighbour", "France"),
        ("Spain", "capital", "Madrid"),
    }
    found = load_facts(path)
    assert found.entities[:3] == ("France", "Paris", "Seine")
    assert found.relations == ("capital", "river", "neighbour")


def test_the_order_of_the_heads_is_free_and_a_mark_of_order_is_none_of_them(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeffobject,subject,relation\nParis,France,capital\n")
    assert said(path) == {("France", "capital", "Paris")}


def test_a_column_for_each_relation(tmp_path: Path) -> None:
    path = written(tmp_path, WIDE, "facts.tsv")
    assert said(path) == {
        ("France", "capital", "Paris"),
        ("France", "continent", "Europe"),
        ("Peru", "capital", "Lima"),
    }


@pytest.mark.parametrize("name", ["facts.npy", "facts.json"])
def test_systems_without_names_have_numbers_for_names(name: str, tmp_path: Path) -> None:
    system = FactSystem.random(5, 2, maps=True)
    save_system(system, tmp_path / name)
    found = load_facts(tmp_path / name)
    assert found.system == system
    assert found.known.all()
    assert (found.entities, found.relations) == (("0", "1", "2", "3", "4"), ("0", "1"))


def test_a_fact_said_twice_is_one(tmp_path: Path) -> None:
    assert len(said(written(tmp_path, "subject,relation,object\na,r,b\na,r,b\n"))) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: the heads are none; wanted are subject, relation, object, or a subject and one column"),
        ("subject\na\n", "line 1: the heads are subject; wanted"),
        ("country,capital,capital\na,b,c\n", "line 1: the heads are country, capital, capital"),
        ("country,,capital\na,b,c\n", "line 1: the heads are country, , capital"),
        ("subject,relation,object\n", "there are no facts about two entities"),
        ("subject,relation,object\na,r,a\n", "there are no facts about two entities"),
        ("subject,relation,object\na,r,b\na,r\n", "line 3: it has 2 cells, and the first line 3"),
        ("subject,relation,object\na,,b\n", "line 2: the relation is empty"),
        ("country,capital\n\nFrance,Paris\n,Lima\n", "line 4: the country is empty"),
        (
            "subject,relation,object\na,r,b\nx,r,y\na,r,c\n",
            "line 4: 'a' has the r 'c', and 'b' in line 2; a relation",
        ),
        ('subject,relation,object\na,r,"b\n', "line 2: unexpected end of data"),
    ],
)
def test_refusals_name_the_line(text: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError) as refused:
        load_facts(path)
    assert message in str(refused.value)
    assert str(refused.value).startswith(f"{path}: ")
    assert "\n" not in str(refused.value)


def test_what_is_no_text_and_no_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "facts.csv").write_bytes(b"subject,relation,object\na,r,\xff\n")
    with pytest.raises(InputError, match="it is not text in UTF-8"):
        load_facts(tmp_path / "facts.csv")
    with pytest.raises(InputError, match=r"facts are read from \.npy, \.json, \.csv, .* or \.txt"):
        load_facts(tmp_path / "facts.xlsx")


# Names in a model's file.


def test_names_are_written_and_read(tmp_path: Path) -> None:
    found = load_facts(written(tmp_path, LONG))
    for task in (Task(), Task(2, 2), Task(3, 1)):
        names = names_of(found.words(task), task)
        assert names is not None
        assert (names.entities, names.relations) == (found.entities, found.relations)
        assert names.answered is not None
        for number, word in enumerate(all_words(len(found.relations), task.hops).tolist()):
            assert number_of(word, len(found.relations)) == number
            for x in range(len(found.entities)):
                here, known = x, True
                for relation in word:
                    known &= bool(found.known[relation, here])
                    here = found.system.answers[relation, here]
                assert names.answered[number, x] == known
    assert names_of({}, Task()) is None


def test_where_all_is_known_nothing_is_written_of_it(tmp_path: Path) -> None:
    found = load_facts(written(tmp_path, "subject,relation,object\na,r,b\nb,r,a\n"))
    assert found.words(Task(40, 1))["known"] == ""


def test_too_many_queries_to_say_which_are_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = load_facts(written(tmp_path, LONG))
    monkeypatch.setattr(right_answers, "MOST_QUERIES", 50)
    with pytest.raises(InputError, match=r"63 queries are too many .* fewer hops would do"):
        found.words(Task(2, 2))


@pytest.mark.parametrize(
    "change",
    [{"entity_names": "["}, {"entity_names": "[1, 2]"}, {"relation_names": "7"}, {"known": "zz"}, {"known": "00"}],
)
def test_names_that_were_not_written_here_are_refused(change: dict[str, str], tmp_path: Path) -> None:
    found = load_facts(written(tmp_path, LONG))
    with pytest.raises(InputError, match="its names are not those of facts that were written with it"):
        names_of({**found.words(Task(2, 2)), **change}, Task(2, 2))


def test_an_unknown_name_is_told_with_those_like_it() -> None:
    with pytest.raises(InputError, match=r"there is no entity 'Frnce' in these facts; there are 'France' \.\."):
        place_of("Frnce", ("Peru", "France"), "entity")
    with pytest.raises(InputError, match=r"there are 'a', 'b'$"):
        place_of("zzz", ("a", "b"), "relation")


# From a table to a model that knows it.


def run(*arguments: object) -> Result:
    return CliRunner().invoke(georecall.main, list(map(str, arguments)))


def test_a_model_of_ones_own_facts_is_built_verified_and_asked(tmp_path: Path) -> None:
    facts, model = written(tmp_path, LONG), tmp_path / "m.safetensors"
    assert run("construct", "T1", "--facts", facts, "--out", model).exit_code == 0
    verified = CliRunner(env={"COLUMNS": "80"}).invoke(
        georecall.main, ["verify", "--weights", str(model), "--facts", str(facts)]
    )
    assert verified.exit_code == 0, verified.output
    assert "6 facts; what leads over a missing one is not asked" in " ".join(verified.stdout.split())
    assert run("ask", model, "France", "capital").stdout == "Paris, margin 2\n"
    assert run("ask", model, "São Tomé, island", "capital").stdout == "São Tomé, margin 2\n"
    for question, message in (
        (("Paris", "capital"), "the facts do not say: Paris, capital"),
        (("Pariss", "capital"), "there is no entity 'Pariss'"),
        (("Paris", "capitol"), "there is no relation 'capitol'"),
        (("France", "neighbour", "capital"), "answers 1 relations at a time, and these are 2"),
    ):
        refused = run("ask", model, *question)
        assert refused.exit_code == 2
        assert message in refused.stderr
        assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize("claim", ["T2", "T3"])
def test_two_hops_by_name(claim: str, tmp_path: Path) -> None:
    facts, model = written(tmp_path, LONG), tmp_path / "m.safetensors"
    assert run("construct", claim, "--facts", facts, "--hops", 2, "--out", model).exit_code == 0
    assert run("ask", model, "France", "neighbour", "capital").stdout == "Madrid, margin 1\n"
    assert run("ask", model, "Spain", "neighbour", "neighbour").stdout == "Spain, margin 1\n"
    assert "the facts do not say" in run("ask", model, "France", "capital", "capital").stderr


def test_every_answer_of_a_model_is_that_of_its_facts(tmp_path: Path) -> None:
    facts, model = written(tmp_path, LONG), tmp_path / "m.safetensors"
    run("construct", "T2", "--facts", facts, "--hops", 2, "--out", model)
    found = load_facts(facts)
    asked = 0
    for x, first, second in itertools.product(range(len(found.entities)), *[range(len(found.relations))] * 2):
        here = found.system.answers[first, x]
        if found.known[first, x] and found.known[second, here]:
            answer = ask(model, found.entities[x], [found.relations[first], found.relations[second]])
            assert answer.name == found.entities[found.system.answers[second, here]]
            asked += 1
    assert asked == 5


def test_a_counterexample_has_the_names(tmp_path: Path) -> None:
    facts, model = written(tmp_path, LONG), tmp_path / "m.safetensors"
    run("construct", "T1", "--facts", facts, "--out", model)
    other = written(tmp_path, LONG.replace("capital,Paris", "capital,Seine"), "other.csv")
    refuted = run("verify", "--weights", model, "--facts", other)
    assert refuted.exit_code == 1
    assert "France capital: expected " in refuted.stdout


def test_a_counterexample_of_a_chain_says_what_was_emitted(tmp_path: Path) -> None:
    facts, model = written(tmp_path, LONG), tmp_path / "m.safetensors"
    run("construct", "T3", "--facts", facts, "--hops", 2, "--out", model)
    other = written(tmp_path, LONG.replace("capital,Madrid", "capital,Seine"), "other.csv")
    refuted = run("verify", "--weights", model, "--facts", other)
    assert refuted.exit_code == 1
    assert "France neighbour capital: expected Seine, got Spain then Madrid, margin" in " ".join(refuted.stdout.split())


def test_a_system_without_names_has_every_fact(tmp_path: Path) -> None:
    refused = run("construct", "T1", "--facts", written(tmp_path, LONG), "--out", tmp_path / "m.safetensors",
                  "--system-out", tmp_path / "s.npy")  # fmt: skip
    assert refused.exit_code == 2
    assert "has no 'capital', and here every fact is needed" in refused.stderr
    assert not list(tmp_path.glob("m.safetensors")) + list(tmp_path.glob("s.npy"))


def test_facts_are_matched_to_a_model_by_their_names(tmp_path: Path) -> None:
    """The lines in another order number the entities otherwise, and fewer facts are fewer questions."""
    facts, model = written(tmp_path, LONG), tmp_path / "m.safetensors"
    run("construct", "T1", "--facts", facts, "--out", model)
    head, *lines = LONG.splitlines()
    backwards = written(tmp_path, "\n".join([head, *reversed(lines)]), "backwards.csv")
    assert load_facts(backwards).entities != load_facts(facts).entities
    assert run("verify", "--weights", model, "--facts", backwards).exit_code == 0
    fewer = written(tmp_path, "\n".join([head, *lines[:2]]), "fewer.csv")
    (row,) = checks.check_model(model, fewer, rational=False)
    assert (row.status, row.queries) == ("holds", 2)
    strange = written(tmp_path, LONG + "Peru,capital,Lima\n", "strange.csv")
    refused = run("verify", "--weights", model, "--facts", strange)
    assert refused.exit_code == 2
    assert "there is no entity 'Peru' in these facts" in refused.stderr


def test_missing_facts_are_not_asked(tmp_path: Path) -> None:
    """The same weights are wrong about what the file does not say, and right by what it says."""
    facts, model = written(tmp_path, LONG), tmp_path / "m.safetensors"
    found = load_facts(facts)
    shifted = np.where(found.known, found.system.answers, (found.system.answers + 1) % len(found.entities))
    save_model(t1.construct(FactSystem(shifted)), Task(), model)
    (row,) = checks.check_model(model, facts, rational=False)
    assert (row.status, row.queries) == ("holds", 6)
    soft = t3.construct(FactSystem(shifted), 1, 1, softmax=True)
    with pytest.raises(InputError, match="where facts are missing or have several objects each query is run"):
        checks.check_transformer(soft, found.system, Task(), right=found.right)
    soft = t3.construct(found.system, 1, 1, softmax=True)
    (row,) = checks.check_transformer(soft, found.system, Task(), right=found.right)
    assert (row.rung, row.status, row.queries) == ("certificate", "holds", 6)


def test_what_cannot_be_asked_is_told(tmp_path: Path) -> None:
    system = FactSystem.random(4, 2)
    save_model(t1.construct(system), Task(), tmp_path / "plain.safetensors")
    with pytest.raises(InputError, match="it has no names; georecall construct --facts writes them"):
        ask(tmp_path / "plain.safetensors", "0", ["0"])
    save_system(system, tmp_path / "facts.npy")
    facts = load_facts(tmp_path / "facts.npy")
    save_model(t3.construct(system, 1, 1, softmax=True), Task(), tmp_path / "soft.safetensors", facts)
    with pytest.raises(InputError, match="its attention is softmax"):
        ask(tmp_path / "soft.safetensors", "0", ["0"])
    plain = t1.construct(system)
    save_model(replace(plain, W_U=0 * plain.W_U), Task(), tmp_path / "tied.safetensors", facts)
    with pytest.raises(InputError, match="undecided on 3, 1: two answers have the same logit"):
        ask(tmp_path / "tied.safetensors", "3", ["1"])


def test_facts_and_sizes_do_not_go_together(tmp_path: Path) -> None:
    facts, model = written(tmp_path, LONG), tmp_path / "m.safetensors"
    for arguments, message in (
        (("--facts", facts, "--entities", 5), "the facts say how many entities"),
        (("--entities", 5), "construct needs --facts, or --entities and --relations"),
    ):
        refused = run("construct", "T1", *arguments, "--out", model)
        assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
        assert message in refused.stderr
    refused = run("construct", "T2e", "--facts", facts, "--hops", 2, "--out", model)
    assert refused.exit_code == 2
    assert "bijections" in refused.stderr
    assert not model.exists()
