"""A cross-encoder on this machine: an ONNX model in a folder, which reads question and page."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from ...errors import ConfigError, ModelError
from ...ports import Judgement, Judgements
from ..local_model import require_fastembed, told_cause, use_local_model
from ..onnx_folder import find_weights, hash_model, named_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ...ports import JudgedPage
    from ...settings import Settings

BATCH: Final = 32
"""Pairs of one computation."""


class CrossEncoder:
    """A cross-encoder with one output, the logit of relevance; loaded by its first use.

    Nothing is fetched, and no code of the folder runs.
    """

    def __init__(self, path: Path) -> None:
        """Read the folder's weights once, for their hash. Raises ConfigError."""
        weights = find_weights(path)
        self.reranker_name = f"local:{path.resolve().name}:{hash_model(path, weights)}"
        self._path = path
        self._weights = weights.relative_to(path).as_posix()

    @classmethod
    def from_settings(cls, settings: Settings, *, model: str = "") -> Self:  # noqa: ARG003
        """Return the reranker of a folder.

        Raises MissingExtraError without fastembed, ConfigError for a folder that is wrong.
        """
        name = model.strip()
        require_fastembed("reranker", name)
        path = named_folder(name) if name else None
        if path is None:
            raise ConfigError(
                "A local reranker is named by the folder of its model: local:/path/to/folder."
            )
        return cls(path)

    async def judge(self, question: str, pages: Sequence[JudgedPage]) -> Judgements:
        """Return the probabilities that the pages are relevant, without reasons.

        Raises ModelError.
        """
        texts = [f"{page.title}\n{page.text}" for page in pages]
        compute = partial(self._logits, question=question, texts=texts)
        logits = await use_local_model(self.reranker_name, self._load, compute)
        judged = [Judgement(_probability(logit)) for logit in logits]
        return Judgements(judged, self.reranker_name)

    def _load(self) -> Any:
        try:
            model = self._from_folder()
            shape = model.model.model.get_outputs()[0].shape
        except Exception as error:
            raise self._error("cannot be loaded", error) from error
        if len(shape) != 2 or (isinstance(shape[1], int) and shape[1] != 1):  # noqa: PLR2004
            cause = ValueError(f"its output is {shape}, not one number for each pair")
            raise self._error("is no cross-encoder", cause)
        return model

    def _from_folder(self) -> Any:
        from fastembed.common.model_description import ModelSource
        from fastembed.rerank.cross_encoder import TextCrossEncoder

        # fastembed keeps what it was once told under a name
        name = f"collection-search/{self.reranker_name}:{self._weights}"
        if not any(known["model"] == name for known in TextCrossEncoder.list_supported_models()):
            TextCrossEncoder.add_custom_model(
                model=name,
                sources=ModelSource(url="file:"),  # never used: the folder is given below
                model_file=self._weights,
            )
        return TextCrossEncoder(name, specific_model_path=str(self._path), local_files_only=True)

    def _logits(self, model: Any, *, question: str, texts: list[str]) -> list[float]:
        try:
            logits = [float(one) for one in model.rerank(question, texts, batch_size=BATCH)]
        except Exception as error:
            raise self._error("failed", error) from error
        if len(logits) != len(texts) or not all(map(math.isfinite, logits)):
            raise self._error("failed", ValueError("it gave no finite number for each page"))
        return logits

    def _error(self, what: str, cause: Exception) -> ModelError:
        return ModelError(
            f"The reranker {self.reranker_name} {what}: {told_cause(cause)}."
            f" Check the files of {self._path}.",
            may_be_billed=False,
        )


def _probability(logit: float) -> float:
    """Return 0-1.

    >>> _probability(0.0), _probability(-1e9), _probability(1e9)
    (0.5, 0.0, 1.0)
    """
    return 0.5 * (1 + math.tanh(logit / 2))
