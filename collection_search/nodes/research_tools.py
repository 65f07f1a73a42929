"""The tools of the research agent: which ones there are, and what their calls find."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..contracts.collection import Passage
from ..contracts.functions import RETRIEVE, WEB_SEARCH, FunctionDefinition, find_function
from ..contracts.options import SearchOptions
from ..errors import InputError
from ..ports import ChatTool
from ..tools.failed_calls import describe_failed_search
from ..tools.retrieve import aretrieve
from ..tools.search.function_entry import apply_entry, is_enabled
from ..tools.search.route import build_route
from .searches import search_heard

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..context import SearchContext
    from ..contracts.search import SearchResult, WebSearchResponse
    from .stage import StageRun

_MAX_K: Final = 8
_MAX_CHARS: Final = 2000
"""Of the text of a page that a search found."""
_WITH_CONTENT: Final = SearchOptions(include_content=True)


class Found(NamedTuple):
    """What one call found; the passages have no numbers yet."""

    passages: list[Passage]
    text: str = ""
    """For the model, where there are no passages."""
    is_error: bool = False
    response: WebSearchResponse | None = None
    """That of a search, for its cost."""


def offered_tools(context: SearchContext, collection: str | None) -> list[ChatTool]:
    """Return the tools of a run: `retrieve` only with a collection, which the model cannot choose.

    The settings may switch `web_search` off.
    """
    tools = [_chat_tool(RETRIEVE, without="collection")] if collection else []
    if is_enabled(context.using(), WEB_SEARCH.name):
        tools.append(_chat_tool(WEB_SEARCH))
    return tools


def _chat_tool(definition: FunctionDefinition[Any], without: str = "") -> ChatTool:
    schema = definition.input_schema()
    kept = {name: field for name, field in schema["properties"].items() if name != without}
    required = [name for name in schema["required"] if name != without]
    parameters = {**schema, "properties": kept, "required": required}
    return ChatTool(definition.name, definition.description, parameters)


async def call_tool(
    name: str, arguments: Mapping[str, Any] | str, collection: str | None, run: StageRun
) -> Found:
    """Return what one call found. Raises InputError for a wrong call, and the tools' own errors."""
    offered = {tool.name: tool for tool in offered_tools(run.context, collection)}
    find_function(name, offered)
    if isinstance(arguments, str):
        raise InputError("The arguments are no JSON object.")
    if name == RETRIEVE.name and collection is not None:
        return await _retrieve(arguments, collection, run)
    return await _search(arguments, run)


async def _retrieve(arguments: Mapping[str, Any], collection: str, run: StageRun) -> Found:
    asked = RETRIEVE.validate_arguments({**arguments, "collection": collection})
    k = min(asked.k, _MAX_K)
    context = run.context.model_copy(
        update={"run_id": run.ids["run_id"], "trace_id": run.ids["trace_id"]}
    )
    async with run.listener.tool(RETRIEVE.name, {"question": asked.question, "k": k}) as call:
        found = await aretrieve(asked.question, collection=collection, k=k, context=context)
        shown = [{"url": one.url, "title": one.title, "score": one.score} for one in found]
        call.returned({"passages": shown})
    for one in found:
        one.provenance = {**one.provenance, "tool": RETRIEVE.name, "collection": collection}
    return Found(found, "No passage of the collection answers this.")


async def _search(arguments: Mapping[str, Any], run: StageRun) -> Found:
    asked = WEB_SEARCH.validate_arguments(arguments)
    context, count = apply_entry(run.context, asked)
    route = await build_route(context, max_results=count, sink=run.sink, account=run.account)
    options = _WITH_CONTENT.model_copy(update={"max_results": count})
    response = await search_heard(route, asked.query, run, max_results=count, options=options)
    if response.outcome.decision == "error":
        meta = response.outcome.meta
        told = describe_failed_search(response.outcome.rationale, meta["error"])
        return Found([], told, is_error=True, response=response)
    pages = [_page(result, asked.query) for result in response.results]
    return Found(pages, "No results.", response=response)


def _page(result: SearchResult, query: str) -> Passage:
    text = result.snippet if not result.content else f"{result.snippet}\n{result.content}"
    return Passage(
        n=0,
        url=result.url,
        title=result.title,
        text=text[:_MAX_CHARS],
        score=0.0 if result.score is None else min(max(result.score, 0.0), 1.0) * 100,
        provenance={"tool": WEB_SEARCH.name, "query": query, "source": result.source},
    )
