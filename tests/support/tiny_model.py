"""A real ONNX embedding model of a few kilobytes, with its tokenizer, as a folder holds them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

DIMENSION = 8
WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "how",
    "do",
    "i",
    "cancel",
    "an",
    "asyncio",
    "task",
    "?",
    "eine",
    "aufgabe",
    "läßt",
    "sich",
    "abbrechen",
    ":",
    "pandas",
    "reads",
    "a",
    "csv",
    "file",
    "line",
    "by",
    "word",
]


def write_model(
    folder: Path, *, weights: str = "model.onnx", pooled: bool = False, seed: int = 0
) -> Path:
    """Write a model whose token vectors are random rows; `pooled` ends in one vector a text."""
    from onnx import TensorProto, helper, numpy_helper, save

    table = np.random.default_rng(seed).normal(size=(len(WORDS), DIMENSION)).astype(np.float32)
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["tokens"])]
    shape: list[str | int] = ["texts", "tokens", DIMENSION]
    if pooled:
        nodes.append(helper.make_node("ReduceMax", ["tokens"], ["vectors"], axes=[1], keepdims=0))
        shape = ["texts", DIMENSION]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"])
            for name in ("input_ids", "attention_mask")
        ],
        [helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(table, "table")],
    )
    file = folder / weights
    file.parent.mkdir(parents=True, exist_ok=True)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    save(model, str(file))
    _write_tokenizer(folder)
    return folder


def write_json(file: Path, value: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value), "utf-8")


def _write_tokenizer(folder: Path) -> None:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    tokenizer = Tokenizer(
        models.WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    write_json(folder / "config.json", {"pad_token_id": 0, "hidden_size": DIMENSION})
    write_json(folder / "special_tokens_map.json", {"pad_token": "[PAD]", "unk_token": "[UNK]"})
    write_json(folder / "tokenizer_config.json", {"model_max_length": 64, "pad_token": "[PAD]"})
