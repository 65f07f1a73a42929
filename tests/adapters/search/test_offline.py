"""The offline search over the running Python's own documentation: what it finds, and how."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from support.offline_index import copy_offline_index
from support.offline_questions import QUESTIONS

from collection_search.adapters.corpus.python_docs import SITE
from collection_search.adapters.search.offline import OfflineSearch
from collection_search.errors import ConfigError, SearchProviderUnavailable
from collection_search.settings import Settings, registry
from collection_search.text.headings import without_heading_marks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from collection_search.contracts.search import ProviderSearchResult

pytestmark = pytest.mark.slow

CANCEL = "How do I cancel an asyncio task after a timeout?"


@pytest.fixture(scope="module")
def offline(offline_index_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> OfflineSearch:
    """The adapter over a corpus of everything that is installed."""
    settings = Settings(home=tmp_path_factory.mktemp("home"))
    copy_offline_index(offline_index_folder, settings.home)
    return OfflineSearch.from_settings(settings)


def pages(results: Sequence[ProviderSearchResult]) -> list[str]:
    """The results' pages as the tables below write them."""
    return [row.url.removeprefix(f"{SITE}/").removesuffix(".html") for row in results]


def place(offline: OfflineSearch, question: str, wanted: str) -> int:
    """Return the place, from 1, of the first wanted page among twenty."""
    found = pages(offline.search(question, max_results=20).results)
    names = {page if "/" in page else f"library/{page}" for page in wanted.split()}
    return next((n for n, page in enumerate(found, start=1) if page in names), 99)


@pytest.mark.parametrize(
    "question",
    [
        CANCEL,
        "asyncio cancel task timeout",
        "cancel asyncio task after timeout",
        "asyncio task cancellation documentation",
        "cancel asyncio task after timeout example",
        "cancel asyncio task timeout tutorial guide",
        "asyncio timeout best practices cancel task",
        "asyncio task timeout",
        "python asyncio wait_for cancel task",
        "Wie breche ich einen asyncio Task nach einem Timeout ab?",
    ],
)
def test_the_asyncio_documentation_is_among_the_first_three(
    offline: OfflineSearch, question: str
) -> None:
    """The example question and the queries that come of it find the page on tasks."""
    assert place(offline, question, "asyncio-task") <= 3


@pytest.fixture(scope="module")
def places(offline: OfflineSearch) -> dict[str, int]:
    """The place of the first right page, for every question of the table."""
    return {question: place(offline, question, wanted) for question, wanted in QUESTIONS.items()}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_finds_its_page(places: dict[str, int], question: str) -> None:
    """Questions over the whole library have a right page among the first six."""
    assert places[question] <= 6


def test_most_questions_are_answered_at_the_top(places: dict[str, int]) -> None:
    """Three of four have it in first place, nine of ten among three, all but one among five."""
    assert sum(found <= 1 for found in places.values()) >= 0.75 * len(places)
    assert sum(found <= 3 for found in places.values()) >= 0.9 * len(places)
    assert sum(found <= 5 for found in places.values()) >= len(places) - 1


def test_results_carry_all_that_ingestion_needs(offline: OfflineSearch) -> None:
    """Text, type, host, and a passage of the text that shows why the page was found."""
    response = offline.search(CANCEL, max_results=10)
    assert response.status_code == 200
    assert len(response.results) == 10
    assert response.results[0].score == 1
    for row in response.results:
        assert row.source == urlsplit(row.url).hostname
        assert row.content_type == "text/plain"
        assert row.content
        assert len(row.content) >= 40
        assert len(row.snippet) <= 240
        content = " ".join(without_heading_marks(row.content).split())
        assert row.snippet.rstrip("…") in content
    assert "docs.python.org" in {row.source for row in response.results}


def test_addresses_are_pages_of_the_site_and_of_pypi(offline: OfflineSearch) -> None:
    """A package is answered with its page on PyPI, a module with its page of the library."""
    found = pages(offline.search("httpx HTTP client", max_results=20).results)
    assert "https://pypi.org/project/httpx/" in found
    assert "library/http.client" in found


def test_many_threads_search_at_once(offline: OfflineSearch) -> None:
    """Every thread gets the answer that it would get alone."""
    alone = pages(offline.search(CANCEL, max_results=5).results)
    with ThreadPoolExecutor(16) as pool:
        answers = pool.map(lambda _: offline.search(CANCEL, max_results=5), range(64))
        assert all(pages(answer.results) == alone for answer in answers)


def test_the_registry_knows_it() -> None:
    """It is the adapter called offline, and has no billed pages."""
    assert registry.load_adapter("search", "offline") is OfflineSearch
    assert OfflineSearch.provider_name == "offline"
    assert OfflineSearch.info.page_size is None


def test_an_unwritable_home_is_a_matter_of_settings(tmp_path: Path) -> None:
    """The sentence names the setting."""
    (tmp_path / "file").touch()
    adapter = OfflineSearch.from_settings(Settings(home=tmp_path / "file" / "home"))
    with pytest.raises(ConfigError, match="COLLECTION_SEARCH_HOME"):
        adapter.search("asyncio", max_results=5)


def test_a_file_that_cannot_be_used_is_a_provider_that_failed(tmp_path: Path) -> None:
    """The worker gets an error of its own tree, and no retry is worth it."""
    (tmp_path / "corpus-folders.db").write_bytes(b"damaged " * 1000)
    adapter = OfflineSearch.from_settings(Settings(home=tmp_path))
    with pytest.raises(SearchProviderUnavailable, match="add the folders again") as caught:
        adapter.search("asyncio", max_results=5)
    assert not caught.value.retryable


def test_a_query_in_another_language_is_told_so(offline: OfflineSearch) -> None:
    """Where nothing was found, since the documentation of Python is in English."""
    (notice,) = offline.search("Wie wirst du das denn?", max_results=5).notices
    assert "in German" in notice
    assert "ask in English" in notice
    assert offline.search("qzxv jwkpf", max_results=5).notices == ()
    assert offline.search(CANCEL, max_results=5).notices == ()
