"""Facts of one's own: a file of subjects, relations and objects with names, read as a fact system.

    subject,relation,object            or one column a relation     country,capital,continent
    France,capital,Paris                                            France,Paris,Europe
    France,continent,Europe                                         Peru,Lima,

The files are those of `theory.records.fact_files`, and `.npy` and `.json` with the numbers of a fact system. Subjects
and objects are entities alike, in the order in which they are met; names that are the numbers 0..N-1 are in their own
order. Relations may have one object for many subjects (then they are maps, T10), and need not have one for each: a fact
that is missing is neither asked nor counted. A subject with several objects of a relation is refused, unless any of
them is said to be right (`theory.definitions.right_answers`). Every refusal names the place.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from theory.definitions.fact_system import FactSystem, number_of_words
from theory.definitions.right_answers import RightAnswers
from theory.definitions.task import Task
from theory.errors import InputError, one_line
from theory.records.fact_files import (
    DELIMITERS,
    EDGES,
    Fact,
    facts_in_graph,
    facts_of_edges,
    facts_of_folder,
    facts_of_node_link,
    facts_of_relation,
    facts_of_table,
    name_of,
)
from theory.records.ledger import Counterexample
from theory.records.reading import parse_json, read_json, read_npy, read_tensors, read_text, within

if TYPE_CHECKING:
    import networkx

Several = Literal["refuse", "any"]

SUFFIXES = (".npy", ".json", *DELIMITERS, *EDGES)
MOST_OBJECTS = 2**27  # numbers in the table of right objects
MOST_SEVERAL = 2**20  # queries with several right answers that a model's file lists
FOREIGN = "its names are not those of facts that were written with it"


@dataclass(frozen=True, eq=False)
class Facts:
    """A fact system whose entities and relations have names. `right` says which facts there are, and what is right of
    those with several objects; of these the system has the first, and in the place of a missing one the entity itself.
    """

    system: FactSystem
    entities: tuple[str, ...]
    relations: tuple[str, ...]
    right: RightAnswers

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which facts there are, shape [R, N]."""
        return self.right.known

    def whole(self) -> FactSystem:
        """The system, if no fact is missing; InputError, naming one, otherwise."""
        for relation, subject in np.argwhere(~self.known)[:1].tolist():
            raise InputError(
                f"{self.entities[subject]!r} has no {self.relations[relation]!r}, and here every fact is needed"
            )
        return self.system

    def in_order_of(self, names: Names) -> Facts:
        """The same facts with the numbers that a model's file gives to the names. InputError for a name that the file
        does not have; what it has beyond these is an entity or a relation of which nothing is known.
        """
        places = np.array([names.entity(name) for name in self.entities])
        rows = np.array([names.relation(name) for name in self.relations])
        shape = len(names.relations), len(names.entities)
        objects = np.full((*shape, self.right.objects.shape[2]), -1)
        objects[rows[:, None], places] = np.where(self.right.objects < 0, -1, places[self.right.objects])
        return _facts(names.entities, names.relations, objects)

    def asked(self, system: FactSystem, relations: tuple[str, ...]) -> Facts:
        """The facts that a model is asked for that was built for these: `system`, its relations under these names.
        InputError if it has other relations than these facts, and one of these is missing or has several objects.
        """
        if len(relations) == len(self.relations):
            return self
        if not self.right.plain:
            raise InputError(
                "a fact is missing, or has several objects: what follows from it cannot be asked for (T14)"
            )
        return Facts(system, self.entities, relations, RightAnswers(system.answers[..., None]))

    def told(self, found: Counterexample) -> str:
        """A counterexample in these names."""
        query = " ".join([self.entities[found.subject], *(self.relations[relation] for relation in found.word)])
        right = self.right.after(np.array([found.subject]), np.array([found.word]))[0].tolist()
        expected = " or ".join(self.entities[answer] for answer in dict.fromkeys(right))
        emitted = [self.entities[token % len(self.entities)] for token in found.emitted]
        got = " then ".join(emitted)
        return one_line(f"{query}: expected {expected}, got {got}, margin {found.margin}")

    def words(self, task: Task) -> dict[str, str]:
        """The names, and which queries of the task the facts answer, as texts for the metadata of a model's file: ""
        where they answer every one, and [] where none has several answers. InputError for too many to list.
        """
        known, several = "", "[]"
        if not self.right.plain:
            answers = self.right.of_all(task.hops)
            known = np.packbits(answers[..., 0] >= 0).tobytes().hex()
            several = json.dumps(_several(answers))
        return {
            "entity_names": json.dumps(self.entities, ensure_ascii=False),
            "relation_names": json.dumps(self.relations, ensure_ascii=False),
            "known": known,
            "several": several,
        }


def _several(answers: NDArray[np.int64]) -> list[tuple[int, int, list[int]]]:
    """The word's number, the subject and the right answers, of each query that has several."""
    queries = np.argwhere((answers != answers[..., :1]).any(axis=-1)).tolist()
    if len(queries) > MOST_SEVERAL:
        raise InputError(f"{len(queries)} queries have several right answers; at most {MOST_SEVERAL} are listed")
    return [(word, subject, list(dict.fromkeys(answers[word, subject].tolist()))) for word, subject in queries]


@dataclass(frozen=True, eq=False)
class Names:
    """What a model's file says of its facts: the names, which queries are `answered` [R^k, N] (None: all), and the
    right answers of each query, (number of the word, subject), that has `several`.
    """

    entities: tuple[str, ...]
    relations: tuple[str, ...]
    answered: NDArray[np.bool_] | None
    several: dict[tuple[int, int], tuple[int, ...]]

    @cached_property
    def _entities(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.entities)}

    def entity(self, name: str) -> int:
        """The number of an entity; InputError as `place_of`."""
        return self._entities[name] if name in self._entities else place_of(name, self.entities, "entity")

    def relation(self, name: str) -> int:
        """The number of a relation; InputError as `place_of`."""
        return place_of(name, self.relations, "relation")


def load_facts(path: Path, several: Several = "refuse") -> Facts:
    """The facts in a file, or in a folder of the probe's relations; numbers are the names of what has none. InputError,
    naming the place, where it is none, and for several objects of a subject unless `several` is "any".
    """
    if os.path.isdir(path):  # unlike Path's, it takes a name that is too long for none
        return from_facts(facts_of_folder(path), several=several)
    if path.suffix not in SUFFIXES:
        raise InputError(f"{path}: facts are read from {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}")
    if path.suffix in (".npy", ".json"):
        found: Any = read_npy(path) if path.suffix == ".npy" else read_json(path)
        with within(path):
            return _facts_of_object(found, several) if isinstance(found, dict) else _numbered(found)
    text = read_text(path)
    with within(path):
        facts = facts_of_edges(text) if path.suffix in EDGES else facts_of_table(text, DELIMITERS[path.suffix])
        return from_facts(facts, several=several)


def load_system(path: Path) -> FactSystem:
    """The fact system in a file of facts, of which none may be missing. InputError as `load_facts`."""
    facts = load_facts(path)
    with within(path):
        return facts.whole()


def facts_of_graph(graph: networkx.DiGraph[Any], attribute: str | None = None, *, several: Several = "refuse") -> Facts:
    """The facts of a networkx DiGraph or MultiDiGraph with any labels: an edge subject -> object for each, whose
    `attribute` is the relation (unless given, "relation", or the key if no edge has that). InputError as `load_facts`.
    """
    nodes, facts = facts_in_graph(graph, attribute)
    return from_facts(facts, nodes, several=several)


def from_facts(facts: Iterable[Fact], entities: Iterable[str] = (), *, several: Several = "refuse") -> Facts:
    """Facts by name as a fact system, in which the `entities` come first. InputError for several objects of a subject,
    unless any of them is right, and for fewer than two entities.
    """
    numbers = {name: number for number, name in enumerate(entities)}
    relations: dict[str, int] = {}
    found: dict[tuple[int, int], dict[int, str]] = {}
    for where, subject, relation, answer in facts:
        x, y = (numbers.setdefault(name, len(numbers)) for name in (subject, answer))
        right = found.setdefault((relations.setdefault(relation, len(relations)), x), {})
        if right and y not in right and several == "refuse":
            other, before = next(iter(right.items()))
            raise InputError(
                f"{where}: {subject!r} has the {relation} {answer!r}, and {list(numbers)[other]!r} in {before}; a "
                "relation has one object for a subject (--several any takes any of them for right)"
            )
        right.setdefault(y, where)
    if len(numbers) < 2 or not found:
        raise InputError("there are no facts about two entities; a fact is a subject, a relation and an object")
    size = len(relations), len(numbers), max(map(len, found.values()))
    if size[0] * size[1] * size[2] > MOST_OBJECTS:
        raise InputError(
            f"{size[0]} relations of {size[1]} entities with up to {size[2]} objects are too many; at most "
            f"{MOST_OBJECTS} objects are read"
        )
    objects = np.full(size, -1)
    for (r, x), right in found.items():
        objects[r, x] = [*right, *[list(right)[-1]] * (size[2] - len(right))]
    order, rows = _in_order(list(numbers)), _in_order(list(relations))
    places = np.argsort(order)
    objects = np.where(objects < 0, -1, places[objects])[rows][:, order]
    return _facts(
        tuple(np.array(list(numbers), object)[order]), tuple(np.array(list(relations), object)[rows]), objects
    )


def _in_order(names: list[str]) -> NDArray[np.intp]:
    """The places of the names as they come, but of the numbers 0, 1, 2, .. in the order of these."""
    numbers = {str(number): number for number in range(len(names))}
    return np.argsort([numbers[name] for name in names]) if numbers.keys() == set(names) else np.arange(len(names))


def _facts(entities: tuple[str, ...], relations: tuple[str, ...], objects: NDArray[np.int64]) -> Facts:
    first = objects[..., 0]
    answers = np.where(first < 0, np.arange(len(entities)), first)
    return Facts(FactSystem(answers), entities, relations, RightAnswers(objects))


def _facts_of_object(content: dict[str, Any], several: Several) -> Facts:
    """The facts in an object of JSON: answers, a graph, or a relation of the probe."""
    if "answers" in content:
        return _numbered(content["answers"])
    if "samples" in content:
        return from_facts(facts_of_relation(content), several=several)
    if isinstance(content.get("nodes"), list) and isinstance(content.get("edges", content.get("links")), list):
        nodes, facts = facts_of_node_link(content)
        return from_facts(facts, nodes, several=several)
    keys = ", ".join(map(repr, content)) or "none"
    raise InputError(
        f"the object has the keys {keys}; needed is 'answers', a table [relations, entities], or 'nodes' and 'edges', "
        "a graph in networkx' node-link form, or 'name' and 'samples', a relation of subjects and objects"
    )


def _numbered(answers: Any) -> Facts:
    """A fact system whose names are numbers, from its table of answers."""
    if isinstance(answers, list):
        _require_whole_numbers(answers)
    system = FactSystem(answers)
    names = tuple(map(str, range(system.entities))), tuple(map(str, range(system.relations)))
    return Facts(system, *names, RightAnswers(system.answers[..., None]))


def _require_whole_numbers(answers: list[Any]) -> None:
    """InputError unless the list holds lists of whole numbers; NumPy would take true for 1."""
    for relation, row in enumerate(answers):
        if not isinstance(row, list):
            raise InputError(f"answers[{relation}] is no list; a list of the answers of each relation is expected")
        for subject, answer in enumerate(row):
            if type(answer) is not int:
                raise InputError(f"answers[{relation}][{subject}] is {json.dumps(answer)}; a whole number is expected")


def load_names(path: Path) -> Names | None:
    """What a model's file says of its facts, but for which queries are answered; None if nothing. InputError for what
    was not written by `Facts.words`."""
    metadata = read_tensors(path).metadata
    with within(path):
        return names_of({**metadata, "several": "[]", **({"known": ""} if "known" in metadata else {})}, Task())


def names_of(metadata: dict[str, str], task: Task) -> Names | None:
    """What `Facts.words` wrote into a model's file; None if nothing was. InputError for what it did not write."""
    if "entity_names" not in metadata:
        return None
    try:
        entities, relations = (
            tuple(name_of(name, f"a name of {kind}") for name in parse_json(metadata[kind]))
            for kind in ("entity_names", "relation_names")
        )
        answered = None
        shape = number_of_words(len(relations), task.hops), len(entities)
        if metadata["known"]:
            bits = np.unpackbits(np.frombuffer(bytes.fromhex(metadata["known"]), np.uint8))
            answered = bits[: shape[0] * shape[1]].reshape(shape).astype(bool)
        several = _read_several(parse_json(metadata.get("several", "[]")), shape)
    except (KeyError, TypeError, ValueError, InputError) as error:
        raise InputError(f"{FOREIGN} ({error})") from None
    if len(set(entities)) < len(entities) or len(set(relations)) < len(relations):
        raise InputError(f"{FOREIGN}: a name occurs twice")
    return Names(entities, relations, answered, several)


def _read_several(found: Any, shape: tuple[int, int]) -> dict[tuple[int, int], tuple[int, ...]]:
    several = {}
    for word, subject, answers in found:
        for value, most in ((word, shape[0]), (subject, shape[1]), *((answer, shape[1]) for answer in answers)):
            if type(value) is not int or not 0 <= value < most:
                raise InputError(f"several answers: {value!r} is no number below {most}")
        several[word, subject] = tuple(answers)
    return several


def place_of(name: str, names: Sequence[str], kind: str) -> int:
    """The number of an entity or a relation. InputError, naming some that are like it, for an unknown one."""
    if name in names:
        return names.index(name)
    near = difflib.get_close_matches(name, names, 3, 0.5) or names[:3]
    like = ", ".join(map(repr, near))
    more = " .." if len(names) > len(near) else ""
    raise InputError(one_line(f"there is no {kind} {name!r} in these facts; there are {like}{more}"))
