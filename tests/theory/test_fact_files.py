"""Files of facts: what each kind says, ten wrong ones of each kind, and that none ends in anything but one line."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import georecall
from tests.helpers.fact_files import FILES, LONG, as_npy
from theory import FactSystem, InputError
from theory.records.facts import facts_of_graph, load_facts

Triple = tuple[str, str, str]

COUNTRIES: set[Triple] = {
    ("France", "capital", "Paris"),
    ("France", "official language", "French"),
    ("São Tomé and Príncipe", "capital", "São Tomé"),
    ("Paris", "river", "Seine"),
}


def run(*arguments: object) -> Result:
    return CliRunner().invoke(georecall.main, list(map(str, arguments)))


def said(path: Path) -> set[Triple]:
    """The facts in a file, by name."""
    found = load_facts(path)
    return {
        (found.entities[x], found.relations[r], found.entities[found.system.answers[r, x]])
        for r, x in np.argwhere(found.known).tolist()
    }


def as_table(delimiter: str) -> str:
    return "\n".join(delimiter.join(each) for each in [("subject", "relation", "object"), *sorted(COUNTRIES)])


def as_graph(keys: bool) -> dict[str, Any]:
    graph: networkx.MultiDiGraph[str] = networkx.MultiDiGraph()
    for subject, relation, found in sorted(COUNTRIES):
        if keys:
            graph.add_edge(subject, found, key=relation)
        else:
            graph.add_edge(subject, found, relation=relation)
    return dict(networkx.node_link_data(graph, edges="edges"))


def as_relation(relation: str) -> dict[str, Any]:
    samples = [{"subject": x, "object": y} for x, r, y in sorted(COUNTRIES) if r == relation]
    return {"name": relation, "prompt_templates": ["{} is"], "samples": samples}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("facts.csv", as_table(",")),
        ("facts.tsv", as_table("\t")),
        ("facts.tsv", "\ufeff" + as_table("\t").replace("\n", "\r\n")),
        ("facts.txt", "# comment\n\n" + as_table("\t").partition("\n")[2]),
        ("facts.json", json.dumps(as_graph(True))),
        ("facts.json", json.dumps(as_graph(False)).replace('"edges"', '"links"')),
    ],
)
def test_the_same_facts_in_every_form(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    assert said(tmp_path / name) == COUNTRIES


def test_a_folder_of_the_probes_relations(tmp_path: Path) -> None:
    relations = {relation for _, relation, _ in COUNTRIES}
    for number, relation in enumerate(relations):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(as_relation(relation)))
        assert said(path) == {each for each in COUNTRIES if each[1] == relation}
    assert said(tmp_path) == COUNTRIES


def test_edges_between_white_space(tmp_path: Path) -> None:
    (tmp_path / "facts.edges").write_text("  a   r\tb  \nb s a\n".replace("\t", " "))
    assert said(tmp_path / "facts.edges") == {("a", "r", "b"), ("b", "s", "a")}


def test_a_name_is_one_line(tmp_path: Path) -> None:
    text = 'subject,relation,object\n" New\n\u2028York ",is  in,"the ""US"""\n'
    (tmp_path / "facts.csv").write_text(text, encoding="utf-8")
    assert said(tmp_path / "facts.csv") == {("New York", "is in", 'the "US"')}


@pytest.mark.parametrize("suffix", [".csv", ".json", ".edges"])
def test_names_that_are_the_numbers_keep_their_order(suffix: str, tmp_path: Path) -> None:
    system = FactSystem.random(12, 11, maps=True)
    triples = list(itertools.product(range(11), range(12)))
    np.random.default_rng(0).shuffle(triples)
    path = tmp_path / f"facts{suffix}"
    graph: networkx.MultiDiGraph[int] = networkx.MultiDiGraph()
    lines = ["subject,relation,object"]
    for r, x in triples:
        graph.add_edge(int(x), int(system.answers[r, x]), key=int(r))
        lines.append(f"{x},{r},{system.answers[r, x]}")
    if suffix == ".json":
        path.write_text(json.dumps(networkx.node_link_data(graph, edges="edges")))
    elif suffix == ".csv":
        path.write_text("\n".join(lines))
    else:
        path.write_text("\n".join(lines[1:]).replace(",", " "))
    assert load_facts(path).system == system


# Graphs of networkx.


def test_graphs_with_any_labels() -> None:
    graph: networkx.MultiDiGraph[Any] = networkx.MultiDiGraph()
    graph.add_edge("Paris", (1, 2), key=frozenset({3}))
    graph.add_edge((1, 2), -1.5, key=frozenset({3}))
    graph.add_node("alone")
    found = facts_of_graph(graph)
    assert found.entities == ("Paris", "(1, 2)", "-1.5", "alone")
    assert found.relations == ("frozenset({3})",)
    assert found.system.answers.tolist() == [[1, 2, 2, 3]]
    assert found.known.tolist() == [[True, True, False, False]]


def test_relations_are_an_attribute_or_the_key() -> None:
    graph: networkx.MultiDiGraph[str] = networkx.MultiDiGraph()
    graph.add_edge("a", "b", relation="r", kind="s")
    graph.add_edge("b", "a", relation="r2", kind="s")
    assert facts_of_graph(graph).relations == ("r", "r2")
    assert facts_of_graph(graph, "kind").relations == ("s",)
    assert facts_of_graph(graph, "key").relations == ("0",)
    plain: networkx.DiGraph[str] = networkx.DiGraph()
    plain.add_edge("a", "b", relation="r")
    assert facts_of_graph(plain).relations == ("r",)
    system = FactSystem.random(5, 3)
    assert facts_of_graph(system.to_networkx()).system == system


def test_graphs_that_are_no_facts() -> None:
    undirected: networkx.Graph[str] = networkx.Graph([("a", "b")])
    with pytest.raises(InputError, match="the graph is a Graph; it must be directed"):
        facts_of_graph(undirected)  # type: ignore[arg-type]
    plain: networkx.DiGraph[Any] = networkx.DiGraph([("a", "b")])
    with pytest.raises(InputError, match=r"edges\[0\] has no key; its relation is wanted"):
        facts_of_graph(plain)
    plain.add_edge(1, "1", relation="r")
    with pytest.raises(InputError, match=r"nodes\[3\] has the name '1', and so has nodes\[2\]"):
        facts_of_graph(plain)
    multi: networkx.MultiDiGraph[str] = networkx.MultiDiGraph()
    multi.add_edge("a", "b", relation="r")
    multi.add_edge("a", "c", relation="r")
    with pytest.raises(InputError, match=r"edges\[1\]: 'a' has the r 'c', and 'b' in edges\[0\]"):
        facts_of_graph(multi)
    assert facts_of_graph(multi, several="any").right.objects[0, 0].tolist() == [1, 2]


# Ten wrong files of each kind: one line, exit status 2, with the place and what would be right.

Wrong = tuple[str | bytes, str]

WRONG_CSV: list[Wrong] = [
    ("", "line 1: the heads are none; wanted are subject, relation, object, or"),
    ("country;capital\nFrance;Paris\n", "each with a name of its own, between commas"),
    ("country,capital,capital\na,b,c\n", "line 1: the heads are country, capital, capital"),
    ("country,capital,Paris\nPeru,capital,Lima\n", "line 2: under the head 'capital' stands 'capital' again; line 1"),
    (LONG, "there are no facts about two entities; a fact is a subject, a relation and an object"),
    (LONG + "a,r,b\na,r\n", "line 3: it has 2 cells, and the first line 3"),
    (LONG + "a,,b\n", "line 2: the relation is empty"),
    (LONG + "a,r,b\n\na,r,c\n", "line 4: 'a' has the r 'c', and 'b' in line 2; a relation has one object"),
    (LONG + 'a,r,"b\n', "line 2: unexpected end of data"),
    ((LONG + "a,r,").encode() + b"\xe9\n", "line 2: it is not text in UTF-8"),
    (LONG.encode("utf-16"), "line 1: it is not text in UTF-8"),
    (LONG + "a,r,b\x1b[31m\n", "line 2: the object holds a control character"),
]
WRONG_EDGES: list[Wrong] = [
    ("", "there are no facts about two entities"),
    ("# only a comment\n", "there are no facts about two entities"),
    ("a b\n", "line 1: it has 2 words; wanted are a subject, a relation and an object"),
    ("a r b\n\nNew York is big\n", "line 3: it has 4 words; wanted are"),
    ("a b {}\n", "line 1: it has 3 words; wanted are"),
    ("a b {'relation': 'r'}\n", "what networkx writes with a dictionary is read as node-link JSON"),
    ("a\tr\t\n", "line 1: the object is not a text with something in it"),
    ("a\t\tb\n", "line 1: the relation is not a text with something in it"),
    ("a r b\na r c\n", "line 2: 'a' has the r 'c', and 'b' in line 1"),
    ("a,r,b\n", "line 1: it has 1 words"),
    (b"a r \xff\n", "line 1: it is not text in UTF-8"),
    ("a r \x00\n", "line 1: the object holds a control character"),
]


def graph_with(**change: Any) -> str:
    return json.dumps({**as_graph(False), **change})


EDGE = {"source": "Paris", "target": "Seine", "relation": "r"}
WRONG_GRAPH: list[Wrong] = [
    (graph_with(directed=False), "the graph must be directed"),
    (graph_with(nodes=7), "needed is 'answers', a table [relations, entities], or 'nodes' and 'edges'"),
    (graph_with(edges={}), "needed is 'answers'"),
    (graph_with(nodes=["a"]), "nodes[0] must have id, texts or whole numbers; id is none"),
    (graph_with(nodes=[{"id": 1.5}]), "nodes[0] must have id, texts or whole numbers; id is none"),
    (graph_with(nodes=[{"id": 1}, {"id": "1"}]), "nodes[1] has the name '1', and so has nodes[0]"),
    (graph_with(edges=[{**EDGE, "target": "Thames"}]), "edges[0]: its target 'Thames' is none of the nodes"),
    (graph_with(edges=[EDGE, {**EDGE, "relation": None}]), "edges[1] has no relation; its relation is wanted, as the"),
    (graph_with(edges=[{**EDGE, "relation": ["r"]}]), "edges[0].relation must be a text or a whole number"),
    (graph_with(edges=[EDGE, {**EDGE, "target": "Paris"}]), "edges[1]: 'Paris' has the r 'Paris', and 'Seine' in e"),
    (graph_with(edges=[]), "there are no facts about two entities"),
    (graph_with(nodes=[{"id": "\ud800"}]), "nodes[0] holds half of a surrogate pair"),
    (graph_with(nodes=[{"id": " "}]), "nodes[0] is not a text with something in it"),
]
WRONG_JSON: list[Wrong] = [
    ("", "it is not JSON"),
    ("{", "it is not JSON"),
    ('{"answers": [[1, 0]], "answers": [[0, 1]]}', "it holds the name 'answers' twice"),
    ("[[0, 2]]", "relation 0: the answer for entity 1 is 2, not in 0..1"),
    ("[[0, 1], [0]]", "rows of different lengths"),
    ("[[0, 1.5]]", "answers[0][1] is 1.5; a whole number is expected"),
    ("[[1, NaN]]", "it holds NaN, which is no number in JSON"),
    ('[["a", "b"]]', 'answers[0][0] is "a"; a whole number is expected'),
    ("[[0]]", "at least 2 entities"),
    ("[]", "it must be [relations >= 1, entities >= 2]"),
    ('"facts"', "it must be [relations >= 1, entities >= 2]"),
    ('{"France": "Paris"}', "the object has the keys 'France'; needed is 'answers'"),
    ("[" * 100_000, "nested too deeply"),
]


def relation_with(**change: Any) -> str:
    return json.dumps({**as_relation("capital"), **change})


WRONG_RELATION: list[Wrong] = [
    (relation_with(name=None), "name is missing"),
    (relation_with(name=7), "name is not a text with something in it"),
    (relation_with(name=" "), "name is not a text with something in it"),
    (relation_with(samples=None), "samples is missing or empty: a list of objects with subject and object"),
    (relation_with(samples=[]), "samples is missing or empty"),
    (relation_with(samples={"a": "b"}), "samples is missing or empty"),
    (relation_with(samples=[["a", "b"]]), "samples[0] is not an object with subject and object"),
    (relation_with(samples=[{"subject": "a"}]), "samples[0].object is missing"),
    (relation_with(samples=[{"subject": 1, "object": "a"}]), "samples[0].subject is not a text"),
    (
        relation_with(samples=[{"subject": "a", "object": y} for y in "bc"]),
        "samples[1]: 'a' has the capital 'c', and 'b' in samples[0]",
    ),
    (relation_with(samples=[{"subject": "a", "object": "a"}]), "there are no facts about two entities"),
]


WRONG_NPY: list[Wrong] = [
    (b"", "is not a .npy file that can be read"),
    (b"\x93NUMPY", "is not a .npy file that can be read"),
    (as_npy(np.zeros((2, 3), int))[:-1], "is not a .npy file that can be read"),
    (as_npy(np.array([{}])), "is not a .npy file that can be read"),
    (as_npy(np.arange(3)), "answers has shape [3]; it must be [relations >= 1, entities >= 2]"),
    (as_npy(np.zeros((0, 3), int)), "answers has shape [0, 3]"),
    (as_npy(np.zeros((2, 1), int)), "at least 2 entities, not 1"),
    (as_npy(np.zeros((2, 3))), "answers holds float64 values; they must be integers"),
    (as_npy(np.zeros((2, 3), bool)), "answers holds bool values"),
    (as_npy(np.full((1, 2), 2)), "relation 0: the answer for entity 0 is 2, not in 0..1"),
    (as_npy(np.full((1, 2), -1)), "relation 0: the answer for entity 0 is -1, not in 0..1"),
    (as_npy(np.array([["a", "b"]])), "values; they must be integers"),
]
WRONG = {
    ".csv": WRONG_CSV,
    ".tsv": [
        (text.replace(",", "\t") if isinstance(text, str) else text.replace(b",", b"\t"), message)
        for text, message in WRONG_CSV
        if ";" not in str(text)
    ],
    ".edges": WRONG_EDGES,
    "graph.json": WRONG_GRAPH,
    ".json": WRONG_JSON,
    "relation.json": WRONG_RELATION,
    ".npy": WRONG_NPY,
}
CASES = [(kind, number) for kind, found in WRONG.items() for number in range(len(found))]


def test_there_are_ten_of_each_kind() -> None:
    assert min(map(len, WRONG.values())) >= 10
    assert all("," not in message.partition("wanted")[0] for _, message in WRONG[".tsv"] if message.startswith("it ha"))


@pytest.mark.parametrize(("kind", "number"), CASES)
def test_a_wrong_file_is_one_line(kind: str, number: int, tmp_path: Path) -> None:
    content, message = WRONG[kind][number]
    path, model = tmp_path / f"facts{kind}", tmp_path / "model.safetensors"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for arguments in (("construct", "T1", "--out", model), ("verify", "--weights", model)):
        refused = run(*arguments, "--facts", path)
        assert refused.exit_code == 2
        assert refused.stdout == ""
        assert refused.stderr.count("\n") == 1
        assert message in refused.stderr
        assert str(path) in refused.stderr
    assert not model.exists()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "holds no .json file, a relation with name and samples"),
        ({"a.txt": "a r b"}, "holds no .json file"),
        ({"a.json": "[]"}, "a.json: an object with name and samples is expected"),
        ({"a.json": "{"}, "a.json: it is not JSON"),
        ({"a.json": relation_with(), "b.json": relation_with()}, "b.json: it has the name of"),
        (
            {"a.json": relation_with(samples=[{"subject": "a", "object": y} for y in "bc"])},
            "a.json: samples[1]: 'a' has the capital 'c'",
        ),
    ],
)
def test_a_wrong_folder_is_one_line(files: dict[str, str], message: str, tmp_path: Path) -> None:
    folder = tmp_path / "relations"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    refused = run("construct", "T1", "--facts", folder, "--out", tmp_path / "model.safetensors")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert message in refused.stderr


# Whatever a file holds.


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(file=FILES, several=st.sampled_from(["refuse", "any"]))
def test_no_file_ends_in_a_crash_or_a_verdict(file: tuple[bytes, str], several: str, tmp_path: Path) -> None:
    """A model is built, and then verified and asked, or there is one line and exit status 2."""
    content, suffix = file
    path, model = tmp_path / f"facts{suffix}", tmp_path / "model.safetensors"
    model.unlink(missing_ok=True)
    path.write_bytes(content)
    built = run("construct", "T1", "--facts", path, "--several", several, "--out", model)
    event(f"{suffix}: {built.exit_code}")
    if built.exit_code == 0:
        verified = run("verify", "--weights", model, "--facts", path, "--several", several)
        facts = load_facts(path, several)  # type: ignore[arg-type]
        nothing = facts.right.asked(1) == 0
        assert verified.exit_code == (2 if nothing else 0), verified.output
        asked = run("ask", model, "--", facts.entities[0], facts.relations[0])
        answers = facts.right.after(np.array([0]), np.array([[0]]))[0]
        assert asked.exit_code == (0 if answers[0] >= 0 else 2), asked.output
    else:
        assert built.exit_code == 2
        assert built.stderr.startswith("georecall: ")
        assert built.stderr.count("\n") == 1
        assert not model.exists()
