"""A pretrained language model as something to probe: its subject states, its objects' directions, and its answers.

It is read from a local directory (`empirical.probing.language_models.checkpoints`) by transformers' Auto classes, in
float32. Three kinds are told apart by the architecture that config.json names: *causal* models, which answer with what
follows the question; *masked* ones, which answer in place of mask tokens; and *encoders* without an output layer, which
have states, but give no answers.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from empirical.probing.facts.packages import needed
from empirical.probing.facts.probed import Patch, Relation
from empirical.probing.language_models import checkpoints, prompts
from empirical.probing.language_models.continuations import is_faithful, log_probabilities, tree_of
from empirical.probing.language_models.masks import mask_log_probabilities
from empirical.probing.language_models.state_cache import key_of, remembered
from empirical.probing.language_models.states import find_blocks, hook_name, recording
from empirical.probing.language_models.tokens import TokenRow, common_start, encode, right_padded, spell
from theory.errors import InputError

ModelKind = Literal["causal", "masked", "encoder"]
ROWS_AT_ONCE = 32
POSITIONS = "max_position_embeddings"
BUFFERS = ("position_ids", "inv_freq", "attn.bias", "attention.bias", "masked_bias")  # of older checkpoints


@dataclass(frozen=True)
class PretrainedModel:
    """A model of transformers in evaluation mode, with its tokeniser.

    `sha256` is of its configuration and weights; a model without one (random weights) has no states on disk. `cache`
    is the directory of those.
    """

    name: str
    kind: ModelKind
    model: Any
    tokenizer: Any
    sha256: str | None
    cache: Path

    @property
    def blocks(self) -> nn.ModuleList:
        """The transformer's blocks."""
        return find_blocks(self.model, self.model.config.num_hidden_layers)

    @property
    def layers(self) -> int:
        """The number of blocks; the states have one layer more."""
        return len(self.blocks)

    def _most(self, *names: str) -> float:
        """The least of the limits that the configuration sets under these names; infinite if it sets none."""
        limits = (getattr(self.model.config, name, None) for name in names)
        return min((limit for limit in limits if isinstance(limit, int) and limit > 0), default=math.inf)

    def states(self, subjects: Sequence[str]) -> NDArray[np.float32]:
        """The residual stream at each subject's last token, after neutral words, shape [layers + 1, subjects, d].

        Computed once for a model and its subjects' tokens, then read from the cache. Raises InputError if the
        tokeniser finds no token in a subject, or more than the model reads.
        """
        rows = encode(self.tokenizer, [prompts.about(subject) for subject in subjects], self._most(POSITIONS))

        def compute() -> dict[str, NDArray[np.float32]]:
            """Run the model on the rows: hook name of each layer → the states at the last tokens, [subjects, d]."""
            return self._record(rows)

        names = [hook_name(layer) for layer in range(self.layers + 1)]
        if self.sha256 is None:
            found = compute()
        else:
            key = key_of(self.sha256, [[row.tokens, row.subject] for row in rows])
            found = remembered(self.cache, key, names, compute)
        return np.stack([found[name] for name in names])

    def _record(self, rows: Sequence[TokenRow]) -> dict[str, NDArray[np.float32]]:
        parts: dict[str, list[Tensor]] = {hook_name(layer): [] for layer in range(self.layers + 1)}
        for first in range(0, len(rows), ROWS_AT_ONCE):
            batch = rows[first : first + ROWS_AT_ONCE]
            columns = torch.tensor([row.subject for row in batch])
            with torch.inference_mode(), recording(self.blocks, columns) as found:
                self.model.base_model(**right_padded(batch))
            for name, part in parts.items():
                part.append(found[name])
        return {name: torch.cat(part).float().numpy() for name, part in parts.items()}

    def directions(self, objects: Sequence[str]) -> NDArray[np.float32]:
        """The read-out row (of an encoder: the input embedding) of one token of each object, shape [objects, d].

        It is the first token, or the first after those that all of these objects begin with (numbers may all begin
        with a space): objects may still share it. Raises InputError for an object that the tokeniser cannot spell.
        """
        spellings = spell(self.tokenizer, objects)
        shared = common_start(spellings) if len(spellings) > 1 else 0
        tokens = [spelling[min(shared, len(spelling) - 1)] for spelling in spellings]
        readout = self.model.get_input_embeddings() if self.kind == "encoder" else self.model.get_output_embeddings()
        return readout.weight.detach()[tokens].float().numpy()

    def scores(self, relation: Relation, subjects: Sequence[str], patch: Patch | None = None) -> NDArray[np.float32]:
        """The log-probability of each candidate when asked, after a few examples, shape [subjects, objects].

        Of a causal model: that the text goes on along the candidate's tokens up to where they part from all other
        candidates'. Of a masked one: the mean over as many mask tokens as the candidate has tokens. Raises InputError
        for an encoder, an object that the tokeniser cannot spell, two that it spells alike, and more tokens than the
        model reads.
        """
        if self.kind == "encoder":
            raise InputError(f"{self.name}: this model gives no answers, only states: it has no output layer")
        spellings = spell(self.tokenizer, relation.objects)
        tree = tree_of(relation.objects, spellings)
        asked = [prompts.asking(relation, subject) for subject in subjects]
        change = None if patch is None else torch.from_numpy(np.asarray(patch.change, np.float32))
        if patch is not None and not 0 <= patch.layer <= self.layers:
            raise InputError(f"{self.name} has layers 0 to {self.layers}; a patch names layer {patch.layer}")
        found = torch.empty(len(subjects), len(spellings))
        for group in _by_opening(asked):
            some = [asked[number] for number in group]
            added = None if patch is None or change is None else (patch.layer, change[group])
            if self.kind == "causal":
                # Inner nodes come after the prompt, and all is seen: what slides past a window would not be.
                most = self._most(POSITIONS, "sliding_window") - max(map(len, tree.nodes))
                rows = encode(self.tokenizer, some, most)
                found[group] = log_probabilities(self.model, self.blocks, rows, tree, added)
            else:
                found[group] = mask_log_probabilities(
                    self.model, self.blocks, self.tokenizer, some, spellings, added, self._most(POSITIONS)
                )
        return found.numpy()

    def randomised(self, seed: int) -> PretrainedModel:
        """The same configuration and tokeniser with the fresh weights that transformers draws from this seed."""
        with torch.random.fork_rng(devices=[]), checkpoints.quiet():
            torch.manual_seed(seed)
            fresh = type(self.model)(copy.deepcopy(self.model.config)).float().eval()
        return replace(self, name=f"{self.name}, random weights (seed {seed})", model=fresh, sha256=None)


def _by_opening(asked: Sequence[prompts.Prompt]) -> list[list[int]]:
    """The numbers of the prompts, those together that have the same examples."""
    groups: dict[str, list[int]] = {}
    for number, prompt in enumerate(asked):
        groups.setdefault(prompt.opening, []).append(number)
    return list(groups.values())


def load_pretrained(model: str, cache: Path | None = None) -> PretrainedModel:
    """Read a model from a directory, a .gguf file, or a package that ships it (`checkpoints.SHIPPED`).

    `cache` (`checkpoints.cache_directory()` unless given) keeps converted models and states. Raises InputError: no
    such directory, nothing or only pickles in it, no tokeniser or one that does not fit, an architecture that
    transformers does not know, weights that are damaged, missing, quantised or not finite, transformers not installed.
    """
    transformers = needed("transformers")
    home = checkpoints.cache_directory() if cache is None else cache
    files = checkpoints.checkpoint(model, home)
    local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    with checkpoints.quiet():
        config = _config(files.directory, local)
        tokenizer = _tokenizer(files.directory, local)
        kind = _kind(config)
        loader = {
            "causal": transformers.AutoModelForCausalLM,
            "masked": transformers.AutoModelForMaskedLM,
            "encoder": transformers.AutoModel,
        }[kind]
        try:
            loaded, info = loader.from_pretrained(
                files.directory,
                config=config,
                dtype=torch.float32,
                use_safetensors=True,
                output_loading_info=True,
                **local,
            )
        except Exception as error:  # a foreign configuration fails anywhere in its model's code
            shapes = "ignore_mismatched_sizes" in str(error)
            reason = "config.json says other shapes" if shapes else checkpoints.first_line(error)
            raise InputError(f"cannot read the weights in {files.directory}: {reason}") from None
    # A pooler sits on top of the last state: nothing here reads it.
    missing = sorted(name for name in info["missing_keys"] if "pooler" not in name)
    if missing:
        raise InputError(f"the weights in {files.directory} lack {missing[0]} (and {len(missing) - 1} others)")
    # A head on top of an encoder's last state is not read either; buffers are computed anew.
    unused = sorted(
        name
        for name in info["unexpected_keys"]
        if not name.endswith(BUFFERS) and (kind != "encoder" or re.search(r"\.\d+\.", name))
    )
    if unused:
        raise InputError(
            f"the weights in {files.directory} hold {unused[0]} (and {len(unused) - 1} others), which no part of the "
            "model that config.json describes uses"
        )
    unfit = [name for name, weight in loaded.named_parameters() if not weight.isfinite().all()]
    if unfit:
        raise InputError(f"the weights in {files.directory} are not finite: {unfit[0]} (and {len(unfit) - 1} others)")
    if len(tokenizer) > loaded.get_input_embeddings().weight.shape[0]:
        raise InputError(f"the tokeniser in {files.directory} is another model's: it has more tokens than embeddings")
    found = PretrainedModel(files.name, kind, loaded.eval(), tokenizer, files.sha256, home)
    blocks = found.blocks
    if kind == "causal" and not is_faithful(loaded, blocks):
        raise InputError(f"{files.directory}: a {config.model_type} model cannot be probed: its attention is special")
    return found


def _config(directory: Path, local: dict[str, Any]) -> Any:
    """The configuration, with transformers' own attention: a file may name one that would be fetched from a hub."""
    reader = needed("transformers").AutoConfig
    try:
        config = reader.from_pretrained(directory, **local)
        config._attn_implementation = None
    except Exception as error:  # a foreign file fails anywhere in its reader
        raise InputError(f"cannot read {directory / 'config.json'}: {checkpoints.first_line(error)}") from None
    blocks = getattr(config, "num_hidden_layers", None)
    if config.is_encoder_decoder or not isinstance(blocks, int) or blocks < 1:
        raise InputError(f"{directory}: a {config.model_type} model is not one stack of blocks and cannot be probed")
    if getattr(config, "quantization_config", None) is not None:
        raise InputError(f"{directory}: quantised weights are read from a .gguf file alone; save them in full")
    names = config.architectures or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"cannot read {directory / 'config.json'}: architectures is not a list of names")
    return config


def _tokenizer(directory: Path, local: dict[str, Any]) -> Any:
    reader = needed("transformers").AutoTokenizer
    try:
        tokenizer = reader.from_pretrained(directory, **local)
    except Exception as error:  # the tokenizers library raises Exception itself
        raise InputError(f"cannot read the tokeniser in {directory}: {checkpoints.first_line(error)}") from None
    if not tokenizer.is_fast:
        raise InputError(f"the tokeniser in {directory} does not say where its tokens are: tokenizer.json is expected")
    return tokenizer


def _kind(config: Any) -> ModelKind:
    names = needed("transformers.models.auto.modeling_auto")
    architecture = (config.architectures or [""])[0]
    if architecture in names.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values():
        return "causal"
    if architecture in names.MODEL_FOR_MASKED_LM_MAPPING_NAMES.values():
        return "masked"
    return "encoder"
