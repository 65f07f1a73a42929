"""`collection-search ask`: passages of a collection that answer a question."""

from __future__ import annotations

import asyncio
import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

from .shared.context_options import AsJson, Collection, QuestionArgument, Tenant, search_context
from .shared.exit_codes import ExitCode
from .shared.preparation import flush_on_exit
from .shared.terminal import Screen

if TYPE_CHECKING:
    from ..context import SearchContext
    from ..contracts.collection import Passage


def ask(
    question: QuestionArgument,
    *,
    collection: Collection,
    k: Annotated[int, typer.Option("--k", min=1, max=100, help="How many passages at most.")] = 8,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Find passages of a collection that answer a question."""
    from ..tools.retrieve import aretrieve

    screen, context = Screen(as_json=as_json), search_context(tenant_id=tenant)
    asked = aretrieve(
        question, collection=collection, tenant=context.tenant(), k=k, context=context
    )
    with flush_on_exit(context):
        passages = asyncio.run(asked)
    if as_json:
        screen.json(
            {
                "question": question,
                "collection": collection,
                "passages": [passage.model_dump(mode="json") for passage in passages],
                "answer": None,
            }
        )
    for passage in passages if not as_json else ():
        _show(passage, screen)
    if not passages:
        screen.fail(_explain_empty(context, collection, tenant))
        raise typer.Exit(ExitCode.NOTHING_FOUND)


def _explain_empty(context: SearchContext, collection: str, tenant: str | None) -> str:
    from .shared.next_steps import shell_command

    store = asyncio.run(context.storage()).collections
    known = (info for info in store.collections(context.tenant()) if info.collection == collection)
    info = next(known, None)
    if info is None or info.documents:
        return f"No passage of {collection!r} shares a word with the question; try others."
    parts = [f"{collection!r} holds no documents."]
    if info.waiting:
        waits = "1 page waits" if info.waiting == 1 else f"{info.waiting} pages wait"
        parts.append(f"{waits} to be fetched or ingested: 'collection-search worker' does it.")
    if info.failed:
        pages = "1 page" if info.failed == 1 else f"{info.failed} pages"
        command = shell_command("ingest", "failed", collection=collection, tenant=tenant)
        parts.append(f"{pages} could not be ingested: {command!r} says why.")
    if len(parts) == 1:
        parts.append("Ingest pages first, by 'run --auto-ingest' or 'ingest add'.")
    return " ".join(parts)


def _show(passage: Passage, screen: Screen) -> None:
    screen.line(f"[{passage.n}] {passage.title}  (score {passage.score:.0f})", style="bold")
    screen.line(f"    {passage.url}")
    for paragraph in passage.text.splitlines():
        for line in textwrap.wrap(paragraph, (screen.width or 80) - 5):
            screen.line(f"    {line}")
    screen.line()
