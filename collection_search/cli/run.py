"""`collection-search run`: from a question to ranked pages and, if asked, into a collection."""

from __future__ import annotations

from typing import Annotated

import typer

from .shared.cassette_options import Record, Replay, open_cassette, report_cassette
from .shared.context_options import (
    AsJson,
    Collection,
    Embeddings,
    MaxCost,
    NoWait,
    Provider,
    QuestionArgument,
    Tenant,
    search_context,
)
from .shared.terminal import Screen


def run(
    question: QuestionArgument,
    *,
    collection: Collection,
    auto_ingest: Annotated[
        bool, typer.Option("--auto-ingest", help="Ingest the best results without asking.")
    ] = False,
    top_k: Annotated[
        int, typer.Option(min=1, max=20, help="How many results are ingested at most.")
    ] = 10,
    min_score: Annotated[
        float,
        typer.Option(
            min=0, max=100, help="Score that a result needs; 50 is tried below three results."
        ),
    ] = 60.0,
    max_candidates: Annotated[
        int, typer.Option(min=5, max=40, help="How many ranked results to return.")
    ] = 20,
    quality_mode: Annotated[
        str, typer.Option(help="standard; or premium: more queries, deeper search, more results.")
    ] = "standard",
    purpose: Annotated[
        str,
        typer.Option(
            help="What the search is for. Its words are searched for too: name no client."
        ),
    ] = "collection_search",
    provider: Provider = None,
    model: Annotated[
        str | None, typer.Option(help="Chat model that plans the queries, as provider:model.")
    ] = None,
    embeddings: Embeddings = None,
    profile: Annotated[
        str | None, typer.Option(help="Ranking profile: default (calibrated) or literal.")
    ] = None,
    tenant: Tenant = None,
    case: Annotated[str | None, typer.Option(help="Your own case or ticket number.")] = None,
    no_wait: NoWait = False,
    max_cost: MaxCost = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Tell what the run would cost, and end.")
    ] = False,
    record: Record = None,
    replay: Replay = None,
    as_json: AsJson = False,
) -> None:
    """Search, rank what was found and, if asked, ingest the best.

    Without a key or a server it searches the documentation on this machine.
    """
    from .estimate import show_estimate
    from .shared.run_job import Job

    screen, cassette = Screen(as_json=as_json), open_cassette(record, replay)
    job = Job(
        given={
            "question": _asked(question),
            "collection_scope": collection,
            "quality_mode": quality_mode,
            "max_candidates": max_candidates,
            "purpose": purpose,
            "auto_ingest": auto_ingest,
            "auto_ingest_top_k": top_k,
            "auto_ingest_min_score": min_score,
        },
        context=search_context(
            provider=provider,
            model=model,
            embeddings=embeddings,
            ranking_profile=profile,
            tenant_id=tenant,
            case_id=case,
            cassette=cassette,
            max_cost_usd=max_cost,
        ),
        screen=screen,
        waits=not no_wait,
    )
    if estimate:
        show_estimate(job.given, job.context, screen)
        return
    job.run()
    raise typer.Exit(report_cassette(cassette, job.print_summary(), screen))


def _asked(question: str) -> str:
    """Return the normalized question. Raises InputError for one without a word."""
    from ..errors import InvalidQueryError
    from ..text.clean import normalize_query

    try:
        return normalize_query(question)
    except InvalidQueryError as error:
        raise InvalidQueryError(
            "The question is empty or holds search operators only; add a word to search for."
        ) from error
