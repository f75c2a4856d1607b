"""Lemmas on what the hidden units compute: gates that open one block, windows, the AND unit, select and erase, look-up.

Each holds for all real (or all integer) inputs and all sizes. Uses `theory.lemmas.proving`; collected in
`theory.lemmas.collection`.
"""

from __future__ import annotations

from collections.abc import Callable

import z3

from theory.lemmas.proving import Proof, Term, all_of, between, by_invariant, by_z3, lemma, relu


@lemma("T1.gate", "z3", false={"shift": z3.Q(99, 100)})
def sign_gate(shift: Term = 1) -> Proof:
    """For all real c in [-1,1], ReLU(c - 1) = 0 and ReLU(c + 1) = c + 1 (so too for T1b's circle)."""
    c = z3.Real("c")
    return by_z3(z3.And(relu(c - shift) == 0, relu(c + shift) == c + shift), between(-1, c, 1))


@lemma("T1.residual-gate", "z3", false={"shift": 1})
def residual_gate(shift: Term = 2) -> Proof:
    """For all real c in [-1,1], c - 2 < 0 < c + 2, so that ReLU(c - 2) = 0 and ReLU(c + 2) = c + 2."""
    c = z3.Real("c")
    opened = z3.And(c + shift > 0, relu(c + shift) == c + shift)
    return by_z3(z3.And(opened, c - shift < 0, relu(c - shift) == 0), between(-1, c, 1))


@lemma("T1.residual-stream", "z3", false={"scale": 3})
def residual_stream(scale: Term = 4) -> Proof:
    """For all c = ±1, 4·ReLU(c + 2) - 8 = 4c; and with every real n, |n| <= 3, added it keeps its sign, |4c + n| >= 1.
    The stream e_x + 2e_r under it is such an n."""
    c, entry, stream = z3.Reals("c entry n")
    written = scale * relu(c + 2) - 2 * scale
    sign = z3.Or(c == 1, c == -1)
    return all_of(
        {
            "written": by_z3(written == scale * c, sign),
            "sum": by_z3(c * (scale * c + stream) >= 1, sign, between(-3, stream, 3)),
            "stream": by_z3(z3.And(between(-3, entry + 2, 3), between(-3, entry - 2, 3)), between(-1, entry, 1)),
        }
    )


@lemma("T1.one-open-block", "z3", false={"lowest_opening": lambda low: -low - z3.Q(1, 100)})
def one_open_block(lowest_opening: Callable[[Term], Term] = lambda low: -low) -> Proof:
    """For any number of blocks with real entries v_i in [low, high], Σ_i ReLU(v_i + shift_i) = v_r + o if the shift is
    o >= -low on block r and at most -high on every other.

    T1: [-1,1], o = 1, shift -1. T1b: [0,D], o = 0, shift -D. T2, T3: [0,B-1], o = 0, shift -B·mismatch <= -B.
    """
    low, high, opening, total = z3.Reals("low high o total")
    block, chosen = z3.Ints("i r")
    value = z3.Function("v", z3.IntSort(), z3.RealSort())
    closing = z3.Function("shift", z3.IntSort(), z3.RealSort())
    shift = z3.If(block == chosen, opening, closing(block))
    return by_invariant(
        z3.And(total == z3.If(chosen < block, value(chosen) + opening, 0), block >= 0),
        [(total, z3.RealVal(0), total + relu(value(block) + shift)), (block, z3.IntVal(0), block + 1)],
        z3.Implies(chosen < block, total == value(chosen) + opening),
        always=[chosen >= 0, opening >= lowest_opening(low)],
        each_step=[between(low, value(block), high), closing(block) <= -high],
    )


@lemma("T1b.gate", "z3", false={"penalty": lambda largest: largest - 1})
def digit_gate(penalty: Callable[[Term], Term] = lambda largest: largest) -> Proof:
    """For all reals D >= 0 and 0 <= t <= D, ReLU(t) = t and ReLU(t - D) = 0."""
    t, largest = z3.Reals("t D")
    return by_z3(z3.And(relu(t) == t, relu(t - penalty(largest)) == 0), between(0, t, largest))


@lemma("T13.gate", "z3", false={"closing": lambda base: base - 1})
def noisy_gate(closing: Callable[[Term], Term] = lambda base: base) -> Proof:
    """For all reals B, 0 <= v <= B - 1 and |η| <= 1/2: ReLU(v + η) is within |η| of v, and ReLU(v + η - B) = 0."""
    v, noise, base = z3.Reals("v η B")
    size = z3.If(noise >= 0, noise, -noise)
    opened = relu(v + noise)
    known = [between(0, v, base - 1), between(z3.Q(-1, 2), noise, z3.Q(1, 2))]
    return by_z3(
        z3.And(opened - v <= size, v - opened <= size, relu(v + noise - closing(base)) == 0),
        *known,
    )


@lemma("T2.mismatch", "z3", false={"linear": lambda expected: -expected})
def mismatch(linear: Callable[[Term], Term] = lambda expected: -2 * expected) -> Proof:
    """For all integers z and e, (z - e)² = -2e·z + z² + e² is linear in (z, z²), and (1 - 2e)·z + e² in z alone for z
    in {0,1}; it is 0 if z = e and at least 1 otherwise."""
    z, expected = z3.Ints("z e")
    square = (z - expected) * (z - expected)
    short = (1 + linear(expected)) * z + expected * expected
    return all_of(
        {
            "two coordinates": by_z3(linear(expected) * z + z * z + expected * expected == square),
            "one coordinate": by_z3(short == square, z3.Or(z == 0, z == 1)),
            "size": by_z3(z3.If(z == expected, square == 0, square >= 1)),
        }
    )


@lemma("T2.mismatch-of-words", "z3", false={"gap": 2})
def mismatch_of_words(gap: Term = 1) -> Proof:
    """For any number of slots the mismatches add up to 0 if every slot holds what is expected, and to at least 1
    otherwise."""
    total, differing, z, expected = z3.Ints("total differing z e")
    return by_invariant(
        z3.And(total >= differing, differing >= 0, (total == 0) == (differing == 0)),
        [
            (total, z3.IntVal(0), total + (z - expected) * (z - expected)),
            (differing, z3.IntVal(0), differing + z3.If(z == expected, 0, 1)),
        ],
        z3.If(differing == 0, total == 0, total >= gap),
    )


@lemma("T2.gate", "z3", false={"penalty": lambda base: base - 1})
def word_gate(penalty: Callable[[Term], Term] = lambda base: base) -> Proof:
    """For all bases B and integers 0 <= t < B, m >= 0, ReLU(t - B·m) is t if m = 0; if m >= 1, t - B·m <= -1 and it is
    0."""
    t, base, m = z3.Ints("t B m")
    value = t - penalty(base) * m
    closed = z3.And(value <= -1, relu(value) == 0)
    return by_z3(z3.If(m == 0, relu(value) == t, closed), between(0, t, base - 1), m >= 0)


@lemma("T2b.unit", "z3", false={"bias": 2})
def and_unit(bias: Term = 1) -> Proof:
    """For every D and all key, h in {-1,+1}^D, ReLU(<key,h> - D + 1) is 1 if h is the key and 0 otherwise."""
    length, inner, differing, key, h = z3.Ints("D inner differing key h")
    unit = relu(inner - length + bias)
    return by_invariant(
        z3.And(inner == length - 2 * differing, differing >= 0),
        [
            (length, z3.IntVal(0), length + 1),
            (inner, z3.IntVal(0), inner + key * h),
            (differing, z3.IntVal(0), differing + z3.If(key == h, 0, 1)),
        ],
        z3.If(differing == 0, unit == 1, unit == 0),
        each_step=[z3.Or(key == 1, key == -1), z3.Or(h == 1, h == -1)],
    )


@lemma("T2b.one-unit-fires", "z3", false={"rest": 1})
def one_unit_fires(rest: Term = 0) -> Proof:
    """For any number of units, Σ_i f_i·value_i is the value of unit q if f_q = 1 and every other f_i = 0."""
    total = z3.Real("total")
    unit, fires = z3.Ints("i q")
    value = z3.Function("value", z3.IntSort(), z3.RealSort())
    return by_invariant(
        z3.And(total == z3.If(fires < unit, value(fires), 0), unit >= 0),
        [(total, z3.RealVal(0), total + z3.If(unit == fires, 1, rest) * value(unit)), (unit, z3.IntVal(0), unit + 1)],
        z3.Implies(fires < unit, total == value(fires)),
        always=[fires >= 0],
    )


Kinks = tuple[int, int, int, int]


def window(s: Term, j: Term, kinks: Kinks = (-2, -1, 1, 2)) -> Term:
    """w_j(s) = -ReLU(s - 3j + 2) + 2·ReLU(s - 3j + 1) - 2·ReLU(s - 3j - 1) + ReLU(s - 3j - 2); kinks are relative to
    3j."""
    first, second, third, fourth = (relu(s - 3 * j - kink) for kink in kinks)
    return -first + 2 * second - 2 * third + fourth


@lemma("T2e.windows", "z3", false={"kinks": (-2, -1, 1, 3)})
def windows(kinks: Kinks = (-2, -1, 1, 2)) -> Proof:
    """For all integers j, w_j(3j + c) = c for every real c in [-1,1] and w_j(s) = 0 for all real s outside 3j - 2 .. 3j
    + 2: at s = 3J ± 1 the window is ±1 if J = j and 0 otherwise."""
    j, place, sign = z3.Ints("j J sign")
    s, c = z3.Reals("s c")
    centre = 3 * z3.ToReal(j)
    middle, outside = window(centre + c, z3.ToReal(j), kinks), window(s, z3.ToReal(j), kinks)
    arrived = window(3 * place + sign, j, kinks)
    return all_of(
        {
            "inside": by_z3(middle == c, between(-1, c, 1)),
            "outside": by_z3(outside == 0, z3.Or(s <= centre - 2, s >= centre + 2)),
            "open block": by_z3(arrived == z3.If(place == j, sign, 0), z3.Or(sign == 1, sign == -1)),
        }
    )


@lemma("T2e.closed-windows", "z3", false={"penalty": lambda places: 3 * places - 2})
def closed_windows(penalty: Callable[[Term], Term] = lambda places: 3 * places) -> Proof:
    """For all V >= 1, J <= V - 1, m >= 1 and c = ±1, s = c + 3J - 3V·m is at most -2, where w_j(s) = 0 for every j >=
    0."""
    s, j, place, places, m, c = z3.Ints("s j J V m c")
    arrived = c + 3 * place - penalty(places) * m
    return all_of(
        {
            "arrival": by_z3(arrived <= -2, between(-1, c, 1), place <= places - 1, places >= 1, m >= 1),
            "windows": by_z3(window(s, j) == 0, s <= -2, j >= 0),
        }
    )


@lemma("T2e.last-window", "z3", false={"reach": 2})
def last_window(reach: Term = 1) -> Proof:
    """For all integers j and s <= 3j + 1, the two lower kinks alone give w_j(s): the last window, j = V - 1, needs no
    more, and the others share their kinks with the next, so that two hidden units an entry and place are enough."""
    s, j = z3.Ints("s j")
    return all_of(
        {
            "last": by_z3(-relu(s - 3 * j + 2) + 2 * relu(s - 3 * j + 1) == window(s, j), s <= 3 * j + reach),
            "shared": by_z3(z3.And(3 * j + 1 == 3 * (j + 1) - 2, 3 * j + 2 == 3 * (j + 1) - 1)),
        }
    )


@lemma("T2e.meet-in-the-middle", "z3", false={"swapped": True})
def meet_in_the_middle(*, swapped: bool = False) -> Proof:
    """For every map g_u and bijection g_v of any set, a = g_v(g_u(x)) iff g_v⁻¹(a) = g_u(x).

    Uninterpreted functions; of bijectivity the two instances that matter are assumed, at the entity g_u(x) and at a.
    """
    entities = z3.DeclareSort("Entity")
    g_u, g_v, inverse = (z3.Function(name, entities, entities) for name in ("g_u", "g_v", "inverse"))
    x, a = z3.Consts("x a", entities)
    answer = g_u(g_v(x)) if swapped else g_v(g_u(x))
    return by_z3((a == answer) == (inverse(a) == g_u(x)), inverse(g_v(g_u(x))) == g_u(x), g_v(inverse(a)) == a)


@lemma("T4.erase", "z3", false={"kept": lambda bias: bias + 1})
def erase(kept: Callable[[Term], Term] = lambda bias: bias) -> Proof:
    """For all real u and b, u - (ReLU(u + b) - ReLU(-u - b)) + b = 0: two units and a constant erase an entry of the
    stream."""
    entry, bias = z3.Reals("u b")
    return by_z3(entry - (relu(entry + bias) - relu(-entry - bias)) + kept(bias) == 0)


@lemma("T4.select", "z3", false={"penalty": 1})
def select(penalty: Term = 2) -> Proof:
    """For all real c in [-1,1] and integers m >= 0, ReLU(c - 2m + 1) is c + 1 if m = 0 and 0 otherwise."""
    c, m = z3.Real("c"), z3.Int("m")
    unit = relu(c - penalty * z3.ToReal(m) + 1)
    return by_z3(unit == z3.If(m == 0, c + 1, 0), between(-1, c, 1), m >= 0)


@lemma("T14.route", "z3", false={"penalty": 1})
def route(penalty: Term = 2) -> Proof:
    """For all c in {-1,+1} and integers m >= 0, ReLU(c + 1 - 2m) - ReLU(1 - 2m) is c if m = 0 and 0 otherwise, where
    both units are closed."""
    c, m = z3.Ints("c m")
    shift = 1 - penalty * m
    known = [z3.Or(c == 1, c == -1), m >= 0]
    return all_of(
        {
            "written": by_z3(relu(c + shift) - relu(shift) == z3.If(m == 0, c, 0), *known),
            "closed": by_z3(z3.And(c + shift <= 0, shift <= 0), m >= 1, *known),
        }
    )


@lemma("T14.inverses", "z3", false={"turned": True})
def inverses_meet(*, turned: bool = False) -> Proof:
    """For every bijection g of any set, a = g⁻¹(x) iff g(a) = x, so that the block c(g(a)) of a and the block c(x) of x
    tell the inverse. Codes are one to one."""
    entities = z3.DeclareSort("Entity")
    g, inverse = (z3.Function(name, entities, entities) for name in ("g", "inverse"))
    x, a = z3.Consts("x a", entities)
    block = g(x) == a if turned else g(a) == x
    return by_z3((a == inverse(x)) == block, inverse(g(a)) == a, g(inverse(x)) == x)


@lemma("T4.look-up", "z3", false={"fires": 2})
def look_up(fires: Term = 1) -> Proof:
    """Where the unit of a fires with 1 at S = c(a), S + (row(a) - c(a)) = row(a): the code is replaced by the row."""
    state, code, row = z3.Reals("S code row")
    return by_z3(state + fires * (row - code) == row, state == code)
