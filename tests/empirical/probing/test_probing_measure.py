"""The whole probe: layers, known facts, controls, verdicts and the record, on models whose answers are known."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import safetensors.numpy

from constructions.weights import t1, t1b, t2b
from empirical.models.conversion import to_transformer
from empirical.models.model import system_of
from empirical.models.runs import RunConfig
from empirical.models.training import train
from empirical.probing import command
from empirical.probing.measures.measure import LEAST_SUBJECTS, checked_layers
from empirical.probing.probe import probe, write, write_maps
from empirical.probing.verdicts import exchanged, readable, reading_status, superposed, swap_status
from tests.helpers.probed_models import Stub, noise, relation
from tests.helpers.theory_model import TheoryModel, relations_of
from theory import FactSystem, InputError
from theory.records.ledger import all_hold

SYSTEM = FactSystem.random(64, 3, seed=1)


@pytest.fixture(scope="module")
def blocks():
    return probe(TheoryModel("T1", t1.construct(SYSTEM)), relations_of(SYSTEM))


@pytest.fixture(scope="module")
def memory():
    return probe(TheoryModel("T2b", t2b.construct(SYSTEM)), relations_of(SYSTEM))


def statuses(report):
    return [each.status for each in report.verdicts]


def test_every_relation_is_read_from_t1_at_the_embeddings(blocks):
    assert statuses(blocks) == ["supported"] * 3
    for each in blocks.relations:
        assert each.headline.layers == (0,) * 5
        assert each.headline.accuracy.low == each.headline.agreement.low == each.known.low == 1
        assert each.headline.unknown is None
        assert max(each.headline.shuffled.value, each.headline.randomised.value, each.headline.majority.value) < 0.1
        assert each.by_layer[1].accuracy.value < 0.5
    # T1 reads block 0 out where it stands: no map of its own is needed there, and that is not counted as read.
    assert [reading_status(each) for each in blocks.relations] == ["not supported", "supported", "supported"]


def test_a_circle_is_read_as_well():
    report = probe(TheoryModel("circle", t1b.construct_circle(SYSTEM)), relations_of(SYSTEM), [0])
    assert statuses(report) == ["supported"] * 3


def test_a_memory_knows_every_fact_and_its_states_hold_none(memory):
    assert all(each.known.value == 1 for each in memory.relations)
    assert all(each.headline.accuracy.high < 0.3 for each in memory.relations)
    assert statuses(memory) == ["not supported"] * 3


def test_random_weights_must_say_no():
    model = TheoryModel("T1", t1.construct(SYSTEM)).randomised(3)
    report = probe(model, relations_of(SYSTEM))
    assert statuses(report) == ["not supported"] * 3
    assert all(each.headline.accuracy.high < 0.2 for each in report.relations)


def test_a_trained_model_is_read_and_its_untrained_self_is_not():
    config = RunConfig(entities=96, relations=2, dimension=24, width=64, learning_rate=0.03, steps=600)
    trained = TheoryModel("trained", to_transformer(train([config])[0].parameters, config))
    relations = relations_of(system_of(config))
    report = probe(trained, relations, [0])
    assert report.verdicts[0].status == "supported"
    assert report.superposition[0].explained.together.low > 0.4
    untrained = probe(trained.randomised(1), relations, [0])
    assert statuses(untrained) == ["not supported"] * 3


def hidden(layer: int, layers: int = 4, subjects: int = 60, objects: int = 8):
    """A model of noise, but for one layer, whose states are a linear function of the object's direction."""
    rows, owned = noise(objects, 30), np.random.default_rng(5).integers(objects, size=subjects)
    states = noise(layers, subjects, 30, seed=2)
    states[layer] = rows[owned] @ noise(30, 30, seed=3)
    return states, rows, owned


def test_the_layer_that_holds_the_relation_is_found():
    states, rows, owned = hidden(2)
    (found,) = probe(Stub(states, rows, {}), [relation(owned)]).relations
    assert found.headline.layers == (2,) * 5
    assert found.headline.accuracy.value == 1
    assert found.headline.p_controls < 0.01
    assert max(found.by_layer[layer].accuracy.value for layer in (0, 1, 3)) < 0.5
    assert [reading.layers for reading in found.by_layer] == [(0,), (1,), (2,), (3,)]


def test_the_best_of_many_layers_of_noise_is_no_headline():
    _, rows, owned = hidden(0)
    report = probe(Stub(noise(20, 60, 30, seed=4), rows, {}), [relation(owned), relation(owned[::-1], "shape")])
    for found in report.relations:
        best = max(each.accuracy.value for each in found.by_layer)
        assert found.headline.accuracy.value < best
        assert found.headline.p_controls > 0.05
        assert min(each.p_controls for each in found.by_layer) > 0.05
    assert report.verdicts[0].status != "supported"


def test_known_and_unknown_facts_are_told_apart():
    states, rows, owned = hidden(1)
    unknown = np.arange(60) % 3 == 0
    states[:, unknown] = noise(4, int(unknown.sum()), 30, seed=8)
    said = np.where(unknown, (owned + 1) % 8, owned)
    (found,) = probe(Stub(states, rows, {"colour": said.tolist()}), [relation(owned)]).relations
    assert found.known.value == pytest.approx(2 / 3)
    assert found.headline.known.value > 0.9
    assert found.headline.unknown.high < 0.5
    assert (found.headline.known.subjects, found.headline.unknown.subjects) == (40, 20)


def test_agreement_is_with_what_the_model_says_and_not_with_what_is_right():
    states, rows, owned = hidden(1)
    said = (owned + 1) % 8
    (found,) = probe(Stub(states, rows, {"colour": said.tolist()}), [relation(owned)]).relations
    assert (found.headline.accuracy.value, found.headline.agreement.value, found.known.value) == (1, 0, 0)


def test_what_lies_in_the_state_itself_needs_no_map():
    _, rows, owned = hidden(0)
    states = np.stack([rows[owned] + 0.1 * noise(60, 30), noise(60, 30)])
    report = probe(Stub(states, rows, {}), [relation(owned), relation(owned, "shape")])
    assert all(each.headline.similarity.value == each.headline.accuracy.value == 1 for each in report.relations)
    assert report.verdicts[0].status == "not supported"


def test_what_the_randomised_copy_holds_as_well_is_not_read():
    class Tokens(Stub):
        def randomised(self, seed):
            return self

    states, rows, owned = hidden(1)
    (found,) = probe(Tokens(states, rows, {}), [relation(owned)]).relations
    assert found.headline.accuracy.value == found.headline.randomised.value == 1
    assert found.headline.p_controls == 1
    assert reading_status(found) == "not supported"


def test_objects_of_one_direction_count_as_one():
    states, rows, owned = hidden(1)
    rows[7] = rows[6]
    (found,) = probe(Stub(states, rows, {}), [relation(owned)]).relations
    assert (found.objects, found.directions) == (8, 7)


def test_a_model_without_answers_is_read_but_not_exchanged():
    class Silent(Stub):
        def scores(self, *_):
            raise InputError("no answers")

    states, rows, owned = hidden(1)
    both = [relation(owned), relation(owned[::-1], "shape")]
    report = probe(Silent(states, rows, {}), both, asks=False)
    found = report.relations[0]
    assert found.headline.accuracy.value == 1
    assert found.known is found.headline.known is found.headline.unknown is found.headline.agreement is None
    assert report.swaps == ()
    assert report.verdicts[2].status == "undecided"
    assert "gives no answers" in report.verdicts[2].reason
    assert "no answers" in command.text(report)
    with pytest.raises(InputError, match="no answers"):
        probe(Silent(states, rows, {}), both)


def test_a_relation_with_too_few_subjects_is_left_out():
    states, rows, owned = hidden(1)
    alone = probe(Stub(states, rows, {}), [relation(owned)])
    both = probe(Stub(states, rows, {}), [relation(owned[:39], "few"), relation(owned)])
    assert both.left_out == (("few", "made up has 39 subjects; a probe needs at least 40"),)
    assert both.relations == alone.relations


def test_every_object_that_is_listed_for_a_subject_is_right():
    """Ten subjects have two right objects, and model and state tell the other one than maps are fitted to."""
    states, rows, owned = hidden(1)
    first = list(owned)
    kinds = max(first) + 1
    for x in range(10):
        first[x] = (owned[x] + 1) % kinds
    one = relation(first)
    both = replace(one, others=tuple((f"subject {x}", f"object {owned[x]:03}") for x in range(10)))
    model = Stub(states, rows, {"colour": owned})
    strict, lenient = (probe(model, [each]).relations[0] for each in (one, both))
    assert (strict.subjects, strict.facts) == (len(first), len(first))
    assert (lenient.subjects, lenient.facts) == (len(first), len(first) + 10)
    assert strict.known.value == pytest.approx(1 - 10 / len(first))
    assert lenient.known.value == 1
    assert lenient.headline.accuracy.value > strict.headline.accuracy.value
    assert lenient.headline.agreement == strict.headline.agreement


def test_bad_input_is_told_in_a_line():
    states, rows, owned = hidden(1)
    model = Stub(states, rows, {})
    few = relation(owned[: LEAST_SUBJECTS - 1])
    with pytest.raises(InputError, match="colour: made up has 39 subjects; a probe needs at least 40"):
        probe(model, [few])
    with pytest.raises(InputError, match="the hidden states of stub are not finite"):
        probe(Stub(np.where(np.arange(60)[:, None] == 7, np.inf, states), rows, {}), [relation(owned)])

    with pytest.raises(InputError, match="layer 4 is asked for; stub has layers 0\\.\\.3"):
        probe(model, [relation(owned)], [1, 4])
    with pytest.raises(InputError, match="two relations are called 'colour'"):
        probe(model, [relation(owned), relation(owned)])
    with pytest.raises(InputError, match="no relation to probe stub for \\(none is given\\)"):
        probe(model, [])
    with pytest.raises(InputError, match="colour: all its objects have one direction"):
        probe(Stub(states, np.ones_like(rows), {}), [relation(owned)])
    assert checked_layers(model, None) == (0, 1, 2, 3)
    assert checked_layers(model, [3, 1]) == (0, 1, 3)


def test_a_relation_that_this_model_cannot_tell_apart_is_left_out_and_named():
    states, rows, owned = hidden(1)
    rows = np.concatenate([rows, np.tile(rows[:1], (8, 1))])
    report = probe(Stub(states, rows, {}), [relation(owned), relation(owned + 8, "number")], [1])
    assert [name for name, _ in report.left_out] == ["number"]
    assert "left out: number: all its objects have one direction" in command.text(report)
    assert len(report.relations) == 1


def test_verdicts_follow_their_rules(blocks):
    one = blocks.relations[1]
    assert readable([one]).status == "undecided"  # one relation alone is not enough
    assert readable([one, one]).status == "supported"
    wide = replace(one.headline.gain, low=-0.1, high=0.3)
    unsure = replace(one, headline=replace(one.headline, p_controls=0.2, gain=wide))
    assert reading_status(unsure) == "undecided"
    none = replace(unsure, headline=replace(unsure.headline, gain=replace(wide, high=0.05)))
    assert reading_status(none) == "not supported"
    assert readable([one, none, none]).status == "not supported"
    assert readable([one, none]).status == "undecided"

    family = blocks.superposition[0]
    crowded = replace(family, subspaces=replace(family.subspaces, mean=0.9))
    assert superposed([crowded], blocks.relations).status == "not supported"
    among = replace(family, subspaces=replace(family.subspaces, mean=0.9, shuffled=0.95))
    assert superposed([among], blocks.relations).status == "undecided"
    assert superposed([family, crowded], blocks.relations).status == "undecided"
    assert superposed([], blocks.relations).status == "undecided"
    unread = [replace(each, headline=replace(each.headline, p_controls=0.5)) for each in blocks.relations]
    assert superposed([family], unread).status == "undecided"

    swap = blocks.swaps[0]
    weak = replace(swap, through_map=replace(swap.through_map, success=replace(swap.gain, value=0.3, high=0.45)))
    assert swap_status(weak) == "not supported"
    leaking = replace(swap, selective=replace(swap.selective, low=-0.1, high=0.1))
    assert swap_status(leaking) == "undecided"
    assert exchanged([swap, swap, weak]).status == "supported"
    assert exchanged([]).status == "undecided"


def test_the_ledger_gets_measured_rows_of_this_model_and_these_relations(blocks, memory):
    rows = command.rows(blocks)
    assert [row.claim for row in rows] == ["E7"] * 3
    assert all(row.rung == "measured" and row.status == "holds" for row in rows)
    assert all("T1, relations relation 0, relation 1, relation 2 and nothing beyond" in row.coverage for row in rows)
    assert [row.status for row in command.rows(memory)] == ["fails"] * 3
    assert not all_hold(rows)  # what is measured decides nothing


def test_the_record_is_json_with_provenance_and_the_same_every_time(blocks, tmp_path):
    path = tmp_path / "probe.json"
    write(blocks, path)
    read = json.loads(path.read_text())
    assert read["provenance"]["python"]
    assert (read["model"], read["dimension"], read["blocks"], read["layers"]) == ("T1", 18, 1, [0, 1])
    assert [each["layers"] for each in read["relations"][0]["by_layer"]] == [[0], [1]]
    assert read["relations"][0]["headline"]["accuracy"] == {"value": 1.0, "low": 1.0, "high": 1.0, "subjects": 64}
    assert {"through_map", "random", "shuffled"} <= set(read["swaps"][0])
    assert read["superposition"][0]["by_layer"][0]["together"]["value"] == pytest.approx(1)
    assert [each["status"] for each in read["verdicts"]] == ["supported"] * 3
    again = probe(TheoryModel("T1", t1.construct(SYSTEM)), relations_of(SYSTEM))
    assert again.as_dict() == blocks.as_dict()
    with pytest.raises(InputError, match="cannot write"):
        write(blocks, tmp_path / "nowhere" / "probe.json")


def test_the_maps_on_disk_are_the_maps(blocks, tmp_path):
    path = write_maps(blocks, tmp_path / "maps")
    tensors = safetensors.numpy.load_file(path)
    model = TheoryModel("T1", t1.construct(SYSTEM))
    asked = relations_of(SYSTEM)[2]
    states = model.states(asked.subjects)[0]
    parts = [tensors[f"relation 2.{name}"] for name in ("centre", "read", "write", "offset")]
    guess = (states - parts[0]) @ parts[1] @ parts[2] + parts[3]
    wanted = model.directions([found for _, found in asked.samples])
    np.testing.assert_allclose(guess, wanted, atol=1e-3)
    with pytest.raises(InputError, match="cannot write"):
        write_maps(blocks, tmp_path / "no" / "where")


def test_the_text_tells_headlines_controls_exchanges_and_verdicts(blocks):
    text = command.text(blocks)
    for part in ("Linear read-outs", "Controls", "Superposition", "One relation's component exchanged", "E7:"):
        assert part in text
    assert "1.00 [1.00, 1.00]" in text


def test_progress_counts_to_the_end():
    states, rows, owned = hidden(1, layers=2)
    seen = []
    both = [relation(owned), relation(owned[::-1], "shape")]
    probe(Stub(states, rows, {}), both, progress=lambda *step: seen.append(step))
    assert {what.split()[0] for what, _, _ in seen} == {"ask", "states", "read", "superposition", "swap"}
    assert all(0 <= done <= total for _, done, total in seen)


@pytest.mark.parametrize("terminal", [False, True])
def test_the_bar_is_a_terminals_alone(terminal, monkeypatch, capsys):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    with command.progress_bar() as show:
        show("read [/red]", 1, 2)
    said = capsys.readouterr()
    assert said.out == ""
    assert ("read [/red]" in said.err) == terminal == bool(said.err)
