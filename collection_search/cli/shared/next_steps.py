"""The next commands after a run, ready to be copied."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def next_steps(
    output: Mapping[str, Any],
    *,
    collection: str,
    tenant: str | None,
    chosen: Mapping[str, str | None],
) -> Iterator[str]:
    """Yield the next commands, with the `chosen` options."""
    question, receipt = output["question"], output["ingestion"]
    where = {"collection": collection, "tenant": tenant}
    if output["outcome"] == "search_completed":
        yield "Next, ingest the best of them:"
        yield f"  {shell_command('run', question, '--auto-ingest', **where, **chosen)}"
    elif receipt and receipt["ticket"] and _is_searchable(receipt["status"]):
        yield "Next, ask the collection:"
        if _is_waiting(receipt["status"]):
            yield f"  {shell_command('worker', '--once')}"
        yield f"  {shell_command('ask', question, **where)}"


def _is_searchable(status: Mapping[str, Any] | None) -> bool:
    """Return whether a page was stored, or may still be."""
    return _is_waiting(status) or bool(status and status["stored"])


def _is_waiting(status: Mapping[str, Any] | None) -> bool:
    return status is None or bool(status["pending"] or status["to_fetch"])


def shell_command(*words: str, **options: str | None) -> str:
    """Return a command ready to be copied into a shell.

    >>> shell_command("ask", "What is a task?", collection="py", tenant=None)
    "collection-search ask 'What is a task?' --collection py"
    """
    given = [part for name, value in options.items() if value for part in (f"--{name}", value)]
    return shlex.join(["collection-search", *words, *given])
