"""A small model from a folder, and many worse ones made from it and from hashes."""

from __future__ import annotations

import asyncio
import hashlib
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from collection_search.adapters.embeddings.local import LocalEmbedder
from collection_search.adapters.embeddings.model_folder import model_folder
from collection_search.ranking.lexicon import stems
from collection_search.ranking.tokenization import words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

Vectors: TypeAlias = NDArray[np.float32]
Model: TypeAlias = "Callable[[Sequence[str]], Vectors]"
"""Unit vectors of texts."""

TOKENS: Final = "embeddings.word_embeddings.weight"


def models(folder: Path) -> Iterator[tuple[str, Model]]:
    """Yield the model of the folder, and worse ones."""
    embedder, known = LocalEmbedder(model_folder(folder)), dict[str, Vectors]()

    def whole(texts: Sequence[str]) -> Vectors:
        if new := [text for text in dict.fromkeys(texts) if text not in known]:
            known.update(zip(new, asyncio.run(embedder.embed(new)).vectors, strict=True))
        return np.array([known[text] for text in texts])

    tokens = TokenTable(folder)
    yield "MiniLM", whole
    for size in (192, 128, 96, 64, 48, 32, 16):
        yield f"MiniLM, {size} dimensions", partial(_cut, whole, size)
    for noise in (0.5, 0.75, 1.0, 1.25, 1.5, 2.0):
        yield f"MiniLM, noise {noise:g}", partial(_noisy, whole, noise)
    yield "token vectors", tokens.mean
    yield "token vectors, 8 bits", partial(_rounded, tokens.mean)
    yield "token vectors, 64 dimensions", partial(_cut, tokens.mean, 64)
    yield "MiniLM and token vectors", partial(_sum, whole, tokens.mean)
    for size in (64, 512, 4096):
        yield f"hashed words, {size}", partial(_hashed, words, size)
    for size in (512, 4096):
        yield f"hashed stems, {size}", partial(_hashed, stems, size)
    for size in (256, 4096):
        yield f"hashed n-grams, {size}", partial(_hashed, _grams, size)
    yield "MiniLM and hashed stems", partial(_sum, whole, partial(_hashed, stems, 4096))
    yield "nothing", partial(_hashed, lambda text: [text], 256)


class TokenTable:
    """Word vectors: the first table of the model, without its layers."""

    def __init__(self, folder: Path) -> None:
        import onnx
        from onnx import numpy_helper
        from tokenizers import Tokenizer

        (file,) = folder.glob("*.onnx")
        parts = {
            each.name.partition(TOKENS)[2]: numpy_helper.to_array(each)
            for each in onnx.load(str(file)).graph.initializer
            if TOKENS in each.name
        }
        table = parts.get("")
        if table is None:
            whole = parts["_quantized"].astype(np.float32)
            table = (whole - parts["_zero_point"]) * parts["_scale"]
        self._table = table.astype(np.float32)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()

    def mean(self, texts: Sequence[str]) -> Vectors:
        """Return the mean of the vectors of each text's tokens."""
        return _unit(self._means(texts))

    def _means(self, texts: Sequence[str]) -> Vectors:
        encoded = (self._tokenizer.encode(text, add_special_tokens=False).ids for text in texts)
        return np.array([self._table[ids or [0]].mean(axis=0) for ids in encoded])


def _cut(model: Model, size: int, texts: Sequence[str]) -> Vectors:
    return _unit(model(texts)[:, :size])


def _noisy(model: Model, noise: float, texts: Sequence[str]) -> Vectors:
    vectors = model(texts)
    added = [_drawn(f"noise {text}", vectors.shape[1]) for text in texts]
    return _unit(vectors + noise * np.array(added))


def _rounded(model: Model, texts: Sequence[str]) -> Vectors:
    vectors = model(texts)
    steps = np.abs(vectors).max(axis=1, keepdims=True) / 127
    return _unit(np.round(vectors / steps) * steps)


def _sum(one: Model, other: Model, texts: Sequence[str]) -> Vectors:
    """Return vectors whose cosine is the mean of both models' cosines."""
    return np.hstack([one(texts), other(texts)]) / np.sqrt(2)


def _hashed(parts: Callable[[str], Sequence[str]], size: int, texts: Sequence[str]) -> Vectors:
    """Return the sums of fixed random vectors of each text's parts."""
    drawn: dict[str, Vectors] = {}
    rows = np.zeros((len(texts), size), np.float32)
    for row, text in zip(rows, texts, strict=True):
        for part in parts(text) or [""]:
            if part not in drawn:
                drawn[part] = _drawn(part, size)
            np.add(row, drawn[part], out=row)
    return _unit(rows)


def _drawn(name: str, size: int) -> Vectors:
    """Return a random unit vector that depends on the name alone."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
    return _unit(np.random.default_rng(seed).standard_normal((1, size)).astype(np.float32))[0]


def _grams(text: str) -> list[str]:
    padded = [f" {word} " for word in words(text)]
    return [word[place : place + 3] for word in padded for place in range(max(1, len(word) - 2))]


def _unit(vectors: Vectors) -> Vectors:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
