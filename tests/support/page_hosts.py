"""The app on both of its hosts: alone, and mounted into `langgraph dev`."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from support.langgraph_server import langgraph_dev
from support.page_world import BLOCKED_HOST
from support.served_app import served_app

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.page_world import PageWorld

HOSTS = ("serve", "langgraph")


class Host(NamedTuple):
    """A running app."""

    kind: str
    url: str
    home: Path

    @property
    def page(self) -> str:
        return f"{self.url}/app/"


@contextmanager
def running(kind: str, folder: Path, world: PageWorld, **variables: str) -> Iterator[Host]:
    """Run the app on this host, with everything that it asks on this machine."""
    start = served_app if kind == "serve" else langgraph_dev
    with start(folder, **{**variables_for(world), **variables}) as server:
        yield Host(kind, server.url, folder / "home")


def variables_for(world: PageWorld) -> dict[str, str]:
    """Return the environment of an app that asks nobody outside this world."""
    return {
        "COLLECTION_SEARCH_PROVIDER": "offline",
        "COLLECTION_SEARCH_EMBEDDINGS": "lexical",
        "COLLECTION_SEARCH_ANSWER_CACHE_S": "0",
        "COLLECTION_SEARCH_HEURISTICS": json.dumps({"blocked_hosts": [BLOCKED_HOST]}),
        "COLLECTION_SEARCH_FETCH_ALLOWED": world.address,
        "COLLECTION_SEARCH_FETCH_DELAY_S": "0",
        "COLLECTION_SEARCH_SEARCH_TIMEOUT_S": "120",
        "COLLECTION_SEARCH_RUN_DEADLINE_S": "300",
        "SEARXNG_URL": world.url,
    }
