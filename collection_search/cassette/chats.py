"""Chats of a model as JSON-plain values and back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, StrictBool, StrictInt, StrictStr, ValidationError

from ..errors import InputError
from ..ports import ChatReply, ChatToolCall
from ..text.untrusted import FENCE
from .codec import to_plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..ports import ChatMessage, ChatTool

_FENCE_ID: Final = re.compile(rf'(</?{FENCE} id=")[0-9a-f]+(?=">)')


class _Call(BaseModel):
    model_config = ConfigDict(hide_input_in_errors=True)

    id: StrictStr
    name: StrictStr
    arguments: dict[str, Any] | StrictStr


class _Reply(BaseModel):
    model_config = ConfigDict(hide_input_in_errors=True)

    text: StrictStr = ""
    tool_calls: list[_Call] = []
    model: StrictStr = ""
    input_tokens: StrictInt | None = None
    output_tokens: StrictInt | None = None
    cut_off: StrictBool = False


def chat_request(messages: Sequence[ChatMessage], tools: Sequence[ChatTool]) -> dict[str, Any]:
    """Return the request of a chat, without the random ids of fences.

    >>> from collection_search.ports import ChatMessage
    >>> chat_request([ChatMessage("user", '<untrusted-web-content id="0a1b">')], [])
    {'messages': [{'role': 'user', 'text': '<untrusted-web-content id="">'}]}
    """
    request: dict[str, Any] = {"messages": [_message(message) for message in messages]}
    if tools:
        request["tools"] = [tool.name for tool in tools]
    return request


def _message(message: ChatMessage) -> dict[str, Any]:
    told: dict[str, Any] = {
        "role": message.role,
        "text": _FENCE_ID.sub(r"\1", to_plain(message.text)),
    }
    if message.tool_calls:
        told["tool_calls"] = [_call(call) for call in message.tool_calls]
    return told if message.call_id is None else told | {"call_id": message.call_id}


def _call(call: ChatToolCall) -> dict[str, Any]:
    return {"id": call.id, "name": call.name, "arguments": to_plain(call.arguments)}


def chat_answer(reply: Any) -> dict[str, Any]:
    """Return a model's reply. Raises InputError for anything else."""
    if not isinstance(reply, ChatReply):
        raise InputError(f"{type(reply).__name__} came instead of a ChatReply.")
    told: dict[str, Any] = {
        "text": reply.text,
        "model": reply.model,
        "input_tokens": reply.input_tokens,
        "output_tokens": reply.output_tokens,
    }
    if reply.cut_off:
        told["cut_off"] = True
    plain: dict[str, Any] = to_plain(told)
    return plain | {"tool_calls": [_call(call) for call in reply.tool_calls]}


def read_chat_answer(given: Any) -> ChatReply:
    """Return the reply that `chat_answer` encoded. Raises InputError for another form."""
    try:
        read = _Reply.model_validate(given)
    except ValidationError as error:
        where = error.errors(include_url=False, include_input=False)[0]["loc"]
        place = str(where[0]) if where else "it"
        raise InputError(f"{place} of the reply has the wrong form.") from error
    calls = tuple(ChatToolCall(one.id, one.name, one.arguments) for one in read.tool_calls)
    return ChatReply(
        read.text, calls, read.model, read.input_tokens, read.output_tokens, read.cut_off
    )
