"""Chat messages in the forms of OpenAI's protocol and of LangChain, and replies from both."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from ...ports import ChatToolCall
from ...text.clean import to_unicode
from .plan_parsing import without_thoughts
from .stop_reasons import CutOff, is_cut_off, raise_if_stopped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import AIMessage, BaseMessage

    from ...ports import ChatMessage, ChatTool

_MAX_CALLS: Final = 32
"""Calls of one reply that are read."""


def openai_tools(tools: Sequence[ChatTool]) -> list[dict[str, Any]]:
    """Return the tools in OpenAI's form, which LangChain takes too."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
            },
        }
        for tool in tools
    ]


def openai_messages(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    """Return the messages in OpenAI's form."""
    return [_openai_message(message) for message in messages]


def _openai_message(message: ChatMessage) -> dict[str, Any]:
    told: dict[str, Any] = {"role": message.role, "content": to_unicode(message.text)}
    if message.role == "tool":
        return told | {"tool_call_id": message.call_id}
    if not message.tool_calls:
        return told
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": _written(call.arguments)},
        }
        for call in message.tool_calls
    ]
    return told | {"content": told["content"] or None, "tool_calls": calls}


def langchain_messages(messages: Sequence[ChatMessage]) -> list[BaseMessage]:
    """Return the messages as LangChain's."""
    return [_langchain_message(message) for message in messages]


def _langchain_message(message: ChatMessage) -> BaseMessage:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

    text = to_unicode(message.text)
    if message.role == "system":
        return SystemMessage(text)
    if message.role == "user":
        return HumanMessage(text)
    if message.role == "tool":
        return ToolMessage(text, tool_call_id=message.call_id or "")
    valid: list[Any] = []
    invalid: list[Any] = []
    for call in message.tool_calls:
        told = {"id": call.id, "name": call.name, "args": call.arguments}
        if isinstance(call.arguments, str):
            invalid.append({**told, "error": None, "type": "invalid_tool_call"})
        else:
            valid.append(told)
    return AIMessage(text, tool_calls=valid, invalid_tool_calls=invalid)


def message_of(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the message of a chat completion. Raises Declined, Filtered, ValueError."""
    match answer:
        case {"choices": [{"message": dict(message)}, *_]}:
            raise_if_stopped(stop_of(answer), message.get("refusal"))
            return message
    raise_if_stopped(stop_of(answer))
    raise ValueError("The answer has no message.")


def stop_of(answer: dict[str, Any]) -> Any:
    """Return why a chat completion ended, None where it does not say."""
    match answer:
        case {"choices": [{"finish_reason": reason}, *_]}:
            return reason
    return None


def text_of(message: dict[str, Any]) -> str:
    """Return the text of an OpenAI message, which may come in parts."""
    match message.get("content"):
        case str(text):
            return text
        case [*parts]:
            texts = (part.get("text") for part in parts if isinstance(part, dict))
            return "".join(text for text in texts if isinstance(text, str))
    return ""


def read_openai_message(answer: dict[str, Any]) -> tuple[str, tuple[ChatToolCall, ...]]:
    """Return text and calls of a chat completion. Raises as `message_of`."""
    message = message_of(answer)
    calls = message.get("tool_calls")
    return text_of(message), _openai_calls(calls if isinstance(calls, list) else [])


def _openai_calls(calls: list[Any]) -> tuple[ChatToolCall, ...]:
    read: list[ChatToolCall] = []
    for number, call in enumerate(calls[:_MAX_CALLS], start=1):
        match call:
            case {"function": {"name": str(name)} as function}:
                given = call.get("id")
                call_id = given if isinstance(given, str) and given else f"call_{number}"
                read.append(ChatToolCall(call_id, name, _arguments(function.get("arguments"))))
    return tuple(read)


def read_langchain_message(message: AIMessage) -> tuple[str, tuple[ChatToolCall, ...]]:
    """Return text and calls of a LangChain reply, calls with invalid arguments last."""
    calls = [*message.tool_calls, *message.invalid_tool_calls][:_MAX_CALLS]
    return str(message.text), tuple(
        ChatToolCall(
            call["id"] or f"call_{number}", call["name"] or "", _arguments(call["args"] or {})
        )
        for number, call in enumerate(calls, start=1)
    )


def checked_text(text: str, calls: Sequence[ChatToolCall], stop: Any) -> str:
    """Return the text without the model's thoughts; `stop` is why it ended.

    Raises ValueError for an empty reply, CutOff where a limit of tokens left nothing of it.
    """
    shown = without_thoughts(text).strip()
    if not shown and not calls:
        raise CutOff if is_cut_off(stop) else ValueError("The answer is empty.")
    return shown


def _arguments(given: Any) -> dict[str, Any] | str:
    """Return the arguments; the text as it is where it holds no JSON object.

    >>> _arguments('{"query": "tea"}'), _arguments("tea"), _arguments(None)
    ({'query': 'tea'}, 'tea', {})
    """
    if isinstance(given, dict):
        return given
    if not isinstance(given, str) or not given.strip():
        return {}
    try:
        read = json.loads(given)
    except (ValueError, RecursionError):
        return given
    return read if isinstance(read, dict) else given


def _written(arguments: dict[str, Any] | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=True)
