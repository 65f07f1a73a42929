"""Query planning with any LangChain chat model, by structured output."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import ValidationError

from ...errors import ModelError
from ...masking import told
from ...ports import QueryPlan
from ...prompts import SearchQueries, strategy_messages

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

Method = Literal["json_schema", "function_calling", "json_mode"]

_WEAKER: Final[dict[Method, Method]] = {
    "json_schema": "function_calling",
    "function_calling": "json_mode",
}

# How endpoints word it when they lack a method; llama.cpp does so with status 500.
_REFUSAL_STATUS: Final = frozenset({400, 404, 422, 500, 501})
_REFUSAL_WORDS = re.compile(
    r"response_format|response format|json_schema|json_object|structured output"
    r"|\btools?\b|tool_choice|function call",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Remedies:
    """Where a person mends what made a model fail; completes the sentence "Check ..."."""

    key: str = "the key that the model object was given"
    address: str = "the address that the model object was given"
    model: str = "the name that the model object was given"
    timeout: str = "COLLECTION_SEARCH_MODEL_TIMEOUT_S"


class StructuredPlanner:
    """Asks chat models of one endpoint for queries, and remembers which method it takes."""

    def __init__(self, name: str, *, timeout_s: float, remedies: Remedies) -> None:
        self._name = name
        self._timeout_s = timeout_s
        self._remedies = remedies
        self._method: Method = "json_schema"

    async def plan(
        self, chat: BaseChatModel, question: str, *, purpose: str, count: int
    ) -> QueryPlan:
        """Return the queries of one answer, checked. Raises `ModelError`; nothing is retried."""
        messages = strategy_messages(question, purpose=purpose, count=count)
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await self._answer(chat, messages, self._method)
            queries = _queries(answer)
        except Exception as error:
            raise ModelError(self._sentence(error)) from error
        return _plan(self._name, queries, answer["raw"])

    async def _answer(
        self, chat: BaseChatModel, messages: list[tuple[str, str]], method: Method
    ) -> dict[str, Any]:
        """Return LangChain's raw and parsed answer, by the first method that is not refused."""
        try:
            answer = await _ask(chat, messages, method)
        except NotImplementedError:
            if method not in _WEAKER:
                raise
            return await self._answer(chat, messages, _WEAKER[method])
        self._method = method
        return answer

    def _sentence(self, error: Exception) -> str:
        status = _status(error)
        what = _SENTENCES[_kind(error, status)].format(
            where=self._remedies, timeout_s=self._timeout_s, cause=told(str(error), most=300)
        )
        answer = f" (HTTP {status})" if status else ""
        return f"The model {self._name}{answer} {what}"


class LangChainQueryModel:
    """A LangChain chat model object as `QueryModel`."""

    def __init__(self, model: BaseChatModel, *, timeout_s: float = 30.0) -> None:
        self.model_name = _name(model)
        self._model = model
        self._planner = StructuredPlanner(self.model_name, timeout_s=timeout_s, remedies=Remedies())

    async def plan(self, question: str, *, purpose: str, count: int) -> QueryPlan:
        """Return up to `count` queries. Raises `ModelError`; the caller falls back, not retries."""
        return await self._planner.plan(self._model, question, purpose=purpose, count=count)


async def _ask(
    chat: BaseChatModel, messages: list[tuple[str, str]], method: Method
) -> dict[str, Any]:
    """Return one answer. Raises NotImplementedError where the model refuses the method itself."""
    try:
        structured: Any = chat.with_structured_output(
            SearchQueries, method=method, include_raw=True
        )
    except (TypeError, ValueError) as error:
        raise NotImplementedError(str(error)) from error
    try:
        answer: dict[str, Any] = await structured.ainvoke(messages)
    except Exception as error:
        if _refuses_method(error):
            raise NotImplementedError(str(error)) from error
        raise
    return answer


def _refuses_method(error: Exception) -> bool:
    """Return True where the endpoint lacks the method: it says so, or answered in prose."""
    if isinstance(error, ValidationError):
        return error.errors()[0]["type"] == "json_invalid"
    return _status(error) in _REFUSAL_STATUS and bool(_REFUSAL_WORDS.search(str(error)))


def _queries(answer: dict[str, Any]) -> list[str]:
    from langchain_core.utils.json import parse_json_markdown

    parsed = answer["parsed"]
    if parsed is None:  # the JSON may stand in a code fence or in the text beside no tool call
        parsed = parse_json_markdown(str(answer["raw"].text))
    queries = SearchQueries.model_validate(parsed).queries
    if not queries:
        raise ValueError("The list of queries is empty.")
    return queries


def _plan(name: str, queries: list[str], raw: Any) -> QueryPlan:
    usage = raw.usage_metadata or {}
    return QueryPlan(
        queries=queries,
        model=raw.response_metadata.get("model_name") or name,
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"),
    )


def _name(model: BaseChatModel) -> str:
    for attribute in ("model_name", "model", "model_id"):
        if isinstance(name := getattr(model, attribute, None), str) and name:
            return name
    return model.get_name()


_Kind = Literal[
    "key", "model", "throttled", "quota", "timeout", "address", "no_method", "unusable", "other"
]

_SENTENCES: Final[dict[_Kind, str]] = {
    "key": "refused the key. Check {where.key}.",
    "model": "is not known there. Check {where.model} and {where.address}.",
    "throttled": "is throttled: too many requests. Wait a minute and run again.",
    "quota": "has no quota left. Check plan and billing of the account behind {where.key}.",
    "timeout": "did not answer within {timeout_s:g} s. Raise {where.timeout} or take a faster one.",
    "address": "cannot be reached. Check {where.address}.",
    "no_method": "answers neither by JSON schema nor by tool call nor in JSON. Take another one.",
    "unusable": "gave an answer that holds no list of queries. Take another one if this repeats.",
    "other": "failed: {cause}",
}

_BY_STATUS: Final[dict[int, _Kind]] = {
    401: "key",
    403: "key",
    404: "model",
    408: "timeout",
    429: "throttled",
    504: "timeout",
}


def _kind(error: Exception, status: int | None) -> _Kind:
    if isinstance(error, NotImplementedError):
        return "no_method"
    if "insufficient_quota" in f"{getattr(error, 'code', '')} {error}":
        return "quota"
    if status is not None:
        return _BY_STATUS.get(status, "other")
    ancestry = " ".join(parent.__name__ for parent in type(error).__mro__)
    if "Timeout" in ancestry:
        return "timeout"
    if "Connect" in ancestry:
        return "address"
    return "unusable" if isinstance(error, (ValueError, LookupError, TypeError)) else "other"


def _status(error: Exception) -> int | None:
    """Return the HTTP status that vendors' error classes carry, each in its own place."""
    response = getattr(error, "response", None)
    for holder, name in ((error, "status_code"), (response, "status_code"), (error, "code")):
        status = getattr(holder, name, None)
        if isinstance(status, int) and status >= HTTPStatus.BAD_REQUEST:
            return status
    return None
