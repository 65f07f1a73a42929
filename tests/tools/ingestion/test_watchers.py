"""Those who follow an engine's work."""

from __future__ import annotations

from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import Claim, PageDone
from collection_search.contracts.page import Validators
from collection_search.tools.ingestion.watchers import Watchers

PAGE = PageDone(
    Claim(
        row_id=1,
        scope=TenantScope("local", "docs"),
        url="https://example.com/",
        url_key="example.com/",
        title="",
        content_ref=None,
        provenance={},
        attempts=1,
        fence=1,
        validators=Validators(),
    ),
    "new",
)


def test_a_waiting_caller_is_woken_by_pages_and_by_the_end() -> None:
    """Only within its block, and whatever others do."""
    watchers, woken, pages = Watchers(), [], []
    watchers.on_page_done = pages.append
    with watchers.waking(lambda: woken.append("first")):
        watchers.tell(PAGE)
        with watchers.waking(lambda: woken.append("second")):
            watchers.tell()
    watchers.tell(PAGE)
    assert woken == ["first", "first", "second"]
    assert pages == [PAGE, PAGE]


def test_a_caller_that_goes_meanwhile_does_no_harm() -> None:
    """The others are still told."""
    watchers, woken = Watchers(), []
    waking = watchers.waking(lambda: waking.__exit__(None, None, None))
    waking.__enter__()
    with watchers.waking(lambda: woken.append(1)):
        watchers.tell()
        watchers.tell()
    assert woken == [1, 1]
