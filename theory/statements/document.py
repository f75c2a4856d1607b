"""The registry as a page: `python -m theory.statements.document > docs/theory.md` writes all statements with their
proofs, and what is proved by machine: the lemmas, and the theorems in Coq.
"""

from __future__ import annotations

import re
import textwrap

import sympy

from theory.lemmas.collection import LEMMAS
from theory.records.stamp import Statement, statements
from theory.statements.inequalities import Inequality
from theory.statements.registry import Construction, Theorem, theorems
from theory.statements.symbols import in_words

HEADER = """# The theorems

*Made from `theory.statements.registry` and `theory.lemmas.collection` by `python -m theory.statements.document`; a test
keeps the two the same.*

## Definitions

Entities 0..N-1, relations 0..R-1. A **fact system** is g = (g_0 .. g_{R-1}), each g_r a permutation of the entities.
A **word** w = (r_1 .. r_k) is followed from left to right, g_w(x) = g_{r_k}(.. g_{r_1}(x)); a **query** is (x, w),
asked as the prompt (x, r_1 .. r_k). k = 1 is single hop.

A **transformer** has token and positional embeddings, blocks of attention and a one-hidden-layer ReLU MLP, and an
unembedding with bias; its prediction is the argmax over the entities at the last position, and a tie is a failure.
Attention is uniform over the prompt, hardmax (the mean over the positions of largest score) or softmax at an inverse
temperature β. Weights are named as in TransformerLens.

The subject table holds N·d numbers of b **bits**; B is the number of bits in everything else that may depend on g. A
model is **universal** if nothing but the subject table depends on g. A read-out is **fixed** if it is chosen before g
is known, **learned** if its rows may depend on g, **tied** if they are the subject rows. Every bound on several hops
says which: R^k is the price with a fixed read-out, R^⌈k/2⌉ with a learned one.

c(a) in {-1,+1}^p is the sign code of entity a, (n)\\_j = n(n-1)..(n-j+1), and logarithms are to base 2. In the formulas
LETTERS.

A claim is checked on a ladder of six rungs: *sampled* systems and queries; *exhaustive queries*, every query of a
system on all logits in exact arithmetic; *exhaustive systems*, every system of a small size; *certificate*, all
queries at once from the weights; *symbolic*, lemmas for all values and sizes; *machine-checked*, the statement itself,
for all sizes, in Coq ([Machine-checked proofs](proofs.md)). `georecall verify` prints, for each claim, what it stands
on.
"""


def as_markdown() -> str:
    """The page: definitions, then each theorem with assumptions, statement, formulas, proof and lemmas."""
    letters = textwrap.fill(in_words(), 120)
    return (
        HEADER.replace("LETTERS", letters)
        + "".join(_section(theorem) for theorem in theorems().values())
        + _not_in_coq()
    )


def _not_in_coq() -> str:
    proved = {each.identifier for each in statements()}
    rest = ", ".join(identifier for identifier in theorems() if identifier not in proved)
    return f"\n## Not in Coq yet\n\n{rest}: these stand on their proofs above and on their lemmas.\n"


def without_marks(text: str) -> str:
    """The text so that Markdown shows every character of its formulas.

    A _ beside a bracket, and the star of the threshold d*, would begin or end emphasis, and a < before a letter a tag.
    """
    marks = r"(?<![\w\\])_|(?<!\\)_(?!\w)|(?<=(?<![\w*])d)\*"
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", re.sub(marks, r"\\\g<0>", text))


def _section(theorem: Theorem) -> str:
    lines = [f"\n## {theorem.identifier}. {theorem.title}\n"]
    lines.append(f"*Assumptions:* {without_marks('; '.join(map(str, theorem.assumptions)))}.\n")
    lines.append(f"**Statement.** {without_marks(theorem.statement)}\n")
    if theorem.inequalities:
        lines.append("| models | inequality | stands on |")
        lines.append("|---|---|---|")
        lines += [_inequality_line(each) for each in theorem.inequalities]
        lines.append("")
    if theorem.constructions:
        lines.append("| construction | d | width | margin | read-out |")
        lines.append("|---|---|---|---|---|")
        lines += [_line(construction) for construction in theorem.constructions]
        lines.append("")
    lines.append(f"*Proof.* {without_marks(theorem.proof)}\n")
    lines += [_in_coq(each) for each in statements() if each.identifier == theorem.identifier]
    lemmas = [lemma for lemma in LEMMAS if lemma.theorem == theorem.identifier]
    if lemmas:
        lines.append("*Proved by machine, for all values and sizes:*\n")
        lines += [f"- `{lemma.identifier}` ({lemma.prover}): {without_marks(lemma.statement)}" for lemma in lemmas]
        lines.append("")
    return "\n".join(lines)


def _in_coq(statement: Statement) -> str:
    names = ", ".join(f"`{name}`" for name in statement.theorems)
    left_out = without_marks(f" Not checked of it: {statement.missing}." if statement.missing else "")
    return f"*In Coq, for all sizes:* {names}.{left_out}\n"


def _inequality_line(inequality: Inequality) -> str:
    assumed = ", ".join(each.name for each in inequality.assumptions)
    return f"| {inequality.name} | {without_marks(inequality.formula)} | {assumed} |"


def _line(construction: Construction) -> str:
    width = f"{'at most ' if construction.width_is_bound else ''}{_code(construction.width)}"
    margin = f">= {construction.margin}" if construction.margin else "> 0"
    readout = construction.readout + (", universal" if construction.universal else "")
    return f"| {construction.name} | {_code(construction.dimension)} | {width} | {margin} | {readout} |"


def _code(expression: sympy.Expr) -> str:
    return f"`{str(expression).replace('**', '^')}`"


if __name__ == "__main__":
    print(as_markdown(), end="")
