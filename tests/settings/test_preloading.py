"""What a question will need is loaded before it asks for it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from collection_search import SearchContext, Settings
from collection_search.settings.preloading import needed_adapters, preload
from collection_search.testing import ScriptedAdapter, ScriptedQueryModel

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import gc, sys, threading
from collection_search import CollectionSearchGraph, SearchContext, Settings
settings = Settings(home=sys.argv[1], provider=sys.argv[2], model="openai:gpt-4o-mini")
CollectionSearchGraph(SearchContext(settings=settings))
for thread in threading.enumerate():
    if thread.name == "collection-search-preload":
        thread.join()
assert gc.isenabled()
print(*(name for name in sys.modules if name.startswith("collection_search.adapters.")))
"""

ENDPOINT = {"query": "q", "results": "hits", "fields": {"url": "link", "title": "name"}}


def settings(home: Path, **changes: object) -> Settings:
    return Settings.model_validate({"home": home, "embeddings": "lexical", **changes})


def test_the_settings_name_the_adapters_of_a_question(tmp_path: Path) -> None:
    """In the order of their use."""
    known = settings(
        tmp_path,
        provider="tavily",
        model="openai:gpt-4o-mini",
        embeddings="openai:text-embedding-3-small",
        langfuse_public_key="pk",
        langfuse_secret_key="sk",
    )
    assert list(needed_adapters(SearchContext(settings=known), known)) == [
        ("tracing", "langfuse"),
        ("models", "openai:gpt-4o-mini"),
        ("usage", "sqlite"),
        ("search", "tavily"),
        ("embeddings", "openai:text-embedding-3-small"),
    ]


def test_the_callers_choices_go_before_the_settings(tmp_path: Path) -> None:
    """A live object is loaded already; a described endpoint has an adapter of its own."""
    known = settings(
        tmp_path,
        provider="mine",
        providers={"mine": {"base_url": "https://api.example", "json_api": ENDPOINT}},
    )
    live = SearchContext(
        settings=known, provider=ScriptedAdapter([]), model=ScriptedQueryModel(["a"])
    )
    assert list(needed_adapters(live, known)) == [("usage", "sqlite")]
    assert ("search", "json_api") in list(needed_adapters(SearchContext(settings=known), known))
    named = SearchContext(settings=known, provider="brave")
    assert ("search", "brave") in list(needed_adapters(named, known))


@pytest.mark.slow
def test_a_graph_loads_what_it_will_need_when_it_is_made(tmp_path: Path) -> None:
    """In a thread, before any question; what cannot be loaded is left to the run."""
    for provider, is_known in (("tavily", True), ("nobody-knows", False)):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(tmp_path), provider],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        loaded = done.stdout.split()
        assert "collection_search.adapters.models.openai" in loaded
        assert ("collection_search.adapters.search.tavily" in loaded) is is_known
        assert "collection_search.adapters.tracing.langfuse" not in loaded
        assert done.stderr == ""


def test_wrong_settings_are_left_to_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the run that tells what is wrong."""
    monkeypatch.setenv("COLLECTION_SEARCH_CONFIG", "/nowhere/settings.toml")
    preload(SearchContext(provider="tavily"))


def test_a_host_that_makes_settings_for_each_run_starts_one_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The names decide, not the object."""
    started: list[str] = []
    monkeypatch.setattr(
        threading.Thread, "start", lambda self: started.append(self.name), raising=True
    )
    for number in range(5):
        given = settings(tmp_path, provider="mojeek", model=f"openai:one-{number // 4}")
        preload(SearchContext(settings=given))
    assert started == ["collection-search-preload"] * 2


FORKED = """
import multiprocessing, sys, time
from pathlib import Path
from collection_search import CollectionSearchGraph, SearchContext, Settings
from collection_search.runtime import import_threads
import_threads.FORK_WAIT_S = 600
settings = Settings(home=Path(sys.argv[1]), provider="offline", model="openai:gpt-4o-mini")
context = SearchContext(settings=settings, model_optional=True)
graph = CollectionSearchGraph(context)
time.sleep(float(sys.argv[2]))
def load(_):
    from collection_search.settings import registry
    return registry.load_adapter("models", "openai").__name__
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(load, range(2)))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize("after_s", ["0", "0.02", "0.05"])
def test_a_fork_waits_for_what_is_being_loaded(tmp_path: Path, after_s: str) -> None:
    """A child would wait for ever for the locks of a thread that it does not have.

    Nor does the fork hold a lock that the thread needs: the limit of its wait is not what ends it.
    """
    call = [sys.executable, "-W", "ignore", "-c", FORKED, str(tmp_path), after_s]
    done = subprocess.run(call, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.count("OpenAI") == 2
