"""Commands about models that are trained or given: compare them with the theory, and look after the runs."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import click

from georecall.options import Seconds, count_option, directory_option, read_option, store_option, write_option
from georecall.paths import ReadOrNamed, echo
from theory.errors import InputError


def _facts_beside(model: Path) -> list[Path]:
    """Where `empirical.mechanism.studied_models` looks for the facts of a model's file."""
    from theory.records.facts import SUFFIXES

    return [model.with_suffix(suffix) for suffix in SUFFIXES if model.name]


def _shipped(model: str) -> Path | None:
    from empirical.probing.language_models.checkpoints import find_model

    with suppress(InputError):  # told when its turn comes
        return find_model(model)[0]
    return None


# What is read of a model's directory, and of one with relations.
MODEL_FILES = ("*.json", "*.safetensors", "*.model", "*.txt", "*.jinja", "*.gguf")
RELATION_FILES = ("*.json",)


@click.command(short_help="Train models, and set their thresholds beside the theory's.")
@click.option("--preset", default="quick", show_default=True, help="quick, standard or paper.")
@store_option
@click.option("--device", default="cpu", show_default=True, help="cpu or cuda.")
@count_option("--workers", "Processes, each with one thread (as many as there are cores).")
@click.option("--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True)
@click.option("--address", help="The Ray cluster to use (a new local one, unless given).")
@click.option("--time-budget", type=Seconds(), help="Seconds after which no run is started.")
@write_option("--json", "Write the report here, as JSON.")
@click.option("--estimate", is_flag=True, help="Say what the preset would cost, and train nothing.")
def compare(
    preset: str,
    store: Path,
    device: str,
    workers: int | None,
    engine: str,
    address: str | None,
    time_budget: float | None,
    json: Path | None,
    estimate: bool,
) -> None:
    """Train models on random bijections, find the dimension that memorises them, and hold it against the theory. What
    the store has is not run again. Exit status 0 only if the comparison is complete and no claim turned out false.
    """
    from empirical.comparison import command

    if estimate:
        if json is not None:
            raise InputError("--estimate trains nothing, so there is no report for --json to write; leave one out")
        echo(command.estimated(preset), nl=False)
        return
    with command.counting("runs") as show:
        report = command.compare(preset, store, device, workers, engine, address, time_budget, progress=show)
    echo(command.text(report), nl=False)
    if json is not None:
        command.write(report, json)
    sys.exit(0 if command.succeeded(report) else 1)


@click.command(short_help="Ask how models recall, and change what they know.")
@click.argument("models", nargs=-1, metavar="[MODEL ...]", type=ReadOrNamed(beside=_facts_beside))
@click.option("--preset", help="Study the models of a preset: quick, standard or paper.")
@store_option
@count_option("--workers", "Processes, each with one thread (as many as there are cores).")
@write_option("--json", "Write the report here, as JSON.")
@directory_option("--out", "Write the fitted maps of the models named into this directory.", "*.maps.safetensors")
def mechanism(
    models: tuple[str, ...], preset: str | None, store: Path, workers: int | None, json: Path | None, out: Path | None
) -> None:
    """Study how models recall: is a subject's row a superposition (E3), does the MLP select (E4), does it serve facts
    that it has never seen (E5)? MODEL is the key of a run in the store, or a .safetensors file; without any, the models
    of the preset quick are studied. Exit status 0 unless a run failed, or a construction is not judged as is known.
    """
    from empirical.comparison.command import counting
    from empirical.mechanism import command

    chosen = preset if models or preset else "quick"
    with counting("models") as show:
        report = command.mechanism(models, chosen, store, workers=workers, out=out, progress=show)
    echo(command.text(report), nl=False)
    if json is not None:
        command.write(report, json)
    sys.exit(0 if command.succeeded(report) else 1)


@click.command(short_help="Look for linear relations in a pretrained language model.")
@read_option(
    "--model",
    "A local directory, a .gguf file, or a packaged model: smollm2, minilm.",
    type=ReadOrNamed(MODEL_FILES, find=_shipped),
    required=True,
)
@read_option(
    "--relations",
    "A JSON file or a directory of them, countries, elements, or all.",
    type=ReadOrNamed(RELATION_FILES),
    required=True,
)
@click.option("--layers", default="all", show_default=True, help="all, or numbers and ranges, as in 0,8,12:20.")
@write_option("--json", "Write the report here, as JSON.")
@directory_option("--out", "Write the fitted maps into this directory.", "maps.safetensors")
def probe(model: str, relations: str, layers: str, json: Path | None, out: Path | None) -> None:
    """Ask of a pretrained language model whether several relations of a subject can be read off its hidden state by
    linear maps, layer by layer (E7). Nothing is fetched: the model is a local one.
    """
    from empirical.probing import command
    from theory.records.console import summary

    with command.progress_bar() as show:
        report = command.probe(model, relations, layers, progress=show)
    echo(command.text(report))
    for line in summary(command.rows(report)):
        echo(line)
    if json is not None:
        command.write(report, json)
    if out is not None:
        command.write_maps(report, out)


@click.group()
def runs() -> None:
    """List, show, export and prune the runs of a store."""


@runs.command("list")
@store_option
@count_option("--limit", "At most so many runs (all of them).")
@click.option("--offset", type=click.IntRange(min=0), default=0, help="Without the first so many.", show_default=True)
def list_runs(store: Path, limit: int | None, offset: int) -> None:
    """A line a run, in the order of their configurations."""
    from empirical.execution.listing import list_lines
    from empirical.execution.store import LARGEST, open_store

    with open_store(store, read_only=True) as opened:
        for line in list_lines(opened.summaries(LARGEST if limit is None else limit, offset)):
            click.echo(line)


@runs.command()
@click.argument("key")
@store_option
def show(key: str, store: Path) -> None:
    """Everything about the run whose KEY begins so."""
    from empirical.execution.listing import show_text
    from empirical.execution.store import open_store

    with open_store(store, read_only=True) as opened:
        click.echo(show_text(opened.get(key)))


@runs.command()
@store_option
@write_option("--out", "The JSON file to write.", required=True)
def export(store: Path, out: Path) -> None:
    """Write all runs as JSON."""
    from empirical.execution.listing import export_json
    from empirical.execution.store import open_store

    with open_store(store, read_only=True) as opened:
        echo(f"{export_json(opened, out)} runs: {out}")


@runs.command()
@store_option
@write_option("--json", "Write every run's numbers here, as JSON.")
def precision(store: Path, json: Path | None) -> None:
    """How many bits the numbers of each run that has memorised need, and which noise its rows survive."""
    from empirical.comparison import quantised
    from empirical.comparison.command import counting
    from theory.records.console import printed_width
    from theory.records.writing import write_atomically

    with counting("runs") as show:
        measured = quantised.measure_store(store, show)
    echo(quantised.as_text(measured, printed_width()), nl=False)
    if json is not None:
        text = quantised.as_json(measured)
        write_atomically(json, lambda file: file.write_text(text, encoding="utf-8"))


@runs.command()
@store_option
@click.option("--failed", is_flag=True, help="Remove failed runs too, so that they are run again.")
def prune(store: Path, failed: bool) -> None:
    """Remove weights that belong to no run (and failed runs)."""
    from empirical.execution.store import open_store

    with open_store(store) as opened:
        pruned = opened.prune(failed=failed)
    click.echo(f"{pruned.runs} runs and {pruned.files} files removed")
