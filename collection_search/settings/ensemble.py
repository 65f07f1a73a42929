"""Which embedders rank pages beside the first one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from ..errors import ConfigError

if TYPE_CHECKING:
    from . import Settings

MAX_EMBEDDERS: Final = 3
"""The first one and those beside it."""


class EnsembleChoice(Protocol):
    """The fields of a context that decide on the ensemble."""

    embeddings: Any
    ensemble: str | list[Any] | None

    def using(self) -> Settings:
        """Return the settings."""
        ...


def split_names(given: str | list[Any] | None) -> list[Any]:
    """Return the names, or the live objects of a list.

    >>> split_names("openai:a  local:b"), split_names(None)
    (['openai:a', 'local:b'], [])
    """
    return given.split() if isinstance(given, str) else list(given or ())


def ensemble_of(choice: EnsembleChoice) -> list[Any]:
    """Return the names or objects of the embedders beside the first one.

    The run's choice replaces that of the settings; an empty one stands for none. Raises ConfigError
    for too many and for `lexical`, which is no embedder.
    """
    given = choice.using().ensemble if choice.ensemble is None else choice.ensemble
    found = split_names(given)
    if len(found) >= MAX_EMBEDDERS:
        raise ConfigError(
            f"An ensemble has at most {MAX_EMBEDDERS} embedders, the one of `embeddings` included:"
            f" name {MAX_EMBEDDERS - 1} in `ensemble`, not {len(found)}."
        )
    if "lexical" in [each for each in found if isinstance(each, str)]:
        raise ConfigError("`lexical` is no embedder: leave it out of `ensemble`.")
    return found


def refuse_ensemble_alone(choice: EnsembleChoice) -> None:
    """Raise ConfigError where an ensemble is set without the first embedder.

    A run that asks for `lexical` does without the ensemble of the settings.
    """
    asked = choice.ensemble
    is_by_run = bool(asked) or (asked is None and choice.embeddings is None)
    if is_by_run and ensemble_of(choice):
        raise ConfigError(
            "`ensemble` names embedders beside the first one, and `embeddings` names none: set"
            " `embeddings` to the first of them."
        )
