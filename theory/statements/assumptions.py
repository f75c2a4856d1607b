"""What a statement assumes: one object an assumption, which statements, bounds, tables, ledger and pages share.

The text of each stands here and nowhere else, so that what a bound was computed under and what a page prints cannot
differ. Light to import: `theory.statements.registry`, which has the statements, loads SymPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Assumption:
    """`name` says it in a word or two, `text` in full (empty where the name says it all)."""

    name: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.text}" if self.text else self.name


# The facts.
BIJECTIONS = Assumption("bijections", "g_0 .. g_{R-1} are any permutations of the N >= 2 entities, R >= 1")
MAPS = Assumption("maps", "g_0 .. g_{R-1} are any maps of the N >= 2 entities to themselves, R >= 1")
MATCHINGS = Assumption("matchings", "undirected facts, each relation a perfect matching of the entities")
SINGLE_HOP = Assumption("single hop", "k = 1")
INVERSES = Assumption("inverses", "2R relations are asked for: g_0 .. g_{R-1} and their inverses")
INVERSES_OR_COMPOSITIONS = Assumption(
    "inverses or compositions", "asked for are g_0 .. g_{R-1} and their inverses, or all g_v∘g_u, as one relation each"
)
DISJOINT = Assumption("disjoint attributes", "relation r answers with attributes of its own, R·N answers in all")

# What is asked of the model.
EXACT = Assumption("exact", "every query is answered correctly, whatever the facts")
ONE_PASS = Assumption(
    "one pass",
    "no chain of thought, so that the answer to (x, w) depends on the facts through the row of x, the read-out and B "
    "other bits alone",
)
HONEST = Assumption("honest chain", "each token emitted is the answer to a prefix of the word")

# The read-out, and what else may depend on the facts.
FIXED = Assumption("fixed read-out", "chosen before the facts are known")
LEARNED = Assumption(
    "learned read-out", "its rows u_a (bias included) hold d·b bits each and count on the left, not in B"
)
TIED = Assumption(
    "tied read-out", "its rows are the subject rows (u_a = e_a); a bias that depends on the facts is in B"
)
LEARNED_OR_TIED = Assumption("learned or tied read-out", "the rows of W_U may depend on the facts too")
READOUTS = {"fixed": FIXED, "learned": LEARNED, "tied": TIED}
UNIVERSAL = Assumption(
    "universal", "nothing but the subject table depends on the facts; the read-out is chosen before they are known"
)
ANY = Assumption("any model", "B counts every other bit that depends on the facts")
EMBEDDINGS_FIXED = Assumption("fixed embeddings", "embeddings of entities and relations do not depend on the facts")

# The architecture.
ONE_BLOCK = Assumption("one block")
NO_RESIDUAL = Assumption("no residual stream")
BLIND_ATTENTION = Assumption("blind attention", "its patterns do not depend on the tokens")
UNIFORM_ATTENTION = Assumption("uniform attention", "the mean of (x, r)")
HARDMAX = Assumption("hardmax attention")
HARDMAX_OR_SOFTMAX = Assumption("hardmax or softmax attention")
DEEP = Assumption("deep", "2k - 1 blocks with a residual stream")
OWN_TOKENS = Assumption("chain of thought", "the model's own tokens are appended to the prompt")
EVERY_JTH = Assumption(
    "strided chain",
    "the model emits every j-th entity, s = ⌈k/j⌉ of them; the first step takes ρ = k - (s-1)j hops",
)
REALS = Assumption("real entries", "subject entries of any precision")
ONE_COORDINATE = Assumption("one coordinate", "d = 1")
NOISE = Assumption(
    "noise", "right under every perturbation of the subject's row below δ in each coordinate; rows lie in [0, A]^d"
)
NOISE_EVERYWHERE = Assumption(
    "noise in every row", "right when every subject's row is off at once, below δ in each coordinate; rows in [0, A]^d"
)
BITS = Assumption("bits", "subject entries of b bits")
BITS_OR_REALS = Assumption("bits or reals", "subject entries of b bits (digits), or reals (circle)")


def error_rate(error: Fraction | None = None) -> Assumption:
    """T8's: some of the queries may be answered wrongly."""
    rate = "ε" if error is None else f"ε = {error}"
    return Assumption(
        "error rate", f"a fraction at most {rate} <= 1 - 1/N of all queries is wrong, on average over uniform facts"
    )
