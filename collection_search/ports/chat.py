"""Port of chat models: messages in, a text or calls of tools out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ChatRole = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ChatToolCall:
    """One call of a tool that a model asks for."""

    id: str
    name: str
    arguments: dict[str, Any] | str
    """The text as it stands where the model wrote no JSON object."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a conversation."""

    role: ChatRole
    text: str
    tool_calls: tuple[ChatToolCall, ...] = ()
    """Calls that an assistant's message asks for."""
    call_id: str | None = None
    """The call that a tool's message answers."""


@dataclass(frozen=True, slots=True)
class ChatTool:
    """A tool that a model may call; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChatReply:
    """A model's reply: a text, calls of tools, or both."""

    text: str
    tool_calls: tuple[ChatToolCall, ...] = ()
    model: str = ""
    """The model that replied, by its own name."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cut_off: bool = False
    """Whether the text ends at a limit of tokens instead of at its end."""


@runtime_checkable
class ChatModel(Protocol):
    """A chat model that can be given tools."""

    model_name: str

    async def chat(
        self, messages: Sequence[ChatMessage], *, tools: Sequence[ChatTool] = ()
    ) -> ChatReply:
        """Return the reply, never an empty one. Raises `ModelError`; a retry seldom helps."""
        ...
