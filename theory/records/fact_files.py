"""Files and graphs of facts, read as facts by name, each with the place where it stands.

* `.csv`, `.tsv`: a line of heads, in UTF-8; `subject,relation,object`, or a subject and one column a relation.
* `.txt`, `.edges`, `.edgelist`: a fact a line, subject relation object, between tabs or, where a line has none, white
  space; lines that begin with # say nothing.
* `.json`: a graph in networkx' node-link form, or a relation of the probe (`name` and `samples`), as in the LRE data
  set; or a folder of such relations.

A name is one line: white space within it becomes one space.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from theory.errors import InputError
from theory.records.reading import read_json, within

if TYPE_CHECKING:
    import networkx

HEADS = ("subject", "relation", "object")
RELATION = "relation"  # the attribute of an edge
DELIMITERS = {".csv": ",", ".tsv": "\t"}
SEPARATORS = {",": "commas", "\t": "tabs"}
EDGES = (".edges", ".edgelist", ".txt")


class Fact(NamedTuple):
    """A subject, a relation and an object, by name, and where they stand, as "line 3"."""

    where: str
    subject: str
    relation: str
    object: str


def name_of(value: Any, where: str) -> str:
    """A name as one line of text; InputError, saying where, for what is none."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{where} is {'missing' if value is None else 'not a text with something in it'}")
    name = " ".join(value.split())
    for character in name:
        if "\ud800" <= character <= "\udfff":
            raise InputError(f"{where} holds half of a surrogate pair, which is no character: {value!r}")
        if unicodedata.category(character) == "Cc":
            raise InputError(f"{where} holds a control character: {value!r}; a name is text")
    return name


# Tables.


def facts_of_table(text: str, delimiter: str) -> Iterator[Fact]:
    """The facts in a table with a line of heads. InputError, naming the line, for what is none."""
    lines = _lines(text, delimiter)
    _, heads = next(lines, (0, []))
    if len(heads) < 2 or len(set(heads)) < len(heads) or not all(heads):
        raise InputError(
            f"line 1: the heads are {', '.join(heads) or 'none'}; wanted are {', '.join(HEADS)}, or a subject and one "
            f"column for each relation, each with a name of its own, between {SEPARATORS[delimiter]}"
        )
    long = set(heads) == set(HEADS)
    for line, cells in lines:
        where = f"line {line}"
        if len(cells) != len(heads):
            raise InputError(f"{where}: it has {len(cells)} cells, and the first line {len(heads)}")
        row = dict(zip(heads, cells, strict=True))
        for head in heads if long else heads[:1]:
            if not row[head]:
                raise InputError(f"{where}: the {head} is empty")
        if long:
            yield _fact(where, *(row[head] for head in HEADS))
            continue
        for head, cell in row.items():
            if cell == head:
                raise InputError(
                    f"{where}: under the head {head!r} stands {cell!r} again; line 1 must hold heads, such as "
                    f"{', '.join(HEADS)}, and not the first fact"
                )
        yield from (_fact(where, cells[0], head, cell) for head, cell in list(row.items())[1:] if cell)


def _fact(where: str, *names: str) -> Fact:
    return Fact(where, *(name_of(name, f"{where}: the {head}") for name, head in zip(names, HEADS, strict=True)))


def _lines(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The number and the cells of each line that is not empty."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, [" ".join(cell.split()) for cell in cells]
    except csv.Error as error:
        raise InputError(f"line {reader.line_num}: {error}") from None


def facts_of_edges(text: str) -> Iterator[Fact]:
    """The facts in lines of subject, relation and object. InputError, naming the line, for what is none."""
    for number, line in enumerate(io.StringIO(text), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        words = line.rstrip("\n").split("\t") if "\t" in line.strip() else line.split()
        if len(words) != 3 or words[2].startswith("{"):
            raise InputError(
                f"line {number}: it has {len(words)} words; wanted are a subject, a relation and an object, between "
                "white space, or between tabs if names have spaces"
                + ("; what networkx writes with a dictionary is read as node-link JSON" if "{" in line else "")
            )
        yield _fact(f"line {number}", *words)


# Graphs.


def facts_in_graph(graph: networkx.DiGraph[Any], attribute: str | None = None) -> tuple[list[str], Iterator[Fact]]:
    """The nodes' names, and an edge subject -> object for each fact, of a networkx DiGraph or MultiDiGraph.

    The relation is the edge's `attribute`; unless that is given, its attribute "relation", or its key if no edge has
    one. Names are the labels as text. InputError for other graphs, an edge without a relation, and two labels that are
    the same text.
    """
    if not graph.is_directed():
        raise InputError(f"the graph is a {type(graph).__name__}; it must be directed: an edge subject -> object")
    view: Any = graph.edges  # of a multigraph it takes keys, of others not
    ends = view(data=True, keys=True) if graph.is_multigraph() else view(data=True)
    edges = [
        {**data, "source": source, "target": target, **({"key": key[0]} if key else {})}
        for source, target, *key, data in ends
    ]
    return _facts_of_edges(list(graph.nodes), edges, attribute)


def _facts_of_edges(
    labels: list[Any], edges: list[dict[str, Any]], attribute: str | None
) -> tuple[list[str], Iterator[Fact]]:
    names: dict[Hashable, str] = {}
    taken: dict[str, int] = {}
    for number, label in enumerate(labels):
        names[label] = name_of(str(label), f"nodes[{number}]")
        other = taken.setdefault(names[label], number)
        if other != number:
            raise InputError(f"nodes[{number}] has the name {names[label]!r}, and so has nodes[{other}]")
    chosen = attribute or (RELATION if any(RELATION in edge for edge in edges) else "key")

    def facts() -> Iterator[Fact]:
        for number, edge in enumerate(edges):
            where = f"edges[{number}]"
            for end in ("source", "target"):
                if edge[end] not in names:
                    raise InputError(f"{where}: its {end} {edge[end]!r} is none of the nodes")
            if edge.get(chosen) is None:
                raise InputError(
                    f"{where} has no {chosen}; its relation is wanted, as the attribute {RELATION!r} or the key"
                )
            relation = name_of(str(edge[chosen]), f"{where}.{chosen}")
            yield Fact(where, names[edge["source"]], relation, names[edge["target"]])

    return list(names.values()), facts()


def facts_of_node_link(content: dict[str, Any]) -> tuple[list[str], Iterator[Fact]]:
    """The same of a graph that networkx wrote as JSON: its edges lie under "edges" or, by older versions, "links"."""
    nodes: list[Any] = content["nodes"]
    edges: list[Any] = content["edges"] if "edges" in content else content["links"]
    if content.get("directed") is not True:
        raise InputError("the graph must be directed, with an edge subject -> object for every fact")
    for place, each, keys in (
        *((f"nodes[{number}]", node, ("id",)) for number, node in enumerate(nodes)),
        *((f"edges[{number}]", edge, ("source", "target")) for number, edge in enumerate(edges)),
    ):
        for key in keys:
            if not isinstance(each, dict) or type(each.get(key)) not in (int, str):
                raise InputError(f"{place} must have {' and '.join(keys)}, texts or whole numbers; {key} is none")
    for number, edge in enumerate(edges):
        for key in (RELATION, "key"):
            if type(edge.get(key)) not in (int, str, type(None)):
                raise InputError(f"edges[{number}].{key} must be a text or a whole number")
    return _facts_of_edges([node["id"] for node in nodes], edges, None)


# Relations of the probe.


def name_and_pairs(content: dict[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """The name of a relation of the probe, and the subject and object of each of its samples, in order. InputError,
    saying where, for what is none.
    """
    name = name_of(content.get("name"), "name")
    samples = content.get("samples")
    if not isinstance(samples, list) or not samples:
        raise InputError("samples is missing or empty: a list of objects with subject and object is expected")
    pairs = []
    for number, sample in enumerate(samples):
        if not isinstance(sample, dict):
            raise InputError(f"samples[{number}] is not an object with subject and object")
        subject, found = (name_of(sample.get(key), f"samples[{number}].{key}") for key in ("subject", "object"))
        pairs.append((subject, found))
    return name, pairs


def facts_of_relation(content: dict[str, Any]) -> Iterator[Fact]:
    """The facts of a relation of the probe."""
    name, pairs = name_and_pairs(content)
    for number, (subject, found) in enumerate(pairs):
        yield Fact(f"samples[{number}]", subject, name, found)


def facts_of_folder(folder: Path) -> Iterator[Fact]:
    """The facts of all relations in a folder; InputError if there is none, and for two of one name."""
    files = sorted(folder.glob("*.json"))
    if not files:
        raise InputError(f"{folder} holds no .json file, a relation with name and samples")
    seen: dict[str, Path] = {}
    for file in files:
        content = read_json(file)
        with within(file):
            if not isinstance(content, dict):
                raise InputError("an object with name and samples is expected")
            name, _ = name_and_pairs(content)
            if seen.setdefault(name, file) != file:
                raise InputError(f"it has the name of {seen[name]}, {name!r}")
        for fact in facts_of_relation(content):
            yield fact._replace(where=f"{file}: {fact.where}")
