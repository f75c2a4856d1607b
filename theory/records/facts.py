"""Facts of one's own: a table of subjects, relations and objects with names, read as a fact system.

    subject,relation,object            or one column a relation     country,capital,continent
    France,capital,Paris                                            France,Paris,Europe
    France,continent,Europe                                         Peru,Lima,

`.csv` and `.tsv`, in UTF-8, with a line of heads. Subjects and objects are entities alike, in the order in which they
are met. Relations may have one object for many subjects (then they are maps, T10), and need not have one for each: a
fact that is missing is neither asked nor counted, and an empty cell is a fact that is missing. A subject with two
objects is refused. Every refusal names the line.
"""

from __future__ import annotations

import csv
import difflib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.definitions.fact_system import FactSystem, all_words, number_of_words
from theory.definitions.task import Task
from theory.errors import InputError, one_line
from theory.records.ledger import Counterexample
from theory.records.loading import load_system
from theory.records.reading import parse_json, read_tensors, within

HEADS = ("subject", "relation", "object")
MOST_QUERIES = 2**24  # of a model whose facts are not all known
DELIMITERS = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True, eq=False)
class Facts:
    """A fact system whose entities and relations have names. `known` [R, N] says which facts there are; in the place of
    one that is missing the system has the entity itself.
    """

    system: FactSystem
    entities: tuple[str, ...]
    relations: tuple[str, ...]
    known: NDArray[np.bool_]

    def in_order_of(self, names: Names) -> Facts:
        """The same facts with the numbers that a model's file gives to the names. InputError for a name that the file
        does not have; what it has beyond these is an entity or a relation of which nothing is known.
        """
        places = np.array([place_of(name, names.entities, "entity") for name in self.entities])
        rows = np.array([place_of(name, names.relations, "relation") for name in self.relations])
        answers = np.tile(np.arange(len(names.entities)), (len(names.relations), 1))
        known = np.zeros(answers.shape, bool)
        answers[rows[:, None], places] = places[self.system.answers]
        known[rows[:, None], places] = self.known
        return Facts(FactSystem(answers), names.entities, names.relations, known)

    def asked(self, system: FactSystem, relations: tuple[str, ...]) -> Facts:
        """The facts that a model is asked for that was built for these: `system`, its relations under these names.
        InputError if it has other relations than these facts, and one of these is missing.
        """
        if len(relations) == len(self.relations):
            return self
        if not self.known.all():
            raise InputError("some facts are missing: what follows from them cannot be asked for (T14)")
        return Facts(system, self.entities, relations, np.ones(system.answers.shape, bool))

    def told(self, found: Counterexample) -> str:
        """A counterexample in these names."""
        query = " ".join([self.entities[found.subject], *(self.relations[relation] for relation in found.word)])
        answers = [self.entities[answer % len(self.entities)] for answer in (found.expected, found.got)]
        return one_line(f"{query}: expected {answers[0]}, got {answers[1]}, margin {found.margin}")

    def words(self, task: Task) -> dict[str, str]:
        """The names, and which queries of the task the facts answer, as texts for the metadata of a model's file: ""
        where they answer every one. InputError for too many queries of which some are not answered.
        """
        return {
            "entity_names": json.dumps(self.entities, ensure_ascii=False),
            "relation_names": json.dumps(self.relations, ensure_ascii=False),
            "known": "" if self.known.all() else np.packbits(self._answered(task)).tobytes().hex(),
        }

    def _answered(self, task: Task) -> NDArray[np.bool_]:
        """Whether all facts on the way of a query are known, shape [R^k, N], words in the order of their numbers."""
        queries = len(self.entities) * number_of_words(len(self.relations), task.hops)
        if queries > MOST_QUERIES:
            raise InputError(
                f"some facts are missing, and {queries} queries are too many to say which are answered; at most "
                f"{MOST_QUERIES} are: fewer hops would do"
            )
        words = all_words(len(self.relations), task.hops)
        here = np.broadcast_to(np.arange(len(self.entities)), (len(words), len(self.entities)))
        answered = np.ones(here.shape, bool)
        for hop in range(task.hops):
            answered &= self.known[words[:, hop, None], here]
            here = self.system.answers[words[:, hop, None], here]
        return answered


@dataclass(frozen=True, eq=False)
class Names:
    """What a model's file says of its facts: the names, and which queries are `answered` [R^k, N] (None: all)."""

    entities: tuple[str, ...]
    relations: tuple[str, ...]
    answered: NDArray[np.bool_] | None


def load_facts(path: Path) -> Facts:
    """The facts in a file: .csv or .tsv with names, .npy or .json without (then names are numbers). InputError, naming
    the line, where it is none.
    """
    if path.suffix not in DELIMITERS:
        if path.suffix not in (".npy", ".json"):
            raise InputError(f"{path}: facts are read from .csv, .tsv, .npy or .json")
        system = load_system(path)
        names = tuple(map(str, range(system.entities))), tuple(map(str, range(system.relations)))
        return Facts(system, *names, np.ones(system.answers.shape, bool))
    with within(path):
        return from_triples(_triples(_lines(path)))


def from_triples(triples: Iterator[tuple[int, str, str, str]]) -> Facts:
    """The facts in triples (line, subject, relation, object). InputError for a subject with two objects, and for fewer
    than two entities.
    """
    entities: dict[str, int] = {}
    relations: dict[str, int] = {}
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for line, subject, relation, answer in triples:
        x = entities.setdefault(subject, len(entities))
        r = relations.setdefault(relation, len(relations))
        y = entities.setdefault(answer, len(entities))
        other, before = found.setdefault((r, x), (y, line))
        if other != y:
            names = list(entities)
            raise InputError(
                f"line {line}: {subject!r} has the {relation} {answer!r}, and {names[other]!r} in line {before}; a "
                "relation has one object for a subject"
            )
    if len(entities) < 2:
        raise InputError("there are no facts about two entities; a line is a fact such as France,capital,Paris")
    answers = np.tile(np.arange(len(entities)), (len(relations), 1))
    known = np.zeros(answers.shape, bool)
    for (r, x), (y, _) in found.items():
        answers[r, x], known[r, x] = y, True
    return Facts(FactSystem(answers), tuple(entities), tuple(relations), known)


def load_names(path: Path) -> Names | None:
    """What a model's file says of its facts, but for which queries are answered; None if nothing. InputError for what
    was not written by `Facts.words`."""
    metadata = read_tensors(path).metadata
    with within(path):
        return names_of({**metadata, "known": ""} if "known" in metadata else metadata, Task())


def names_of(metadata: dict[str, str], task: Task) -> Names | None:
    """What `Facts.words` wrote into a model's file; None if nothing was. InputError for what it did not write."""
    if "entity_names" not in metadata:
        return None
    try:
        entities, relations = (tuple(parse_json(metadata[name])) for name in ("entity_names", "relation_names"))
        answered = None
        if metadata["known"]:
            shape = number_of_words(len(relations), task.hops), len(entities)
            bits = np.unpackbits(np.frombuffer(bytes.fromhex(metadata["known"]), np.uint8))
            answered = bits[: shape[0] * shape[1]].reshape(shape).astype(bool)
    except (KeyError, TypeError, ValueError, InputError) as error:
        raise InputError(f"its names are not those of facts that were written with it ({error})") from None
    if not all(isinstance(name, str) for name in (*entities, *relations)):
        raise InputError("its names are not those of facts that were written with it: a name is no text")
    return Names(entities, relations, answered)


def place_of(name: str, names: Sequence[str], kind: str) -> int:
    """The number of an entity or a relation. InputError, naming some that are like it, for an unknown one."""
    if name in names:
        return names.index(name)
    near = difflib.get_close_matches(name, names, 3, 0.5) or names[:3]
    like = ", ".join(map(repr, near))
    more = " .." if len(names) > len(near) else ""
    raise InputError(one_line(f"there is no {kind} {name!r} in these facts; there are {like}{more}"))


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The number and the cells of each line that is not empty."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"it is not text in UTF-8: {error.reason} at byte {error.start}") from None
    reader = csv.reader(text.splitlines(), delimiter=DELIMITERS[path.suffix], strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, [cell.strip() for cell in cells]
    except csv.Error as error:
        raise InputError(f"line {reader.line_num}: {error}") from None


def _triples(lines: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, str, str, str]]:
    _, heads = next(lines, (0, []))
    if len(heads) < 2 or len(set(heads)) < len(heads) or not all(heads):
        raise InputError(
            f"line 1: the heads are {', '.join(heads) or 'none'}; wanted are {', '.join(HEADS)}, or a subject and one "
            "column for each relation, each with a name of its own"
        )
    long = set(heads) == set(HEADS)
    for line, cells in lines:
        if len(cells) != len(heads):
            raise InputError(f"line {line}: it has {len(cells)} cells, and the first line {len(heads)}")
        row: dict[str, Any] = dict(zip(heads, cells, strict=True))
        if long and not all(cells):
            empty = next(head for head, cell in row.items() if not cell)
            raise InputError(f"line {line}: the {empty} is empty")
        if not cells[0]:
            raise InputError(f"line {line}: the {heads[0]} is empty")
        if long:
            yield line, row["subject"], row["relation"], row["object"]
        else:
            yield from ((line, cells[0], head, cell) for head, cell in zip(heads[1:], cells[1:], strict=True) if cell)
