"""Tiny language models with random weights, one of each family, saved as transformers saves real ones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from empirical.probing.facts.probed import Relation
from empirical.probing.language_models.checkpoints import quiet

SUBJECTS = ("France", "Papua New Guinea", "Niger", "Nigeria", "Chad", "São Tomé")
OBJECTS = ("Paris", "Port Moresby", "Niamey", "Abuja", "N'Djamena", "São Tomé")
CAPITALS = Relation("capital", ("The capital of {} is",), tuple(zip(SUBJECTS, OBJECTS, strict=True)), "a list")
TEXTS = [
    "Here are some facts. This one is about France, Papua New Guinea, Niger, Nigeria or Chad.",
    "The capital of France is Paris. The capital of Niger is Niamey, and that of Nigeria is Abuja; Port Moresby.",
]
SIZES = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
CAUSAL = ("llama", "qwen2", "phi", "phi3", "gpt2", "gpt_neox")
FAMILIES = (*CAUSAL, "bert", "bert_masked")


def bytes_tokenizer() -> Any:
    """Byte-level BPE, as of GPT-2, Llama 3, SmolLM2 and Qwen; any text can be spelt."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=360, initial_alphabet=alphabet, special_tokens=["<|endoftext|>"], show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|endoftext|>",
        pad_token="<|endoftext|>",
    )


def words_tokenizer() -> Any:
    """WordPiece in lower case, as of BERT; what its letters cannot spell is unknown to it."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = sorted({word for text in TEXTS for word in re.findall(r"\w+|[^\w\s]", text.lower())})
    letters = "abcdefghijklmnopqrstuvwxyz"
    pieces = [*special, *words, *letters, *(f"##{letter}" for letter in letters), "'"]
    numbers = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def tiny(family: str, tokens: int) -> Any:
    """The model of a family from its configuration class, with weights of a scale at which every part counts."""
    ends = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
    size: dict[str, Any] = {"vocab_size": tokens, "initializer_range": 0.3, **ends}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        match family:
            case "llama":
                config = transformers.LlamaConfig(**SIZES, num_key_value_heads=2, **size)
                return transformers.LlamaForCausalLM(config)
            case "qwen2":
                config = transformers.Qwen2Config(**SIZES, num_key_value_heads=2, **size)
                return transformers.Qwen2ForCausalLM(config)
            case "phi":
                return transformers.PhiForCausalLM(transformers.PhiConfig(**SIZES, **size))
            case "phi3":
                return transformers.Phi3ForCausalLM(transformers.Phi3Config(**SIZES, **size))
            case "gpt2":
                return transformers.GPT2LMHeadModel(
                    transformers.GPT2Config(n_embd=32, n_layer=3, n_head=4, n_inner=48, n_positions=512, **size)
                )
            case "gpt_neox":
                return transformers.GPTNeoXForCausalLM(transformers.GPTNeoXConfig(**SIZES, **size))
            case "bert":
                return transformers.BertModel(transformers.BertConfig(**SIZES, **size))
            case "bert_masked":
                return transformers.BertForMaskedLM(transformers.BertConfig(**SIZES, **size))
    raise AssertionError(family)


def save(family: str, directory: Path) -> Path:
    """Write a family's tiny model and its tokeniser into the directory."""
    tokenizer = words_tokenizer() if family.startswith("bert") else bytes_tokenizer()
    with quiet():
        tiny(family, len(tokenizer)).save_pretrained(directory)
        tokenizer.save_pretrained(directory)
    return directory
