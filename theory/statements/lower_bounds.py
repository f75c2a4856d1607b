"""The theorems that bound models from below (T1c, T1e, T2c, T2d, T3c, T8 .. T12); the lower halves of T2e, T13 and T14
stand with their constructions.

Their inequalities, with the assumptions of each, stand in `theory.statements.inequalities`. B is the number of bits
outside the subject table that may depend on the facts. All logarithms are to base 2.
"""

from __future__ import annotations

from theory.statements.assumptions import (
    BIJECTIONS,
    EXACT,
    FIXED,
    HONEST,
    MAPS,
    MATCHINGS,
    ONE_PASS,
    SINGLE_HOP,
    error_rate,
)
from theory.statements.inequalities import stands_on
from theory.statements.registry import Theorem

T1C = Theorem(
    "T1c",
    "Single hop, lower bounds",
    (BIJECTIONS, EXACT, SINGLE_HOP),
    "Universal models, in one pass: d·b >= R·log N, so that T1b's gap is exactly 0 when N = 2^p and b divides p. "
    "Every model: N·d·b + B >= R·log N!.",
    "Universal: the answers of a subject are a function of its row, and any of N^R tuples of answers occurs. Every "
    "model: the answers are a function of the N·d·b + B bits, and (N!)^R systems have different answers.",
)

T1E = Theorem(
    "T1e",
    "Width",
    stands_on("T1e", "width"),
    "A model whose W pre-activations carry b_h bits each has W·b_h >= log T_k: the widths of T1 and T2 are optimal up "
    "to b_h.",
    "e_x reaches the answers through the W pre-activations alone, and T_k answer vectors occur. The assumptions are "
    "needed: R hardmax heads, head r looking at x iff r_1 = r, select with no MLP at all; two blocks "
    "have twice the units, and a chain uses its own once a step.",
)

T2C = Theorem(
    "T2c",
    "Dichotomy, fixed read-out",
    (BIJECTIONS, EXACT, ONE_PASS, FIXED),
    "Trees: for m >= 1 with m(1 + R + .. + R^{k-1}) <= N, I = m(1 + .. + R^{k-2}) (0 for k = 1), n = m·R^{k-1}: B + "
    "m·d·b >= R·log (N-I)_n. Hence for R >= 2 and 1 <= m <= N/(2R^{k-1}): d·b + B/m >= R^k·log(N/2e), and d·b >= "
    "½R^k·log(N/2e) or B >= (N·R/8)·log(N/2e). Loops: for R >= 2, 1 <= D <= R, 1 <= E <= D^{k-2} (E = 1 if D = 1; D = "
    "1 if k = 1) and m·D·E <= N: B + m·d·b >= log (N-m)_{m(DE-1)} + D·log (N-mE)_{m(D-1)E} + (R-D)·log (N)_{mDE}, "
    "also where R^{k-1} exceeds N.",
    "Trees: take the systems in which all words of length below k lead from the m roots to distinct nodes: there are "
    "(N-m)_{m(R + .. + R^{k-1})}·((N-I)!)^R. With the roots' answers to all words of length k fixed, at most "
    "(N-m)_{m(R + .. + R^{k-1})}·((N-I-n)!)^R are left, and the bits must tell the rest apart. Loops: let relation 0 "
    "fix the roots, so that a word padded with 0 in front asks every shorter word. From each root grow a tree in "
    "breadth-first order by relations 0 .. D-1, the loop being the root's edge of relation 0, until E nodes have all "
    "D edges: m trees of D·E nodes, distinct in (N-m)_{m(DE-1)}·((N-mE)!)^D·(N!)^{R-D} systems. The answers determine "
    "all R edges out of these nodes and leave at most ((N-mDE)!)^R systems.",
)

T2D = Theorem(
    "T2d",
    "Universal models, k hops, fixed read-out",
    stands_on("T2d", "universal"),
    "d·b >= log T_k(N, R), T_k the number of answer vectors (g_w(x))_w. T_k <= Σ_j a_{k-1}(j)·((N)_j)^R with a_0(1) = "
    "1, a_{t+1}(l) = Σ_j a_t(j)·M(j, l), M(j, l) = (1/l!)·Σ_i (-1)^{l-i}·C(l, i)·((i)_j)^R; for R, N >= 2 equality "
    "holds exactly when N >= 1 + max(2R, 1 + ⌊(R+1)²/4⌋) (k = 2) or N >= 1 + max(R + .. + R^{k-2} + 2R^{k-1}, "
    "R(R^{k-1} - R + 1)) (k >= 3). R^k(log N - 1) <= R·log (N)_{R^{k-1}} <= "
    "log T_k <= R^k·log N for R >= 2 and 1 + .. + R^k <= N: T2 is optimal up to 1 + o(1).",
    "A subject's answers are a function of its row, and T_k of them occur. They are counted level by level: the j "
    "nodes reached by words of one length are mapped by R partial injections onto l nodes in M(j, l) ways up to names.",
)

T3C = Theorem(
    "T3c",
    "Chain of thought, lower bound",
    (BIJECTIONS, EXACT, HONEST),
    "The i-th token answers the prefix of length k_i. Fixed read-out: for each i with K = k_{i+1}, n = R^{K-1}, I = 1 "
    "+ .. + R^{K-2} (0 for K = 1) and m(I + n) <= N: B + m·(Σ_{i' <= i} R^{k_{i'}})·d·b >= R·log (N-mI)_{mn}, the sum "
    "beginning with k_0 = 0. And of s tokens some step takes j := ⌈k/s⌉ hops or more, so that T2c's loops hold with j "
    "in place of k: d·b >= (R^j - 1)·log N up to lower terms for every honest chain of s tokens, however it is "
    "spaced. T3b with stride j emits s = ⌈k/j⌉ tokens, and is optimal up to constants where ⌈k/s⌉ = j. With a learned "
    "or tied read-out T2e's loops hold likewise. Without honesty nothing is claimed.",
    "The tokens emitted up to step i name at most m·Σ R^{k_i'} entities for all words; their rows and B bits, "
    "replayed in the order of the steps, determine all answers to words of length K from the roots: T2c's count. "
    "Loops: relation 0 fixes the roots, and in the word 0..0 v, |v| <= j, with v at the end of the long step, every "
    "token before it is the root itself; so the step answers v from the root's row and B alone.",
)

T8 = Theorem(
    "T8",
    "At an error rate",
    (BIJECTIONS, error_rate()),
    "One hop. Universal, in one pass: d·b >= R(log N - h(ε) - ε·log(N-1)). Every model: N·d·b + B >= R(log N! - "
    "N·h(ε) - N·ε·log(N-1)), h the binary entropy.",
    "Fano's inequality for each answer given the model's, and subadditivity of entropy; h(ε) + ε·log(N-1) is concave, "
    "so that an average over all queries is enough, and increasing up to ε = 1 - 1/N, beyond which guessing does.",
)

T9 = Theorem(
    "T9",
    "Involutions",
    (MATCHINGS, EXACT, ONE_PASS, FIXED),
    "For m roots, T = 1 + R(1 + (R-1) + .. + (R-1)^{k-2}) (1 for k = 1), n = (R-1)^{k-1} and m(T + n) <= N: B + m·d·b "
    ">= R·log (N-mT)_{mn}, at m = 1 about R(R-1)^{k-1}·log N.",
    "T2c's count over reduced words (a relation repeated at once leads back). Take the systems in which the m·T nodes "
    "of the trees are distinct and the edges asked leave them. In each relation every node of a tree is matched by an "
    "edge of the tree or to one of (N-mT)_{mn} choices of outside nodes, and the rest in c = (N-mT-mn-1)!! ways: "
    "(N-m)_{m(T-1)}·((N-mT)_{mn}·c)^R systems, of which at most (N-m)_{m(T-1)}·c^R share their answers.",
)

T10 = Theorem(
    "T10",
    "Arbitrary maps",
    (MAPS, EXACT),
    "T1, T1b, T1d, T2, T2b, T3, T3b (fixed read-out), T4 and T6 hold unchanged, with the same weights as functions "
    "of the answers. T2e does not: its read-out holds inverses. Lower bounds, one pass: let 1 + R + .. + R^{k-1} <= "
    "N. Universal: T_k = N^{R^k}, so that d·b >= R^k·log N, and T2's gap is exactly 0 when N = 2^p and b divides p. "
    "Any model, for m roots with m(1 + R + .. + R^{k-1}) <= N and answers to be told apart q, 2 <= q <= N: fixed "
    "read-out B + m·d·b >= m·R^k·log N, learned B + (m+q)·d·b >= m·R^k·log q, tied B + m·d·b >= m·R^k·log m. There "
    "is no meeting in the middle: at m = q the learned bound is d·b >= ½R^k·log m.",
    "1. The proofs of T1 .. T4 and T6 use of g_r that it has one value at each entity, and nothing else: rows hold "
    "the codes of g_w(x), read-outs the codes of all N entities. "
    "2. Let m roots have trees whose m(1 + .. + R^{k-1}) nodes, reached by words of length below k, are distinct. "
    "The edges out of the m·R^{k-1} nodes of the last level are m·R^k different entries (r, u) of the table of "
    "answers, and none of them is an edge of a tree. A map may take any value there, whatever it is elsewhere. So "
    "the m·R^k answers of the roots to words of length k take all N^{m·R^k} vectors of values, and all q^{m·R^k} "
    "into q answers fixed beforehand. Bijections cannot: two edges of one relation have different ends. 3. Fixed "
    "read-out: these answers are a function of m rows and B bits; universal: m = 1 and B = 0. 4. Learned: the "
    "largest logit lies among those of the q answers, so that m rows, the q rows u_a of these and B bits determine "
    "the answers. Tied: let the q = m answers be the roots themselves; their rows are the same.",
)

T11 = Theorem(
    "T11",
    "Total information at k hops",
    (BIJECTIONS, EXACT),
    "For every k and R >= 2, any depth, with or without a chain: N·d·b + B >= log ((N!)^{2R-2} / Σ_λ z_λ^{R-2}), the "
    "sum over the partitions λ of N, z_λ the order of the centraliser of a permutation of cycle type λ; 2N·d·b + B "
    "with a learned read-out, N·d·b + B with a tied one. The right side is R·log N! - log p(N) for R = 2, p(N) the "
    "number of partitions, at least that for every R, and R·log N! - o(1) as N grows for R >= 3. Attained at N = 2, "
    "k = 2.",
    "1. The N·d·b + B bits determine the table of all answers to words of length k. 2. Let g and g' have the same "
    "table. Words 0..0 s, which differ in the last letter, give g_s·g_0^{k-1} = g'_s·g'_0^{k-1}, so that c = "
    "g'_s⁻¹·g_s is the same for all s, and h_s := g_s·g_0⁻¹ = g'_s·g'_0⁻¹. Words s 0..0 give g_0^{k-1}·g_s = "
    "g'_0^{k-1}·g'_s, so that g'_s = z·g_s with one z for all s. Then h_s = g'_s·g'_0⁻¹ = z·h_s·z⁻¹: z commutes with "
    "h_1 .. h_{R-1}, and g' = z·g is known from z. 3. So at most |C(h_1 .. h_{R-1})| systems share the table of g, "
    "and there are at least Σ_g 1/|C(h(g))| tables, which is at least (N!)^R / E|C| by Jensen's inequality, g "
    "uniform. 4. Then the h_s are independent and uniform, and E|C| = Σ_z (|C(z)|/N!)^{R-1} = Σ_λ "
    "(N!/z_λ)·(z_λ/N!)^{R-1} = Σ_λ (z_λ/N!)^{R-2}.",
)

T12 = Theorem(
    "T12",
    "Precision is paid in width",
    stands_on("T12", "d coordinates"),
    "Subject entries may be reals of any precision. One coordinate (d = 1): W >= (N^R - 1)/(R(N-1)) - 1, so that "
    "T1d's look-up, of width below 6N^{R-1}, is optimal within a factor of about 6R. In general, for d <= R·W and d "
    "<= R·N²/2: d·log(e²R²WN²/2d²) >= R·log N; so the 2R coordinates of T1b's circle are optimal up to a constant, as "
    "long as the width is polynomial in N and R at most polynomial in N. (For d > R·W take W = ⌈d/R⌉: a unit that "
    "writes nothing changes nothing.)",
    "One coordinate: for each r the pre-activations are affine in e, so that the output is affine between at most W "
    "kinks; there the answer is that of the upper envelope of N lines, which changes at most N - 1 times. Move the "
    "biases of the read-out so little that no row changes its answer, and so that no two logits are equal at a kink: "
    "the output is continuous, so the answer does not change there. So at most R(W+1)(N-1) changes along the line, "
    "R(W+1)(N-1) + 1 vectors of answers, and N^R occur. (Shifts, biases and a residual stream change nothing.) In "
    "general: the R·W hyperplanes on which a pre-activation is 0 cut the space of rows into at most (eRW/d)^d cells; "
    "in each the logits are affine, and the R·N(N-1)/2 hyperplanes on which two are equal cut it into at most "
    "(eRN²/2d)^d, in each of which the answers do not change. A row on a face can be moved into an open cell, for "
    "strict answers survive. N^R <= (e²R²WN²/2d²)^d.",
)
