"""The command line: one thin file that knows all packages and holds no logic.

Heavy packages are imported inside the commands, so that `georecall --help` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from theory.errors import InputError

if TYPE_CHECKING:
    from theory.ledger import Check, Row


FC = TypeVar("FC", bound=Callable[..., Any] | click.Command)


class ErrorsInOneLine(click.Group):
    """Bad input, and sizes beyond the memory, end with one line on stderr and exit status 2."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an InputError becomes its line."""
        try:
            return super().invoke(ctx)
        except InputError as error:
            message = str(error)
        except MemoryError:
            message = "these sizes need more memory than there is: choose smaller ones"
        click.echo(f"georecall: {message}", err=True)
        sys.exit(2)


@click.group(cls=ErrorsInOneLine, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="geometric-recall")
def main() -> None:
    """Verify the theory of geometric factual recall in transformers."""


def _count(name: str, help: str, **options: Any) -> Callable[[FC], FC]:
    return click.option(name, type=click.IntRange(min=1), help=help, **options)


def _preset(command: FC) -> FC:
    choice = click.Choice(["quick", "full"])
    return click.option("--preset", type=choice, default="quick", show_default=True, help="Which sizes to check.")(
        command
    )


def _seed(command: FC) -> FC:
    at_least_0 = click.IntRange(min=0)
    return click.option("--seed", type=at_least_0, default=0, show_default=True, help="Of the random systems.")(command)


def _file(name: str, help: str, **options: Any) -> Callable[[FC], FC]:
    return click.option(name, type=click.Path(path_type=Path), help=help, **options)


STORE = _file("--store", "The run store (SQLite).", default="runs.sqlite", show_default=True)


@main.command()
@click.argument("claims", nargs=-1, metavar="[CLAIM ...]")
@_preset
@_count("--entities", "N: check at this size instead of the preset's (with --relations).")
@_count("--relations", "R: check at this size instead of the preset's (with --entities).")
@_count("--hops", "k, for the claims about several hops (2, unless given).")
@_count("--bits", "b, the bits of a subject entry (1, unless given).")
@_count("--stride", "j, the hops of a step of a chain, T3b (1, unless given).")
@_seed
@_file("--json", "Write the ledger here, as JSON.")
@_file("--weights", "Verify this model (.safetensors), with --system.")
@_file("--system", "The fact system (.npy or .json).")
@click.option("--rational", is_flag=True, help="Take the float weights of --weights as the fractions that they are.")
def verify(
    claims: tuple[str, ...],
    preset: str,
    entities: int | None,
    relations: int | None,
    hops: int | None,
    bits: int | None,
    stride: int | None,
    seed: int,
    json: Path | None,
    weights: Path | None,
    system: Path | None,
    rational: bool,
) -> None:
    """Check claims (all, unless named) and print the ledger. Exit status 0 only if every one of them holds.

    CLAIM is a theorem: T1, T1b, T1c, T1d, T1e, T2, T2b, T2c, T2d, T2e, T3, T3b, T3c, T4, T5, T6, T7, T8, T9.
    """
    from constructions.catalogue import Setting
    from constructions.checks import Sizes, check_model
    from constructions.suite import checks_of_size
    from theory.ledger import run_all_checks
    from theory.registry import in_order

    if (weights is None) != (system is None):
        raise InputError("--weights and --system go together: a model, and the facts that it should recall")
    if (entities is None) != (relations is None) or (entities is None and (hops or bits or stride)):
        raise InputError("a size needs both --entities and --relations (--hops, --bits and --stride go with them)")
    if weights is not None and system is not None:
        _finish(check_model(weights, system, rational=rational), json)
    elif entities is not None and relations is not None:
        sizes = Sizes(entities, relations, Setting(hops or 2, bits or 1, stride or 1), seed)
        _finish(run_all_checks(checks_of_size(in_order(claims) if claims else (), sizes)), json)
    else:
        _finish(run_all_checks(_checks_of_preset(claims, preset, seed)), json)


@main.command()
@click.argument("claim")
@_count("--entities", "N", required=True)
@_count("--relations", "R", required=True)
@_count("--hops", "k, for the claims about several hops.", default=2, show_default=True)
@_count("--bits", "b, the bits of a subject entry.", default=1, show_default=True)
@_count("--stride", "j, the hops of a step of a chain (T3b).", default=1, show_default=True)
@_seed
@click.option("--name", help="Which of the claim's constructions (the first, unless named).")
@_file("--out", "Weights to write (.safetensors).", required=True)
@_file("--system-out", "Write the fact system too (.npy or .json).")
def construct(
    claim: str,
    entities: int,
    relations: int,
    hops: int,
    bits: int,
    stride: int,
    seed: int,
    name: str | None,
    out: Path,
    system_out: Path | None,
) -> None:
    """Build CLAIM's transformer for a random fact system and write its weights."""
    from constructions.catalogue import Setting, entry
    from constructions.checks import Sizes, build
    from theory.files import save_model, save_system

    chosen = entry(claim, name)
    sizes = Sizes(entities, relations, Setting(hops, bits, stride), seed)
    system, transformer = build(chosen, sizes)
    save_model(transformer, chosen.task(sizes.setting), out)
    if system_out is not None:
        save_system(system, system_out)
    click.echo(
        f"{claim} ({chosen.name}): d = {transformer.dimension}, width = {transformer.width}, "
        f"{transformer.parameters} parameters: {out}"
    )


@main.command()
@_preset
@STORE
@_file("--json", "Write the ledger here, as JSON.")
def reproduce(preset: str, store: Path, json: Path | None) -> None:
    """Verify every claim, then train the small models and measure (where PyTorch is installed): the whole ledger.

    Exit status 0 only if every claim holds; what is measured is reported and decides nothing.
    """
    from empirical import command
    from theory.ledger import run_all_checks

    rows = run_all_checks(_checks_of_preset((), preset, seed=0))
    if command.can_train():
        with command.counting_runs() as show:
            report = command.compare("quick", store, progress=show)
        click.echo(command.text(report), nl=False)
        rows += command.rows(report)
    else:
        click.echo(f"Nothing is trained: {command.WITHOUT_TORCH}", err=True)
    _finish(rows, json)


@main.command()
@click.argument("kind", required=False)
@click.option("--list", "listed", is_flag=True, help="Explain the kinds, in a line each.")
@_count("--entities", "N, the number of nodes.")
@_count("--relations", "R, the number of relations (colours, matchings, rows).")
@_count("--hops", "k, for answer-vectors.")
@click.option("--check", is_flag=True, help="Count again by listing every object, and compare.")
@click.option("--digits", type=click.IntRange(min=0), help="Print log10 of the count, enclosed, to so many decimals.")
@_file("--json", "Write the count here, as JSON.")
def count(
    kind: str | None,
    listed: bool,
    entities: int | None,
    relations: int | None,
    hops: int | None,
    check: bool,
    digits: int | None,
    json: Path | None,
) -> None:
    """Count the objects of a KIND, exactly: R-regular edge-coloured graphs of N nodes. (`count --list` explains
    kinds.)
    """
    from bounds import report

    if listed:
        click.echo("\n".join(report.explanations()))
        return
    if kind is None or entities is None or relations is None:
        raise InputError("count needs a KIND, --entities and --relations; georecall count --list explains the kinds")
    found = report.counted(kind, entities, relations, hops, check=check, digits=digits)
    if json is not None:
        report.write(found.as_json(), json)
    click.echo(found.line)
    sys.exit(0 if found.agrees else 1)


@main.command()
@click.option("--entities", default="4096", show_default=True, help="N: numbers and ranges, as in 64,1000:1004.")
@click.option("--relations", default="2:16", show_default=True, help="R, likewise.")
@click.option("--hops", default="1:4", show_default=True, help="k, likewise.")
@click.option("--bits", default="1,2,4,8,16", show_default=True, help="b, the bits of a subject entry, likewise.")
@click.option("--shared-bits", default="0", show_default=True, help="B, bits outside the subject table.")
@click.option("--readout", type=click.Choice(["fixed", "learned", "tied"]), default="fixed", show_default=True)
@click.option("--error", default="0", show_default=True, help="The error rate allowed (T8), as 0.01 or 1/100.")
@click.option("--depth", is_flag=True, help="The table of capacity against depth: hops by emitted tokens.")
@click.option("--format", "layout", default="table", show_default=True, help="table, csv, json, markdown or latex.")
@_file("--out", "Write the table here instead of printing it.")
def bounds(
    entities: str,
    relations: str,
    hops: str,
    bits: str,
    shared_bits: str,
    readout: str,
    error: str,
    depth: bool,
    layout: str,
    out: Path | None,
) -> None:
    """Tabulate lower bounds and what the constructions reach, with the assumptions that each number stands on."""
    from bounds import report

    text = report.table(
        entities=entities,
        relations=relations,
        hops=hops,
        bits=bits,
        shared_bits=shared_bits,
        readout=readout,
        error=error,
        depth=depth,
        layout=layout,
    )
    if out is None:
        click.echo(text, nl=False)
    else:
        report.write(text, out)


@main.command()
@click.option("--preset", default="quick", show_default=True, help="quick, standard or paper.")
@STORE
@click.option("--device", default="cpu", show_default=True, help="cpu or cuda.")
@_count("--workers", "Processes, each with one thread (as many as there are cores).")
@click.option("--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True)
@click.option("--address", help="The Ray cluster to use (a new local one, unless given).")
@click.option("--time-budget", type=click.FloatRange(min=0), help="Seconds after which no run is started.")
@_file("--json", "Write the report here, as JSON.")
def compare(
    preset: str,
    store: Path,
    device: str,
    workers: int | None,
    engine: str,
    address: str | None,
    time_budget: float | None,
    json: Path | None,
) -> None:
    """Train models on random bijections, find the dimension that memorises them, and hold it against the theory. What
    the store has is not run again. Exit status 0 only if the comparison is complete and no claim turned out false.
    """
    from empirical import command

    if json is not None and not json.parent.is_dir():  # known before the hours of training
        raise InputError(f"cannot write {json}: there is no directory {json.parent}")
    with command.counting_runs() as show:
        report = command.compare(preset, store, device, workers, engine, address, time_budget, progress=show)
    click.echo(command.text(report), nl=False)
    if json is not None:
        command.write(report, json)
    sys.exit(0 if command.succeeded(report) else 1)


@main.group()
def runs() -> None:
    """List, show, export and prune the runs of a store."""


@runs.command("list")
@STORE
def list_runs(store: Path) -> None:
    """A line a run."""
    from empirical.listing import list_text
    from empirical.store import open_store

    with open_store(store, read_only=True) as opened:
        click.echo(list_text(opened.summaries()))


@runs.command()
@click.argument("key")
@STORE
def show(key: str, store: Path) -> None:
    """Everything about the run whose KEY begins so."""
    from empirical.listing import show_text
    from empirical.store import open_store

    with open_store(store, read_only=True) as opened:
        click.echo(show_text(opened.get(key)))


@runs.command()
@STORE
@_file("--out", "The JSON file to write.", required=True)
def export(store: Path, out: Path) -> None:
    """Write all runs as JSON."""
    from empirical.listing import export_json
    from empirical.store import open_store

    with open_store(store, read_only=True) as opened:
        click.echo(f"{export_json(opened, out)} runs: {out}")


@runs.command()
@STORE
@click.option("--failed", is_flag=True, help="Remove failed runs too, so that they are run again.")
def prune(store: Path, failed: bool) -> None:
    """Remove weights that belong to no run (and failed runs)."""
    from empirical.store import open_store

    with open_store(store) as opened:
        pruned = opened.prune(failed=failed)
    click.echo(f"{pruned.runs} runs and {pruned.files} files removed")


def _checks_of_preset(claims: tuple[str, ...], preset: str, seed: int) -> list[Check]:
    """What every package has to check of the claims (all, if none is named), claim by claim."""
    import bounds.checks
    import constructions.suite
    import theory.lemmas
    from theory.registry import in_order

    planned = []
    for claim in in_order(claims):
        planned += constructions.suite.checks_of_preset([claim], preset, seed)
        planned += bounds.checks.checks_of_preset([claim], preset)
        planned += theory.lemmas.checks_of_claims([claim])
    return planned


def _finish(rows: list[Row], json: Path | None) -> None:
    """Print the ledger, write it, and exit with 1 unless everything holds."""
    from rich.console import Console

    from theory.files import write_atomically
    from theory.ledger import all_hold, as_table, summary, to_json

    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(as_table(rows))
    for line in summary(rows):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if json is not None:
        write_atomically(json, lambda file: file.write_text(to_json(rows), encoding="utf-8"))
    sys.exit(0 if all_hold(rows) else 1)


if __name__ == "__main__":
    main()
