"""Relations from JSON files in the format of the public LRE data set, or from the built-in sets.

A file holds one object. Its keys that are used:

* `name`: what the relation is called;
* `prompt_templates`: questions, each with "{}" once, where the subject goes; the object follows after one space;
* `prompt_templates_zs`: more of them (they come after the former, and count alone if those are empty or absent);
* `samples`: a list of objects with `subject` and `object`, both texts.

`properties` and everything else is ignored. A subject may occur with several objects: all of them are right. Maps are
fitted to the one of them that most subjects have (the first in the alphabet among equals), so that the order of the
samples does not matter. A name, a subject and an object are one line each: white space within them becomes one space.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

from empirical.probing.facts.builtin import SETS
from empirical.probing.facts.probed import Relation
from theory.errors import InputError
from theory.records.fact_files import name_and_pairs, name_of
from theory.records.reading import read_json, within


def read_relations(source: str) -> tuple[Relation, ...]:
    """The relations of a built-in set, of a JSON file, or of all *.json files below a directory (in the order of their
    paths).

    Raises InputError if there is no such set, file or directory, a file is not of the format (it says where), or two
    relations have the same name.
    """
    if source in SETS:
        return SETS[source]()
    path = Path(source)
    if os.path.isdir(path):  # unlike Path's, it takes a name that is too long for none
        files = sorted(path.rglob("*.json"))
        if not files:
            raise InputError(f"there is no .json file below {path}")
    elif os.path.isfile(path):
        files = [path]
    else:
        raise InputError(f"there are no relations {source!r}: a .json file, a directory, or {' or '.join(SETS)}")
    relations = tuple(read_file(file) for file in files)
    seen: dict[str, Path] = {}
    for file, relation in zip(files, relations, strict=True):
        if relation.name in seen:
            raise InputError(f"{file} and {seen[relation.name]} have the same name, {relation.name!r}")
        seen[relation.name] = file
    return relations


def read_file(path: Path) -> Relation:
    """One relation; InputError says what in the file is not as it should be."""
    content = read_json(path)
    with within(path):
        return _relation(content, path)


def _relation(content: Any, path: Path) -> Relation:
    if not isinstance(content, dict):
        raise InputError("an object with name, prompt_templates and samples is expected")
    name, found = name_and_pairs(content)
    templates = _templates(content, "prompt_templates") + _templates(content, "prompt_templates_zs")
    if not templates:
        raise InputError('prompt_templates is missing or empty: a list of texts with "{}" for the subject is expected')
    pairs = set(found)
    frequency = Counter(found for _, found in pairs)
    first: dict[str, str] = {}
    for subject, chosen in sorted(pairs, key=lambda pair: (pair[0], -frequency[pair[1]], pair[1])):
        first.setdefault(subject, chosen)
    others = tuple(sorted(pairs - set(first.items())))
    return Relation(name, templates, tuple(first.items()), f"the file {path.name}", others)


def _templates(content: dict[str, Any], key: str) -> tuple[str, ...]:
    templates = content.get(key, [])
    if not isinstance(templates, list):
        raise InputError(f"{key} is not a list of texts")
    for number, template in enumerate(templates):
        name_of(template, f"{key}[{number}]")
        if template.count("{}") != 1:
            raise InputError(f'{key}[{number}] has {template.count("{}")} times "{{}}"; once is expected: {template!r}')
    return tuple(template.rstrip() for template in templates)
