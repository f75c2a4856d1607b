"""The texts that a language model is given: a subject after neutral words, or a relation's question after examples.

A subject never stands at the start: the first token of a text is an attention sink in most language models, and its
state says next to nothing of the subject.

A question repeats the relation's first template for a few samples with their objects, and then for the subject. The
examples are taken evenly from the relation's samples, the same for every subject, except that a subject is never among
its own examples: its place is taken by one more sample.
"""

from __future__ import annotations

from dataclasses import dataclass

from empirical.probing.facts.probed import Relation

EXAMPLES = 8
INTRODUCTION = "Here are some facts."  # so that even a question without examples has words before its subject


@dataclass(frozen=True)
class Prompt:
    """A text; the number of its characters before the subject and up to its end; and the text before its line."""

    text: str
    subject_start: int
    subject_end: int
    opening: str


def about(subject: str) -> Prompt:
    """Neutral words that end with the subject."""
    opening = f"{INTRODUCTION} This one is about"
    text = f"{opening} {subject}"
    return Prompt(text, len(opening) + 1, len(text), opening)


def asking(relation: Relation, subject: str) -> Prompt:
    """The relation's question about the subject, after examples; the object follows after one space."""
    before = "\n".join([INTRODUCTION, *(_statement(relation, *sample) for sample in _examples(relation, subject))])
    head, tail = relation.templates[0].split("{}")
    asked = f"{before}\n{head}{subject}"
    return Prompt(asked + tail, len(asked) - len(subject), len(asked), before)


def _statement(relation: Relation, subject: str, found: str) -> str:
    return f"{relation.templates[0].replace('{}', subject)} {found}."


def _examples(relation: Relation, subject: str) -> list[tuple[str, str]]:
    count = min(EXAMPLES + 1, len(relation.samples))
    chosen = [relation.samples[place * len(relation.samples) // count] for place in range(count)]
    return [sample for sample in chosen if sample[0] != subject][:EXAMPLES]
