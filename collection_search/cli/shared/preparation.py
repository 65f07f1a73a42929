"""Steps before and after a command's work: index offline, confirm a price, send spans."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import typer

from ...errors import InputError
from .exit_codes import Interrupted
from .interruption import ACCEPTED
from .signals import leave_signals_to_watch, stop_grace_s

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...context import SearchContext
    from ...contracts.price_list import PriceList
    from ...settings.provider_choice import SearchProvider
    from .terminal import Screen

_LOGGER: Final = logging.getLogger(__name__)

FLUSH_TIMEOUT_S: Final = 2
"""Longest wait for Langfuse, where `LANGFUSE_TIMEOUT` does not say otherwise."""


@contextmanager
def flush_on_exit(context: SearchContext) -> Iterator[None]:
    """Send the remaining observations when the work ends or fails."""
    # An export in flight would otherwise delay the end of the process for its own 5 s.
    os.environ.setdefault("LANGFUSE_TIMEOUT", str(FLUSH_TIMEOUT_S))
    try:
        yield
    finally:
        asyncio.run(context.sink()).flush(_flush_limit_s())


def _flush_limit_s() -> float:
    """Return the seconds of `LANGFUSE_TIMEOUT`; with another value nothing is traced."""
    try:
        return float(os.environ["LANGFUSE_TIMEOUT"])
    except ValueError:
        return FLUSH_TIMEOUT_S


@contextmanager
def release_on_interrupt(context: SearchContext, *, says: str = ACCEPTED) -> Iterator[None]:
    """Release the claimed pages when the command is interrupted, and send the observations.

    `says` is what an interrupted command leaves behind.
    """
    from ...tools.ingest import engine_for

    with flush_on_exit(context):
        try:
            yield
        except KeyboardInterrupt:
            leave_signals_to_watch()
            asyncio.run(engine_for(context)).stop(timeout_s=stop_grace_s())
            raise Interrupted(says) from None


def prepare_provider(context: SearchContext, screen: Screen) -> SearchProvider:
    """Return the search provider; the offline one first builds its index, with a progress bar.

    This runs in the main thread, where Ctrl-C ends it at once; a partial index is discarded.
    """
    from ...ports.description import describe
    from ...settings.provider_choice import refuse_unknown_choices

    settings = context.using()
    asyncio.run(refuse_unknown_choices(settings, "default_provider", "fallback_provider"))
    provider = asyncio.run(context.search_provider())
    described = describe(provider.adapter)
    _LOGGER.debug("search provider: %s (%s)", described.info.name, provider.reason)
    if (prepared := described.preparation) is not None:
        with screen.bar("Indexing the documentation on this machine") as advance:
            prepared.prepare(advance)
    return provider


def confirm_cost(
    fingerprint: str,
    prices: PriceList,
    *,
    texts: str,
    chars: int,
    yes: bool,
    screen: Screen,
    instead: str = "",
) -> None:
    """Ask before embedding the texts costs money; return at once where it is free.

    `texts` describes their number and kind, `chars` is their length in total, `instead` names an
    alternative to `--yes`. Raises InputError without a terminal, and typer.Abort.
    """
    from ...contracts.prices import CHARS_PER_TOKEN
    from ...text.money import round_usd

    tokens = chars // CHARS_PER_TOKEN
    cost = prices.embedding_cost(fingerprint, tokens)
    if cost == 0:
        return
    price = "at a price that is not known" if cost is None else f"for about {round_usd(cost)}"
    task = f"{fingerprint} has to embed {texts} {price}"
    if yes:
        screen.note(f"{task} (about {tokens} tokens).")
    elif sys.stdin.isatty():
        typer.confirm(f"{task}. Go on?", abort=True, err=True)
    else:
        raise InputError(f"{task}: add --yes to do it{instead}.")
