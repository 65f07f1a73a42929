"""The server's app in this process, with its lifespan, and a client that follows runs."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from support.server_app import client_of

from collection_search.server.app import create_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx
    from fastapi import FastAPI

    from collection_search import SearchContext
    from collection_search.server.runs.manager import RunManager

API = "/app/api"


class Event(NamedTuple):
    """One event that a stream sent."""

    number: int | None
    kind: str
    data: Any


class Served(NamedTuple):
    """The app, started, and a client of it."""

    app: FastAPI
    client: httpx.AsyncClient

    @property
    def runs(self) -> RunManager:
        runs: RunManager = self.app.state.runs
        return runs

    async def start(
        self, graph: str = "collection_search", context: Any = None, **given: Any
    ) -> dict[str, Any]:
        """Start a run and return it."""
        body = {"graph": graph, "input": given, "context": context}
        answer = await self.client.post(f"{API}/runs", json=body)
        assert answer.status_code == 201, answer.text
        run: dict[str, Any] = answer.json()
        return run

    async def show(self, run_id: str) -> dict[str, Any]:
        """Return a run."""
        answer = await self.client.get(f"{API}/runs/{run_id}")
        assert answer.status_code == 200, answer.text
        run: dict[str, Any] = answer.json()
        return run

    async def events(self, run_id: str, **options: Any) -> list[Event]:
        """Return what the run's stream sends until the run's end."""
        answer = await self.client.get(f"{API}/runs/{run_id}/events", **options)
        assert answer.headers["content-type"].startswith("text/event-stream"), answer.text
        return read_events(answer.text)

    async def end_of(self, run_id: str) -> dict[str, Any]:
        """Return the run at its end."""
        end: dict[str, Any] = (await self.events(run_id))[-1].data
        return end


@asynccontextmanager
async def served(context: SearchContext | None = None) -> AsyncIterator[Served]:
    """Start the app on these ports, and stop it at the end."""
    app = create_app(context)
    async with app.router.lifespan_context(app), client_of(app, timeout=60) as client:
        yield Served(app, client)


def read_events(text: str) -> list[Event]:
    """Return the events of a stream; comments are left out."""
    return [
        read_event(block) for block in text.split("\n\n") if block and not block.startswith(":")
    ]


def read_event(block: str) -> Event:
    """Return one event."""
    fields = dict(line.split(": ", 1) for line in block.splitlines())
    number = int(fields["id"]) if "id" in fields else None
    return Event(number, fields["event"], json.loads(fields["data"]))
