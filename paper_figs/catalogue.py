"""The figures: what each shows, what it is drawn from, and the command that makes that anew.

A figure is a module of its own name with a function `draw`, from parsed results (or nothing, where it is theory) to a
matplotlib figure. matplotlib is imported when the first figure is drawn, so that this list can be read without it.
Results are looked for in `RESULTS`, relative to the working directory: an installed wheel carries none.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from paper_figs.saved import as_results, read
from theory.errors import InputError
from theory.records.writing import make_directory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESULTS = Path("paper_figs", "results")
WITHOUT_MATPLOTLIB = "figures need matplotlib: pip install 'geometric-recall[figures]'"


@dataclass(frozen=True)
class Source:
    """A file of results, and the command that makes it."""

    file: str
    command: str


@dataclass(frozen=True)
class FigureEntry:
    """A figure: its title and caption, the claims it bears on, the results it is drawn from."""

    name: str
    title: str
    caption: str
    claims: tuple[str, ...]
    sources: tuple[Source, ...] = ()


STANDARD = Source(
    "standard.json",
    "georecall compare --preset standard --store runs.sqlite --json paper_figs/results/standard.json",
)
TRIALS = Source(
    "standard_trials.json",
    "python -m paper_figs.trials runs.sqlite standard paper_figs/results/standard_trials.json "
    f"(after {STANDARD.command})",
)

MECHANISM = Source(
    "mechanism.json",
    "georecall mechanism --preset standard --store runs.sqlite --json paper_figs/results/mechanism.json",
)
PROBING = Source(
    "smollm2.json",
    "georecall probe --model smollm2 --relations all --json paper_figs/results/smollm2.json",
)

STRUCTURE = Source(
    "structure.json",
    "georecall compare --preset structure --store structure.sqlite --json paper_figs/results/structure.json",
)

PRECISION = Source(
    "precision.json",
    "georecall runs precision --store structure.sqlite --json paper_figs/results/precision.json "
    f"(after {STRUCTURE.command})",
)

FIGURES: dict[str, FigureEntry] = {
    each.name: each
    for each in (
        FigureEntry(
            "dimension",
            "Dimension against entities and relations",
            "Dimension d* at which half of the seeds memorise one hop (accuracy 0.99, 95 % intervals), with the "
            "subject table and the read-out learned or frozen (E1, E2). Lines: the lower bound for universal models "
            "at the same accuracy (T8) and what T1b needs, with subject entries of b bits; at b = 1 they nearly meet: "
            "T1b is optimal (T1c). Trained models may lie below a line: their read-out is learned and their numbers "
            "have more bits. With both tables frozen only the MLP can store facts, and d* grows polynomially in N.",
            ("E1", "E2", "T1", "T1b", "T1c", "T8"),
            (STANDARD,),
        ),
        FigureEntry(
            "depth",
            "Dimension against tokens, hops and depth",
            "N = 4096, R = 4, one-bit entries. (a) Six hops in s emitted tokens: T2, T3b and T3 with a fixed read-out, "
            "T2e and T3b with a learned one, and the lower bounds for honest chains of at most s tokens (T3c; T2c and "
            "T2e at one token). (b) k hops in one pass: T2 pays R^k, T2e R^⌈k/2⌉, and T4 trades dimension for 2k - 1 "
            "blocks and a memory; T3's chain beside them. (c) Both dichotomies: a model whose answers depend on the "
            "facts through rows of d·b bits and B bits elsewhere lies above the line, dashed for a fixed read-out "
            "(T2c), dotted for a learned one (T2e).",
            ("T2", "T2c", "T2e", "T3", "T3b", "T3c", "T4"),
        ),
        FigureEntry(
            "precision",
            "Bits, noise and width against dimension",
            "One hop, N = 4096, R = 4, universal models in one pass. (a) Dimension against the bits of a subject "
            "entry: T1b's digits and T1d's look-up above T1c. (b) The same under noise that is survived, as a "
            "fraction of the range of an entry: digits whose gates leave room (T13) meet the bound where b divides "
            "log N, signs (T1) pay for gates that stand at 0. (c) Width against dimension where entries are reals of "
            "any precision: one coordinate needs N^(R-1)/R units (T12) and the look-up has 2N^(R-1) or so; a few "
            "coordinates more, and a handful of units is enough.",
            ("T1", "T1b", "T1c", "T1d", "T12", "T13"),
        ),
        FigureEntry(
            "capacity_law",
            "Is there one number of bits for each scalar?",
            "E8: does one number β of bits for each scalar that stores facts fit every threshold, at 2000 steps? "
            "Counted are the tables that learn (a, b), or every scalar that learns (c, d). Left: share of runs that "
            "memorise against the bits asked of each such scalar; points are one curve at one dimension, lines pool "
            "them (Wilson's 95 % intervals), the band is β with its interval. Right: bits a scalar of held-out curves "
            "over β, with the tolerance of 15 %; a hollow marker breaks the law. Counting the tables alone fails by "
            "factors; counting everything leaves a scatter that one β does not explain: the fewer tables learn, the "
            "fewer bits a scalar stores.",
            ("E8", "T8"),
            (STANDARD, TRIALS),
        ),
        FigureEntry(
            "bits",
            "Bits for each coordinate and for each trained scalar",
            "What a model that memorises one hop knows at its threshold, in bits (the numerator of T8 at accuracy "
            "0.99), divided (a) by the N·d* coordinates of the subject table and (b) by all scalars that are trained. "
            "A line for each R, 95 % intervals of d*. Conditions far apart in (a) come together in (b), though not "
            "to one line.",
            ("E1", "E2", "T1c", "T8"),
            (STANDARD, TRIALS),
        ),
        FigureEntry(
            "readout",
            "Subject rows as superpositions",
            "E3: subject rows as sums of linear images of the attribute vectors of their answers, fitted by ridge "
            "regression. (a) R² and (b) accuracy of decoding the answers from the rows, on subjects left out, with "
            "95 % intervals, against d/d* (d* by the capacity law at 2 bits a scalar of the tables); one point a "
            "trained model, hollow where it does not recall its facts. Controls: answers shuffled within each "
            "relation, and normal random rows. (c) Constructions: T1, T1b, T2 and T3 are superpositions (T7), the "
            "table T2b is none.",
            ("E3", "T7"),
            (MECHANISM,),
        ),
        FigureEntry(
            "interventions",
            "One relation's component changed",
            "E4: one relation's component of a subject's row is changed along the maps of E3, fitted on other "
            "subjects, and every relation is asked. Diagonal: share of answers that become the intended one; off it: "
            "share that stay what they were. (a) T1, (b) trained models, (c) the same under a change of equal length "
            "in a random direction, (d) the table T2b. (e) Success and (f) leakage with 95 % intervals against d/d*; "
            "one point a trained model, hollow where it does not recall its facts.",
            ("E4", "T7"),
            (MECHANISM,),
        ),
        FigureEntry(
            "transfer",
            "Freeze and swap",
            "E5: new random bijections, everything frozen but the subject table (T5). Accuracy over all new facts of "
            "rows in closed form, from the maps of E3 or by inverting the frozen MLP, and of rows fitted by gradient; "
            "the same under an MLP drawn anew. By size against d/d*, one point a trained model with its 95 % interval, "
            "hollow where it does not recall its old facts; then R² of the read-out (E3) against the accuracy of the "
            "maps; then other training regimes, tables that learn, and fact systems that share the frozen part.",
            ("E5", "T5"),
            (MECHANISM,),
        ),
        FigureEntry(
            "hops",
            "k hops in one pass and by chain of thought",
            "E6: the threshold of k hops over that of one hop, (a) against k, (b) against R; the lines are the same "
            "ratio for T2, T2e and T3. (c) The exponent e of R^(1 + e(k-1)) in all scalars that learn, with its "
            "95 % interval: descent pays R^k, as if every word of relations were a relation of its own; a chain of "
            "thought stays at one hop's cost (T3). (d) Training begun at T2e, moved by noise, at the learning rate of "
            "all other runs (0.1) and a gentler one: runs that end with every query right.",
            ("E6", "T2", "T2e", "T3"),
            (STANDARD,),
        ),
        FigureEntry(
            "structure",
            "What a memorising transformer compresses",
            "E9: scalars that learn at the threshold, ρ, against the information of a family of facts, ι, both over "
            "those of independent bijections (95 % over seeds, and whatever lies between two whole dimensions). "
            "A family on the diagonal costs what it holds, one at ρ = 1 what independent relations do; below the "
            "dotted line it is compressed by the rule. The stars are what T14 could save for inverses and "
            "compositions, in dimensions. What the sweep has not reached is missing.",
            ("E9", "T14"),
            (STRUCTURE,),
        ),
        FigureEntry(
            "trained_precision",
            "The precision that trained weights need",
            "Of the runs of E9 that memorise: (a) bits that each tensor's entries need for accuracy 0.99, against the "
            "bits of the facts for each scalar that learns; a point is the mean of one family, size, dimension and "
            "condition, the line is that of independent bijections. (b) What each family needs beyond the line, with "
            "95 % intervals: inverses, involutions, compositions and maps need what as many independent bijections "
            "would, synonyms and half-shared pairs what they hold. T13 says what noise such rows can survive.",
            ("E9", "T13"),
            (PRECISION,),
        ),
        FigureEntry(
            "probing",
            "A language model, layer by layer",
            "E7: a linear map reads each relation from the subject states of a pretrained language model: accuracy on "
            "subjects left out by layer, with its 95 % interval, and the controls that it must beat. The number is the "
            "accuracy at the layer chosen on inner folds. Calling codes and atomic numbers are read by their first "
            "digit alone, the first token in which they differ. Last: R² of the states as a sum of one component a "
            "relation, for families of relations on the same subjects.",
            ("E7",),
            (PROBING,),
        ),
        FigureEntry(
            "construction",
            "T1 in one forward pass",
            "T1 on N = 8 entities and R = 3 relations, with the numbers that its weights compute. A subject's row "
            "holds the codes of its three answers. The relation adds 1 to its own block and -1 to the others, so that "
            "ReLU closes these; the sum of the blocks, less 1, is the code of the answer, and the read-out names it "
            "with margin 2.",
            ("T1",),
        ),
        FigureEntry(
            "parameters",
            "What a bijection costs",
            "(a) Embedding dimension and (b) number of parameters for one bijection of N entities; (c) parameters and "
            "(d) MLP width for R of them at N = 4096. The one-hot compiler's figures are quoted (tracr: d = 2N + 3, "
            "and 26,529 parameters at N = 64); the others are counted from the weights that are built: an associative "
            "memory with a hidden unit for every fact (T2b), T1, and T1b with b = log N bits in one number a relation.",
            ("T1", "T1b", "T2b"),
        ),
    )
}


def entry(name: str) -> FigureEntry:
    """The figure of that name. InputError, listing them, for an unknown one."""
    if name not in FIGURES:
        raise InputError(f"{name!r} is no figure; there are {', '.join(FIGURES)}")
    return FIGURES[name]


def draw(name: str, results: Path = RESULTS) -> Figure:
    """The figure, drawn from the files in the folder `results`.

    InputError for an unknown name, without matplotlib, and for results that are missing or not what their command
    writes: it names the command.
    """
    found = entry(name)
    try:
        style = importlib.import_module("paper_figs.style")
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise InputError(WITHOUT_MATPLOTLIB) from None
    module = importlib.import_module(f"paper_figs.figures.{name}")
    try:
        data = [read(results / source.file) for source in found.sources]
        # A result may hold what no check foresees: it is to be drawn as it is, or refused.
        with style.applied(), as_results() if data else nullcontext():
            drawn: Figure = module.draw(*data)
            drawn.draw_without_rendering()
            drawn.set_layout_engine("none")  # laid out once, the same for every kind of file
    except InputError as error:
        if not found.sources:
            raise
        raise InputError(_told(found, results, error)) from None
    return drawn


def _told(found: FigureEntry, results: Path, error: InputError) -> str:
    files = " and ".join(str(results / source.file) for source in found.sources)
    commands = "; ".join(source.command for source in found.sources)
    folder = " of the working directory (--results names another folder)" if results == RESULTS else ""
    return f"{found.name} is drawn from {files}{folder}: {error}; make it with: {commands}"


def figures(names: Sequence[str], results: Path, out: Path) -> list[Path]:
    """Draw the figures (all, if none is named) and write each as NAME.pdf and NAME.png in the folder `out`, which is
    made if need be; the paths written. Every figure is drawn before the first is written. InputError as in `draw`, and
    when the folder cannot be written.
    """
    chosen = dict.fromkeys(entry(name).name for name in names or FIGURES)
    drawn = {name: draw(name, results) for name in chosen}
    style = importlib.import_module("paper_figs.style")
    make_directory(out, parents=True)
    paths = []
    for name, figure in drawn.items():
        for suffix in (".pdf", ".png"):
            path = out / f"{name}{suffix}"
            style.save(figure, path)
            paths.append(path)
    return paths


def as_svg(name: str, results: Path = RESULTS) -> bytes:
    """The figure as SVG, for a page that shows it. InputError as in `draw`."""
    figure = draw(name, results)
    style = importlib.import_module("paper_figs.style")
    with style.applied():
        stream = BytesIO()
        figure.savefig(stream, format="svg", metadata=style.UNDATED[".svg"])
    return stream.getvalue()


def listing() -> str:
    """Every figure with its claims, its title, its data and the command that makes them, a few lines each."""
    lines = []
    for each in FIGURES.values():
        lines += [f"{each.name}: {each.title}", f"    claims: {', '.join(each.claims)}"]
        lines += [f"    {source.file}: {source.command}" for source in each.sources] or ["    computed from the theory"]
    return "\n".join(lines)
