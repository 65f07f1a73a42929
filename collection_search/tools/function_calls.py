"""Calls of the functions that models can call: arguments in, text and JSON out.

A model's mistake or a failing provider is an error result, never an exception.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ..context import SearchContext
from ..contracts.functions import (
    FUNCTIONS,
    CollectionSearchArguments,
    FunctionResult,
    ReadPageArguments,
    ReadPageOutput,
    RetrieveArguments,
    RetrieveOutput,
    WebSearchArguments,
    WebSearchOutput,
    find_function,
)
from ..contracts.options import NO_OPTIONS
from ..contracts.prices import tokens_in
from ..errors import InputError
from ..runtime.cancellation import ends_caller
from ..text.untrusted import fence, neutralize, neutralize_line, show_url
from .answers.passage_lists import fence_passages
from .collection_call import call_collection_search
from .failed_calls import describe_failed_search, failed_call
from .public_arguments import validate_arguments
from .read_page import aread_page
from .retrieve import aretrieve, figures_of
from .search.arguments import wanted
from .search.function_entry import apply_entry
from .search.service_response import service_response
from .search.single_search import search_once
from .search_summaries import summarize_results
from .search_texts import format_full, format_listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..contracts.collection import CollectionInfo
    from ..contracts.functions import FunctionArguments
    from ..contracts.options import SearchOptions
    from .collection_call import OnProgress
    from .search.search_worker import WebSearchWorker
    from .search_summaries import Summarize


async def call_function(
    name: str,
    arguments: Mapping[str, Any],
    context: SearchContext | None = None,
    *,
    on_progress: OnProgress | None = None,
    options: SearchOptions | None = None,
    total_tokens: int | None = None,
) -> FunctionResult:
    """Return the result of one call by name, an error result for whatever goes wrong.

    Without a context the settings decide. `options` and `total_tokens` are for `web_search`.
    Raises InputError for what is no context, no options or no number of tokens: these are no
    mistakes of the model.
    """
    validate_arguments(context=context, total_tokens=total_tokens)
    options = wanted(options)
    try:
        return await call_validated(
            find_function(name, FUNCTIONS).validate_arguments(arguments),
            context or SearchContext(),
            on_progress=on_progress,
            options=options,
            total_tokens=total_tokens,
        )
    except BaseException as error:  # an agent goes on after any failure
        if ends_caller(error):
            raise
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


async def call_web_search(
    arguments: WebSearchArguments,
    context: SearchContext,
    *,
    options: SearchOptions = NO_OPTIONS,
    worker: WebSearchWorker | None = None,
    total_tokens: int | None = None,
    summarize: Summarize | None = None,
) -> FunctionResult:
    """Return the results of one search, in full after a deep one; a failure is an error result.

    The model sets the query and the number of results, `options` are the operator's. Backend and
    largest number are those of the settings' entry `web_search`; a `worker` asks its own backend.
    With `summarize` long contents are summarized; see `summarize_results`. Raises ConfigError,
    StoreError, and InputError where the entry is not enabled.
    """
    query = arguments.query
    context, count = apply_entry(context, arguments)
    is_deep = options.search_depth == "deep" or bool(options.include_content)
    content = {"include_content": True} if is_deep else {}
    asked = options.model_copy(update={"max_results": count, **content})
    started = time.monotonic()
    if worker is None:
        found = await search_once(context, query, max_results=count, options=asked)
        response = found.response
    else:
        call = context.tool_context(context.ids())
        response = await worker.arun(query=query, context=call, options=asked)
    took_ms = round((time.monotonic() - started) * 1000)
    shown = service_response(response, query, asked, response_time_ms=took_ms)
    output = WebSearchOutput(query=query, results=shown.results, outcome=response.outcome)
    if response.outcome.decision == "error":
        told = describe_failed_search(output.outcome.rationale, output.outcome.meta["error"])
        return FunctionResult(told, output, is_error=True)
    if summarize is not None:
        shown = await summarize_results(shown, summarize)
    write = format_full if is_deep and any(one.content for one in shown.results) else format_listed
    around = tokens_in([fence("")])
    left = None if total_tokens is None else max(total_tokens - around, 0)
    return FunctionResult(fence(write(shown, total_tokens=left)), output)


async def call_retrieve(arguments: RetrieveArguments, context: SearchContext) -> FunctionResult:
    """Return numbered passages with their sources, best first. Raises what `aretrieve` raises."""
    question, collection = arguments.question, arguments.collection
    passages = await aretrieve(question, collection=collection, k=arguments.k, context=context)
    output = RetrieveOutput(question=question, collection=collection, passages=passages)
    name = neutralize_line(collection)
    if not passages:
        figures = await figures_of(collection, context)
        return FunctionResult(_describe_no_passage(name, figures), output)
    return FunctionResult(fence_passages(passages, f"[Collection: '{name}']"), output)


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


def _describe_no_passage(name: str, figures: CollectionInfo) -> str:
    """Return that no passage fits, or that the collection has no pages."""
    if figures.documents:
        return f"No passage of the collection '{name}' answers this."
    counts = {"failed": figures.failed, "waiting": figures.waiting}
    known = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    return f"The collection '{name}' has no stored pages yet{f': {known}' if known else ''}."
