"""No variable, file or data folder of this machine reaches a test; settings and store of its own."""

from __future__ import annotations

import gc
import os
import sys
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from collection_search import Settings
    from collection_search.adapters.stores.sqlite import SQLiteStore

pytest.register_assert_rewrite(
    "collection_search.testing.embedder_contract",
    "collection_search.testing.http_search",
    "collection_search.testing.search_adapter",
    "collection_search.testing.stores",
)

OURS = (
    "COLLECTION_SEARCH_",
    "OPENAI_",
    "LANGFUSE_",
    "LANGSMITH_",
    "LANGCHAIN_",
    "SEARXNG_",
    "GOOGLE_",
)
NUMBERS = count(1)
SUFFIXES = ("_API_KEY", "_BASE_URL", "_PROXY")

# Before a test is collected, which takes the profile of then: a busy machine exceeds a deadline.
hypothesis.settings.register_profile(
    "without a deadline", parent=hypothesis.settings.default, deadline=None
)
hypothesis.settings.load_profile("without a deadline")


def pytest_collection() -> None:
    """Collect without looking for garbage: what is collected stays until the end."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage among what the tests make, not among the collected tests."""
    gc.freeze()
    gc.enable()


def clear_settings_cache() -> None:
    """Make the next reader read its settings anew. Where none were read, nothing is imported."""
    if process := sys.modules.get("collection_search.settings.process_defaults"):
        process.process_settings.cache_clear()


@pytest.fixture(autouse=True)
def clean_surroundings(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Take variables, data folder and settings away. The new folder is made by who needs it."""
    for name in os.environ:
        if name.startswith(OURS) or name.upper().endswith(SUFFIXES):
            monkeypatch.delenv(name)
    home = tmp_path_factory.getbasetemp() / f"home-{next(NUMBERS)}"
    monkeypatch.setenv("COLLECTION_SEARCH_HOME", str(home))
    clear_settings_cache()
    yield
    clear_settings_cache()


@pytest.fixture(autouse=True)
def no_late_traces() -> Iterator[None]:
    """End with the test what sends its observations: a later test would see what it logs."""
    yield
    if sending := sys.modules.get("collection_search.adapters.tracing.sender"):
        for sender in list(sending._senders):
            sender._waiting.clear()
            if exporter := sender._exporter:
                exporter.shutdown()
            with sender._sending:
                pass


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return the defaults in a data folder of the test's own."""
    from collection_search import Settings

    return Settings(home=tmp_path)


@pytest.fixture
def store(settings: Settings) -> Iterator[SQLiteStore]:
    """Open the database of the test's `settings`."""
    from collection_search.adapters.stores.sqlite import SQLiteStore

    store = SQLiteStore.from_settings(settings)
    yield store
    store.close()


@pytest.fixture(scope="session")
def offline_index_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder where the processes of a test run share the offline documentation."""
    temporary = tmp_path_factory.getbasetemp()
    of_run = temporary.parent if "PYTEST_XDIST_WORKER" in os.environ else temporary
    return of_run / "offline-index"


@pytest.fixture
def offline_index(offline_index_folder: Path, tmp_path: Path) -> None:
    """Have the offline documentation indexed in the data folder and in that of `settings`."""
    from support.offline_index import copy_offline_index

    home = Path(os.environ["COLLECTION_SEARCH_HOME"])
    copy_offline_index(offline_index_folder, home, tmp_path)
