"""T5: transfer. T1, T1b, T1d, T2, T3 and T3b (fixed read-out) are universal: swap the subject table, freeze the rest,
no errors.

Nothing but the entity rows of W_E depends on the facts. So the weights built for a system g, with the entity rows of
those built for another system g', are those built for g', and answer every query of g'. That the rest does not depend
on the facts is itself checked, tensor by tensor; T2b always fails it, T2e and T4 for k >= 2, as they must.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from theory import InputError, Transformer


def transplant(frozen: Transformer, donor: Transformer) -> Transformer:
    """`frozen` with the subject table of `donor` and nothing else. InputError unless sizes and dimensions agree."""
    if frozen.W_E.shape != donor.W_E.shape or frozen.entities != donor.entities:
        raise InputError(
            f"a subject table of {donor.entities} entities and W_E {list(donor.W_E.shape)} cannot replace one of "
            f"{frozen.entities} entities and W_E {list(frozen.W_E.shape)}"
        )
    W_E = np.concatenate([donor.W_E[: donor.entities], frozen.W_E[frozen.entities :]])
    return dataclasses.replace(frozen, W_E=W_E)


def differing_tensors(one: Transformer, other: Transformer) -> list[str]:
    """The tensors in which two models differ outside the entity rows of W_E: none if the construction is universal."""
    names = []
    for (name, left), (_, right) in zip(one.tensors(), other.tensors(), strict=True):
        skip = one.entities if name == "W_E" else 0
        if left.shape != right.shape or not np.array_equal(left[skip:], right[skip:]):
            names.append(name)
    return names
