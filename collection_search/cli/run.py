"""`collection-search run`: from a question to ranked pages and, if asked, into a collection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .shared.cassette_options import Record, Replay, open_cassette, report_cassette
from .shared.context_options import (
    AsJson,
    CaseNumber,
    Embeddings,
    Ensemble,
    MaxCost,
    ModelName,
    NoWait,
    Pdf,
    ProfileName,
    Provider,
    QuestionArgument,
    RerankerName,
    Tenant,
    search_context,
)
from .shared.terminal import Screen

if TYPE_CHECKING:
    from ..context import SearchContext
    from ..errors import InputError
    from .shared.exit_codes import ExitCode
    from .shared.run_job import Job


def run(
    question: QuestionArgument,
    *,
    collection: Annotated[
        str | None,
        typer.Option(
            "--collection", "-c", help="Name of the collection; needed where pages are ingested."
        ),
    ] = None,
    auto_ingest: Annotated[
        bool, typer.Option("--auto-ingest", help="Ingest the best results without asking.")
    ] = False,
    review: Annotated[
        bool, typer.Option("--review", help="Let a person decide what is ingested.")
    ] = False,
    max_rounds: Annotated[
        int,
        typer.Option(
            min=0, max=3, help="With --review: further searches for what is not answered yet."
        ),
    ] = 0,
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
        str, typer.Option(help="standard; or premium: searches deeper and has unsure pages judged.")
    ] = "standard",
    purpose: Annotated[
        str,
        typer.Option(
            help="What the search is for. Its words are searched for too: name no client."
        ),
    ] = "collection_search",
    pdf: Pdf = None,
    criterion: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="What every page must meet, judged by the model; up to five times.",
        ),
    ] = None,
    provider: Provider = None,
    model: ModelName = None,
    model_optional: Annotated[
        bool,
        typer.Option(
            "--model-optional", help="Search without the model if it refuses the key; else end."
        ),
    ] = False,
    embeddings: Embeddings = None,
    ensemble: Ensemble = None,
    profile: ProfileName = None,
    reranker: RerankerName = None,
    tenant: Tenant = None,
    case: CaseNumber = None,
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

    Without a key or a server it searches the documentation on this machine. With --review the run
    waits for 'collection-search review', in this process or another; the exit code is 0 then.
    """
    from ..text.clean import normalize_query
    from .shared.run_estimate import show_estimate
    from .shared.run_job import NO_COLLECTION, Job

    _refuse_conflicts(
        review=review, auto_ingest=auto_ingest, no_wait=no_wait, max_rounds=max_rounds
    )
    screen, cassette = Screen(as_json=as_json), open_cassette(record, replay)
    context = search_context(
        provider=provider,
        model=model,
        model_optional=model_optional,
        embeddings=embeddings,
        ensemble=ensemble,
        ranking_profile=profile,
        reranker=reranker,
        tenant_id=tenant,
        case_id=case,
        cassette=cassette,
        max_cost_usd=max_cost,
    )
    if collection is None and (auto_ingest or review):
        raise _missing_collection(context, "--review" if review else "--auto-ingest")
    job = Job(
        given={
            "question": normalize_query(question),
            "collection_scope": NO_COLLECTION if collection is None else collection,
            "quality_mode": quality_mode,
            "max_candidates": max_candidates,
            "purpose": purpose,
            "is_pdf": pdf,
            "criteria": criterion or [],
            "auto_ingest": auto_ingest,
            "auto_ingest_top_k": top_k,
            "auto_ingest_min_score": min_score,
        }
        | ({"max_rounds": max_rounds} if review and not estimate else {}),
        context=context,
        screen=screen,
        waits=not no_wait,
        reviewed=review,
    )
    if estimate:
        show_estimate(job.given, job.context, screen)
        return
    job.run()
    code = report_cassette(cassette, job.print_summary(), screen)
    if job.output.get("request"):
        code = _reviewed(job, code)
    raise typer.Exit(code)


def _refuse_conflicts(*, review: bool, auto_ingest: bool, no_wait: bool, max_rounds: int) -> None:
    from ..errors import InputError

    if review and auto_ingest:
        raise InputError(
            "--review and --auto-ingest exclude each other: either a person decides, or the"
            " threshold does."
        )
    if review and no_wait:
        raise InputError(
            "--review and --no-wait exclude each other: 'collection-search review' ingests what is"
            " approved, and waits for it."
        )
    if no_wait and not auto_ingest:
        raise InputError("--no-wait goes with --auto-ingest: without it nothing is ingested.")
    if max_rounds and not review:
        raise InputError("--max-rounds goes with --review.")


def _missing_collection(context: SearchContext, option: str) -> InputError:
    """Return the error that asks for the collection, with those that there are."""
    from ..errors import InputError
    from .shared.stored_collections import open_collections

    store, owner = open_collections(context)
    known = ", ".join(info.collection for info in store.collections(owner))
    return InputError(
        f"{option} needs --collection NAME: where the pages go."
        + (f" Known: {known}; any other name makes a new one." if known else " Any name will do.")
    )


def _reviewed(job: Job, code: ExitCode) -> ExitCode:
    """Ask the person right away where that is wanted, and return the exit code."""
    from .shared.review_questions import is_interactive

    if not is_interactive(job.screen) or not typer.confirm("Decide now?", err=True):
        return code
    from .shared.context_options import review_options
    from .shared.review_host import open_host
    from .shared.review_job import ReviewJob

    host = open_host(job.context, None, ())
    asked = ReviewJob(host, job.context, job.screen, review_options(job.context))
    gate = asked.open_gate(job.output["request"]["gate_id"])
    return asked.ask(gate, range(1, len(gate.candidates) + 1))
