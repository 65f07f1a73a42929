"""A real ONNX cross-encoder of a few kilobytes, with its tokenizer, as a folder holds them.

Its logit is the sum of its words' weights: `cancel` and `task` raise it, `csv` and `file` lower it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from support.tiny_model import WORDS, write_json

if TYPE_CHECKING:
    from pathlib import Path

WEIGHTS = {"cancel": 2.0, "task": 2.0, "csv": -4.0, "file": -4.0}


def write_cross_encoder(folder: Path, *, outputs: int = 1, with_types: bool = True) -> Path:
    """Write the model; `outputs` other than 1 make it a classifier, which is no reranker."""
    from onnx import TensorProto, helper, numpy_helper, save

    table = np.zeros((len(WORDS), outputs), np.float32)
    for word, weight in WEIGHTS.items():
        table[WORDS.index(word)] = weight
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["weights"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["wide_mask"]),
        helper.make_node("Mul", ["weights", "wide_mask"], ["masked"]),
        helper.make_node("ReduceSum", ["masked", "tokens"], ["logits"], keepdims=0),
    ]
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if with_types else [])]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["pairs", "tokens"])
            for name in names
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["pairs", outputs])],
        [
            numpy_helper.from_array(table, "table"),
            numpy_helper.from_array(np.array([2], np.int64), "last"),
            numpy_helper.from_array(np.array([1], np.int64), "tokens"),
        ],
    )
    folder.mkdir(parents=True, exist_ok=True)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    save(model, str(folder / "model.onnx"))
    _write_pair_tokenizer(folder)
    return folder


def _write_pair_tokenizer(folder: Path) -> None:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    tokenizer = Tokenizer(
        models.WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    write_json(folder / "config.json", {"pad_token_id": 0})
    write_json(folder / "special_tokens_map.json", {"pad_token": "[PAD]", "unk_token": "[UNK]"})
    write_json(folder / "tokenizer_config.json", {"model_max_length": 64, "pad_token": "[PAD]"})
