"""`collection-search search`: one query, one provider, the rows as they come back."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from .failures import ExitCode
from .options import AsJson, Provider, Tenant, search_context
from .prepare import flushed, ready_provider
from .screen import Screen

if TYPE_CHECKING:
    from ..context import SearchContext, SearchProvider
    from ..contracts import WebSearchResponse

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to search for.")],
    *,
    provider: Provider = None,
    max_results: Annotated[
        int, typer.Option("--max-results", min=1, max=100, help="How many results at most.")
    ] = 10,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Search once, without ranking and without keeping anything."""
    from ..text import normalize_query

    screen = Screen(as_json=as_json)
    context = search_context(provider=provider, tenant_id=tenant)
    query = normalize_query(query)
    with flushed(context):
        found_by = ready_provider(context, screen)
        response = asyncio.run(_search(query, context, found_by, max_results))
    screen.note(f"Searched: {response.outcome.meta['provider']} ({found_by.reason})")
    for notice in response.outcome.meta["notices"]:
        screen.note(f"Note: {notice}")
    if as_json:
        screen.json(response.model_dump(mode="json"))
    else:
        _show(response, screen)
    raise typer.Exit(_judged(response, screen))


async def _search(
    query: str, context: SearchContext, provider: SearchProvider, max_results: int
) -> WebSearchResponse:
    from ..tools.web_search import WebSearchWorker

    settings = context.using()
    worker = WebSearchWorker(
        provider.adapter,
        max_results=max_results,
        timeout_s=settings.search_timeout_s,
        retry_timeout_s=settings.search_retry_timeout_s,
        deadline_s=settings.run_deadline_s,
        spans=await context.sink(),
    )
    return await worker.arun(query=query, context=context.tool_context(context.ids()))


def _show(response: WebSearchResponse, screen: Screen) -> None:
    for place, result in enumerate(response.results, start=1):
        screen.line(f"{place:>3}  {result.title}", style="bold")
        screen.line(f"     {result.url}")
        screen.line(f"     {result.snippet}", style="dim")


def _judged(response: WebSearchResponse, screen: Screen) -> ExitCode:
    if response.outcome.decision == "error":
        error = response.outcome.meta["error"]
        screen.fail(f"The search failed ({response.outcome.rationale}). {error['message']}")
        return ExitCode.PROVIDER_FAILED
    if not response.results:
        screen.fail("Nothing was found. Use other words, or another source with --provider.")
        return ExitCode.NOTHING_FOUND
    return ExitCode.DONE
