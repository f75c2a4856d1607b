"""Rung 3, the certificate: a model answers all N·R^k queries, decided from its weights without listing them.

For one block (deeper models: `certify_depth`). The certificate knows no theorem; it takes any weights, float weights as
the fractions that they are, and accepts only what it can prove:

1. *Attention* (`certify_attention`). In each step every head reads one position, whatever the prompt: the current
   entity, or a relation of the step. So the MLP sees h = e_y·A + (a row that depends on the step's word), with one
   matrix A.
2. *Gates.* Let M = A·W_in. Over all entities y the pre-activation of unit j on word w lies in
   [min_y (e_y M)_j, max_y (e_y M)_j] + g_wj: the unit is closed (never positive), open (never negative), or mixed.
3. *Output.* On each word it is affine in e_y through the open units; mixed units are evaluated for each y.
4. *Read-out* (`certify_readout`). The output is compared with the code of g_w(y), y by y, and the margin to all other
   answers is bounded by the geometry of the codes, which must be distinct.

A step that is right for every entity, word and position is right along every chain, by induction: k steps certify N·R^k
chains. Accepting implies that exhaustive checking accepts, with a margin at least as large; refusing implies nothing.
Where this argument fails and the prompts are few, they are run one by one (`certify_prompts`).

Softmax: what leaks to other positions moves each coordinate of h by at most leak·spread, and ReLU being 1-Lipschitz,
units that are not closed pass that on; closed units must stay closed under it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from constructions.verification.certify_attention import Refused
from constructions.verification.certify_depth import certify_deep
from constructions.verification.certify_prompts import certify_prompts
from constructions.verification.certify_step import certify_single_block
from constructions.verification.exhaustive import require_fit
from constructions.verification.result import Result
from theory import FactSystem, Task, Transformer


def certify(transformer: Transformer, system: FactSystem, task: Task, claimed_margin: int | Fraction = 0) -> Result:
    """Certify every query of the task with a positive margin of at least `claimed_margin`: it holds, with the `margin`
    that is proved, or is undecided, for the `reason` why not.

    Raises InputError when model, system and task do not fit together.
    """
    require_fit(transformer, system, task)
    queries = system.entities * system.relations**task.hops
    argue = certify_single_block if len(transformer.blocks) == 1 else certify_deep
    margin, reason = _tried(argue, transformer, system, task)
    if margin is None or margin <= 0:
        listed, _ = _tried(certify_prompts, transformer, system, task)
        margin, reason = (listed, "") if listed is not None and (listed > 0 or not reason) else (margin, reason)
    if margin is None:
        return Result("undecided", queries, reason=reason)
    if margin <= 0 or margin < claimed_margin:
        reason = f"the margin that can be proved is {margin}, not {claimed_margin}"
        return Result("undecided", queries, margin, reason=reason)
    return Result("holds", queries, margin)


def _tried(
    argue: Callable[[Transformer, FactSystem, Task], Fraction], transformer: Transformer, system: FactSystem, task: Task
) -> tuple[Fraction | None, str]:
    """The margin that an argument proves, or None and why it does not apply."""
    try:
        return argue(transformer, system, task), ""
    except Refused as refusal:
        return None, str(refusal)
