"""What a worker prints about its pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from collection_search.cli.shared.terminal import Screen
from collection_search.cli.shared.worker_progress import Progress
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import Claim, PageDone
from collection_search.contracts.page import Validators

if TYPE_CHECKING:
    import pytest

    from collection_search.contracts.ingestion import PageOutcome

URL = "https://a.org/tea"


def done(outcome: PageOutcome, error: str = "", *, url: str = URL) -> PageDone:
    scope = TenantScope("local", "tea")
    claim = Claim(1, scope, url, url, "Tea", None, {}, 1, 1, Validators())
    return PageDone(claim, outcome, error)


def test_a_page_is_named_once_for_each_change(capsys: pytest.CaptureFixture[str]) -> None:
    """The same failure again says nothing; another one does, and one after a success."""
    progress = Progress(Screen(), at_once=True)
    ends = (
        done("failed", "status 500"),
        done("failed", "status 500"),
        done("failed", "no text"),
        done("changed"),
        done("failed", "no text"),
    )
    for end in ends:
        progress.on_page_done(end)
    told = f"warning: tea: {URL} was not ingested: "
    lines = [f"{told}status 500", f"{told}no text", f"{told}no text"]
    assert capsys.readouterr().err.splitlines() == lines
    assert progress.failed == 4


def test_failed_pages_are_a_table_before_the_sum(capsys: pytest.CaptureFixture[str]) -> None:
    """A page that worked in the end is not in it, and no table has a page of an earlier one."""
    progress = Progress(Screen(), at_once=False)
    gone, other = "gone: a.org answered with HTTP status 404", "https://b.org/"
    ends = (
        done("failed", gone),
        done("failed", gone),
        done("failed", "status 500", url=other),
        done("changed", url=other),
    )
    for end in ends:
        progress.on_page_done(end)
    assert not capsys.readouterr().err
    progress.print_sum()
    assert capsys.readouterr().err.splitlines() == [
        "warning: 1 page was not ingested:",
        "pages  why, what to do, and where",
        f"-----  {'-' * 71}",
        "    1  the page is gone (answered with HTTP status 404)",
        "       Look for its new address and add that.",
        f"       {URL} (tea)",
        "4 pages: 1 changed, 3 failed.",
    ]
    progress.on_page_done(done("failed", gone))
    progress.print_sum()
    assert capsys.readouterr().err == "1 page: 1 failed.\n"


def test_a_pause_is_told_once_until_it_is_over(capsys: pytest.CaptureFixture[str]) -> None:
    """Many pages of one site wait for it; a page of another site ends nothing of that."""
    progress = Progress(Screen(), at_once=False)
    for _ in range(3):
        progress.on_pause("host:a.org", "refused")
    progress.on_page_done(done("new", url="https://b.org/"))
    progress.on_pause("host:a.org", "refused")
    progress.on_page_done(done("new"))
    progress.on_pause("host:a.org", "refused")
    assert capsys.readouterr().err.count("Waiting for the site a.org") == 2
