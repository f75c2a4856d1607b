"""The theorems that have constructions (T1, T1b, T1d, T2, T2b, T2e, T3, T3b, T4, T6) or follow from them (T5, T7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy

from theory.statements.assumptions import (
    BIJECTIONS,
    BITS,
    BITS_OR_REALS,
    DEEP,
    DISJOINT,
    EMBEDDINGS_FIXED,
    EVERY_JTH,
    EXACT,
    FIXED,
    HARDMAX,
    HARDMAX_OR_SOFTMAX,
    LEARNED_OR_TIED,
    NOISE,
    ONE_PASS,
    OWN_TOKENS,
    UNIFORM_ATTENTION,
    UNIVERSAL,
)
from theory.statements.registry import Construction, Theorem, single_block_parameters
from theory.statements.symbols import N, R, a, b, c, e, g, h, i, j, k, l, m, p, q, rho, s, t, u

half_j, half_rho = sympy.ceiling(j / 2), sympy.ceiling(rho / 2)
lookup_width = 2 * N ** (R - 1) - 1 + 2 * (N**R - N) / (N - 1)
needed = c + u + 1
middle = sympy.Max(R**h * p, needed)
tied = sympy.Max((R**h + R**g) * p, needed)
split_entries = R**g * (sympy.ceiling(R / 2) + m) * p
strided = (R**j + e * R**rho) * q
strided_learned = (R**half_j + e * R**half_rho) * p
deep = R * p + c + u + 1


def _uniform(name: str, dimension: Any, width: Any, margin: int, **more: Any) -> Construction:
    """Uniform attention over (x, r) with full W_V and W_O."""
    count = single_block_parameters(dimension, width, positions=2, heads=1, query=0, value=dimension)
    return Construction(name, dimension, width, count, margin, universal=True, **more)


def _deep_parameters() -> sympy.Expr:
    """T4: k blocks A_i of width 2R·p with 1 + k·m heads in all, k - 1 blocks B_i of width N, k + 1 positions."""
    select = k * (4 * R * p * deep + 2 * R * p + deep) + (1 + k * m) * deep * (4 + 2 * R * p)
    lookup = (k - 1) * (2 * N * deep + N + deep)
    return (N + R + k + 1) * deep + select + lookup + (deep + 1) * N


T1 = Theorem(
    "T1",
    "Single hop with signs",
    (BIJECTIONS, UNIVERSAL, UNIFORM_ATTENTION),
    "A single-layer transformer with d = R·p, MLP width R·p and subject entries -1 and +1 answers all N·R queries "
    "with margin at least 2, with or without a residual stream.",
    "Entity codes c(a) in {-1,+1}^p are distinct. Subject x is the R blocks c(g_0(x)) .. c(g_{R-1}(x)); relation r is "
    "+1 on block r and -1 elsewhere. Twice the attention mean is h = e_x + e_r. On block r, h = c + 1 >= 0; elsewhere "
    "h = c - 1 <= 0: ReLU keeps c + 1 on block r and closes the others. W_out adds the blocks and b_out = -1, so the "
    "output is c(g_r(x)) exactly, and <c(a), c(a')> <= p - 2 for a ≠ a'. With the residual stream h = e_x + 2e_r is c "
    "+ 2 > 0 on block r, c - 2 < 0 elsewhere; the MLP writes 4c, over a stream of at most 3 in absolute value: every "
    "coordinate keeps the sign of c and is at least 1, so two codes that differ in a coordinate differ by at least 2 "
    "in their logits.",
    (
        _uniform("plain", R * p, R * p, 2, superposed="relations", noise=1 / R),
        _uniform("residual", R * p, R * p, 2, superposed="relations", noise=sympy.Rational(1, 5)),
    ),
)

T1B = Theorem(
    "T1b",
    "Single hop at any precision",
    (BIJECTIONS, UNIVERSAL, UNIFORM_ATTENTION, BITS_OR_REALS),
    "With b-bit subject entries d = width = R·⌈p/b⌉ and margin at least 1: at b >= p this is d = R, so log N is the "
    "price of precision, not of geometry. Two real coordinates a relation, on a circle, do as well, with margin 1 - "
    "cos(2π/N).",
    "Blocks are base-2^b digits 0 <= v <= D = 2^b - 1; relation r adds 0 to block r and -D to the others: ReLU(v) = "
    "v, ReLU(v - D) = 0. The blocks add up to the digit vector of the answer; the logits 2<c(a), h> - |c(a)|² = |h|² "
    "- |h - c(a)|² are largest at h = c(a), by the least squared distance of two distinct integer vectors, 1. On the "
    "circle the codes are (cos 2πa/N, sin 2πa/N), e_r is +1 on block r and -1 elsewhere, b_out = -1, and the logits "
    "are cos(2π(a - a')/N), of which the largest for a' ≠ a is cos(2π/N).",
    (_uniform("digits", R * q, R * q, 1, superposed="relations"), _uniform("circle", 2 * R, 2 * R, 0)),
)

T1D = Theorem(
    "T1d",
    "The exact minimum of the dimension",
    (BIJECTIONS, UNIVERSAL, UNIFORM_ATTENTION, BITS),
    "Universal models reach d = ⌈R·log2 N / b⌉ for all N, R, b, at width 2N^{R-1} - 1 + 2(N + .. + N^{R-1}) (lookup); "
    "and d = ⌈R·p/b⌉ at width at most 2^b·(⌈R·p/b⌉ + R - 1) (concatenated). By T1c no universal model has a smaller d "
    "than the first.",
    "Lookup: the R answers of x are one index I = Σ g_r(x)·N^r < N^R in d digits; relation r shifts it by r·N^R; the "
    "answer is a function of s = r·N^R + I on R·N^R integers, and a function on integers is the sum of its second "
    "differences times ReLU(s - j). These vanish except where it bends: s mod N (relation 0) bends twice at each of "
    "N^{R-1} - 1 wraps; ⌊s/N^r⌋ mod N bends twice at each of its N^{R-r} - 1 steps; each of the R - 1 changes of "
    "relation costs two more, and the first slope one. Concatenated: cut the string of R·p bits into b-bit digits; a "
    "digit with bits of n relations is shifted by t·2^b for the t-th of them and by -2^b for the others, and its "
    "contribution to the answer is a function on 0..n·2^b - 1 with value 0 at 0 and below. The numbers n add up to at "
    "most d + R - 1, for each of the R - 1 borders falls into one digit.",
    (
        _uniform("lookup", i, lookup_width, 1),
        _uniform("concatenated", t, 2**b * (t + R - 1), 1, width_is_bound=True, superposed="relations"),
    ),
)

T2 = Theorem(
    "T2",
    "k hops in one pass",
    (BIJECTIONS, UNIVERSAL, HARDMAX, BITS),
    "A single-layer transformer with d = width = R^k·⌈p/b⌉ answers all N·R^k queries in one pass with margin at least "
    "1.",
    "One block of digits c(g_w(x)) for each word w. Head i reads relation r_i at position i and writes -2^b·(r_i - "
    "w_i)² on the block of every w, linear in the code (r, r²). A block is closed iff some relation differs, because "
    "its digits are at most 2^b - 1; the open block is copied, and read out by distance. Positions stand in "
    "coordinates that relation tokens leave free: place = t and height = -t², at position 0 a height so low that the "
    "subject is read by head 0 alone.",
    (
        Construction(
            "direct",
            R**k * q,
            R**k * q,
            single_block_parameters(R**k * q, R**k * q, positions=k + 1, heads=1 + k * m, query=2, value=R**k * q),
            1,
            universal=True,
            superposed="words",
            noise=sympy.Rational(1, 2),
        ),
    ),
)

T2B = Theorem(
    "T2b",
    "The rival: an associative memory",
    (BIJECTIONS, FIXED, HARDMAX, EMBEDDINGS_FIXED),
    "A key-value memory with one hidden unit a query, width N·R^k, answers all queries with d = p + k·⌈log2 R⌉ and "
    "margin 2.",
    "The heads place the sign codes of x, r_1, .., r_k side by side, h in {-1,+1}^D. The unit with key w in {-1,+1}^D "
    "and bias 1 - D is ReLU(<w, h> - D + 1) = 1 if h = w, and 0 otherwise, since then <w, h> <= D - 2. It writes the "
    "code of its answer.",
    (
        Construction(
            "memory",
            p + k * l,
            N * R**k,
            single_block_parameters(
                p + k * l, N * R**k, positions=k + 1, heads=1 + k * m, query=2, value=sympy.Max(p, l)
            ),
            2,
            universal=False,
        ),
    ),
)

T2E = Theorem(
    "T2e",
    "Meet in the middle: a learned read-out halves the exponent",
    (BIJECTIONS, LEARNED_OR_TIED, HARDMAX),
    "With entries -1, 0 and +1 in the subject table and in the read-out, d = R^⌈k/2⌉·p (at least the 4 coordinates or "
    "fewer that relation tokens need) and width 2R^k·p answer all queries in one pass with margin 2. Tied: d = "
    "(R^⌈k/2⌉ + R^⌊k/2⌋)·p. Split, for odd k: d = R^⌊k/2⌋·(⌈R/2⌉ + [R > 1])·p, the lower bound's leading term up to a "
    "factor 1 + O(1/R). Lower bounds, any model that answers in one pass, d·b bits a row of the read-out, B bits "
    "elsewhere: for k = 2f+1 and M(1 + 2(R + .. + R^f)) <= N, B + 2M·d·b >= R^{f+1}·log M!; for k = 2f+2, M = R·m and "
    "2m(R + .. + R^{f+1}) <= N, B + (m+M)·d·b >= R^{f+1}·log M!; tied, M·d·b in place of 2M·d·b and of (m+M)·d·b. So "
    "B = Ω(N·R·log(N/R^{k/2})) or d·b = Ω(R^⌈k/2⌉·log(N/R^{k/2})).",
    "Upper: a word is u then v with |u| = ⌈k/2⌉. e_x has blocks c(g_u(x)), the row of a has blocks c(g_v⁻¹(a)). The "
    "MLP copies block u to the place of v: the sign arrives at s = c + 3J - 3V·mismatch (J the number of v among V = "
    "R^⌊k/2⌋), and the window -ReLU(s-3j+2) + 2ReLU(s-3j+1) - 2ReLU(s-3j-1) + ReLU(s-3j-2) is c if j = J and the "
    "mismatch is 0, and 0 otherwise. The logit of a is <c(g_v⁻¹(a)), c(g_u(x))>, p iff a = g_v(g_u(x)). Split: a word "
    "is u r v with |u| = |v| = ⌊k/2⌋; for r < ⌈R/2⌉ the row of x has a block for u r and that of a one for v, for the "
    "other r blocks for u and for r v. A word opens no block of the first family if r >= ⌈R/2⌉, and no window of the "
    "second if r < ⌈R/2⌉, where J is negative. Lower, odd: fix disjoint forward trees of depth f from M roots x_i and "
    "backward trees of depth f to M answers a_i; relation r sends the forward leaf (i, w) to the backward leaf "
    "(σ_{r,w}(i), w), the σ_{r,w} in S_M free. Each relation is a partial injection, so it extends to a permutation. "
    "The query (x_i, w r w) has the answer a_{σ(i)}; the argmax lies among a_1 .. a_M, so it is known from B bits, M "
    "rows of e and M rows of u; all (M!)^{R^{f+1}} tables occur. A root has no edge into it and an answer none out of "
    "it, so x_i and a_i may be one entity. Even: m roots with forward depth f+1, M = R·m answers with backward depth "
    "f; relation r sends the leaves (i, u_1 w) to the leaves (σ_{r,w}(i, u_1), w). Tied: only the rows of distinct "
    "entities count.",
    (
        Construction(
            "untied",
            middle,
            2 * R**k * p,
            single_block_parameters(middle, 2 * R**k * p, positions=k + 1, heads=1 + k * m, query=2, value=R**h * p),
            2,
            universal=False,
            readout="learned",
        ),
        Construction(
            "tied",
            tied,
            2 * R**k * p,
            single_block_parameters(tied, 2 * R**k * p, positions=k + 1, heads=1 + k * m, query=2, value=R**h * p),
            2,
            universal=False,
            readout="tied",
        ),
        Construction(
            "split",
            sympy.Max(split_entries, needed),
            2 * R**k * p,
            single_block_parameters(
                sympy.Max(split_entries, needed),
                2 * R**k * p,
                positions=k + 1,
                heads=1 + k * m,
                query=2,
                value=split_entries,
            ),
            2,
            universal=False,
            readout="learned",
        ),
    ),
)

T3 = Theorem(
    "T3",
    "Chain of thought",
    (BIJECTIONS, UNIVERSAL, HARDMAX_OR_SOFTMAX, OWN_TOKENS, BITS),
    "For every k a single-layer transformer with d = R·⌈p/b⌉ + 2 and width R·⌈p/b⌉ recalls all N·R^k chains with "
    "margin at least 1 (hardmax); softmax at β = ln(9(2^{b+1} - 1)) keeps a positive margin whatever N, R, k. With "
    "one-bit position codes d = R·⌈p/b⌉ + 2⌈log2 2k⌉, and β = ½·ln(8(2k-1)·spread).",
    "Positions (t, t²). The relation head scores τ·(2st - t²) with s = τ - k + 1, linear in (τ, τ²) and (t, t²): "
    "largest at the relation of the step, by at least τ. The entity head scores M·t plus the sum of the block "
    "coordinates: relation tokens have so low a sum that the subject wins in the first step, and the last emitted "
    "entity wins afterwards. The MLP is T1b's selector. One step is right for every entity, relation and position, so "
    "by induction all chains are. Softmax: each head leaks at most 2x^τ/(1 - x^τ), x = exp(-β), of the spread of the "
    "block coordinates; together less than 1/2, while open digits are 1 apart and closed blocks at -1 or below.",
    (
        Construction(
            "parabola",
            R * q + 2,
            R * q,
            single_block_parameters(R * q + 2, R * q, positions=2 * k, heads=2, query=2, value=R * q),
            1,
            universal=True,
            superposed="relations",
        ),
        Construction(
            "signs",
            R * q + 2 * a,
            R * q,
            single_block_parameters(R * q + 2 * a, R * q, positions=2 * k, heads=2, query=a + 1, value=R * q),
            1,
            universal=True,
            superposed="relations",
        ),
    ),
)

T3B = Theorem(
    "T3b",
    "Steps against dimension",
    (BIJECTIONS, HARDMAX, OWN_TOKENS, EVERY_JTH),
    "Fixed read-out: width (R^j + [ρ ≠ j]·R^ρ)·⌈p/b⌉ and d = width + 4, margin at least 1. Learned read-out: d = "
    "(R^⌈j/2⌉ + [ρ ≠ j]·R^⌈ρ/2⌉)·p + 4, width 2(R^j + [ρ ≠ j]·R^ρ)·p, margin 2: two hops a token for the dimension of "
    "one.",
    "T2's (or T2e's) blocks for the words of a step. Head m of j reads position ρ + (τ-k-1)j + m by T3's scores; in a "
    "shorter first step the relations are right-aligned, and the heads left over read the subject, whose relation "
    "code is 0. Relations are numbered from 1, so that 0 is one more value to match: blocks of the other length are "
    "closed.",
    (
        Construction(
            "fixed",
            strided + 4,
            strided,
            single_block_parameters(strided + 4, strided, positions=k + s, heads=1 + j, query=2, value=strided),
            1,
            universal=True,
        ),
        Construction(
            "learned",
            strided_learned + 4,
            2 * (R**j + e * R**rho) * p,
            single_block_parameters(
                strided_learned + 4,
                2 * (R**j + e * R**rho) * p,
                positions=k + s,
                heads=1 + j,
                query=2,
                value=strided_learned,
            ),
            2,
            universal=False,
            readout="learned",
        ),
    ),
)

T4 = Theorem(
    "T4",
    "Depth instead of dimension",
    (BIJECTIONS, FIXED, HARDMAX, DEEP),
    "d = R·p + at most 4, widths 2R·p and N, margin 2, for every k. For k >= 2, B = Θ(N·R·log N) bits lie outside "
    "the subject table: one look-up of N·R·p bits, in k - 1 copies for k >= 3; at k = 1, B = 0.",
    "Block A_i adds relation r_i's mismatches to the blocks; two units an entry v, ReLU(v + 1) and ReLU(-v - 1), "
    "erase the state (their difference less 1 is v) and write the code S of the open block (the first is c + 1 there, "
    "0 elsewhere). Block B_i has a unit ReLU(<c(a), S> - p + 1) = [S = c(a)] for each entity: it erases S and writes "
    "the row of a. A_k leaves c(answer).",
    (
        Construction(
            "deep",
            deep,
            sympy.Max(2 * R * p, N * sympy.Min(1, k - 1)),
            _deep_parameters(),
            2,
            universal=False,
            superposed="relations",
        ),
    ),
)

T6 = Theorem(
    "T6",
    "Disjoint attributes need no selector",
    (BIJECTIONS, DISJOINT, UNIVERSAL, UNIFORM_ATTENTION),
    "No MLP: d = R·p + [R > 1] and a linear read-out answer all N·R queries with margin 2.",
    "The last coordinate holds 2r; the read-out of attribute a of relation r' is c(a) on block r', 4r' there, bias "
    "-4r'². Its logit is <c(a), c(g_r'(x))> + 4r² - 4(r - r')²: at most 4r² + p - 4 for r' ≠ r, at most 4r² + p - 2 "
    "for another attribute of r.",
    (
        Construction(
            "linear",
            R * p + m,
            sympy.Integer(0),
            single_block_parameters(
                R * p + m, sympy.Integer(0), positions=2, heads=1, query=0, value=R * p + m, answers=R * N
            ),
            2,
            universal=True,
            superposed="relations",
        ),
    ),
)


T13 = Theorem(
    "T13",
    "Noise replaces bits",
    (BIJECTIONS, EXACT, ONE_PASS, UNIVERSAL, NOISE),
    "A universal model with rows in [0, A]^d that answers rightly under every perturbation of a row below δ in each "
    "coordinate has d·log(1 + ⌊A/2δ⌋) >= log T_k. T2 survives all noise below 1/2, at margin 1 - 2δ; so does T1b, at "
    "its own size, once its gates are shifted from -(2^b - 1) to -2^b (shifted); there A = 2^b - 1, the left side is "
    "d·b at δ = 1/2, and equality holds where T2's gap is 0 (N = 2^p, b divides p; k = 1, or any maps). T1 (plain) "
    "survives all noise below 1/R, for its closed gates stand at 0, and T1 (residual) all below 1/5. Any model, "
    "chains and depth included, that answers rightly when every row may be off at once: N·d·log(1 + ⌊A/2δ⌋) + B >= "
    "log ((N!)^{2R-2} / Σ_λ z_λ^{R-2}), and an honest chain with a fixed read-out has T3c's bounds with log(1 + "
    "⌊A/2δ⌋) for b.",
    "Cut [0, A] into 1 + ⌊A/2δ⌋ half-open pieces of length 2δ. Two rows whose coordinates lie in the same pieces have "
    "a common perturbation, their mean, which is less than δ from both; the model cannot tell them apart there, and "
    "answers rightly: so the rows' pieces tell the answers of subjects apart, and T_k of them occur. The same of "
    "whole tables: each count of T11 and T3c uses of a row that it is one of 2^{d·b}, and of two systems with the "
    "same rows that they have the same answers; pieces do for rows. (The first bound is false of chains: T3's d does "
    "not grow with k, nor do errors add up, for every step is read out.) T2 and the shifted gates: a closed entry is "
    "at most v - 2^b + δ < 0, whatever the digit v <= 2^b - 1; an open one passes ReLU(v + η), within δ of v. So the "
    "output is off by less than δ in each coordinate, and two codes that differ by Δ in one leave Σ (Δ² - 2δ|Δ|) >= 1 "
    "- 2δ between their logits. T2's heads read the noisy row too, in the coordinates of place and height; entries in "
    "[-1/2, 2^b - 1/2] leave every head a gap of at least 1/2. T1, plain: where c = +1 the open gate passes 2 + η and "
    "closed ones add, at most δ each; where c = -1 the output is at most -1 + R·δ. Residual: no gate opens or closes, "
    "and the output, at least 1 on the side of c, moves by at most 4δ through the MLP and δ in the stream.",
    (_uniform("shifted", R * q, R * q, 1, superposed="relations", noise=sympy.Rational(1, 2)),),
)


def _those(has: Callable[[Construction], bool]) -> str:
    """The theorems with constructions that have a property, each with their names where it is not all of them."""
    found = []
    for theorem in (T1, T1B, T1D, T2, T2B, T2E, T3, T3B, T4, T6, T13):
        names = [each.name for each in theorem.constructions if has(each)]
        every = len(names) == len(theorem.constructions)
        if names:
            found.append(theorem.identifier if every else f"{theorem.identifier} ({', '.join(names)})")
    return ", ".join(found)


T5 = Theorem(
    "T5",
    "Transfer",
    (BIJECTIONS,),
    f"{_those(lambda each: each.universal)} are universal: swap the subject table for another system's, with "
    "everything else frozen, and every query of the other system is answered.",
    "Only the entity rows of W_E depend on the facts, so the model after the swap is the one built for the other "
    "system.",
)

T7 = Theorem(
    "T7",
    "Subject rows are superpositions",
    (BIJECTIONS,),
    f"{_those(lambda each: each.superposed == 'relations')}: e_x = Σ_r A_r·c(g_r(x)) + constant; "
    f"{_those(lambda each: each.superposed == 'words')}: e_x = Σ_w A_w·c(g_w(x)) + constant, c the sign code. So the "
    "linear read-out has R² = 1.",
    "Each block of the row is the code of one answer, and digits in base 2^b are linear in the signs of their bits. "
    "(The points of T1b's circle are not: at N = 4, R = 1 their R² is 1/2.)",
)
