"""Adapters that the command finds by entry point, as it finds those of third parties."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from collection_search.contracts.search import ProviderSearchResult
from collection_search.errors import (
    ConfigError,
    ModelError,
    SearchProviderAuthenticationFailed,
)
from collection_search.ports import QueryPlan
from collection_search.runtime.concurrency import offload
from collection_search.testing import ScriptedAdapter, ScriptedEmbedder, rows

ABOUT = "How to cancel an asyncio task after a timeout"
TEXT = "An asyncio task is cancelled after a timeout with asyncio.timeout or asyncio.wait_for. "
PAGES = [
    ProviderSearchResult(
        url=f"https://docs.example.com/asyncio/cancel-task-{n}",
        title=f"asyncio — {ABOUT} \x1b[31m{n}",
        snippet=f"{ABOUT}, part {n}: use asyncio.timeout and await the task.",
        source="docs.example.com",
        content=f"{ABOUT}. {TEXT * 5} Part {n}.",
    )
    for n in range(1, 6)
]
PAPER = ProviderSearchResult(
    url="https://docs.example.com/asyncio/cancel.pdf",
    title=f"{ABOUT}, a paper",
    snippet=f"{ABOUT}: use asyncio.timeout and await the task.",
    source="docs.example.com",
    content=f"{ABOUT}. {TEXT * 5} The paper.",
    content_type="application/pdf",
)
OTHERS = rows(10, about="potato-soup")
REFUSED = SearchProviderAuthenticationFailed("The key was refused: set REFUSING_API_KEY anew.")


class Hanging(ScriptedAdapter):
    async def asearch(self, *arguments: Any, **options: Any) -> Any:
        await asyncio.sleep(60)


class Talkative(ScriptedAdapter):
    async def asearch(self, query: str, *, max_results: int) -> Any:
        print("a line that a library printed")  # noqa: T201
        return await super().asearch(query, max_results=max_results)


class SlowOnPages(ScriptedEmbedder):
    """Ranks at once, but needs a minute for the pages that are to be stored."""

    async def embed(self, texts: Any) -> Any:
        if any(TEXT in text for text in texts):
            await asyncio.sleep(60)
        return await super().embed(texts)


class Stuck(ScriptedAdapter):
    """Blocks a thread of its own, which nothing can cancel."""

    async def asearch(self, *arguments: Any, **options: Any) -> Any:
        await offload(stick)


class StuckOnPages(ScriptedEmbedder):
    """Ranks at once, but blocks the event loop for the pages that are to be stored."""

    async def embed(self, texts: Any) -> Any:
        if any(TEXT in text for text in texts):
            stick()
        return await super().embed(texts)


def stick() -> None:
    Path(os.environ["STUCK"]).touch()
    time.sleep(600)


class Model:
    model_name = "scripted-model"

    async def plan(self, question: str, *, purpose: str, count: int) -> QueryPlan:
        return QueryPlan([f"{question} {n}" for n in range(3)], "gpt-4o-mini", 1000, 100)


class BrokenModel(Model):
    async def plan(self, question: str, *, purpose: str, count: int) -> QueryPlan:
        raise ModelError("The endpoint did not answer. Check OPENAI_BASE_URL.")


def made(build: Any, *arguments: Any, **options: Any) -> Any:
    return SimpleNamespace(from_settings=lambda settings: build(*arguments, **options))


def refuse(message: str) -> Any:
    raise ConfigError(message)


def interrupt() -> Any:
    exec("raise KeyboardInterrupt")  # a signal during the execution of a string


scripted = made(ScriptedAdapter, [*PAGES, *OTHERS], provider_name="scripted")
off_topic = made(ScriptedAdapter, OTHERS)
empty = made(ScriptedAdapter)
partial = made(ScriptedAdapter, REFUSED, PAGES)
refusing = made(ScriptedAdapter, REFUSED)
hanging = made(Hanging)
stuck = made(Stuck)
with_pdf = made(ScriptedAdapter, [*PAGES, PAPER], provider_name="with_pdf")
talkative = made(Talkative, PAGES)
interrupting = made(interrupt)
keyless = made(refuse, "KEYLESS_API_KEY is not set: set it, or choose another provider.")

planner = made(Model)
broken_model = made(BrokenModel)

words = made(ScriptedEmbedder)
other_words = made(ScriptedEmbedder, dimension=32)
broken_embedder = made(ScriptedEmbedder, error=ModelError("no answer"))
slow = made(SlowOnPages)
stuck_embedder = made(StuckOnPages)
