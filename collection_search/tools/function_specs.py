"""The functions that models call, as tool definitions of OpenAI and Anthropic, and their answers.

Every definition is made from `collection_search.contracts.functions`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from pydantic import BaseModel

from ..contracts.functions import FUNCTIONS, FunctionDefinition, FunctionResult, find_function
from ..errors import InputError
from .failed_calls import failed_call
from .function_calls import call_function

if TYPE_CHECKING:
    from ..context import SearchContext
    from ..contracts.options import SearchOptions

OpenAIApi = Literal["chat", "responses"]
ToolFormat = Literal["openai", "openai_responses", "anthropic"]
"""`openai`: chat completions. `openai_responses`: the responses API."""


def openai_tool(
    name: str = "web_search", *, strict: bool = False, api: OpenAIApi = "chat"
) -> dict[str, Any]:
    """Return a function tool for OpenAI's chat completions, or for its responses API.

    With `strict` the model is bound to the schema: every argument is required there, and null
    stands for the default. Raises InputError for an unknown name or `api`.

    >>> openai_tool(strict=True)["function"]["parameters"]["required"]
    ['query', 'max_results']
    """
    return _openai_form(find_function(name, FUNCTIONS), strict=strict, api=api)


def _openai_form(
    definition: FunctionDefinition[Any], *, strict: bool, api: OpenAIApi
) -> dict[str, Any]:
    if api not in get_args(OpenAIApi):
        raise InputError(f"api is {api!r}: write chat or responses.")
    schema = definition.input_schema()
    function: dict[str, Any] = {
        "name": definition.name,
        "description": definition.description,
        "parameters": _strict_schema(schema) if strict else schema,
    }
    if strict:
        function["strict"] = True
    if api == "responses":
        return {"type": "function", "strict": False, **function}
    return {"type": "function", "function": function}


def anthropic_tool(name: str = "web_search") -> dict[str, Any]:
    """Return a tool for Anthropic's messages API. Raises InputError for an unknown name.

    >>> anthropic_tool()["input_schema"]["required"]
    ['query']
    """
    return _anthropic_form(find_function(name, FUNCTIONS))


def format_tool(definition: FunctionDefinition[Any], form: ToolFormat) -> dict[str, Any]:
    """Return any definition, also one of your own, in the form of a model's API.

    Raises InputError for an unknown form.
    """
    if form not in get_args(ToolFormat):
        raise InputError(f"form is {form!r}: write {', '.join(get_args(ToolFormat))}.")
    if form == "anthropic":
        return _anthropic_form(definition)
    api: OpenAIApi = "responses" if form == "openai_responses" else "chat"
    return _openai_form(definition, strict=False, api=api)


def _anthropic_form(definition: FunctionDefinition[Any]) -> dict[str, Any]:
    return {
        "name": definition.name,
        "description": definition.description,
        "input_schema": definition.input_schema(),
    }


async def answer_openai_call(
    call: Mapping[str, Any] | BaseModel,
    context: SearchContext | None = None,
    *,
    options: SearchOptions | None = None,
    total_tokens: int | None = None,
) -> dict[str, Any]:
    """Return the answer to a function call of OpenAI's, in the form of the API that it came from.

    `call` is a `tool_calls` entry of a chat completion or a `function_call` item of a response, as
    the client's object or as a mapping. `options` and `total_tokens` are for `web_search`, such as
    those of a translated request. A failure of the call is the answer's text. Raises InputError
    for what is no call, no context, no options or no number of tokens.
    """
    call = _as_mapping(call, "function call")
    answer = partial(_call, context=context, options=options, total_tokens=total_tokens)
    if call.get("type") == "function_call":
        result = await answer(call.get("name"), call.get("arguments"))
        return {
            "type": "function_call_output",
            "call_id": call.get("call_id"),
            "output": result.text,
        }
    named = call.get("function")
    function = named if isinstance(named, Mapping) else {}
    result = await answer(function.get("name"), function.get("arguments"))
    return {"role": "tool", "tool_call_id": call.get("id"), "content": result.text}


async def answer_anthropic_call(
    block: Mapping[str, Any] | BaseModel,
    context: SearchContext | None = None,
    *,
    options: SearchOptions | None = None,
    total_tokens: int | None = None,
) -> dict[str, Any]:
    """Return the `tool_result` block that answers a `tool_use` block.

    `block` is the client's object or a mapping. `options` and `total_tokens` are for `web_search`.
    A failure of the call is the answer's text. Raises InputError as `answer_openai_call` does.
    """
    block = _as_mapping(block, "tool_use block")
    limits: dict[str, Any] = {"options": options, "total_tokens": total_tokens}
    result = await _call(block.get("name"), block.get("input"), context=context, **limits)
    answer: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": block.get("id"),
        "content": result.text,
    }
    return answer | {"is_error": True} if result.is_error else answer


async def _call(
    name: Any, arguments: Any, *, context: SearchContext | None, **limits: Any
) -> FunctionResult:
    try:
        given = json.loads(arguments or "{}") if isinstance(arguments, str | None) else arguments
    except json.JSONDecodeError as error:
        told = f"{_NO_OBJECT} At character {error.pos}: {error.msg}."
        return failed_call(InputError(told))
    except (ValueError, RecursionError):  # a number of thousands of digits, thousands of brackets
        given = None
    if not isinstance(given, dict):
        return failed_call(InputError(_NO_OBJECT))
    return await call_function(name, given, context, **limits)


def _as_mapping(given: Any, kind: str) -> Mapping[str, Any]:
    """Return a model's call as a mapping. Raises InputError for anything else."""
    plain = given.model_dump() if isinstance(given, BaseModel) else given
    if not isinstance(plain, Mapping):
        raise InputError(
            f"A {kind} is needed, as the client's object or a mapping, but"
            f" {type(given).__name__!r} was given."
        )
    return plain


def _strict_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema with every property required; optional ones may be null.

    Bounds are left out, which strict endpoints refuse; they are judged with the call.
    """
    properties = {
        name: _strict_field(field, is_required=name in schema["required"])
        for name, field in schema["properties"].items()
    }
    return {
        **schema,
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _strict_field(field: Mapping[str, Any], *, is_required: bool) -> dict[str, Any]:
    kept = _without_bounds(field)
    return kept if is_required else {**kept, "type": [kept["type"], "null"]}


def _without_bounds(field: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a value; a list keeps that of its items, which strict mode demands."""
    kept = {name: value for name, value in field.items() if name in _STRICT_KEYWORDS}
    return {**kept, "items": _without_bounds(field["items"])} if "items" in field else kept


_NO_OBJECT: Final = "The arguments of the call are no JSON object."
_STRICT_KEYWORDS: Final = ("type", "description", "enum")
