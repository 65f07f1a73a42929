"""A folder with an ONNX model and its tokenizer: which file holds the weights, and its hash."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

from ..errors import ConfigError

_WEIGHTS: Final = ("model.onnx", "*int8*.onnx", "*quantized*.onnx", "*.onnx")
"""Searched in this order, each beside the tokenizer and in `onnx/`."""
_TOKENIZER: Final = ("tokenizer.json", "tokenizer_config.json")


def named_folder(name: str) -> Path | None:
    """Return the folder of that name; None where the name is not written as a path."""
    path = Path(os.path.expanduser(name))  # noqa: PTH111 - the other raises for unknown users
    is_path = path.is_dir() or path.is_absolute() or name.startswith((".", "~"))
    return path if is_path else None


def find_weights(path: Path) -> Path:
    """Return the weight file of the model in the folder. Raises ConfigError."""
    if not path.is_dir():
        raise ConfigError(f"The local model's folder {path} does not exist.")
    weights = _weights(path)
    if weights is None:
        raise ConfigError(f"The folder {path} holds no ONNX model: no model.onnx or onnx/*.onnx.")
    missing = [name for name in _TOKENIZER if not (path / name).is_file()]
    if missing:
        raise ConfigError(f"The folder {path} lacks {' and '.join(missing)}.")
    return weights


def hash_model(path: Path, weights: Path, more: str = "") -> str:
    """Return a short hash of weights, tokenizer and `more`: equal ones compute the same."""
    digest = hashlib.sha256(more.encode())
    outside = sorted(weights.parent.glob(f"{weights.name}?data*"))  # of models over two gigabytes
    for file in (weights, *outside, path / "tokenizer.json"):
        with file.open("rb") as content:
            digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()[:12]


def _weights(path: Path) -> Path | None:
    for pattern in _WEIGHTS:
        for folder in (path, path / "onnx"):
            if found := sorted(folder.glob(pattern)):
                return found[0]
    return None
