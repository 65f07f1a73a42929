"""Any LangChain search tool or retriever as a search adapter."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from ...contracts.error_codes import BY_STATUS
from ...contracts.search import SearchAdapterResponse
from ...errors import (
    BY_CODE,
    ConfigError,
    InputError,
    SearchProviderBadResponse,
    SearchProviderError,
    SearchProviderTimeout,
    SearchProviderUnavailable,
)
from ...ports.provider_info import ProviderInfo
from ...runtime.concurrency import run_blocking
from ...text.redaction import redact
from ..refusals import MAX_TEXT_CHARS, http_status_of
from .langchain_shapes import UnknownShapeError, extract_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

_OK: Final = 200
_ARGUMENTS: Final = ("query", "q", "search_query", "question", "input")
"""Usual names of a tool's query; without one it is the first argument."""
_CALL_ID: Final = "collection-search"


class LangChainSearch:
    """A LangChain search tool, or a retriever, with its own default arguments.

    A tool may return a list of results, an object with one, documents, an artifact, or any of
    these as JSON or as Python writes it; objects may be dataclasses or pydantic's. A retriever's
    documents become results with their text. The object's own setting limits their number; surplus
    ones are cut. By default `provider_name` is the tool's name.
    """

    def __init__(self, tool_or_retriever: Any, *, provider_name: str | None = None) -> None:
        if not callable(getattr(tool_or_retriever, "ainvoke", None)):
            raise ConfigError(
                "LangChainSearch needs a LangChain tool or retriever, an object with `ainvoke`."
            )
        self._source = tool_or_retriever
        name = provider_name or getattr(tool_or_retriever, "name", None)
        self.provider_name = str(name or type(tool_or_retriever).__name__)
        self.info = ProviderInfo(name=self.provider_name)

    def search(
        self, query: str, *, max_results: int, timeout: float | None = None
    ) -> SearchAdapterResponse:
        """Return the same as `asearch`. Blocks, inside a running event loop too."""
        return run_blocking(self.asearch(query, max_results=max_results, timeout=timeout))

    async def asearch(
        self,
        query: str,
        *,
        max_results: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the keyword of the port
    ) -> SearchAdapterResponse:
        """Return up to `max_results` rows in the object's order; `timeout` is in seconds.

        Raises SearchProviderBadResponse for an answer of an unknown form, and another
        SearchProviderError when the object fails.
        """
        if max_results < 1:
            raise InputError(f"max_results must be 1 or more, got {max_results}.")
        try:
            async with asyncio.timeout(timeout):
                answer = await self._source.ainvoke(self._input(query))
            rows, raw = extract_rows(answer, source=self.provider_name)
        except SearchProviderError:
            raise
        except UnknownShapeError as error:
            shown = redact(str(error), most=MAX_TEXT_CHARS)
            raise SearchProviderBadResponse(
                f"The LangChain object {self.provider_name} gave {shown}. Give a tool that returns "
                "results with their addresses, or a retriever."
            ) from error
        except Exception as error:
            raise self._failure(error) from error
        return SearchAdapterResponse(
            results=rows[:max_results],
            status_code=_OK,
            raw_results=raw,
            applied={"max_results": "post_filtered"},
        )

    def _input(self, query: str) -> str | Mapping[str, Any]:
        """Return the input of `ainvoke`: a retriever's query, or a tool's argument.

        A tool with an artifact returns it only to a model's call.
        """
        known = getattr(self._source, "args", None)
        if known is None:
            return query
        argument = next((name for name in _ARGUMENTS if name in known), next(iter(known), "query"))
        if getattr(self._source, "response_format", "") != "content_and_artifact":
            return {argument: query}
        return {
            "type": "tool_call",
            "id": _CALL_ID,
            "name": self._source.name,
            "args": {argument: query},
        }

    def _failure(self, error: Exception) -> SearchProviderError:
        """Return the error for a failure, by its HTTP status if it has one."""
        said = f"{type(error).__name__}: {redact(str(error), most=MAX_TEXT_CHARS)}"
        sentence = f"The LangChain object {self.provider_name} failed ({said})."
        if isinstance(error, TimeoutError):
            return SearchProviderTimeout(sentence)
        status = http_status_of(error)
        if status is not None and status in BY_STATUS:
            return BY_CODE[BY_STATUS[status]](sentence, http_status=status)
        return SearchProviderUnavailable(sentence, retryable=False)
