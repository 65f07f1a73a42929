"""Plans and chats with any LangChain chat model, by structured output or by words."""

from __future__ import annotations

import asyncio
import functools
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from ...planning.prompts import strategy_messages
from ...ports import ChatReply, QueryPlan
from .chat_messages import (
    checked_text,
    langchain_messages,
    openai_tools,
    read_langchain_message,
)
from .error_mapping import Remedies, model_errors
from .langchain_answer import (
    MethodRefusedError,
    ask_by_method,
    name_of_model,
    raise_if_message_stopped,
    reason_to_stop,
    usage_of,
)
from .object_memo import Memory
from .output_methods import MAX_WORDY_ANSWERS, UNKNOWN, WEAKER, ModelRequests, OutputMethod
from .plan_parsing import NoJsonError, parse_queries
from .single_retry import retries_itself, retry_once
from .stop_reasons import is_cut_off
from .vendors import CHAT, make_vendor_model

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from contextlib import AbstractContextManager

    from langchain_core.language_models import BaseChatModel

    from ...ports import ChatMessage, ChatTool
    from ...settings import Settings
    from .error_mapping import ModelErrorKind

Answer = TypeVar("Answer")

_WHAT_THE_LADDER_DOES_ANYWAY: Final = (
    "This model does not support OpenAI's structured output|Cannot use method='json_schema'"
    "|Unrecognized structured output method"
)


@dataclass(slots=True)
class _Learnt:
    """The output method that a model is known to accept."""

    method: OutputMethod = "json_schema"


_LEARNT: Final = Memory(_Learnt)


class LangChainQueryModel:
    """A LangChain chat model, or another object with `ainvoke`, as `QueryModel` and `ChatModel`.

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
        requests = ModelRequests()
        with self._errors(requests, malformed="unusable"):
            async with asyncio.timeout(self._timeout_s):
                return await self._plan(messages, requests, self._time_limit())

    async def chat(
        self, messages: Sequence[ChatMessage], *, tools: Sequence[ChatTool] = ()
    ) -> ChatReply:
        """Return the reply, never an empty one. Raises `ModelError`; a retry seldom helps."""
        requests = ModelRequests()
        with self._errors(requests):
            chat = _with_tools(self._model, tools) if tools else self._model
            given = langchain_messages(messages)
            until = self._time_limit()
            async with asyncio.timeout(self._timeout_s):
                message: Any = await self._paid(lambda: chat.ainvoke(given), requests, until)
            requests.pay(usage_of(message))
            raise_if_message_stopped(message)
            text, calls = read_langchain_message(message)
            stop = reason_to_stop(message)
            return ChatReply(
                checked_text(text, calls, stop),
                calls,
                _model_of(message, self.model_name),
                *requests.spent,
                cut_off=is_cut_off(stop),
            )

    def _time_limit(self) -> float:
        """Return the event loop's time at which a call that begins now has to end."""
        return asyncio.get_running_loop().time() + self._timeout_s

    async def _plan(
        self, messages: list[tuple[str, str]], requests: ModelRequests, until: float
    ) -> QueryPlan:
        """Return the plan by the first method that is accepted."""
        method = self._learnt.method
        while True:
            ask = functools.partial(ask_by_method, self._model, messages, method)
            try:
                answer = await self._paid(ask, requests, until)
            except MethodRefusedError as refusal:
                requests.refuse(refusal)
                if refusal.is_billed:
                    requests.pay(UNKNOWN)
                method = WEAKER[method]
                continue
            requests.pay(answer.tokens)
            if answer.stopped is not None:
                raise answer.stopped
            has_next = answer.is_of_library and requests.answers < MAX_WORDY_ANSWERS
            try:
                queries = parse_queries(answer.content, in_words=not has_next, stop=answer.stop)
            except NoJsonError:
                if not has_next:
                    raise
                method = WEAKER[method]
                continue
            self._learnt.method = method
            return QueryPlan(queries, answer.model or self.model_name, *requests.spent)

    async def _paid(
        self, call: Callable[[], Awaitable[Answer]], requests: ModelRequests, until: float
    ) -> Answer:
        """Return the call's answer; a busy endpoint is asked twice if the object does not do so."""
        requests.begin()
        if retries_itself(self._model):
            return await call()
        return await retry_once(lambda _: call(), until=until)

    def _errors(
        self, requests: ModelRequests, *, malformed: ModelErrorKind = "other"
    ) -> AbstractContextManager[None]:
        return model_errors(
            f"The model {self.model_name}",
            remedies=self._remedies,
            timeout_s=self._timeout_s,
            malformed=malformed,
            requests=requests,
        )


def _with_tools(model: Any, tools: Sequence[ChatTool]) -> Any:
    """Return the model with the tools. Raises NotImplementedError where it takes none."""
    try:
        return model.bind_tools(openai_tools(tools))
    except (AttributeError, NotImplementedError) as error:
        raise NotImplementedError("it takes no tools") from error


def _model_of(message: Any, name: str) -> str:
    return name_of_model(message) or name


def _name(model: Any) -> str:
    for attribute in ("model_name", "model", "model_id"):
        if isinstance(name := getattr(model, attribute, None), str) and name:
            return name
    get_name = getattr(model, "get_name", None)
    return str(get_name()) if callable(get_name) else type(model).__name__
