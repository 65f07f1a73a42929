"""Embeddings computed on this machine: an ONNX model of fastembed's list, or from a folder."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from ...contracts.collection import Embedded
from ...errors import ConfigError, ModelError
from ..local_model import require_fastembed, told_cause, use_local_model
from ..onnx_folder import named_folder
from .batches import clean_texts, empty_vectors, unit_vectors
from .model_folder import ModelFolder, model_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ...settings import Settings

BATCH: Final = 32
"""Texts of one computation: more need more memory and are hardly faster."""


class LocalEmbedder:
    """A model in this process, loaded by its first use and then shared.

    One batch is computed at a time, by all cores.
    """

    def __init__(self, model: str | ModelFolder, *, cache: Path | None = None) -> None:
        """Set the model: a name of fastembed's list, with its files in `cache`, or a folder."""
        name = model if isinstance(model, str) else f"{model.name}:{model.digest}"
        self.fingerprint = f"local:{name}"
        self._model = model
        self._cache = cache
        self._dimension: int | None = None

    @classmethod
    def from_settings(cls, settings: Settings, *, model: str = "") -> Self:
        """Return the embedder of a model's name or folder. Reads the folder's weights once.

        Raises MissingExtraError without fastembed, ConfigError for a name or folder that is wrong.
        """
        name = model.strip()
        if not name:
            raise ConfigError(
                "No local model is named. Write local:BAAI/bge-small-en-v1.5, or local:<folder>."
            )
        require_fastembed("embedder", name)
        if path := named_folder(name):
            return cls(model_folder(path))
        return cls(_listed(name), cache=settings.home / "models")

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Return `(len(texts), d)` float32, unit length, in order. Raises `ModelError`."""
        if not texts:
            return Embedded(empty_vectors(self._dimension))
        subject = f"The embedding model {self.fingerprint}"
        ready, rows = clean_texts(texts), []
        for start in range(0, len(ready), BATCH):
            compute = partial(_computed, texts=ready[start : start + BATCH], subject=subject)
            rows += await use_local_model(self.fingerprint, partial(self._read, subject), compute)
        vectors = unit_vectors(rows, count=len(texts), subject=subject, dimension=self._dimension)
        self._dimension = vectors.shape[1]
        return Embedded(vectors)

    def _read(self, subject: str) -> Any:
        try:
            if isinstance(self._model, str):
                return _from_hub(self._model, self._cache)
            return self._model.load()
        except Exception as error:
            hint = (
                "A listed model is fetched by its first use: connect this machine once, "
                "or name a folder that holds a model: local:<folder>"
                if isinstance(self._model, str)
                else f"Check the files of {self._model.path}"
            )
            raise ModelError(f"{subject} cannot be loaded: {told_cause(error)}. {hint}.") from error


def _computed(model: Any, texts: list[str], subject: str) -> list[Any]:
    try:
        return list(model.embed(texts, batch_size=len(texts)))
    except Exception as error:
        raise ModelError(
            f"{subject} failed: {told_cause(error)}. Take another one if this repeats."
        ) from error


def _listed(name: str) -> str:
    """Return the name as fastembed writes it. Raises ConfigError with similar ones."""
    names = {known["model"].lower(): known["model"] for known in _list()}
    if known := names.get(name.lower()):
        return str(known)
    similar = [names[match] for match in get_close_matches(name.lower(), names, cutoff=0.3)]
    raise ConfigError(
        f"There is no local model called {name!r} in fastembed's list. Similar: "
        f"{', '.join(similar) or 'none'}. A folder is named by its path: local:/path/to/folder."
    )


def _list() -> list[dict[str, Any]]:
    from fastembed import TextEmbedding

    return TextEmbedding.list_supported_models()


def _from_hub(name: str, cache: Path | None) -> Any:
    """Return a listed model; the first use on this machine fetches it."""
    from fastembed import TextEmbedding

    folder = None if cache is None or os.environ.get("FASTEMBED_CACHE_PATH") else str(cache)
    with suppress(ValueError), _quiet():  # it is not on this machine yet
        return TextEmbedding(name, cache_dir=folder, local_files_only=True)
    _reach(name)
    return TextEmbedding(name, cache_dir=folder)


def _reach(name: str) -> None:
    """Raise an error if the hub is out of reach: fastembed would retry for 39 seconds."""
    from huggingface_hub import model_info

    sources = next(known["sources"] for known in _list() if known["model"] == name)
    if sources["hf"]:
        model_info(sources["hf"], timeout=10)


@contextmanager
def _quiet() -> Iterator[None]:
    """Prevent fastembed from logging an expected failure as an error."""
    from loguru import logger

    logger.disable("fastembed")
    try:
        yield
    finally:
        logger.enable("fastembed")
