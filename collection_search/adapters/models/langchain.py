"""Plans and chats with any LangChain chat model, by structured output and bound tools."""

from __future__ import annotations

import asyncio
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from pydantic import ValidationError

from ...planning.prompts import SearchQueries, strategy_messages
from ...ports import ChatReply, QueryPlan
from ..refusals import http_status_of
from .chat_messages import (
    checked_text,
    langchain_messages,
    openai_tools,
    read_langchain_message,
)
from .endpoint import tokens_of
from .error_mapping import Remedies, model_errors
from .object_memo import Memory
from .output_methods import WEAKER, OutputMethod, Tokens, refuses_method
from .plan_parsing import parse_queries
from .vendors import CHAT, make_vendor_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage

    from ...ports import ChatMessage, ChatTool
    from ...settings import Settings


_WHAT_THE_LADDER_DOES_ANYWAY: Final = (
    "This model does not support OpenAI's structured output|Cannot use method='json_schema'"
)
_NOTHING: Final = Tokens()


@dataclass(slots=True)
class _Learnt:
    """The output method that a model is known to accept."""

    method: OutputMethod = "json_schema"


_LEARNT: Final = Memory(_Learnt)


class LangChainQueryModel:
    """A LangChain chat model object as `QueryModel` and `ChatModel`.

    Which method the object takes is remembered as long as it lives, for all that wrap it.
    """

    def __init__(
        self, model: BaseChatModel, *, timeout_s: float = 30.0, remedies: Remedies | None = None
    ) -> None:
        self.model_name = _name(model)
        self._model = model
        self._timeout_s = timeout_s
        self._remedies = remedies or Remedies()
        self._learnt = _LEARNT.of(model)
        warnings.filterwarnings("ignore", message=_WHAT_THE_LADDER_DOES_ANYWAY)

    @classmethod
    def from_vendor(cls, settings: Settings, *, vendor: str, model: str) -> Self:
        """Return the model called `vendor:model`; the vendor's package reads its own variables.

        Raises ConfigError for a vendor that is not known, and MissingExtraError naming the package.
        """
        return cls(
            make_vendor_model(CHAT, vendor, model.strip()),
            timeout_s=settings.model_timeout_s,
            remedies=Remedies.of_vendor(vendor, model="COLLECTION_SEARCH_MODEL"),
        )

    async def plan(self, question: str, *, purpose: str, count: int) -> QueryPlan:
        """Return up to `count` queries. Raises `ModelError`; the caller falls back, not retries."""
        messages = strategy_messages(question, purpose=purpose, count=count)
        subject, limit_s = f"The model {self.model_name}", self._timeout_s
        with model_errors(
            subject, remedies=self._remedies, timeout_s=limit_s, malformed="unusable"
        ):
            async with asyncio.timeout(limit_s):
                answer, spent = await self._answer(messages, self._learnt.method)
            return _plan(self.model_name, answer, spent)

    async def chat(
        self, messages: Sequence[ChatMessage], *, tools: Sequence[ChatTool] = ()
    ) -> ChatReply:
        """Return the reply, never an empty one. Raises `ModelError`; there is no retry inside."""
        subject, limit_s = f"The model {self.model_name}", self._timeout_s
        with model_errors(subject, remedies=self._remedies, timeout_s=limit_s):
            chat: Any = self._model.bind_tools(openai_tools(tools)) if tools else self._model
            async with asyncio.timeout(limit_s):
                message: AIMessage = await chat.ainvoke(langchain_messages(messages))
            text, calls = read_langchain_message(message)
            spent = _usage(message)
            return ChatReply(
                checked_text(text, calls),
                calls,
                _model_of(message, self.model_name),
                spent.input,
                spent.output,
            )

    async def _answer(
        self, messages: list[tuple[str, str]], method: OutputMethod, spent: Tokens = _NOTHING
    ) -> tuple[dict[str, Any], Tokens]:
        """Return raw and parsed answer by the first method that is not refused, and its cost."""
        try:
            answer = await _ask(self._model, messages, method)
        except NotImplementedError as refusal:
            if method not in WEAKER:
                raise
            spent = spent.plus(_cost(refusal.__cause__))
            return await self._answer(messages, WEAKER[method], spent)
        self._learnt.method = method
        return answer, spent


async def _ask(
    chat: BaseChatModel, messages: list[tuple[str, str]], method: OutputMethod
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
    """Return whether the endpoint lacks the method: it says so, or answered in prose."""
    if isinstance(error, ValidationError):
        return error.errors()[0]["type"] == "json_invalid"
    return refuses_method(http_status_of(error), str(error))


def _cost(refusal: BaseException | None) -> Tokens:
    """Return the tokens of a refusal: none, or those of an answer in prose."""
    if not isinstance(refusal, ValidationError):
        return _NOTHING
    try:
        answer = refusal.response.json()  # type: ignore[attr-defined] # langchain-openai's own
    except (AttributeError, ValueError):
        answer = None
    return tokens_of(answer) if isinstance(answer, dict) else Tokens(None, None)


def _plan(name: str, answer: dict[str, Any], spent: Tokens) -> QueryPlan:
    raw = answer["raw"]
    # the JSON may stand in a code fence or in the text beside no tool call
    queries = parse_queries(str(raw.text) if answer["parsed"] is None else answer["parsed"])
    spent = spent.plus(_usage(raw))
    return QueryPlan(
        queries=queries,
        model=_model_of(raw, name),
        input_tokens=spent.input,
        output_tokens=spent.output,
    )


def _usage(message: AIMessage) -> Tokens:
    usage = message.usage_metadata
    return Tokens(usage["input_tokens"], usage["output_tokens"]) if usage else Tokens(None, None)


def _model_of(message: AIMessage, name: str) -> str:
    return message.response_metadata.get("model_name") or name


def _name(model: BaseChatModel) -> str:
    for attribute in ("model_name", "model", "model_id"):
        if isinstance(name := getattr(model, attribute, None), str) and name:
            return name
    return model.get_name()
