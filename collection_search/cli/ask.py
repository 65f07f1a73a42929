"""`collection-search ask`: an answer from a collection, with its sources."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..text.counted import counted
from .shared.context_options import (
    AsJson,
    Collection,
    MaxCost,
    Pdf,
    QuestionArgument,
    Tenant,
    search_context,
)
from .shared.exit_codes import ExitCode
from .shared.preparation import flush_on_exit
from .shared.terminal import Screen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..context import SearchContext
    from ..contracts.collection import Passage
    from .shared.answer_view import CollectionAnswer


def ask(
    question: QuestionArgument,
    *,
    collection: Collection,
    k: Annotated[int, typer.Option("--k", min=1, max=100, help="How many passages at most.")] = 8,
    full: Annotated[
        bool, typer.Option("--full", help="Show whole passages, not their best lines alone.")
    ] = False,
    pdf: Pdf = None,
    model: Annotated[
        str | None, typer.Option(help="Chat model that writes the answer, as provider:model.")
    ] = None,
    max_cost: MaxCost = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Answer a question from a collection, with sources.

    Without a chat model it shows the passages that answer.

    Ends with 3 where nothing in the collection answers it, and with 4 where the model failed or
    the ceiling of the cost does not allow its answer.
    """
    from .shared.answer_view import show_found

    screen = Screen(as_json=as_json)
    context = search_context(tenant_id=tenant, model=model, max_cost_usd=max_cost)
    filters = {} if pdf is None else {"is_pdf": pdf}
    with flush_on_exit(context):
        found = asyncio.run(_find(question, collection, context, k=k, filters=filters))
        notice = asyncio.run(_language_notice(question, collection, context, found.passages))
    if as_json:
        screen.json(
            {
                "question": question,
                "collection": collection,
                "passages": [passage.model_dump(mode="json") for passage in found.passages],
                "answering": [passage.n for passage in found.answering],
                "answer": found.answer,
                "notices": [notice] if notice else [],
            }
        )
    else:
        show_found(question, collection, found, screen, full=full)
    if notice and not as_json:
        screen.rows(screen.wrap(f"Note: {notice}"))
    if not found.passages:
        screen.fail(_explain_empty(context, collection, tenant, filters))
    elif not found.answering:
        screen.fail(_explain_far(question, collection, tenant))
    raise typer.Exit(_exit_code(found))


def _exit_code(found: CollectionAnswer) -> ExitCode:
    reason = (found.answer or {}).get("reason")
    if reason in ("model_failed", "cost_limit"):
        return ExitCode.PROVIDER_FAILED
    has_answer = found.answering and reason != "not_answered"
    return ExitCode.DONE if has_answer else ExitCode.NOTHING_FOUND


async def _find(
    question: str,
    collection: str,
    context: SearchContext,
    *,
    k: int,
    filters: dict[str, Any],
) -> CollectionAnswer:
    from ..ranking.evidence import answering
    from ..tools.answer import aanswer
    from .shared.answer_view import CollectionAnswer

    answer = await aanswer(
        question, collection=collection, k=k, filters=filters or None, context=context
    )
    is_asked = answer.reason not in ("no_model", "no_passages", "below_level")
    return CollectionAnswer(
        answer.passages,
        answering(answer.passages),
        answer.sentences if answer.outcome == "answered" else (),
        answer.model_dump(mode="json", exclude={"passages"}) if is_asked else None,
        answer.message if is_asked else None,
    )


async def _language_notice(
    question: str, collection: str, context: SearchContext, passages: Sequence[Passage]
) -> str | None:
    """Return that the collection is in another language, with the command that mends it."""
    from ..contracts.collection import TenantScope
    from ..tools.answers.language_notice import explain_language
    from .shared.next_steps import shell_command

    store, scope = (await context.storage()).collections, TenantScope(context.tenant(), collection)
    if (notice := explain_language(store, scope, question, passages)) is None:
        return None
    mend = shell_command("collections", "reembed", collection, embeddings="PROVIDER:MODEL")
    return f"{notice}: {mend}"


def _explain_far(question: str, collection: str, tenant: str | None) -> str:
    from .shared.next_steps import shell_command

    more = shell_command("run", question, "--auto-ingest", collection=collection, tenant=tenant)
    return f"No passage is near enough to be an answer. To look for more pages: {more}"


def _explain_empty(
    context: SearchContext, collection: str, tenant: str | None, filters: dict[str, Any]
) -> str:
    from .shared.next_steps import shell_command

    store = asyncio.run(context.storage()).collections
    known = (info for info in store.collections(context.tenant()) if info.collection == collection)
    info = next(known, None)
    if filters and (info is None or info.documents):
        kind = "PDF" if filters["is_pdf"] else "page that is no PDF"
        return f"No {kind} of {collection!r} shares a word with the question; use other words."
    if info is None or info.documents:
        return f"No passage of {collection!r} shares a word with the question; use other words."
    parts = [f"{collection!r} holds no documents."]
    if info.waiting:
        waits = "1 page waits" if info.waiting == 1 else f"{info.waiting} pages wait"
        parts.append(f"{waits} to be fetched or ingested: 'collection-search worker' does it.")
    if info.failed:
        command = shell_command("ingest", "failed", collection=collection, tenant=tenant)
        parts.append(f"{counted(info.failed, 'page')} could not be ingested: {command!r} says why.")
    if len(parts) == 1:
        parts.append("Ingest pages first, by 'run --auto-ingest' or 'ingest add'.")
    return " ".join(parts)
