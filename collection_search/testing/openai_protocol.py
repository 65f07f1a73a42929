"""OpenAI's protocol: the answers, errors and vectors of the double."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self, TypeAlias

from .embeddings import anchor_vector, word_counts


@dataclass(frozen=True, slots=True)
class OpenAIFailure:
    """An error of the protocol."""

    status: int
    message: str
    type: str = "invalid_request_error"
    code: str | None = None
    param: str | None = None

    def body(self) -> dict[str, Any]:
        """Return the JSON body."""
        fields = ("message", "type", "param", "code")
        return {"error": {name: getattr(self, name) for name in fields}}


KEY_REFUSED: Final = OpenAIFailure(
    401, "Incorrect API key provided: sk-wrong*****key.", code="invalid_api_key"
)
MODEL_UNKNOWN: Final = OpenAIFailure(
    404, "The model `no-such-model` does not exist.", code="model_not_found"
)
THROTTLED: Final = OpenAIFailure(
    429, "Rate limit reached for requests.", type="requests", code="rate_limit_exceeded"
)
QUOTA_USED_UP: Final = OpenAIFailure(
    429,
    "You exceeded your current quota, please check your plan and billing details.",
    type="insufficient_quota",
    code="insufficient_quota",
)
SERVER_ERROR: Final = OpenAIFailure(
    500, "The server had an error while processing your request.", type="server_error"
)


@dataclass(frozen=True, slots=True)
class RawReply:
    """A raw answer, for answers that no endpoint should send."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def json(cls, value: Any, status: int = 200) -> Self:
        """Return an answer with the value as JSON."""
        return cls(json.dumps(value).encode(), status)


class ScriptedToolCalls:
    """A reply that calls tools: `(name, arguments)` of each, with a text beside them.

    Arguments that are a text stand as they are, as of a model that wrote no JSON object.

    >>> ScriptedToolCalls(("web_search", {"query": "tea"})).calls
    (('web_search', {'query': 'tea'}),)
    """

    def __init__(self, *calls: tuple[str, Mapping[str, Any] | str], text: str = "") -> None:
        self.calls = calls
        self.text = text

    def named(self) -> list[tuple[str, str, Mapping[str, Any] | str]]:
        """Return id, name and arguments of each call; ids begin anew with each reply."""
        return [(f"call_{n}", *call) for n, call in enumerate(self.calls, start=1)]


ScriptedReply: TypeAlias = Mapping[str, Any] | str | ScriptedToolCalls | OpenAIFailure | RawReply
"""Structured data in the form that the request asks for, a text, calls of tools, or an error."""


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """One request as it arrived."""

    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Mapping[str, Any]

    @property
    def method(self) -> str | None:
        """The method of structured output that the request asks for."""
        form = self.body.get("response_format", {}).get("type")
        if "tools" in self.body:
            return "function_calling"
        return {"json_schema": "json_schema", "json_object": "json_mode"}.get(form)


def embeddings_body(
    request: ReceivedRequest, *, dimension: int, gives_base64: bool, counts: bool
) -> dict[str, Any]:
    """Return vectors made from the words of the texts; `counts` adds the tokens used."""
    body = request.body
    dimension = body.get("dimensions", dimension)
    form = _base64 if gives_base64 and body.get("encoding_format") == "base64" else list
    vectors = [
        form(anchor_vector(text, dimension) or word_counts(text, dimension))
        for text in body["input"]
    ]
    answer: dict[str, Any] = {
        "object": "list",
        "model": body["model"],
        "data": [
            {"object": "embedding", "index": place, "embedding": vector}
            for place, vector in enumerate(vectors)
        ],
    }
    tokens = sum(len(text.split()) for text in body["input"])
    return answer | ({"usage": {"prompt_tokens": tokens, "total_tokens": tokens}} if counts else {})


def refused_method(method: str) -> OpenAIFailure:
    """Return the error for a method of structured output that is not supported."""
    if method == "function_calling":
        return OpenAIFailure(400, "This model does not support tools.", param="tools")
    form = "json_schema" if method == "json_schema" else "json_object"
    return OpenAIFailure(
        400,
        f"Invalid parameter: 'response_format' of type '{form}' is not supported with this model.",
        param="response_format",
    )


def completion_body(
    request: ReceivedRequest,
    reply: Mapping[str, Any] | str | ScriptedToolCalls,
    usage: tuple[int, int] | None,
) -> dict[str, Any]:
    """Return a chat answer with the reply, in the form that the request asks for."""
    message, reason = _message(request, reply)
    answer: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_767_225_600,
        "model": request.body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
    }
    if usage is not None:
        given, made = usage
        tokens = {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}
        answer["usage"] = tokens
    return answer


def _message(
    request: ReceivedRequest, reply: Mapping[str, Any] | str | ScriptedToolCalls
) -> tuple[dict[str, Any], str]:
    message: dict[str, Any] = {"role": "assistant", "content": reply, "refusal": None}
    if isinstance(reply, ScriptedToolCalls):
        called = [_called(*call) for call in reply.named()]
        return message | {"content": reply.text or None, "tool_calls": called}, "tool_calls"
    if isinstance(reply, str):
        return message, "stop"
    arguments = json.dumps(reply)
    if request.method != "function_calling":
        return message | {"content": arguments}, "stop"
    function = {"name": request.body["tools"][0]["function"]["name"], "arguments": arguments}
    calls = [{"id": "call_1", "type": "function", "function": function}]
    return message | {"content": None, "tool_calls": calls}, "tool_calls"


def _called(call_id: str, name: str, arguments: Mapping[str, Any] | str) -> dict[str, Any]:
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": written}}


def _base64(numbers: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()
