"""The listener of a run to which nobody listens."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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

    def tool(self, name: str, inputs: Mapping[str, Any]) -> UnheardCall:  # noqa: ARG002 - the port
        """Return the call of which nobody is told."""
        return _UNHEARD

    def chat(
        self,
        model: str,  # noqa: ARG002
        messages: Sequence[tuple[str, str]],  # noqa: ARG002
        *,
        is_draft: bool = False,  # noqa: ARG002
    ) -> UnheardCall:
        """Return the call of which nobody is told."""
        return _UNHEARD

    def embedding(self, model: str, count: int) -> UnheardCall:  # noqa: ARG002
        """Return the call of which nobody is told."""
        return _UNHEARD


_UNHEARD: Final = UnheardCall()
NULL_LISTENER: Final = NullListener()
