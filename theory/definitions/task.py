"""What is asked of a model: how many hops, in how many steps, and over which answers.

A k-hop query (x, w) is posed as the prompt (x, r_1 .. r_k). It is answered *directly*, by the first token that the
model emits, or by *chain of thought*: the model emits an entity after every `stride` hops, its own token is appended to
the prompt, and the last token emitted is the answer. The first step takes the hops that are left over,
k - (s-1)·stride for s = ⌈k/stride⌉ steps (theorem T3b); stride = 1 is the ordinary chain (T3), stride = k the direct
answer (T2).
"""

from __future__ import annotations

from dataclasses import dataclass

from theory.definitions.fact_system import check_count
from theory.errors import InputError


@dataclass(frozen=True)
class Task:
    """k hops with an emitted entity after every `stride` of them (stride = hops: answered directly).

    With `disjoint_attributes` relation r answers with attributes of its own: the answer g_r(x) is output number r·N +
    g_r(x) of R·N, and there is one hop (theorem T6).
    """

    hops: int = 1
    stride: int = 0
    disjoint_attributes: bool = False

    def __post_init__(self) -> None:
        check_count("hops", self.hops)
        if self.stride == 0:
            object.__setattr__(self, "stride", self.hops)
        check_count("stride", self.stride)
        if self.stride > self.hops:
            raise InputError(f"stride {self.stride} is larger than the number of hops, {self.hops}")
        if self.disjoint_attributes and self.hops != 1:
            raise InputError(f"disjoint attributes answer one hop, not {self.hops}: an attribute is no subject")

    @property
    def steps(self) -> int:
        """s = ⌈k/stride⌉, the number of tokens that the model emits."""
        return -(-self.hops // self.stride)

    @property
    def first_step(self) -> int:
        """ρ = k - (s-1)·stride, the number of hops of the first step."""
        return self.hops - (self.steps - 1) * self.stride

    @property
    def positions(self) -> int:
        """The longest prompt: the subject, k relations and s-1 emitted entities."""
        return self.hops + self.steps

    def hops_of_step(self, step: int) -> tuple[int, int]:
        """The hops (start, stop) that step number `step` takes: relations r_{start+1} .. r_stop.

        InputError unless step is one of 0..steps-1.
        """
        if not 0 <= step < self.steps:
            raise InputError(f"step {step} is not one of the steps 0..{self.steps - 1}")
        start = 0 if step == 0 else self.first_step + (step - 1) * self.stride
        return start, self.first_step + step * self.stride

    def outputs(self, entities: int, relations: int) -> int:
        """How many answers the read-out scores: N, or R·N with disjoint attributes."""
        return entities * relations if self.disjoint_attributes else entities
