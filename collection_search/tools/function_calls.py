"""Calls of the functions that models can call: arguments in, text and JSON out.

A model's mistake or a failing provider is an error result, never an exception.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Final

from ..context import SearchContext
from ..contracts.functions import (
    FUNCTIONS,
    CollectedOutput,
    CollectedPage,
    CollectionSearchArguments,
    FunctionResult,
    ReadPageArguments,
    ReadPageOutput,
    RetrieveArguments,
    RetrieveOutput,
    WebSearchArguments,
    WebSearchOutput,
)
from ..contracts.options import NO_OPTIONS
from ..errors import CollectionSearchError, InputError
from ..settings.registry import load_adapter
from ..text.redaction import error_message, redact_error
from ..text.untrusted import fence, neutralize, neutralize_line, show_url
from .read_page import aread_page
from .retrieve import aretrieve
from .search.service_response import service_response
from .search.single_search import search_once
from .search_texts import full, listed
from .tickets import await_ticket

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from ..contracts.collection import Passage
    from ..contracts.functions import FunctionArguments
    from ..contracts.options import SearchOptions
    from ..contracts.search import WebSearchResponse
    from .search.search_worker import WebSearchWorker

    OnProgress = Callable[[float, float, str], Awaitable[None]]
    """Gets how much is done, of how much, and a sentence about it."""

COLLECT_TIMEOUT_S: Final = 300.0
"""How long `collection_search` waits for the pages to be stored."""

logger = logging.getLogger(__name__)


async def call_function(
    name: str,
    arguments: Mapping[str, Any],
    context: SearchContext | None = None,
    *,
    on_progress: OnProgress | None = None,
    options: SearchOptions = NO_OPTIONS,
    total_tokens: int | None = None,
) -> FunctionResult:
    """Return the result of one call by name, an error result for whatever goes wrong.

    Without a context the settings decide. `options` and `total_tokens` are for `web_search`.
    """
    definition = FUNCTIONS.get(name)
    if definition is None:
        known = ", ".join(FUNCTIONS)
        return failed_call(InputError(f"There is no function {name!r}. Known: {known}."))
    try:
        return await call_validated(
            definition.validate_arguments(arguments),
            context or SearchContext(),
            on_progress=on_progress,
            options=options,
            total_tokens=total_tokens,
        )
    except Exception as error:  # noqa: BLE001 - an agent goes on after any failure
        return failed_call(error)


async def call_validated(
    arguments: FunctionArguments,
    context: SearchContext,
    *,
    on_progress: OnProgress | None = None,
    options: SearchOptions = NO_OPTIONS,
    total_tokens: int | None = None,
) -> FunctionResult:
    """Return the result of the function that takes these arguments. Raises its errors."""
    if isinstance(arguments, WebSearchArguments):
        return await call_web_search(arguments, context, options=options, total_tokens=total_tokens)
    if isinstance(arguments, RetrieveArguments):
        return await call_retrieve(arguments, context)
    if isinstance(arguments, ReadPageArguments):
        return await call_read_page(arguments, context)
    if isinstance(arguments, CollectionSearchArguments):
        return await call_collection_search(arguments, context, on_progress=on_progress)
    raise InputError(f"{type(arguments).__name__} belongs to no function.")


def failed_call(error: Exception) -> FunctionResult:
    """Return the error result of a failed call; an unexpected error is logged."""
    if not isinstance(error, CollectionSearchError):
        logger.error("a function call failed", exc_info=redact_error(error))
    return FunctionResult(f"Error: {neutralize_line(error_message(error))}", is_error=True)


async def call_web_search(
    arguments: WebSearchArguments,
    context: SearchContext,
    *,
    options: SearchOptions = NO_OPTIONS,
    worker: WebSearchWorker | None = None,
    total_tokens: int | None = None,
) -> FunctionResult:
    """Return the results of one search, in full after a deep one; a failure is an error result.

    `options` are the operator's, such as domains or a depth; the model sets the query and the
    number of results. A `worker` replaces the context's provider. Raises ConfigError, StoreError.
    """
    query, wanted = (
        arguments.query,
        options.model_copy(update={"max_results": arguments.max_results}),
    )
    started = time.monotonic()
    if worker is None:
        found = await search_once(context, query, max_results=arguments.max_results, options=wanted)
        response = found.response
    else:
        call = context.tool_context(context.ids())
        response = await worker.arun(query=query, context=call, options=wanted)
    took_ms = round((time.monotonic() - started) * 1000)
    shown = service_response(response, query, wanted, response_time_ms=took_ms)
    output = WebSearchOutput(query=query, results=shown.results, outcome=response.outcome)
    if response.outcome.decision == "error":
        return FunctionResult(_describe_failure(response), output, is_error=True)
    is_deep = options.search_depth == "deep" or bool(options.include_content)
    write = full if is_deep and any(one.content for one in shown.results) else listed
    return FunctionResult(fence(write(shown, total_tokens=total_tokens)), output)


async def call_retrieve(arguments: RetrieveArguments, context: SearchContext) -> FunctionResult:
    """Return numbered passages with their sources, best first. Raises what `aretrieve` raises."""
    question, collection = arguments.question, arguments.collection
    passages = await aretrieve(question, collection=collection, k=arguments.k, context=context)
    output = RetrieveOutput(question=question, collection=collection, passages=passages)
    name = neutralize_line(collection)
    if not passages:
        return FunctionResult(f"No passage of the collection '{name}' answers this.", output)
    sections = [f"[Collection: '{name}']", *map(_passage, passages)]
    return FunctionResult(fence("\n\n".join(sections)), output)


async def call_read_page(arguments: ReadPageArguments, context: SearchContext) -> FunctionResult:
    """Return the page's text up to `max_chars`. Raises what `aread_page` raises."""
    page = await aread_page(arguments.url, context=context)
    output = ReadPageOutput(
        url=page.final_url,
        title=page.title,
        text=page.text[: arguments.max_chars],
        chars=len(page.text),
        is_cut=len(page.text) > arguments.max_chars,
    )
    head = [f"Title: {neutralize_line(page.title)}", f"Source: {show_url(page.final_url)}"]
    if output.is_cut:
        head.append(f"Shown: the first {len(output.text)} of {output.chars} characters")
    return FunctionResult(fence("\n".join([*head, "", neutralize(output.text)])), output)


async def call_collection_search(
    arguments: CollectionSearchArguments,
    context: SearchContext,
    *,
    on_progress: OnProgress | None = None,
    timeout_s: float = COLLECT_TIMEOUT_S,
) -> FunctionResult:
    """Search for the question, ingest the best pages and wait until they are stored.

    The graph `collection_search` runs with `auto_ingest`; a page that does not reach the score
    stays out. What is not stored after `timeout_s` is counted as pending. Raises ConfigError.
    """
    graph = load_adapter("graphs", "collection_search")(context)
    given = {
        "question": arguments.question,
        "collection_scope": arguments.collection,
        "max_candidates": max(2 * arguments.max_pages, 10),
        "auto_ingest": True,
        "auto_ingest_top_k": arguments.max_pages,
    }
    final: dict[str, Any] = {}
    done = 0
    async for mode, chunk in graph.astream(given, stream_mode=["values", "custom"]):
        if mode == "values":
            final = chunk
        elif on_progress is not None and chunk.get("type") == "node_finished":
            done += 1
            await on_progress(done, _STEPS, f"{chunk['node']} is done")
    output = _collected(arguments, final)
    if output.ticket is not None:
        status = await await_ticket(output.ticket, timeout_s, context=context)
        counts = {
            "stored": status.stored,
            "failed": status.failed,
            "pending": status.left(fetch=True),
        }
        output = output.model_copy(update=counts)
    if on_progress is not None:
        await on_progress(_STEPS, _STEPS, "the pages are stored")
    is_error = output.outcome in _FAILED
    return FunctionResult(_describe_collected(output, final), output, is_error=is_error)


_STEPS: Final = 5
"""Four stages and the ingestion."""
_FAILED: Final = ("search_failed", "auto_ingest_trigger_failed")


def _collected(arguments: CollectionSearchArguments, final: Mapping[str, Any]) -> CollectedOutput:
    receipt = final["ingestion"] or {"ticket": None, "urls": []}
    by_url = {row["url"]: row for row in final["results"]}
    rows = [by_url[url] for url in receipt["urls"] if url in by_url]
    return CollectedOutput(
        question=arguments.question,
        collection=arguments.collection,
        outcome=final["outcome"],
        queries=final["strategy"]["queries"],
        pages=[
            CollectedPage(url=row["url"], title=row["title"], score=row["embedding_rank_score"])
            for row in rows
        ],
        ticket=receipt["ticket"],
        flags=final["flags"],
    )


def _describe_collected(output: CollectedOutput, final: Mapping[str, Any]) -> str:
    name = neutralize_line(output.collection)
    if not output.pages:
        errors = [error["message"] for error in (final["search"] or {}).get("errors", ())]
        receipt_error = (final["ingestion"] or {}).get("error") or {}
        reasons = [*errors, receipt_error.get("message", "")]
        said = neutralize_line(" ".join(filter(None, reasons)))
        return f"Nothing was collected into '{name}' ({output.outcome}). {said}".rstrip()
    counts = f"{output.stored} stored, {output.failed} failed, {output.pending} pending"
    pages = [
        f"{n}. {neutralize_line(page.title)} — {show_url(page.url)} (score {page.score:.0f})"
        for n, page in enumerate(output.pages, start=1)
    ]
    listed = fence("\n".join(pages))
    return f"The collection '{name}' got {len(pages)} pages: {counts}.\n{listed}"


def _describe_failure(response: WebSearchResponse) -> str:
    error = response.outcome.meta["error"]
    advice = "It may work later." if error["retryable"] else "Do not repeat it as it is."
    message = neutralize_line(error["message"])
    return f"Search failed ({response.outcome.rationale}): {message} {advice}"


def _passage(passage: Passage) -> str:
    head = f"[{passage.n}] {neutralize_line(passage.title)} — {show_url(passage.url)}"
    return f"{head}\n{neutralize(passage.text)}"
