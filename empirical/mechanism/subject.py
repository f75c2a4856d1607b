"""What is studied: one single-layer model with its facts, whether constructed or trained, through one interface.

A model is studied at its first step: the prompt (x, w, 0 .. 0), where w is a word of the hops that the first step takes
(all of them when the answer is direct, one along an ordinary chain) and relation 0 fills the rest of the prompt. Its
facts are the N·W pairs (x, w) with the answers g_w(x). At the last position the MLP's input is affine in the subject's
row as long as the attention pattern stands still; `forward` computes it for all facts from N rows and W words instead
of N·W prompts, in float64, and is tested equal to `theory.run_with_cache`.

*Attribute vectors* u_a are the columns of the read-out W_U, whether it was learned, frozen or tied to the subject
table. *New subject rows* are handed to `forward` and `emitted` in place of the model's own, and W_U is a tensor of its
own: a read-out that was tied in training stays as training left it, and is untied from then on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from constructions.weights.catalogue import Setting, entry
from empirical.models.runs import RunConfig
from theory import FactSystem, InputError, Task, Transformer, all_words
from theory.definitions.fact_system import Words
from theory.definitions.transformer import attention_pattern

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float64]

PLAIN = Setting()

# Logits that stand in memory together.
LOGITS = 2**23

# Bounds of a tensor's largest entry: up to twelve factors and their squares then stay within float64.
SMALL, LARGE = 1e-45, 1e20


@dataclass(frozen=True, eq=False)
class Studied:
    """A single-layer model, the facts it is meant to recall, its task, the run it comes from (None: no run), a name.

    Raises InputError for several blocks or none, for disjoint attributes (T6 has no MLP to study), for embedding
    dimension 0, for prompts longer than the model has positions, for weights so large or small that products of them
    leave float64, and when model and facts differ in size.
    """

    transformer: Transformer
    system: FactSystem
    task: Task
    config: RunConfig | None
    name: str

    def __post_init__(self) -> None:
        if len(self.transformer.blocks) != 1 or self.task.disjoint_attributes:
            raise InputError(
                f"{self.name} has {len(self.transformer.blocks)} blocks"
                f"{' and disjoint attributes' if self.task.disjoint_attributes else ''}; "
                "the mechanism is studied in single-layer models that answer over the entities"
            )
        has = (self.transformer.entities, self.transformer.relations, self.transformer.answers)
        needs = (self.system.entities, self.system.relations, self.system.entities)
        if has != needs:
            raise InputError(f"{self.name} is over {has} entities, relations and answers; its facts are over {needs}")
        positions = len(self.transformer.W_pos)
        if positions <= self.task.hops:
            raise InputError(f"{self.name} has {positions} positions; {self.task.hops} hops need {self.task.hops + 1}")
        if not self.transformer.dimension:
            raise InputError(f"{self.name} has embedding dimension 0; there is nothing to study in its subject rows")
        for name, tensor in self.transformer.tensors():
            largest = float(np.abs(np.asarray(tensor, np.float64)).max(initial=0.0))
            if largest and not SMALL <= largest <= LARGE:
                raise InputError(
                    f"{self.name}: the largest entry of {name} is {largest:.0e} in size; what is studied is computed "
                    f"in float64, and needs it between {SMALL:.0e} and {LARGE:.0e}"
                )

    @property
    def words(self) -> Words:
        """The words of the first step, shape [W, hops of the first step]."""
        return all_words(self.system.relations, self.task.first_step)

    @property
    def answers(self) -> NDArray[np.int64]:
        """g_w(x), shape [W, N]."""
        return self.system.follow_all(self.words)

    @property
    def rows(self) -> Floats:
        """The subject rows e_x, shape [N, d]."""
        return np.asarray(self.transformer.W_E[: self.transformer.entities], np.float64)

    @property
    def attribute_vectors(self) -> Floats:
        """The read-out columns u_a, shape [N, d]."""
        return np.asarray(self.transformer.W_U.T, np.float64)


@dataclass(frozen=True, eq=False)
class Pass:
    """What happens at the last position for every subject and word: the attention weight of the subject in each head
    [X, W, H], the MLP's input [X, W, d], its hidden units before the ReLU [X, W, m], what is read out [X, W, d].
    """

    seen: Floats
    middle: Floats
    before: Floats
    output: Floats


def of_run(parameters: Mapping[str, NDArray[Any] | Tensor], config: RunConfig, name: str = "") -> Studied:
    """A trained model, from the tensors of its run; a chain of thought is studied as the one-hop step that it is."""
    import torch

    from empirical.models.conversion import task_of, to_transformer
    from empirical.models.model import system_of

    step = replace(config, hops=1, chain=False) if config.chain else config
    tensors = {key: torch.as_tensor(value) for key, value in parameters.items()}
    transformer = to_transformer(tensors, step)
    return Studied(transformer, system_of(config), task_of(step), step, name or f"run {config.key[:12]}")


def of_construction(theorem: str, system: FactSystem, setting: Setting = PLAIN, name: str | None = None) -> Studied:
    """A construction of the catalogue for the system; InputError for a name that is none."""
    chosen = entry(theorem, name)
    title = f"{theorem} {chosen.name}"
    return Studied(chosen.build(system, setting), chosen.asked.system(system), chosen.task(setting), None, title)


def forward(studied: Studied, rows: Floats | None = None, words: Words | None = None) -> Pass:
    """Every word asked of every subject row, in float64 (default: the model's own rows and words)."""
    own, block = studied.transformer, studied.transformer.blocks[0]
    rows = studied.rows if rows is None else rows
    words = studied.words if words is None else words
    length = studied.task.hops + 1
    tokens = own.entities + np.pad(words, [(0, 0), (0, studied.task.hops - words.shape[1])])
    first = rows + own.W_pos[0]
    rest = own.W_E[tokens] + np.asarray(own.W_pos[1:length], np.float64)
    if block.heads:
        query = np.einsum("wd,hdq->whq", rest[:, -1], block.W_Q)
        by_subject = np.einsum("xd,hdq,whq->xwh", first, block.W_K, query, optimize=True)
        by_word = np.einsum("wtd,hdq,whq->wht", rest, block.W_K, query, optimize=True)
        scores = np.concatenate([by_subject[..., None], np.broadcast_to(by_word, (len(rows), *by_word.shape))], axis=-1)
        pattern = attention_pattern(own, scores, np.ones((1, length), bool))
        passed = np.asarray(block.W_V, np.float64) @ block.W_O
        middle = np.einsum("xwht,wtd,hde->xwe", pattern[..., 1:], rest, passed, optimize=True)
        middle += np.einsum("xwh,xd,hde->xwe", pattern[..., 0], first, passed, optimize=True)
        seen = np.asarray(pattern[..., 0], np.float64)
    else:
        middle = np.zeros((len(rows), len(words), own.dimension))
        seen = np.zeros((len(rows), len(words), 0))
    if own.residual or not block.heads:
        middle = middle + rest[:, -1]
    before = middle @ np.asarray(block.W_in, np.float64) + block.b_in
    output = np.maximum(before, 0) @ np.asarray(block.W_out, np.float64) + block.b_out
    return Pass(seen, middle, before, output + middle if own.residual else output)


def emitted(studied: Studied, rows: Floats | None = None) -> NDArray[np.int64]:
    """The answer to every fact, shape [W, X]; -1 for a tie, and where rows are not finite."""
    own = studied.transformer
    rows = studied.rows if rows is None else rows
    W_U, words = np.asarray(own.W_U, np.float64), studied.words
    found = np.empty((len(words), len(rows)), np.int64)
    size = max(1, LOGITS // (len(words) * max(own.answers, own.width)))
    for start in range(0, len(rows), size):
        output = forward(studied, rows[start : start + size], words).output
        # One product of two matrices, for a stack of small ones takes several times as long.
        logits = output.reshape(-1, own.dimension) @ W_U + own.b_U
        best = logits.argmax(axis=-1)
        alone = (logits == logits.max(axis=-1, keepdims=True)).sum(axis=-1) == 1
        found[:, start : start + size] = np.where(alone, best, -1).reshape(-1, len(words)).T
    return found


def accuracy(studied: Studied, system: FactSystem | None = None, rows: Floats | None = None) -> float:
    """The fraction of all N·W facts of the system that are answered (default: the model's own); a tie is a failure."""
    answers = (system or studied.system).follow_all(studied.words)
    return float((emitted(studied, rows) == answers).mean())
