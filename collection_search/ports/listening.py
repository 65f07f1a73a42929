"""Port of those who listen to a run: the caller's own callback handlers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractAsyncContextManager


class ToolCall(Protocol):
    """An open call of a tool."""

    def returned(self, output: Any) -> None:
        """Set what the tool returned, JSON-plain."""
        ...

    def failed(self, kind: str, message: str) -> None:
        """Set why the tool failed without an exception."""
        ...


class ChatCall(Protocol):
    """An open call of a chat model."""

    def answered(
        self, text: str, *, model: str, input_tokens: int | None, output_tokens: int | None
    ) -> None:
        """Set the answer, the model that gave it, and what it used."""
        ...


class EmbeddingCall(Protocol):
    """An open call of an embedding model."""

    def embedded(self, *, count: int, dimension: int, input_tokens: int | None) -> None:
        """Set what was returned: vectors, their length, and what they used."""
        ...


class Listener(Protocol):
    """Who is told of the calls of a stage while they run.

    Each call is a block; an exception that leaves it is told and passes through. Telling never
    fails the call.
    """

    def tool(self, name: str, inputs: Mapping[str, Any]) -> AbstractAsyncContextManager[ToolCall]:
        """Tell of a tool's call."""
        ...

    def chat(
        self, model: str, messages: Sequence[tuple[str, str]], *, is_draft: bool = False
    ) -> AbstractAsyncContextManager[ChatCall]:
        """Tell of a chat model's call; `messages` are (role, text).

        Roles are `system`, `human`, `assistant` and `tool`. A draft is not shown to who reads the
        conversation while it is written: its citations are not checked yet. The model's own runs
        inside the block are not told a second time.
        """
        ...

    def embedding(self, model: str, count: int) -> AbstractAsyncContextManager[EmbeddingCall]:
        """Tell of the embedding of `count` texts."""
        ...
