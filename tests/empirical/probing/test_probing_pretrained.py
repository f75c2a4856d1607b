"""States, patches and scores of pretrained models, on tiny ones of each family, against plain runs of transformers."""

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

REASON = "is not installed: pip install 'geometric-recall[probe]'"
torch = pytest.importorskip("torch", reason=f"torch {REASON}")
pytest.importorskip("transformers", reason=f"transformers {REASON}")
pytest.importorskip("tokenizers", reason=f"tokenizers {REASON}")

from empirical.probing.facts.probed import Patch, Relation  # noqa: E402
from empirical.probing.language_models import prompts  # noqa: E402
from empirical.probing.language_models.continuations import _scores, is_faithful, tree_of  # noqa: E402
from empirical.probing.language_models.pretrained import PretrainedModel, load_pretrained  # noqa: E402
from empirical.probing.language_models.tokens import encode, spell  # noqa: E402
from tests.helpers.tiny_language_models import CAPITALS, CAUSAL, FAMILIES, OBJECTS, SUBJECTS, save  # noqa: E402
from theory.errors import InputError  # noqa: E402

torch.set_num_threads(1)  # several test processes share the cores


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, PretrainedModel]:
    """Each family's tiny model, saved and loaded again."""
    home = tmp_path_factory.mktemp("models")
    return {family: load_pretrained(str(save(family, home / family)), home / "cache") for family in FAMILIES}


def plain_states(model: PretrainedModel, subject: str) -> tuple[np.ndarray[Any, Any], Any]:
    """transformers' own hidden states of the one prompt, unpadded, and its final norm (None where there is none).

    The place of the subject's last token is found by what the tokens up to it decode to.
    """
    prompt = prompts.about(subject)
    tokens = model.tokenizer(prompt.text)["input_ids"]
    if model.kind == "causal":
        assert model.tokenizer.decode(tokens).endswith(subject)
        place = len(tokens) - 1
    else:
        place = len(tokens) - 2  # [SEP] is the last
    with torch.inference_mode():
        found = model.model.base_model(torch.tensor([tokens]), output_hidden_states=True).hidden_states
    parts = dict(model.model.base_model.named_children())
    norms = [parts[name] for name in ("norm", "final_layernorm", "ln_f", "final_layer_norm") if name in parts]
    return np.stack([layer[0, place].numpy() for layer in found]), norms[0] if norms else None


@pytest.mark.parametrize("family", FAMILIES)
def test_states_are_those_of_transformers(models: dict[str, PretrainedModel], family: str) -> None:
    model = models[family]
    states = model.states(SUBJECTS)
    assert states.shape == (4, len(SUBJECTS), 32)
    assert states.dtype == np.float32
    assert model.layers == 3
    for number, subject in enumerate(SUBJECTS):
        expected, norm = plain_states(model, subject)
        assert (norm is None) == family.startswith("bert")
        np.testing.assert_allclose(states[:-1, number], expected[:-1], rtol=1e-3, atol=1e-4)
        last = torch.from_numpy(states[-1, number])
        with torch.inference_mode():  # transformers' last hidden state comes after the final norm
            normed = last if norm is None else norm(last)
        np.testing.assert_allclose(normed.numpy(), expected[-1], rtol=1e-3, atol=1e-4)
        assert np.abs(states[-1, number] - states[0, number]).max() > 0.01


@pytest.mark.parametrize("family", FAMILIES)
def test_a_batch_gives_what_single_prompts_give(models: dict[str, PretrainedModel], family: str) -> None:
    model = models[family]
    together = model.states(SUBJECTS)
    for number, subject in enumerate(SUBJECTS):
        np.testing.assert_allclose(model.states([subject])[:, 0], together[:, number], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("family", ["llama", "gpt2", "bert_masked"])
def test_the_tokenisers_padding_side_does_not_matter(
    models: dict[str, PretrainedModel], family: str, tmp_path: Path
) -> None:
    save(family, tmp_path / family)
    settings = tmp_path / family / "tokenizer_config.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "padding_side": "left"}))
    left = load_pretrained(str(tmp_path / family), tmp_path / "cache")
    assert (left.tokenizer.padding_side, models[family].tokenizer.padding_side) == ("left", "right")
    np.testing.assert_array_equal(left.states(SUBJECTS), models[family].states(SUBJECTS))
    np.testing.assert_array_equal(left.scores(CAPITALS, SUBJECTS), models[family].scores(CAPITALS, SUBJECTS))


@pytest.mark.parametrize("family", ["llama", "bert"])
def test_the_last_token_of_a_subject_amid_a_question(models: dict[str, PretrainedModel], family: str) -> None:
    tokenizer = models[family].tokenizer
    asked = [prompts.asking(CAPITALS, subject) for subject in SUBJECTS]
    lengths = set()
    for subject, prompt, row in zip(SUBJECTS, asked, encode(tokenizer, asked), strict=True):
        after = tokenizer.decode(row.tokens[row.subject + 1 : row.length])
        assert after.strip() == "is"
        before = tokenizer.decode(row.tokens[: row.subject + 1], skip_special_tokens=True)
        if family == "llama":
            assert before == prompt.text[: prompt.subject_end]
        lengths.add(len(spell(tokenizer, [subject])[0]))
        assert row.subject > 0
    assert max(lengths) > 1  # subjects of several tokens are among them
    assert (asked[0].text[0], row.tokens[-1] != row.tokens[row.length - 1]) == ("H", family == "bert")


def spelt_probability(model: PretrainedModel, prompt: str, text: str, embeddings: Any = None) -> Any:
    """The log-probabilities of all next tokens after the prompt and the text, in one plain run."""
    inputs = model.tokenizer(prompt + text, return_tensors="pt")
    with torch.inference_mode():
        if embeddings is not None:
            table = model.model.get_input_embeddings()(inputs["input_ids"])
            table[0, embeddings[0]] += embeddings[1]
            return model.model(inputs_embeds=table).logits[0, -1].log_softmax(-1)
        return model.model(**inputs).logits[0, -1].log_softmax(-1)


def plain_score(model: PretrainedModel, relation: Relation, subject: str, found: str, embeddings: Any = None) -> float:
    """The log-probability of a candidate's event by the chain rule, one plain run a token."""
    prompt = prompts.asking(relation, subject).text
    spellings = dict(zip(relation.objects, spell(model.tokenizer, relation.objects), strict=True))
    own, total = spellings[found], 0.0
    for depth in range(len(own)):
        if depth and sum(other[:depth] == own[:depth] for other in spellings.values()) == 1:
            return total
        after = spelt_probability(model, prompt, model.tokenizer.decode(own[:depth]), embeddings)
        total += float(after[own[depth]])
    longer = {other[len(own)] for other in spellings.values() if other[: len(own)] == own and other != own}
    if longer:
        after = spelt_probability(model, prompt, model.tokenizer.decode(own), embeddings)
        total += math.log1p(-sum(math.exp(float(after[token])) for token in longer))
    return total


# Objects that begin alike, and one whose spelling begins another's.
ALIKE = Relation(
    "alike",
    ("The capital of {} is",),
    tuple(zip(SUBJECTS, ("Niger", "Nigeria", "Niger is", "Paris", "Port", "Port Moresby"), strict=True)),
    "a list",
)


@pytest.mark.parametrize("family", CAUSAL)
def test_scores_are_the_chain_rules(models: dict[str, PretrainedModel], family: str) -> None:
    model = models[family]
    tree = tree_of(ALIKE.objects, spell(model.tokenizer, ALIKE.objects))
    assert len(tree.nodes) > 2
    assert any(end is not None for end in tree.ends)
    for relation in (CAPITALS, ALIKE):
        scores = model.scores(relation, SUBJECTS)
        for subject, row in zip(SUBJECTS, scores, strict=True):
            expected = [plain_score(model, relation, subject, found) for found in relation.objects]
            np.testing.assert_allclose(row, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("family", CAUSAL)
def test_a_patched_embedding_is_an_edited_one(models: dict[str, PretrainedModel], family: str) -> None:
    model = models[family]
    change = np.random.default_rng(0).normal(size=(len(SUBJECTS), 32)).astype(np.float32)
    scores = model.scores(ALIKE, SUBJECTS, Patch(0, change))
    rows = encode(model.tokenizer, [prompts.asking(ALIKE, subject) for subject in SUBJECTS])
    for number, (subject, row) in enumerate(zip(SUBJECTS, rows, strict=True)):
        edit = (row.subject, torch.from_numpy(change[number]))
        expected = [plain_score(model, ALIKE, subject, found, edit) for found in ALIKE.objects]
        np.testing.assert_allclose(scores[number], expected, rtol=1e-3, atol=1e-3)
    assert np.abs(scores - model.scores(ALIKE, SUBJECTS)).max() > 0.1


@pytest.mark.parametrize("layer", range(4))
def test_a_patched_llama_by_hand(models: dict[str, PretrainedModel], layer: int) -> None:
    """Block after block of Llama's own parts, with the change added between two of them."""
    model = models["llama"]
    inner = model.model.model
    change = np.random.default_rng(layer).normal(0, 20, (len(SUBJECTS), 32)).astype(np.float32)
    scores = model.scores(CAPITALS, SUBJECTS, Patch(layer, change))
    firsts = [spelling[0] for spelling in spell(model.tokenizer, CAPITALS.objects)]
    distinct = [place for place, token in enumerate(firsts) if firsts.count(token) == 1]
    assert len(distinct) > 2  # those whose score is the log-probability of one token
    rows = encode(model.tokenizer, [prompts.asking(CAPITALS, subject) for subject in SUBJECTS])
    for number, row in enumerate(rows):
        size = len(row.tokens)
        mask = torch.full((size, size), torch.finfo(torch.float32).min).triu(1)[None, None]
        with torch.inference_mode():
            hidden = inner.embed_tokens(torch.tensor([row.tokens]))
            angles = inner.rotary_emb(hidden, torch.arange(size)[None])
            for place in range(4):
                if place == layer:
                    hidden[0, row.subject] += torch.from_numpy(change[number])
                if place < 3:
                    hidden = inner.layers[place](hidden, attention_mask=mask, position_embeddings=angles)
            expected = model.model.lm_head(inner.norm(hidden))[0, -1].log_softmax(-1)
        for place in distinct:
            assert scores[number, place] == pytest.approx(float(expected[firsts[place]]), rel=1e-3, abs=1e-3)
    moved = np.abs(scores - model.scores(CAPITALS, SUBJECTS)).max()
    assert moved == 0 if layer == 3 else moved > 0.01  # after the last block nothing reads the subject any more


def test_a_model_that_heeds_no_positions_is_unfaithful(
    models: dict[str, PretrainedModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = models["llama"]
    assert is_faithful(model.model, model.blocks)
    forward = type(model.model).forward

    def without_positions(self: Any, *arguments: Any, position_ids: Any = None, **options: Any) -> Any:
        return forward(self, *arguments, **options)

    monkeypatch.setattr(type(model.model), "forward", without_positions)
    assert not is_faithful(model.model, model.blocks)


def test_a_patch_names_a_layer(models: dict[str, PretrainedModel]) -> None:
    with pytest.raises(InputError, match="layers 0 to 3; a patch names layer 4"):
        models["gpt2"].scores(CAPITALS, SUBJECTS, Patch(4, np.zeros((6, 32))))


def test_a_patch_belongs_to_its_subject(models: dict[str, PretrainedModel]) -> None:
    """Examples differ between subjects, so they are read in groups: each still gets its own change."""
    change = np.zeros((len(SUBJECTS), 32), np.float32)
    change[1, :16] = 20
    model = models["llama"]
    moved = np.abs(model.scores(CAPITALS, SUBJECTS, Patch(1, change)) - model.scores(CAPITALS, SUBJECTS))
    assert moved[1].max() > 0.01
    assert np.delete(moved, 1, axis=0).max() == 0


def test_events_exclude_each_other_and_exhaust() -> None:
    """Over an alphabet of 3 tokens: the events of candidates that between them cover every text add up to 1."""
    spellings = [(0,), (0, 1), (0, 1, 2), (1, 0), (1, 1), (1, 2), (2,)]
    tree = tree_of([str(spelling) for spelling in spellings], spellings)
    assert tree.nodes == ((), (0,), (1,), (0, 1))
    logits = torch.from_numpy(np.random.default_rng(0).normal(size=(1, 4, 3)))
    p = dict(zip(tree.nodes, logits[0].softmax(-1).tolist(), strict=True))
    expected = [
        p[()][0] * (p[(0,)][0] + p[(0,)][2]),
        p[()][0] * p[(0,)][1] * (p[(0, 1)][0] + p[(0, 1)][1]),
        p[()][0] * p[(0,)][1] * p[(0, 1)][2],
        *(p[()][1] * p[(1,)][token] for token in range(3)),
        p[()][2],
    ]
    found = _scores(logits, tree)[0].exp().tolist()
    assert found == pytest.approx(expected, rel=1e-6)
    assert sum(found) == pytest.approx(1)


def test_objects_that_cannot_be_told_apart_or_spelt(models: dict[str, PretrainedModel]) -> None:
    with pytest.raises(InputError, match="spells 'PARIS' and 'Paris' alike"):
        models["bert_masked"].scores(Relation("r", ("{} is",), (("Chad", "PARIS"), ("Niger", "Paris")), ""), ["Chad"])
    for act in (models["bert_masked"].directions, lambda objects: spell(models["bert"].tokenizer, objects)):
        with pytest.raises(InputError, match="cannot spell the object '☃'"):
            act(["Paris", "☃"])
    with pytest.raises(InputError, match="no token for the object ' '"):
        models["bert"].directions([" "])
    # Words stand before a subject, and their tokens are not its own.
    for family, unseen in (("bert", "\u200b"), ("bert_masked", "\u0301")):
        with pytest.raises(InputError, match=f"finds no token in the subject {unseen!r}".replace("\\", r"\\")):
            models[family].states(["Chad", unseen])
    with pytest.raises(InputError, match=r"holds the model's mask token, \[MASK\]"):
        models["bert_masked"].scores(CAPITALS, ["[MASK]"])


def test_directions_are_readout_rows(models: dict[str, PretrainedModel]) -> None:
    model = models["phi"]
    first = [tokens[0] for tokens in spell(model.tokenizer, OBJECTS)]
    np.testing.assert_array_equal(model.directions(OBJECTS), model.model.lm_head.weight.detach().numpy()[first])
    # Two objects that begin alike: the first token that tells them apart, or the last where one of them ends.
    paris, longer = spell(model.tokenizer, ["Paris", "Paris Chad"])
    assert longer[: len(paris)] == paris
    np.testing.assert_array_equal(
        model.directions(["Paris", "Paris Chad"]),
        model.model.lm_head.weight.detach().numpy()[[paris[-1], longer[len(paris)]]],
    )
    encoder = models["bert"]
    table = encoder.model.embeddings.word_embeddings.weight.detach().numpy()
    assert (encoder.directions(["Paris"]) == table[spell(encoder.tokenizer, ["Paris"])[0][0]]).all()


def test_masked_scores_are_means_over_masks(models: dict[str, PretrainedModel]) -> None:
    model = models["bert_masked"]
    spellings = spell(model.tokenizer, CAPITALS.objects)
    assert len({len(spelling) for spelling in spellings}) > 1
    change = np.random.default_rng(0).normal(size=(len(SUBJECTS), 32)).astype(np.float32)
    scores, patched = model.scores(CAPITALS, SUBJECTS), model.scores(CAPITALS, SUBJECTS, Patch(0, change))
    for (number, subject), (place, spelling) in itertools.product(enumerate(SUBJECTS), enumerate(spellings)):
        text = f"{prompts.asking(CAPITALS, subject).text} {' '.join(['[MASK]'] * len(spelling))}."
        inputs = model.tokenizer(text, return_tensors="pt")
        masks = inputs["input_ids"][0] == model.tokenizer.mask_token_id
        assert masks.sum() == len(spelling)
        with torch.inference_mode():
            logits = model.model(**inputs).logits[0, masks].log_softmax(-1)
        expected = np.mean([float(row[token]) for row, token in zip(logits, spelling, strict=True)])
        assert scores[number, place] == pytest.approx(expected, rel=1e-3)
    assert np.abs(patched - scores).max() > 0.01


def test_an_encoder_gives_no_answers(models: dict[str, PretrainedModel]) -> None:
    with pytest.raises(InputError, match=r"bert: this model gives no answers, only states"):
        models["bert"].scores(CAPITALS, SUBJECTS)


@pytest.mark.parametrize("family", FAMILIES)
def test_randomised_models(models: dict[str, PretrainedModel], family: str) -> None:
    model = models[family]
    one, again, other = (model.randomised(seed) for seed in (1, 1, 2))
    assert one.model.config.to_dict() == model.model.config.to_dict()
    np.testing.assert_array_equal(one.states(SUBJECTS), again.states(SUBJECTS))
    assert np.abs(one.states(SUBJECTS) - other.states(SUBJECTS)).max() > 0.01
    assert np.abs(one.states(SUBJECTS) - model.states(SUBJECTS)).max() > 0.01
    assert "random weights (seed 1)" in one.name
    if model.kind != "encoder":
        assert np.isfinite(one.scores(CAPITALS, SUBJECTS)).all()


def test_texts_longer_than_the_model_reads(models: dict[str, PretrainedModel]) -> None:
    long = "France " * 600
    for family in ("gpt2", "bert_masked"):
        for act in (models[family].states, lambda names, model=models[family]: model.scores(CAPITALS, names)):
            with pytest.raises(InputError, match=r"asks of 'France .*' has \d+ tokens; this model reads at most \d+$"):
                act(["Chad", long])


def test_a_sliding_window_holds_the_question_and_what_follows(
    models: dict[str, PretrainedModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of a question is seen when candidates are scored: a model that would forget its beginning is refused."""
    model = models["llama"]
    longest = max(
        len(row.tokens) for row in encode(model.tokenizer, [prompts.asking(ALIKE, each) for each in SUBJECTS])
    )
    below = max(map(len, tree_of(ALIKE.objects, spell(model.tokenizer, ALIKE.objects)).nodes))
    assert below > 0
    monkeypatch.setattr(model.model.config, "sliding_window", longest + below, raising=False)
    assert np.isfinite(model.scores(ALIKE, SUBJECTS)).all()
    monkeypatch.setattr(model.model.config, "sliding_window", longest + below - 1, raising=False)
    with pytest.raises(InputError, match=f"has {longest} tokens; this model reads at most {longest - 1}"):
        model.scores(ALIKE, SUBJECTS)
    assert np.isfinite(model.states(SUBJECTS)).all()
