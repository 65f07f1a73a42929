"""What commands do before and after their work: index offline, agree on a price, send spans."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import typer

from ...errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...context import SearchContext, SearchProvider
    from .terminal import Screen

FLUSH_TIMEOUT_S: Final = 2


@contextmanager
def flush_on_exit(context: SearchContext) -> Iterator[None]:
    """Send the observations that are still waiting when the work is over, however it ended."""
    # An export in flight would otherwise hold up the end of the process for its own 5 s.
    os.environ.setdefault("LANGFUSE_TIMEOUT", str(FLUSH_TIMEOUT_S))
    try:
        yield
    finally:
        asyncio.run(context.sink()).flush(FLUSH_TIMEOUT_S)


def prepare_provider(context: SearchContext, screen: Screen) -> SearchProvider:
    """Return the search provider; the offline one builds its index first, with a progress bar.

    In the main thread, where Ctrl-C ends it at once: an index is built whole or not at all.
    """
    from ...ports.description import describe

    provider = asyncio.run(_provider(context))
    if (prepared := describe(provider.adapter).preparation) is not None:
        with screen.bar("Indexing the documentation on this machine") as advance:
            prepared.prepare(advance)
    return provider


async def _provider(context: SearchContext) -> SearchProvider:
    from ...settings.provider_choice import refuse_unknown_choices

    await refuse_unknown_choices(context.using(), "default_provider", "fallback_provider")
    return await context.search_provider()


def confirm_cost(
    fingerprint: str, *, texts: str, chars: int, yes: bool, screen: Screen, instead: str = ""
) -> None:
    """Say what embedding the texts will cost and ask, unless it is free.

    `texts` says how many there are and of what, `chars` their characters in all, `instead`
    another way than `--yes`. Raises InputError where nobody can be asked, and typer.Abort.
    """
    from ...contracts.prices import CHARS_PER_TOKEN, embedding_cost

    tokens = chars // CHARS_PER_TOKEN
    cost = embedding_cost(fingerprint, tokens)
    if cost == 0:
        return
    price = "at a price that is not known" if cost is None else f"for about ${cost:.6f}"
    task = f"{fingerprint} has to embed {texts} {price}"
    if yes:
        screen.note(f"{task} (about {tokens} tokens).")
    elif sys.stdin.isatty():
        typer.confirm(f"{task}. Go on?", abort=True, err=True)
    else:
        raise InputError(f"{task}: add --yes to do it{instead}.")
