"""T3c: a chain of thought that takes j hops at a time pays for j hops, whatever k is (fixed read-out).

A chain is honest if its i-th token is g of the first k_i letters of the word, 0 = k_0 < k_1 < … < k_s = k. Without
honesty nothing is claimed: a token may then carry any message.

**Trees**, for each step i+1 and K = k_{i+1}, with I = 1 + … + R^{K-2}, n = R^{K-1} and m·(I + n) <= N:

    B + m·(Σ_{i' <= i} R^{k_{i'}})·d·b >= R·log2 (N - mI)_{mn}

*Proof.* As T2c, with m roots and words of length K (the letters after them are fixed arbitrarily). The token of step
i+1 depends on g through B and the rows of the tokens before it: the root's and, for each i' <= i, those at the
R^{k_{i'}} nodes of that depth. Given B and the rows in the order of the steps, the chains can be replayed, so these
bits determine the answers. ∎

**Loops**: if some step takes j or more hops, T2c's loop bound with j in place of k holds, with m·d·b for m roots:

    B + m·d·b >= log2 (N-m)_{m(DE-1)} + D·log2 (N-mE)_{m(D-1)E} + (R-D)·log2 (N)_{mDE},        E <= D^{j-2}

*Proof.* Relation 0 fixes the roots. Let the step take letters k_i+1 .. k_{i+1}, and take the word
0^{k_{i+1}-|v|}·v·(anything), |v| <= j. The tokens before the step are all the root itself, so the step gives g_v(root)
from the root's row and B alone. ∎

An honest chain of s tokens for k hops has a step of at least ⌈k/s⌉ hops. So d·b >= (R^j - 1)·log2 N up to lower terms,
j = ⌈k/s⌉, for every such chain however it is spaced, where trees give about R^{k_{i+1}}/(R^{k_i} + …): T3b is optimal
up to constants.

**Learned or tied read-out**: the same step makes T2e's loops hold with j in place of k, by the same proof: the tokens
before are the root itself, which the family fixes beforehand, and the rows that decide are those of the roots and of
the M answers.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from bounds.enclosure import log2_falling
from bounds.lower.bound import Bound, check_sizes, empty
from bounds.lower.dichotomy import loop_ranges, most_tree_roots, nodes
from bounds.lower.frontier import BoundFamily, Range
from bounds.lower.information import check_readout
from bounds.lower.learned_readout import full_bound, loop_members, most_full_roots
from theory.definitions.fact_system import check_count
from theory.errors import InputError
from theory.statements.assumptions import HONEST, ONE_PASS
from theory.statements.inequalities import stands_on


def honest_chain(entities: int, relations: int, prefixes: Sequence[int], readout: str = "fixed") -> BoundFamily:
    """T3c for the chain whose tokens stand after k_1 < … < k_s = `prefixes` letters: loops, and trees.

    Trees are grown at every step if the read-out is fixed, only at the first (T2e's) if it is learned or tied.
    """
    _check_prefixes(entities, relations, prefixes)
    longest = max(after - before for before, after in pairwise((0, *prefixes)))
    loops = any_chain(entities, relations, longest, readout)
    if readout == "fixed":
        trees = tuple(_tree_range(entities, relations, prefixes, step) for step in range(len(prefixes)))
        return BoundFamily(loops.members, trees + loops.ranges)
    roots = most_full_roots(entities, relations, prefixes[0])
    if not roots:
        return loops
    first = full_bound(entities, relations, prefixes[0], roots, tied=readout == "tied")
    return BoundFamily((*loops.members, _on_chains(first, f"the first step takes {prefixes[0]} hops")))


def any_chain(entities: int, relations: int, step_hops: int, readout: str = "fixed") -> BoundFamily:
    """T3c for every honest chain in which some step takes at least `step_hops` hops: loops."""
    check_sizes(entities, relations, step_hops)
    check_readout(readout)
    step = f"some step of at least {step_hops} hops"
    nothing = empty("T3c", "no tree fits, or nothing is asked for")
    if readout == "fixed":
        ranges = [Range(_each_on_chains(r, step), r.last) for r in loop_ranges(entities, relations, step_hops)]
        return BoundFamily((nothing,), tuple(ranges))
    members = loop_members(entities, relations, step_hops, tied=readout == "tied")
    return BoundFamily((nothing, *(_on_chains(bound, step) for bound in members)))


def chain_bound(entities: int, relations: int, prefixes: Sequence[int], step: int, roots: int) -> Bound:
    """T3c by trees at step `step` (from 0), m = `roots`: B + m·(Σ R^{k_i})·d·b >= R·log2 (N - mI)_{mn}."""
    _check_prefixes(entities, relations, prefixes)
    check_count("step", step, at_least=0)
    check_count("roots", roots)
    if step >= len(prefixes):
        raise InputError(f"the chain has {len(prefixes)} steps, and step {step} (from 0) is none of them")
    hops = prefixes[step]
    if roots > (most := most_tree_roots(entities, relations, hops)):
        raise InputError(f"{roots} trees of depth {hops - 1} do not fit {entities} entities; at most {most} do")
    rows = roots * (1 + sum(relations**length for length in prefixes[:step]))
    inner, last = roots * nodes(relations, hops - 2), roots * relations ** (hops - 1)
    information = log2_falling(entities - inner, last, relations)
    shape = f"trees from m = {roots} roots at the step to {hops} letters"
    return Bound("T3c", rows, 1, information, "R·log2 (N - mI)_{mn}", stands_on("T3c", "fixed"), shape)


def evenly_spaced(hops: int, stride: int) -> tuple[int, ...]:
    """T3b's prefixes: an entity after every `stride` hops, what is left over taken first."""
    check_count("hops", hops)
    check_count("stride", stride)
    return tuple(range(hops - (-(-hops // stride) - 1) * stride, hops + 1, stride))


def _tree_range(entities: int, relations: int, prefixes: Sequence[int], step: int) -> Range:
    most = most_tree_roots(entities, relations, prefixes[step])
    return Range(lambda m: chain_bound(entities, relations, prefixes, step, m), most)


def _each_on_chains(bounds: Range, step: str) -> Callable[[int], Bound]:
    return lambda number: _on_chains(bounds.at(number), step)


def _on_chains(bound: Bound, step: str) -> Bound:
    """The same inequality, on T3c's assumptions."""
    on_chains = tuple(HONEST if each == ONE_PASS else each for each in bound.assumptions)
    return replace(bound, theorem="T3c", assumptions=on_chains, argument=f"{step}; {bound.argument}")


def _check_prefixes(entities: int, relations: int, prefixes: Sequence[int]) -> None:
    if not prefixes or any(after <= before for before, after in pairwise((0, *prefixes))):
        raise InputError(f"prefix lengths must be at least one and increase from 1, not {list(prefixes)}")
    check_sizes(entities, relations, prefixes[-1])
