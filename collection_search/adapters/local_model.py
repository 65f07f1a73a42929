"""Models that compute in this process: each is loaded once; one computes at a time in a loop."""

from __future__ import annotations

import importlib.util
import threading
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from ..errors import MissingExtraError
from ..runtime.concurrency import offload
from ..text.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_CAUSE_CHARS: Final = 300

_loaded: dict[str, Any] = {}
_loading = threading.Lock()
_turn: anyio.lowlevel.RunVar[anyio.CapacityLimiter] = anyio.lowlevel.RunVar("local_model_turn")


def require_fastembed(kind: str, name: str) -> None:
    """Raise MissingExtraError without fastembed; `kind` is for example "embedder"."""
    if importlib.util.find_spec("fastembed") is None:
        raise MissingExtraError(
            f"The {kind} local:{name} needs an extra. Run: pip install 'collection-search[local]'"
        )


async def use_local_model(key: str, load: Callable[[], Any], use: Callable[[Any], T]) -> T:
    """Return what `use` returns for the model of this key, which the first call loads.

    Raises what `load` and `use` raise; nothing is kept of a failure.
    """
    async with _limiter():
        model = _loaded.get(key) or await anyio.to_thread.run_sync(
            _load, key, load, abandon_on_cancel=True
        )
        return await offload(use, model)


def told_cause(error: Exception) -> str:
    """Return the cause in one line, without secrets and the full stop at its end."""
    line = redact(" ".join(str(error).split()), most=_CAUSE_CHARS)
    return line.rstrip(". ") or type(error).__name__


def _load(key: str, load: Callable[[], Any]) -> Any:
    """Return the model, which the first call loads."""
    with _loading:
        if key not in _loaded:
            _loaded[key] = load()
        return _loaded[key]


def _limiter() -> anyio.CapacityLimiter:
    """Return the limiter that allows one batch at a time in this event loop."""
    try:
        return _turn.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(1)
        _turn.set(limiter)
        return limiter
