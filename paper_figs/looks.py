"""What each trained condition looks like, the same in every figure."""

from __future__ import annotations

from paper_figs.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, SKY, Look

LEARNED = Look("learned tables", BLUE, "o", "-")
CONDITIONS: dict[str, Look] = {
    "capacity": LEARNED,
    "frozen subjects": Look("frozen subjects", RED, "s", "--"),
    "frozen read-out": Look("frozen read-out", GREEN, "^", "-."),
    "frozen both": Look("both frozen", PURPLE, "D", ":"),
    "frozen both, selector width": Look("both frozen, T1's width", BLACK, "X", ":"),
    "learned, selector width": Look("learned, T1's width", SKY, "P", "-"),
}
HOPS: dict[str, Look] = {
    "hops learned": Look("learned read-out", BLUE, "o", "-"),
    "hops tied": Look("tied read-out", ORANGE, "v", "-"),
    "hops frozen": Look("frozen read-out", GREEN, "^", "-"),
    "chain": Look("chain of thought", PURPLE, "P", "-"),
}
