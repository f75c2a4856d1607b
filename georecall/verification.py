"""Commands about theorems: verify them, write constructions, count graphs, tabulate bounds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from georecall.options import (
    MOST_HOPS,
    Seconds,
    checks_of_preset,
    count_option,
    facts_option,
    finish,
    list_option,
    preset_option,
    read_option,
    seed_option,
    write_option,
)
from georecall.paths import Read, echo, prints_aside
from theory.errors import InputError
from theory.records.writing import MODEL, SYSTEM

MOST_DIGITS = 10_000  # of a logarithm


def _kinds() -> str:
    from bounds.tables.command import explanations

    return "\n".join(explanations())


class OfTheorems(click.Command):
    """A command about theorems, whose help lists them."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The help, and the identifiers of the registry."""
        from theory.statements.registry import theorems

        super().format_help_text(ctx, formatter)
        with formatter.indentation():
            formatter.write_paragraph()
            formatter.write_text(f"CLAIM is a theorem: {', '.join(theorems())}.")


@click.command(cls=OfTheorems, short_help="Check theorems, or a model of your own, and print the ledger.")
@click.argument("claims", nargs=-1, metavar="[CLAIM ...]")
@preset_option
@count_option("--entities", "N: check at this size instead of the preset's (with --relations).")
@count_option("--relations", "R: check at this size instead of the preset's (with --entities).")
@count_option("--hops", "k, for the claims about several hops (2, unless given).", most=MOST_HOPS)
@count_option("--bits", "b, the bits of a subject entry (1, unless given).")
@count_option("--stride", "j, the hops of a step of a chain, T3b (1, unless given).")
@seed_option
@write_option("--json", "Write the ledger here, as JSON.")
@read_option("--weights", "Verify this model (.safetensors), with --system.")
@facts_option("The facts that it should recall")
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
    several: Literal["refuse", "any"],
    rational: bool,
) -> None:
    """Check claims (all, unless named) and print the ledger. Exit status 0 only if every one of them holds."""
    from constructions.suite.checks import Sizes, check_model
    from constructions.suite.presets import checks_of_size
    from constructions.weights.catalogue import Setting
    from theory.records.ledger import run_all_checks
    from theory.statements.registry import in_order

    if (weights is None) != (system is None):
        raise InputError("--weights and --system go together: a model, and the facts that it should recall")
    if weights is not None and claims:
        raise InputError("a model is verified as it is: name claims, or --weights and --system, not both")
    if (entities is None) != (relations is None) or (entities is None and (hops or bits or stride)):
        raise InputError("a size needs both --entities and --relations (--hops, --bits and --stride go with them)")
    if weights is not None and system is not None:
        finish(check_model(weights, system, rational=rational, several=several), json)
    elif entities is not None and relations is not None:
        sizes = Sizes(entities, relations, Setting(hops or 2, bits or 1, stride or 1), seed)
        finish(run_all_checks(checks_of_size(in_order(claims) if claims else (), sizes)), json)
    else:
        finish(run_all_checks(checks_of_preset(claims, preset, seed)), json)


@click.command(short_help="Write the weights of a theorem's transformer.")
@click.argument("claim")
@facts_option("The facts to build it for, instead of random ones")
@count_option("--entities", "N, of a random fact system.")
@count_option("--relations", "R, likewise.")
@count_option("--hops", "k, for the claims about several hops.", most=MOST_HOPS, default=2, show_default=True)
@count_option("--bits", "b, the bits of a subject entry.", default=1, show_default=True)
@count_option("--stride", "j, the hops of a step of a chain (T3b).", default=1, show_default=True)
@seed_option
@click.option("--name", help="Which of the claim's constructions (the first, unless named).")
@write_option("--out", "Weights to write (.safetensors).", kind=MODEL, required=True)
@write_option("--system-out", "Write the fact system too (.npy or .json).", kind=SYSTEM)
def construct(
    claim: str,
    system: Path | None,
    several: Literal["refuse", "any"],
    entities: int | None,
    relations: int | None,
    hops: int,
    bits: int,
    stride: int,
    seed: int,
    name: str | None,
    out: Path,
    system_out: Path | None,
) -> None:
    """Build CLAIM's transformer, for facts of your own or a random fact system, and write its weights."""
    from constructions.suite.checks import Sizes, build
    from constructions.weights.catalogue import Setting, entry
    from theory.records.facts import load_facts
    from theory.records.files import save_model, save_system

    chosen, setting = entry(claim, name), Setting(hops, bits, stride)
    if system is None:
        if entities is None or relations is None:
            raise InputError("construct needs --facts, or --entities and --relations")
        facts, (built, transformer) = None, build(chosen, Sizes(entities, relations, setting, seed))
    else:
        if entities is not None or relations is not None:
            raise InputError("the facts say how many entities and relations there are: leave these out")
        facts = load_facts(system, several)
        if system_out is not None:  # which says nothing of facts that are missing
            facts.whole()
        built, transformer = build(chosen, Sizes(facts.system.entities, facts.system.relations, setting), facts.system)
        facts = facts.asked(built, chosen.asked.names(facts.relations))
    save_model(transformer, chosen.task(setting), out, facts)
    if system_out is not None:
        save_system(built, system_out)
    echo(
        f"{claim} ({chosen.name}): d = {transformer.dimension}, width = {transformer.width}, "
        f"{transformer.parameters} parameters: {out}"
    )


@click.command(short_help="Ask a model a question, by names, in exact arithmetic.")
@click.argument("model", type=Read())
@click.argument("subject")
@click.argument("relations", nargs=-1, required=True)
def ask(model: Path, subject: str, relations: tuple[str, ...]) -> None:
    """Ask a MODEL that was built with --facts for the object of a SUBJECT and the RELATIONS that lead to it.

    Answers with the object and the margin by which its logit exceeds every other, in exact arithmetic. Exit status 2
    for a question that the facts do not answer.
    """
    from constructions.suite.asking import ask as answered

    echo(str(answered(model, subject, relations)))


@click.command(short_help="Count edge-coloured graphs and their like, exactly.")
@click.argument("kind", required=False)
@list_option("Explain the kinds, in a line each.", _kinds)
@count_option("--entities", "N, the number of nodes.")
@count_option("--relations", "R, the number of relations (colours, matchings, rows).")
@count_option("--hops", "k, for answer-vectors.", most=MOST_HOPS)
@click.option("--check", is_flag=True, help="Count again by listing every object, and compare.")
@click.option(
    "--digits", type=click.IntRange(0, MOST_DIGITS), help="Print log10 of the count, enclosed, to so many decimals."
)
@write_option("--json", "Write the count here, as JSON.")
def count(
    kind: str | None,
    entities: int | None,
    relations: int | None,
    hops: int | None,
    check: bool,
    digits: int | None,
    json: Path | None,
) -> None:
    """Count the objects of a KIND, exactly: R-regular edge-coloured graphs of N nodes (--list explains the kinds)."""
    from bounds.tables import command

    if kind is None or entities is None or relations is None:
        raise InputError("count needs a KIND, --entities and --relations; georecall count --list explains the kinds")
    found = command.counted(kind, entities, relations, hops, check=check, digits=digits)
    if json is not None:
        command.write(found.as_json(), json)
    echo(found.line)
    sys.exit(0 if found.agrees else 1)


@click.command(short_help="Tabulate lower bounds beside what the constructions reach.")
@click.option("--entities", default="4096", show_default=True, help="N: numbers and ranges, as in 64,1000:1004.")
@click.option("--relations", default="2:16", show_default=True, help="R, likewise.")
@click.option("--hops", default="1:4", show_default=True, help="k, likewise.")
@click.option("--bits", default="1,2,4,8,16", show_default=True, help="b, the bits of a subject entry, likewise.")
@click.option("--shared-bits", default="0", show_default=True, help="B, bits outside the subject table.")
@click.option("--readout", type=click.Choice(["fixed", "learned", "tied"]), default="fixed", show_default=True)
@click.option("--error", default="0", show_default=True, help="The error rate allowed (T8), as 0.01 or 1/100.")
@click.option("--maps", is_flag=True, help="Facts that are arbitrary maps instead of bijections (T10).")
@click.option("--cost", is_flag=True, help="The table of widths, parameters and bits instead of that of dimensions.")
@click.option("--depth", is_flag=True, help="The table of capacity against depth: hops by emitted tokens.")
@click.option("--format", "layout", default="table", show_default=True, help="table, csv, json, markdown or latex.")
@write_option("--out", "Write the table here instead of printing it.")
def bounds(
    entities: str,
    relations: str,
    hops: str,
    bits: str,
    shared_bits: str,
    readout: str,
    error: str,
    maps: bool,
    cost: bool,
    depth: bool,
    layout: str,
    out: Path | None,
) -> None:
    """Tabulate lower bounds and what the constructions reach, with the assumptions that each number stands on."""
    from bounds.tables import command
    from theory.records.console import printed_width

    text = command.table(
        entities=entities,
        relations=relations,
        hops=hops,
        bits=bits,
        shared_bits=shared_bits,
        readout=readout,
        error=error,
        depth=depth,
        maps=maps,
        cost=cost,
        layout=layout,
        width=printed_width() if out is None else None,
    )
    if out is None:
        click.echo(text, nl=False)
    else:
        command.write(text, out)


@click.command(short_help="Attack the checkers with wrong models, and tell what they said.")
@count_option("--mutants", "How many: mutants 0, 1, .. of the seed.")
@click.option("--seconds", type=Seconds(), help="For how long (60, unless --mutants is given).")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the mutants.")
@count_option("--workers", "Processes.", default=1, show_default=True)
@write_option("--json", "Write the table and the violations here, as JSON.")
def campaign(mutants: int | None, seconds: float | None, seed: int, workers: int, json: Path | None) -> None:
    """Try to fool the checkers: mutants of every construction, and the truth about each from an evaluator of its own.

    Mutant number i of a seed is the same everywhere; a number of mutants gives the same table again. Interrupted, it
    prints the table so far. Exit status 1 if a checker said what it may not say.
    """
    from constructions.campaign.report import Report, print_report
    from constructions.campaign.run import progress, reports
    from theory.records.writing import write_atomically

    seconds = 60.0 if seconds is None and mutants is None else seconds
    report = Report(seed)
    try:
        with progress(mutants, seconds) as show:
            for report in reports(seed, mutants=mutants, seconds=seconds, workers=workers):
                show(report)
    finally:  # an interrupted campaign has found something too
        print_report(report, aside=prints_aside())
        if json is not None:
            text = report.to_json()
            write_atomically(json, lambda file: file.write_text(text, encoding="utf-8"))
    sys.exit(1 if report.violations else 0)
