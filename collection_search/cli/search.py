"""`collection-search search`: one query to one provider, its results unranked."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from .shared.arrow_command import read_arrow, show_arrow_reply
from .shared.cassette_options import Record, Replay, open_cassette, report_cassette
from .shared.context_options import AsJson, CaseNumber, Provider, Tenant, search_context
from .shared.exit_codes import ExitCode
from .shared.preparation import flush_on_exit, prepare_provider
from .shared.run_exit_code import NOTHING_FOUND
from .shared.search_options import search_options, show_applied
from .shared.terminal import Screen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..context import SearchContext
    from ..contracts.search import WebSearchResponse

USUAL_RESULTS: Final = 10


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to search for.")],
    *,
    provider: Provider = None,
    max_results: Annotated[
        int | None,
        typer.Option("--max-results", min=1, max=100, help="How many results; by default 10."),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(metavar="DOMAIN", help="Domains to prefer; repeat, or use commas."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="DOMAIN", help="Domains to leave out, written likewise."),
    ] = None,
    restrict: Annotated[
        bool, typer.Option("--restrict", help="Nothing but the --include domains.")
    ] = False,
    topic: Annotated[str | None, typer.Option(help="general or news.")] = None,
    freshness: Annotated[
        str | None,
        typer.Option(help="day, week, month, year, or days such as 2026-01-01..2026-03-31."),
    ] = None,
    language: Annotated[str | None, typer.Option(help="Two letters, such as de.")] = None,
    country: Annotated[str | None, typer.Option(help="Two letters, such as DE.")] = None,
    deep: Annotated[bool, typer.Option("--deep", help="A deep search; it may cost more.")] = False,
    content: Annotated[
        bool, typer.Option("--content", help="The pages' texts, too, with --json.")
    ] = False,
    tenant: Tenant = None,
    case: CaseNumber = None,
    record: Record = None,
    replay: Replay = None,
    as_json: AsJson = False,
) -> None:
    """Search once, without ranking and without a collection.

    QUERY may be an arrow command: '-> search "query" depth:deep topic:news max:3 include:a.org'.

    The answer is used again for an hour, unless the setting answer_cache_s says otherwise.
    """
    from ..text.clean import normalize_query
    from ..tools.arrow import is_arrow
    from ..tools.search.route import reason_of
    from ..tools.search.single_search import search_once

    screen = Screen(as_json=as_json)
    cassette = open_cassette(record, replay)
    context = search_context(provider=provider, tenant_id=tenant, case_id=case, cassette=cassette)
    command = query if is_arrow(query) else None
    options = search_options(
        include=include,
        exclude=exclude,
        restrict=restrict,
        deep=deep,
        content=content,
        topic=topic,
        freshness=freshness,
        language=language,
        country=country,
    )
    if command is not None:
        query, options, max_results = read_arrow(command, options, max_results, context)
    query = normalize_query(query)
    with flush_on_exit(context):
        found_by = prepare_provider(context, screen)
        found = asyncio.run(
            search_once(context, query, max_results=max_results or USUAL_RESULTS, options=options)
        )
    response, cost = found.response, found.cost_usd
    reason = reason_of(response, found_by.reason)
    screen.note(f"Searched: {response.outcome.meta['provider']} ({reason})")
    for notice in response.outcome.meta["notices"]:
        screen.note(f"Note: {notice}")
    for line in _cost(response, cost, context):
        screen.note(line)
    applied = response.outcome.meta.get("options", {})
    if as_json:
        replayed = {"replayed_from": str(cassette.path)} if cassette and cassette.replays else {}
        requested = {"applied": applied} if applied else {}
        screen.json(_as_json(response, content=content) | requested | replayed)
    else:
        show_applied(applied, response.outcome.meta["provider"], screen)
        if command is None or response.outcome.decision == "error":
            _show(response, screen)
        else:
            show_arrow_reply(response, query, options, screen)
    narrowing = {
        "--freshness": freshness,
        "--include": restrict,
        "--exclude": exclude,
        "--topic": topic,
        "--language": language,
        "--country": country,
    }
    raise typer.Exit(report_cassette(cassette, _print_failure(response, narrowing, screen), screen))


def _cost(response: WebSearchResponse, cost: float | None, context: SearchContext) -> Iterator[str]:
    from .shared.run_summary import cost_line

    spared = ["1 search"] if response.outcome.meta.get("cached") else []
    limit, is_complete = context.cost_limit(), cost is not None
    return cost_line(cost or 0.0, limit=limit, is_complete=is_complete, spared=spared)


def _as_json(response: WebSearchResponse, *, content: bool) -> dict[str, Any]:
    """Return the response as plain values, with the pages' texts where `content` asks for them."""
    plain: dict[str, Any] = response.model_dump(mode="json")
    if content:
        for row, result in zip(plain["results"], response.results, strict=True):
            row["content"] = result.content
    return plain


def _show(response: WebSearchResponse, screen: Screen) -> None:
    for place, result in enumerate(response.results, start=1):
        screen.line(f"{place:>3}  {result.title}", style="bold", hang=5)
        screen.link(result.url, indent=5)
        screen.line(f"     {result.snippet}", style="dim")


def _print_failure(
    response: WebSearchResponse, narrowing: Mapping[str, object], screen: Screen
) -> ExitCode:
    if response.outcome.decision == "error":
        error = response.outcome.meta["error"]
        screen.fail(f"The search failed ({response.outcome.rationale}). {error['message']}")
        return ExitCode.PROVIDER_FAILED
    if not response.results:
        narrowed = [flag for flag, given in narrowing.items() if given]
        instead = f" Or leave out {', '.join(narrowed)}." if narrowed else ""
        screen.fail(NOTHING_FOUND + instead)
        return ExitCode.NOTHING_FOUND
    return ExitCode.DONE
