"""A folder with an ONNX embedding model, as sentence-transformers and its exporters write it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from ...errors import ConfigError
from ..onnx_folder import find_weights, hash_model

if TYPE_CHECKING:
    from pathlib import Path

Pooling = Literal["CLS", "MEAN", "LAST_TOKEN", "DISABLED"]
"""Names of fastembed; DISABLED: the model's own output is already one vector per text."""

_POOLING: Final[dict[str, Pooling]] = {
    "cls": "CLS",
    "cls_token": "CLS",
    "mean": "MEAN",
    "mean_tokens": "MEAN",
    "lasttoken": "LAST_TOKEN",
}
_DONE_HERE: Final = ("Transformer", "Pooling", "Normalize")
"""Modules of sentence-transformers that need nothing besides weights, pooling and scaling."""


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model that can be loaded; `digest` is a short hash of what its vectors depend on."""

    path: Path
    name: str
    weights: str
    """The weight file, relative to the folder."""
    pooling: Pooling
    digest: str

    def load(self) -> Any:
        """Return fastembed's model. Raises what its libraries raise."""
        model = self._load(self.pooling)
        return self._load("DISABLED") if _gives_vectors(model) else model

    def _load(self, pooling: Pooling) -> Any:
        from fastembed import TextEmbedding
        from fastembed.common.model_description import ModelSource, PoolingType

        # fastembed keeps what it was once told under a name
        name = f"collection-search/{self.name}:{self.digest}:{self.weights}:{pooling}"
        if not any(known["model"] == name for known in TextEmbedding.list_supported_models()):
            TextEmbedding.add_custom_model(
                model=name,
                pooling=PoolingType[pooling],
                normalization=False,  # done to every embedder's vectors
                sources=ModelSource(url="file:"),  # never used: the folder is given below
                dim=0,  # only shown by fastembed
                model_file=self.weights,
            )
        return TextEmbedding(name, specific_model_path=str(self.path))


def model_folder(path: Path) -> ModelFolder:
    """Return the model in the folder, with all weights read for its hash. Raises ConfigError."""
    weights = find_weights(path)
    pooling = _pooling(path)
    return ModelFolder(
        path=path,
        name=path.resolve().name,
        weights=weights.relative_to(path).as_posix(),
        pooling=pooling,
        digest=hash_model(path, weights, pooling),
    )


def _pooling(path: Path) -> Pooling:
    """Return the pooling of the token vectors. Raises ConfigError for an unknown one."""
    for module in _json(path / "modules.json", default=[]):
        kind = str(module.get("type", "")).rpartition(".")[2]
        if kind not in _DONE_HERE:
            raise ConfigError(
                f"The model in {path} has a module {kind!r} that its ONNX file does not cover."
            )
    config = _json(path / "1_Pooling" / "config.json", default={"pooling_mode": "mean"})
    modes = [config["pooling_mode"]] if "pooling_mode" in config else []
    modes += [
        name.removeprefix("pooling_mode_")
        for name, used in config.items()
        if name.startswith("pooling_mode_") and used is True
    ]
    if len(modes) != 1 or modes[0] not in _POOLING:
        raise ConfigError(
            f"The model in {path} pools by {modes}; known are {', '.join(sorted(_POOLING))}."
        )
    return _POOLING[modes[0]]


def _json(file: Path, *, default: Any) -> Any:
    if not file.is_file():
        return default
    try:
        value = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"The file {file} cannot be read: {error}") from error
    if not isinstance(value, type(default)):
        raise ConfigError(f"The file {file} has another form than expected.")
    return value


def _gives_vectors(model: Any) -> bool:
    """Return whether the ONNX graph itself ends in one vector per text."""
    return len(model.model.model.get_outputs()[0].shape) == 2  # noqa: PLR2004 - texts, dimensions
