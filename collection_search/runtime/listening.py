"""The listener of a run to which nobody listens."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any, Final


class UnheardCall(AbstractAsyncContextManager["UnheardCall"]):
    """A call of which nobody is told. It has no state, so all callers share one."""

    __slots__ = ()

    async def __aexit__(self, *_exception: object) -> None:
        """Let every exception pass."""

    def returned(self, output: Any) -> None:
        """Ignore the output."""

    def failed(self, kind: str, message: str) -> None:
        """Ignore the failure."""

    def answered(self, text: str, **_facts: object) -> None:
        """Ignore the answer."""

    def embedded(self, **_facts: object) -> None:
        """Ignore the vectors."""


class NullListener:
    """A listener that is told nothing."""

    __slots__ = ()

    def tool(self, *_arguments: object) -> UnheardCall:
        """Return the call of which nobody is told."""
        return _UNHEARD

    def chat(self, *_arguments: object) -> UnheardCall:
        """Return the call of which nobody is told."""
        return _UNHEARD

    def embedding(self, *_arguments: object) -> UnheardCall:
        """Return the call of which nobody is told."""
        return _UNHEARD


_UNHEARD: Final = UnheardCall()
NULL_LISTENER: Final = NullListener()
