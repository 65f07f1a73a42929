"""Plans and chats with OpenAI, or any endpoint that speaks its chat-completions protocol."""

from __future__ import annotations

import asyncio
import functools
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Self

from ...errors import ConfigError
from ...planning.prompts import SearchQueries, strategy_messages
from ...ports import ChatReply, QueryPlan
from ...text.clean import to_unicode
from ...text.redaction import mask_text
from ...text.urls import mask_login
from .chat_messages import (
    checked_text,
    message_of,
    openai_messages,
    openai_tools,
    read_openai_message,
    stop_of,
    text_of,
)
from .endpoint import Endpoint, EndpointError, clean_key, require_key, tokens_of
from .error_mapping import Remedies, model_errors
from .health_check import check_endpoint_health
from .output_methods import (
    MAX_WORDY_ANSWERS,
    REFUSAL_STATUS,
    WEAKER,
    ModelRequests,
    OutputMethod,
    refuses_method,
)
from .plan_parsing import NoJsonError, parse_queries
from .single_retry import retry_once
from .stop_reasons import is_cut_off, is_filter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from httpx import AsyncClient
    from pydantic import SecretStr

    from ...contracts.health import Health
    from ...ports import ChatMessage, ChatTool
    from ...settings import Settings
    from .error_mapping import ModelErrorKind

_ROLES: Final = {"system": "system", "human": "user"}
_FORM: Final = SearchQueries.__name__
_MAX_BYTES: Final = 1024 * 1024
"""Room for long thoughts; up to here an answer is read in a few milliseconds."""

_REASONS = re.compile(r"(?:^|/)(?:o\d|gpt-[5-9](?!.*chat))")
"""Models that think before they answer; they refuse a request that names a temperature."""


@dataclass(frozen=True, slots=True)
class _RequestForm:
    """The form of request that an endpoint accepts."""

    method: OutputMethod = "json_schema"
    temperature: float | None = 0.0


class OpenAIQueryModel:
    """A model behind an OpenAI-compatible endpoint as `QueryModel` and `ChatModel`.

    The first plan finds out which form of request is accepted, which may take a few requests.
    Each further plan, and each chat, is one request; a busy endpoint is asked a second time.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: SecretStr | None = None,
        base_url: str | None = None,
        timeout_s: float = 30.0,
        http_client: AsyncClient | None = None,
    ) -> None:
        self.model_name = model
        self._endpoint = Endpoint(base_url, api_key, http_client)
        self._timeout_s = timeout_s
        self._request_form = _RequestForm(temperature=None if _REASONS.search(model) else 0.0)

    @classmethod
    def from_settings(
        cls, settings: Settings, *, model: str = "", http_client: AsyncClient | None = None
    ) -> Self:
        """Return the model called `model`. Raises ConfigError without a name or without a key."""
        if not model.strip():
            raise ConfigError(
                "No chat model is named. Write openai:<model>, for example openai:gpt-4o-mini."
            )
        key = clean_key(settings.openai_key(), "OPENAI_API_KEY")
        require_key(f"chat model openai:{model}", key, settings.openai_base_url)
        return cls(
            model.strip(),
            api_key=key,
            base_url=settings.openai_base_url,
            timeout_s=settings.model_timeout_s,
            http_client=http_client,
        )

    async def plan(self, question: str, *, purpose: str, count: int) -> QueryPlan:
        """Return up to `count` queries. Raises `ModelError`; the caller falls back, not retries."""
        messages = [
            {"role": _ROLES[role], "content": to_unicode(text)}
            for role, text in strategy_messages(question, purpose=purpose, count=count)
        ]
        requests = ModelRequests()
        with self._errors(self._timeout_s, "unusable", requests):
            async with asyncio.timeout(self._timeout_s):
                return await self._ask(messages, requests, self._time_limit())

    async def chat(
        self, messages: Sequence[ChatMessage], *, tools: Sequence[ChatTool] = ()
    ) -> ChatReply:
        """Return the reply, never an empty one. Raises `ModelError`; a retry seldom helps."""
        requests = ModelRequests()
        body: dict[str, Any] = {"model": self.model_name, "messages": openai_messages(messages)}
        if tools:
            body["tools"] = openai_tools(tools)
        with self._errors(self._timeout_s, "other", requests):
            async with asyncio.timeout(self._timeout_s):
                answer = await self._chat_answer(body, requests, self._time_limit())
            text, calls = read_openai_message(answer)
            stop = stop_of(answer)
            return ChatReply(
                checked_text(text, calls, stop),
                calls,
                self._named(answer),
                *tokens_of(answer),
                cut_off=is_cut_off(stop),
            )

    async def _chat_answer(
        self, body: dict[str, Any], requests: ModelRequests, until: float
    ) -> dict[str, Any]:
        """Return the answer; a model that refuses to be given a temperature is asked without."""
        form = self._request_form
        warmth = {} if form.temperature is None else {"temperature": form.temperature}
        try:
            return await self._answer(body | warmth, requests, until)
        except EndpointError as error:
            if not _refuses_temperature(form, error):
                raise
            requests.drop()
        answer = await self._answer(body, requests, until)
        self._request_form = replace(self._request_form, temperature=None)
        return answer

    async def acheck(self, *, timeout: float) -> Health:  # noqa: ASYNC109 - as search adapters
        """Return whether the endpoint answers and accepts the key. Raises ModelError."""
        with self._errors(timeout, "other"):
            return await check_endpoint_health(self._endpoint, self.model_name, timeout_s=timeout)

    def _time_limit(self) -> float:
        """Return the event loop's time at which a call that begins now has to end."""
        return asyncio.get_running_loop().time() + self._timeout_s

    async def _ask(
        self, messages: list[dict[str, str]], requests: ModelRequests, until: float
    ) -> QueryPlan:
        """Return the plan, asked in the known form or in the first simpler one that is accepted."""
        form = self._request_form
        while True:
            body = {"model": self.model_name, "messages": messages, **_form_parameters(form)}
            try:
                answer = await self._answer(body, requests, until)
                queries = parse_queries(
                    _content(answer),
                    in_words=not _has_next(form, requests),
                    stop=stop_of(answer),
                )
            except (EndpointError, NoJsonError) as error:
                form = _milder(form, error, requests)
                continue
            self._request_form = form
            return QueryPlan(queries, self._named(answer), *requests.spent)

    def _named(self, answer: dict[str, Any]) -> str:
        named = answer.get("model")
        return named if isinstance(named, str) and named else self.model_name

    async def _answer(
        self, body: dict[str, Any], requests: ModelRequests, until: float
    ) -> dict[str, Any]:
        async def answer(timeout_s: float) -> dict[str, Any]:
            sent = self._endpoint.post(
                "chat/completions", body, timeout_s=timeout_s, max_bytes=_MAX_BYTES
            )
            return self._endpoint.read(await sent)

        requests.begin()
        answered = await retry_once(answer, until=until)
        requests.pay(tokens_of(answered))
        return answered

    def _errors(
        self, timeout_s: float, malformed: ModelErrorKind, requests: ModelRequests | None = None
    ) -> AbstractContextManager[None]:
        remedies = Remedies(
            key="OPENAI_API_KEY",
            address=f"OPENAI_BASE_URL ({mask_text(mask_login(self._endpoint.base_url))})",
            model="COLLECTION_SEARCH_MODEL",
        )
        subject = f"The model {self.model_name}"
        return model_errors(
            subject,
            remedies=remedies,
            timeout_s=timeout_s,
            malformed=malformed,
            requests=requests,
        )


def _milder(
    form: _RequestForm, error: EndpointError | NoJsonError, requests: ModelRequests
) -> _RequestForm:
    """Return the next simpler form. Raises `error` where it does not refuse this one."""
    if isinstance(error, NoJsonError):  # this form was ignored
        refused = _has_next(form, requests)
    elif _refuses_temperature(form, error):
        requests.drop()
        return replace(form, temperature=None)
    else:
        refuses = refuses_method(error.status_code, str(error)) and not is_filter(error)
        refused = refuses and form.method in WEAKER
        if refused:
            requests.refuse(error)
    if not refused:
        raise error
    return replace(form, method=WEAKER[form.method])


def _has_next(form: _RequestForm, requests: ModelRequests) -> bool:
    """Return whether an answer in this form that has no JSON leads to another request."""
    return form.method in WEAKER and requests.answers < MAX_WORDY_ANSWERS


def _refuses_temperature(form: _RequestForm, error: EndpointError) -> bool:
    warm = form.temperature is not None and "temperature" in str(error)
    return warm and error.status_code in REFUSAL_STATUS


def _form_parameters(form: _RequestForm) -> dict[str, Any]:
    """Return the parameters that ask for a form of answer."""
    warmth = {} if form.temperature is None else {"temperature": form.temperature}
    match form.method:
        case "json_schema":
            schema = {"name": _FORM, "strict": True, "schema": _schema()}
            return warmth | {"response_format": {"type": "json_schema", "json_schema": schema}}
        case "function_calling":
            tool = {"name": _FORM, "description": SearchQueries.__doc__, "parameters": _schema()}
            return warmth | {
                "tools": [{"type": "function", "function": tool}],
                "tool_choice": {"type": "function", "function": {"name": _FORM}},
            }
        case "json_mode":
            return warmth | {"response_format": {"type": "json_object"}}
        case "prompt":
            return warmth


@functools.cache
def _schema() -> dict[str, Any]:
    return SearchQueries.model_json_schema() | {"additionalProperties": False}


def _content(answer: dict[str, Any]) -> Any:
    """Return the arguments of the tool call, or the text. Raises as `message_of`."""
    message = message_of(answer)
    match message:
        case {"tool_calls": [{"function": {"arguments": arguments}}, *_]}:
            return arguments
    return text_of(message)
