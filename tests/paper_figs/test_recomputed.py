"""The headline numbers, from the committed thresholds by other code than the project's: nothing of it is imported.

What is counted, how thresholds become variances, the pooled means, Q, the two rates and the exponents are written out
here anew, with SciPy's optimisers, from what the docstrings say.
"""

from __future__ import annotations

import json
from math import comb, e, factorial, isqrt, lgamma, log, log2
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import chi2, t

from tests.helpers.places import RESULTS, ROOT

REPORT = json.loads((RESULTS / "standard.json").read_text(encoding="utf-8"))
FITTED = [(32, 2), (32, 4), (64, 2), (64, 4), (32, 8), (128, 4), (128, 8), (256, 2)]
LARGER = [(64, 8), (128, 2), (256, 4), (256, 8), (512, 2), (1024, 2)]


def parsed(name: str) -> dict[str, str]:
    """What a curve's name says."""
    return dict(word.split("=") if "=" in word else (word, "yes") for word in name.split())


def bits(n: int) -> float:
    return lgamma(n + 1) / log(2)


def answers(curve: dict[str, str]) -> int:
    return int(curve["R"]) ** (1 if "chain" in curve else int(curve["k"]))


def counted(curve: dict[str, str], d: float) -> tuple[float, float]:
    """(scalars outside the MLP, those in it) that learn at dimension d."""
    n, r = int(curve["N"]), int(curve["R"])
    k = 1 if "chain" in curve else int(curve["k"])
    learned = curve.get("readout", "learned")
    outside = r * d + (k * d * d if k > 1 else 0)
    outside += 2 * d + 4 * d * d if curve.get("attention") == "learned" else 0  # of one hop: a head, two positions
    outside += n * d if curve.get("subjects") != "frozen" else 0
    outside += n * d if learned == "learned" else 0
    outside += n if learned != "frozen" else 0
    p = max(1, (n - 1).bit_length())
    width = {"4d": 4 * d, "selector": answers(curve) * p}.get(curve["width"]) or int(curve["width"])
    return outside, 2 * d * width + width + d


def data(names: list[str]) -> Any:
    """(log β, its variance, log of the scalars, R, N, k) of each curve."""
    known = {each["curve"]: each for each in REPORT["thresholds"] if each["accuracy"] == 0.99}
    rows = []
    for name in names:
        found, curve = known[name], parsed(name)
        at, low, high = (sum(counted(curve, found[key])) for key in ("dimension", "low", "high"))
        variance = (log(high / low) / (2 * 1.959963984540054)) ** 2
        demand = answers(curve) * bits(int(curve["N"]))
        rows.append((log(demand / at), variance, log(at), int(curve["R"]), int(curve["N"]), int(curve["k"])))
    return np.array(rows)


def one_hop(sizes: list[tuple[int, int]]) -> list[str]:
    return [f"N={n} R={r} k=1 width=4d" for n, r in sizes]


def verdict(start: str) -> dict[str, float]:
    (found,) = [each for each in REPORT["verdicts"] if each["statement"].startswith(start)]
    return dict(found["numbers"])


def held_out() -> list[str]:
    """Each held-out curve once: a chain of hops is its one-hop model."""
    own: dict[str, str] = {}
    for row in REPORT["capacity_law"]:
        if row["counting"] == "every scalar":
            words = parsed(row["curve"])
            plain = {key: value for key, value in words.items() if key != "chain"} | (
                {"k": "1"} if "chain" in words else {}
            )
            own.setdefault(json.dumps(plain, sort_keys=True), row["curve"])
    return list(own.values())


def exponents(design: Any, logs: Any, variances: Any) -> tuple[Any, Any]:
    """Weighted least squares with the scatter between curves by maximum likelihood: the values, half the intervals."""

    def solved(scatter: float) -> tuple[Any, Any, float, float]:
        weights = 1 / (variances + scatter**2)
        information = design.T @ (weights[:, None] * design)
        values = np.linalg.solve(information, design.T @ (weights * logs))
        squares = float(weights @ (logs - design @ values) ** 2)
        return values, information, squares, -squares / 2 + np.log(weights).sum() / 2

    found = minimize_scalar(lambda scatter: -solved(scatter)[3], bounds=(0, 1), method="bounded")
    scatter = 0.0 if solved(0.0)[3] >= -found.fun else float(found.x)
    values, information, squares, _ = solved(scatter)
    freedom = len(logs) - design.shape[1]
    covariance = np.linalg.inv(information) * max(1, squares / freedom)
    return values, t.ppf(0.975, freedom) * np.sqrt(np.diag(covariance))


def test_beta_and_its_interval() -> None:
    found = data(one_hop(FITTED))
    logs, variances = found[:, 0], found[:, 1]
    weights = 1 / variances
    excess = weights @ (logs - np.average(logs, weights=weights)) ** 2 - 7
    between = max(0, excess / (weights.sum() - (weights**2).sum() / weights.sum()))
    weights = 1 / (variances + between)
    mean = np.average(logs, weights=weights)
    half = t.ppf(0.975, 7) * np.sqrt(max(1, weights @ (logs - mean) ** 2 / 7) / weights.sum())
    numbers = verdict("all of these: β bits for every scalar")
    expected = [numbers[key] for key in ("β", "β, low", "β, high")]
    assert np.exp([mean, mean - half, mean + half]) == pytest.approx(expected, rel=1e-9)


def test_one_beta_is_refuted() -> None:
    names = held_out()
    assert len(names) == 70
    found = data([*one_hop(FITTED), *names])
    weights = 1 / found[:, 1]
    q = weights @ (found[:, 0] - np.average(found[:, 0], weights=weights)) ** 2
    numbers = verdict("all of these: β bits for every scalar")
    assert (q, 77) == pytest.approx((numbers["Q"], numbers["degrees of freedom"]))
    assert chi2.sf(q, 77) < 1e-40
    as_maps = found[:, 0] + [log(n * log2(n) / bits(int(n))) for n in found[:, 4]]
    rates = verdict("an MLP's scalar stores fewer bits")
    assert weights @ (as_maps - np.average(as_maps, weights=weights)) ** 2 == pytest.approx(rates["Q, one β, N·log2 N"])


def test_two_rates() -> None:
    names = [*one_hop(FITTED), *held_out()]
    known = {each["curve"]: each for each in REPORT["thresholds"] if each["accuracy"] == 0.99}
    parts = np.array([counted(parsed(name), known[name]["dimension"]) for name in names])
    found = data(names)
    demand = found[:, 0] + found[:, 2]

    def q(logs: Any) -> float:
        return float(((demand - np.log(parts @ np.exp(logs))) ** 2 / found[:, 1]).sum())

    best = minimize(q, (0.5, 0.5), method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-10, "maxiter": 10_000})
    numbers = verdict("an MLP's scalar stores fewer bits")
    assert best.fun == pytest.approx(numbers["Q, two rates"], rel=1e-6)
    assert np.exp(best.x) == pytest.approx([numbers["β outside the MLP"], numbers["β of the MLP"]], rel=1e-5)


def test_the_exponents_of_e1() -> None:
    found = data(one_hop(FITTED + LARGER))
    design = np.stack([np.ones(14), np.log(found[:, 3]), np.log([bits(int(n)) for n in found[:, 4]])], axis=1)
    values, half = exponents(design, found[:, 2], found[:, 1])
    numbers = verdict("learned scalars grow like R·log2 N!")
    for place, name in ((1, "a"), (2, "b")):
        expected = [numbers[key] for key in (name, f"{name}, low", f"{name}, high")]
        assert values[place] + np.array([0, -1, 1]) * half[place] == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize(
    ("group", "words"), [("learned", ""), ("tied", " readout=tied"), ("frozen", " readout=frozen")]
)
def test_the_exponent_of_hops(group: str, words: str) -> None:
    hops = [
        (64, 2, 1),
        (64, 2, 2),
        (64, 2, 3),
        (64, 3, 1),
        (64, 3, 2),
        (64, 4, 1),
        (64, 4, 2),
        (128, 2, 1),
        (128, 2, 2),
    ]
    found = data([f"N={n} R={r} k={k} width=4d{words}" for n, r, k in hops])
    r, n, k = (found[:, place] for place in (3, 4, 5))
    offset = np.log(r * np.array([bits(int(each)) for each in n]))
    design = np.stack([np.ones(len(r)), (k - 1) * np.log(r)], axis=1)
    values, half = exponents(design, found[:, 2] - offset, found[:, 1])
    numbers = verdict(f"hops {group}: learned scalars")
    expected = [numbers[key] for key in ("e", "e, low", "e, high")]
    assert values[1] + np.array([0, -1, 1]) * half[1] == pytest.approx(expected, rel=2e-3)


STRUCTURE = json.loads((RESULTS / "structure.json").read_text(encoding="utf-8"))
COSTS = [each for each in STRUCTURE["structure"] if each["rho"] is not None]


def size(setting: str) -> tuple[int, int]:
    words = parsed(setting)
    return (int(words["N"]), int(words["R"])) if "N" in words else (64, 16)


def learned(setting: str, d: float) -> float:
    """All scalars that learn, one hop and width 4d."""
    n, r = size(setting)
    readout = {"tied": "tied", "frozen read-out": "frozen"}.get(setting, "learned")
    return sum(counted({"N": str(n), "R": str(r), "k": "1", "width": "4d", "readout": readout}, d))


def share_of_information(system: str, n: int, r: int) -> float:
    """ι by the numbers of free choices; a derangement is one permutation in e."""
    involutions = sum(factorial(n) // (factorial(n - 2 * p) * factorial(p) * 2**p) for p in range(n // 2 + 1))
    choices = {
        "independent": r * bits(n),
        "fresh": r * bits(n),
        "maps": r * n * log2(n),
        "inverses": r / 2 * bits(n),
        "involutions": r * log2(involutions),
        "compositions": (isqrt(r - 1) + 1) * bits(n),
        "half-shared": r / 2 * (bits(n) + log2(comb(n, n // 2)) + bits(n // 2) - log2(e)),
        "synonyms": r / 2 * bits(n),
        "fourfold-synonyms": r / 4 * bits(n),
        "blocks": 4 * r * bits(n // 4),
        "xor": r * log2(n),
        "hidden-shift": bits(n) + (r - 1) * log2(n),
        "cycle-powers": bits(n) - log2(n),
    }
    return choices[system] / (r * bits(n))


@pytest.mark.parametrize("cost", COSTS, ids=lambda each: f"{each['setting']} {each['system']}")
def test_what_a_family_costs(cost: dict[str, Any]) -> None:
    base = next(each for each in COSTS if each["setting"] == cost["setting"] and each["system"] == "independent")[
        "thresholds"
    ]
    assert cost["information"] == pytest.approx(share_of_information(cost["system"], *size(cost["setting"])), abs=1e-9)
    seeds = sorted(set(base) & set(cost["thresholds"]))
    assert len(seeds) >= 4
    ratio = {
        (x, y): [
            log(learned(cost["setting"], cost["thresholds"][seed] - x) / learned(cost["setting"], base[seed] - y))
            for seed in seeds
        ]
        for x, y in ((0.5, 0.5), (1, 0), (0, 1))
    }
    assert np.exp(np.mean(ratio[0.5, 0.5])) == pytest.approx(cost["rho"])
    for (x, y), place, name in (((1, 0), 0.025, "low"), ((0, 1), 0.975, "high")):
        chosen = np.stack(np.meshgrid(*[range(len(seeds))] * len(seeds))).reshape(len(seeds), -1)
        means = np.sort(np.array(ratio[x, y])[chosen].mean(axis=0))
        assert np.exp(means[int(np.ceil(place * means.size)) - 1]) == pytest.approx(cost[name])
    half = (1 + cost["information"]) / 2
    outcome = "compressed" if cost["high"] < half else "undecided"
    if cost["low"] > half and cost["high"] >= 0.9:
        outcome = "not compressed"
    assert cost["outcome"] == (outcome if cost["information"] < 1 else None)


@pytest.mark.parametrize("cost", COSTS, ids=lambda each: f"{each['setting']} {each['system']}")
def test_thresholds_are_those_of_the_trials(cost: dict[str, Any]) -> None:
    """The mean of the seeds' thresholds is the sum of the shares that fail, from the last d at which all do."""
    shares = {d: memorised / runs for d, memorised, runs, *_ in cost["trials"] if runs >= 5}
    last = min(
        d for d, share in shares.items() if share == 1 and any(s == 0 for other, s in shares.items() if other < d)
    )
    first = max(d for d, share in shares.items() if share == 0 and d < last)
    expected = first + sum(1 - shares[d] for d in range(first, last + 1))
    assert np.mean(list(cost["thresholds"].values())) == pytest.approx(expected)


def test_structure_is_decided_only_where_its_controls_pass() -> None:
    for found in STRUCTURE["verdicts"]:
        assert found["claim"] == "E9"
        if found["status"] != "undecided":
            system = found["statement"].removeprefix("training compresses ")
            own = {each["setting"]: each["outcome"] for each in COSTS if each["system"] == system}
            word = {"supported": "compressed", "not supported": "not compressed"}[found["status"]]
            assert own["N=64 R=16"] == own["N=128 R=16"] == word
            for setting in ("N=64 R=16", "N=128 R=16"):
                fresh = next(x for x in COSTS if (x["setting"], x["system"]) == (setting, "fresh"))
                assert abs(fresh["rho"] - 1) <= 0.05
                assert {x["outcome"] for x in COSTS if x["setting"] == setting and "synonyms" in x["system"]} == {
                    "compressed"
                }


def controls_pass(setting: str) -> bool:
    """Synonyms compressed, fresh systems at ρ = 1 ± 0.05."""
    own = {each["system"]: each for each in COSTS if each["setting"] == setting}
    synonyms = [own[name]["outcome"] for name in ("synonyms", "fourfold-synonyms") if name in own]
    return "fresh" in own and abs(own["fresh"]["rho"] - 1) <= 0.05 and set(synonyms) == {"compressed"}


def test_verdicts_are_counted_from_the_outcomes() -> None:
    """Every family's verdict again: both deciding sizes, four of the five conditions, no further size against it."""
    deciding, further = {"N=64 R=16", "N=128 R=16"}, {"N=64 R=32", "N=256 R=16"}
    conditions = {"10,000 steps", "weight decay 0.1", "tied", "frozen read-out", "rate 0.03"}
    status = {"compressed": "supported", "not compressed": "not supported"}
    assert {each["setting"] for each in STRUCTURE["structure"]} == deciding | further | conditions
    for found in STRUCTURE["verdicts"]:
        system = found["statement"].removeprefix("training compresses ")
        own = {
            each["setting"]: each["outcome"]
            for each in COSTS
            if each["system"] == system and controls_pass(each["setting"])
        }
        expected = "undecided"
        for one, other in (("compressed", "not compressed"), ("not compressed", "compressed")):
            agree = all(own.get(setting) == one for setting in deciding)
            robust = sum(own.get(setting) == one for setting in conditions) >= 4
            if agree and robust and all(own.get(setting) != other for setting in further):
                expected = status[one]
        assert found["status"] == expected, system


def test_the_page_says_what_the_results_say() -> None:
    """The table of docs/compression.md is that of the committed file; the message has the lines that are missing."""
    page = (ROOT / "docs" / "compression.md").read_text(encoding="utf-8")
    settings = ("N=64 R=16", "N=128 R=16", "N=64 R=32", "N=256 R=16")
    lines = []
    for system in dict.fromkeys(each["system"] for each in STRUCTURE["structure"] if each["system"] != "independent"):
        own = {each["setting"]: each for each in COSTS if each["system"] == system}
        cells = []
        for name in settings:
            found = own.get(name)
            said = "" if found is None or found["outcome"] is None else f", {found['outcome']}"
            cells.append(
                "–" if found is None else f"{found['rho']:.2f} [{found['low']:.2f}, {found['high']:.2f}]{said}"
            )
        lines.append(f"| {system} | {' | '.join(cells)} |")
    assert [line for line in lines if line not in page] == []


PRECISION = json.loads((RESULTS / "precision.json").read_text(encoding="utf-8"))


def test_the_line_of_precision_and_what_lies_beyond_it() -> None:
    """By the normal equations of plain least squares, from the runs of the record; and the page has these numbers."""
    page = (ROOT / "docs" / "compression.md").read_text(encoding="utf-8")
    runs = PRECISION["measured"]
    own = [each for each in runs if each["family"] == "independent"]
    x, y = ([each[name] for each in own] for name in ("stored", "needed"))
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum((a - mean_x) ** 2 for a in x)
    intercept = mean_y - slope * mean_x
    assert PRECISION["line"]["slope"][0] == pytest.approx(slope, rel=2e-3)
    assert PRECISION["line"]["intercept"][0] == pytest.approx(intercept, rel=2e-3)
    told = [PRECISION["line"]["intercept"], PRECISION["line"]["slope"]]
    assert {each["family"] for each in PRECISION["beyond"]} == {each["family"] for each in runs} - {"independent"}
    for each in PRECISION["beyond"]:
        mine = [run for run in runs if run["family"] == each["family"]]
        assert each["runs"] == len(mine)
        for name, at in (("at_stored", "stored"), ("at_independent", "as_independent")):
            beyond = [run["needed"] - intercept - slope * run[at] for run in mine]
            assert each[name][0] == pytest.approx(sum(beyond) / len(beyond), abs=0.02)
            assert each[name][1] < each[name][0] < each[name][2]
            told.append(each[name])
    assert [each for each in told if "{:.2f} [{:.2f}, {:.2f}]".format(*each) not in page] == []
