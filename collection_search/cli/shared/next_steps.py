"""The next commands after a run, ready to be copied."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_RUN_OPTIONS: Final = {
    "criteria": "criterion",
    "auto_ingest_min_score": "min-score",
    "auto_ingest_top_k": "top-k",
    "max_candidates": "max-candidates",
    "purpose": "purpose",
    "quality_mode": "quality-mode",
}
"""The option of each part of a run's input that decides what is ingested."""


def next_steps(
    output: Mapping[str, Any],
    *,
    collection: str,
    tenant: str | None,
    chosen: Mapping[str, str | Sequence[str] | None],
    flags: Sequence[str] = (),
) -> Iterator[str]:
    """Yield the next commands, with the `chosen` options and the `flags` of a run.

    NAME stands for a blank `collection`.
    """
    question, receipt = output["question"], output["ingestion"]
    where = {"collection": collection or "NAME", "tenant": tenant}
    if output["outcome"] == "search_completed":
        into = "" if collection else " into a collection"
        yield f"Next, ingest the best of them{into}:"
        yield f"  {shell_command('run', question, '--auto-ingest', *flags, **where, **chosen)}"
    elif receipt and receipt["ticket"] and _is_searchable(receipt["status"]):
        yield "Next, ask the collection:"
        if _is_waiting(receipt["status"]):
            yield f"  {shell_command('worker', '--once')}"
        yield f"  {shell_command('ask', question, **where)}"


def run_options(given: Mapping[str, Any]) -> dict[str, str | Sequence[str] | None]:
    """Return the options of a run with this input that are not the defaults.

    >>> run_options({"criteria": ["It names: price"], "auto_ingest_top_k": 3, "purpose": None})
    {'criterion': ['It names: price'], 'top-k': '3'}
    """
    from ...contracts.inputs import SearchInput

    fields = SearchInput.model_fields
    wanted = {
        option: given.get(name)
        for name, option in _RUN_OPTIONS.items()
        if given.get(name) not in (None, fields[name].get_default(call_default_factory=True))
    }
    return {
        option: value if isinstance(value, str | list) else f"{value:g}"
        for option, value in wanted.items()
    }


def _is_searchable(status: Mapping[str, Any] | None) -> bool:
    """Return whether a page was stored, or may still be."""
    return _is_waiting(status) or bool(status and status["stored"])


def _is_waiting(status: Mapping[str, Any] | None) -> bool:
    return status is None or bool(status["pending"] or status["to_fetch"])


def shell_command(*words: str, **options: str | Sequence[str] | None) -> str:
    """Return a command ready to be copied into a shell; an option with a list is repeated.

    >>> shell_command("ask", "What is a task?", collection="py", tenant=None)
    "collection-search ask 'What is a task?' --collection py"
    """
    given = [
        part
        for name, value in options.items()
        for one in ([value] if isinstance(value, str) else value or ())
        if one
        for part in (f"--{name}", one)
    ]
    return shlex.join(["collection-search", *words, *given])
