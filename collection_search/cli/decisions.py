"""`collection-search decisions`: what people decided in reviews, in figures and as a data set."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict
from pathlib import Path  # noqa: TC003 - typer reads it from the signature
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ..errors import InputError
from .shared.context_options import AsJson, Tenant, search_context
from .shared.decision_view import format_bands, format_periods, list_bands
from .shared.missing_collection import explain_none
from .shared.near_names import SuggestingGroup
from .shared.next_steps import shell_command
from .shared.terminal import Screen
from .shared.time_spans import parse_since

if TYPE_CHECKING:
    from ..context import SearchContext
    from ..ports import GateStore

ReviewedCollection = Annotated[
    str | None, typer.Option("--collection", "-c", help="Only the reviews of this collection.")
]

app = typer.Typer(
    cls=SuggestingGroup, add_completion=False, rich_markup_mode=None, no_args_is_help=True
)


@app.callback()
def decisions() -> None:
    """Count or export what people decided in reviews."""


@app.command()
def stats(
    *,
    collection: ReviewedCollection = None,
    since: Annotated[
        str, typer.Option(help="90d, 12h, 8w, or a day such as 2026-11-01 (UTC).")
    ] = "90d",
    by: Annotated[Literal["day", "week"], typer.Option(help="What a row is.")] = "week",
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Count reviews and decisions over time, by score, and tell what is learnt from them.

    A review counts when it was opened. The minimum score is learnt from the last 100 decisions of
    people; runs use it where the setting adaptive_threshold is on.
    """
    from ..tools.decisions.review_figures import (
        count_reviews,
        count_score_bands,
        learn_current_scores,
    )

    screen, context = Screen(as_json=as_json), search_context(tenant_id=tenant)
    start, owner, store = parse_since(since, now=time.time()), context.tenant(), _gates(context)
    gates = store.gates(owner, collection=collection, opened_from=start)
    periods, bands = count_reviews(gates, by=by), count_score_bands(gates)
    scores = learn_current_scores(store, owner, sorted({gate.collection for gate in gates}))
    is_used = context.using().adaptive_threshold
    if as_json:
        screen.json(
            {
                "tenant": owner,
                "since": start,
                "by": by,
                "adaptive_threshold": is_used,
                "periods": [{**asdict(each), "open": each.is_open} for each in periods],
                "score_bands": list_bands(bands),
                "min_scores": [asdict(each) for each in scores],
            }
        )
        return
    for line in (*format_periods(periods, width=screen.table_width), *format_bands(bands, scores)):
        screen.line(line)
    if not gates:
        screen.line(explain_none("reviews of that time", owner))
    elif not is_used and any(each.is_learnt for each in scores):
        screen.note("Runs use a learnt score when COLLECTION_SEARCH_ADAPTIVE_THRESHOLD=true.")


@app.command("export")
def export_(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder for the files.")],
    *,
    collection: ReviewedCollection = None,
    last: Annotated[int, typer.Option(min=1, help="How many decisions, the last ones.")] = 1000,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Write decisions of people as a labelled data set in BEIR layout.

    The folder has corpus.jsonl, queries.jsonl, qrels/test.tsv (1 approved, 0 rejected) and
    pools.jsonl, the pages of each review as they were shown. 'eval --dataset FOLDER' reads it.
    """
    from ..tools.decisions.history import list_decisions
    from ..tools.decisions.judgements import write_judgements

    screen, context = Screen(as_json=as_json), search_context(tenant_id=tenant)
    owner = context.tenant()
    found = list_decisions(_gates(context), owner, collection=collection, limit=last)
    if not found:
        where = f" in the collection {collection}" if collection else ""
        raise InputError(explain_none(f"decisions of people{where}", owner))
    try:
        counts = write_judgements(found[::-1], folder)
    except OSError as error:
        raise InputError(f"{folder} cannot be written ({error.strerror}).") from error
    if as_json:
        screen.json({"folder": str(folder), **asdict(counts)})
        return
    screen.line(
        f"{counts.questions} reviews with {counts.pages} pages are in {folder}:"
        f" {counts.approved} approved, {counts.rejected} rejected."
    )
    if counts.answerable:
        screen.line(f"Next: {shell_command('eval', dataset=str(folder))}")
    else:
        screen.warn("no page was approved: 'eval' needs a question with a relevant page")


def _gates(context: SearchContext) -> GateStore:
    return asyncio.run(context.storage()).gates
