"""Query planning with OpenAI, or any endpoint that speaks its chat-completions protocol."""

from __future__ import annotations

import asyncio
import functools
import re
import warnings
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Self

from pydantic import SecretStr

from ...errors import ConfigError, ModelError
from ...masking import mask_text
from .langchain import Remedies, StructuredPlanner

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator

    from langchain_core.language_models import BaseChatModel

    from ...ports import QueryPlan
    from ...settings import Settings

DEFAULT_BASE_URL: Final = "https://api.openai.com/v1"
_NO_KEY: Final = SecretStr("none")  # local endpoints want none, the client wants one
_WHAT_THE_PLANNER_DOES_ANYWAY: Final = (
    "This model does not support OpenAI's structured output|Cannot use method='json_schema'"
)


class OpenAIQueryModel:
    """A model behind an OpenAI-compatible endpoint as `QueryModel`.

    langchain_openai is imported by the first call, in a thread. Every call opens its own
    connection: a kept one would belong to the event loop that opened it, and planning happens
    once in a run.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: SecretStr | None = None,
        base_url: str | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        self.model_name = model
        self._api_key = api_key or _NO_KEY
        self._base_url = base_url or DEFAULT_BASE_URL
        self._timeout_s = timeout_s
        self._planner = StructuredPlanner(
            model, timeout_s=timeout_s, remedies=_remedies(self._base_url)
        )

    @classmethod
    def from_settings(cls, settings: Settings, *, model: str = "") -> Self:
        """Return the model called `model`. Raises ConfigError without a name or without a key."""
        if not model.strip():
            raise ConfigError(
                "No chat model is named. Write openai:<model>, for example openai:gpt-4o-mini."
            )
        key = _key(settings.openai_api_key)
        if key is None and not settings.openai_base_url:
            raise ConfigError(
                f"The chat model openai:{model} needs a key: set OPENAI_API_KEY. A compatible "
                "endpoint of your own may need none: set OPENAI_BASE_URL, /v1 included."
            )
        return cls(
            model.strip(),
            api_key=key,
            base_url=settings.openai_base_url,
            timeout_s=settings.model_timeout_s,
        )

    async def plan(self, question: str, *, purpose: str, count: int) -> QueryPlan:
        """Return up to `count` queries. Raises `ModelError`; the caller falls back, not retries."""
        async with self._chat() as chat:
            return await self._planner.plan(chat, question, purpose=purpose, count=count)

    @asynccontextmanager
    async def _chat(self) -> AsyncIterator[BaseChatModel]:
        """Give a client whose connections end with the block. Opening it reads files."""
        try:
            chat, connections = await asyncio.to_thread(self._open)
        except ImportError as error:
            raise ModelError(
                "The package langchain-openai is not installed. Run: pip install langchain-openai"
            ) from error
        except Exception as error:
            raise ModelError(
                f"The client of the model {self.model_name} cannot be set up. Check "
                f"OPENAI_BASE_URL and the proxy of this machine: {mask_text(str(error))}"
            ) from error
        async with connections:
            yield chat

    def _open(self) -> tuple[BaseChatModel, AbstractAsyncContextManager[Any]]:
        from langchain_openai import ChatOpenAI
        from openai import DefaultAsyncHttpxClient

        warnings.filterwarnings("ignore", message=_WHAT_THE_PLANNER_DOES_ANYWAY)
        connections = DefaultAsyncHttpxClient(verify=_tls())
        chat = ChatOpenAI(
            model=self.model_name,
            api_key=self._api_key,
            base_url=self._base_url,
            timeout=self._timeout_s,
            max_retries=0,
            temperature=_temperature(self.model_name),
            disable_streaming=True,
            openai_proxy=None,  # HTTPS_PROXY is honoured by the connections
            http_async_client=connections,
        )
        return chat, connections


def _key(given: SecretStr | None) -> SecretStr | None:
    key = given.get_secret_value().strip() if given else ""
    if not (key.isascii() and key.isprintable()):
        raise ConfigError("OPENAI_API_KEY holds characters that no key has. Copy the key again.")
    return SecretStr(key) if key else None


def _remedies(base_url: str) -> Remedies:
    return Remedies(
        key="OPENAI_API_KEY",
        address=f"OPENAI_BASE_URL ({mask_text(base_url)})",
        model="COLLECTION_SEARCH_MODEL",
    )


def _temperature(model: str) -> float | None:
    """Return 0, or None for reasoning models of the o series, which refuse any value."""
    return None if re.search(r"(?:^|/)o\d", model) else 0.0


@functools.cache
def _tls() -> ssl.SSLContext:
    import httpx

    return httpx.create_ssl_context()
