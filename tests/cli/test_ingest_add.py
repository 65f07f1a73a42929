"""`collection-search ingest add` and `collections refresh`, on a site of this machine."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.loopback_site import LoopbackSite, article, essay
from support.waiting import wait_until

from collection_search import SearchContext, UniversalIngestionGraph, ingest
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.settings.process_defaults import process_settings

if TYPE_CHECKING:
    import subprocess

    from support.command_line import Invoke

Start = Callable[..., "subprocess.Popen[str]"]
ADD = ("ingest", "add", "--collection", "tea")


@pytest.fixture
def site(loopback: LoopbackSite) -> LoopbackSite:
    for colour in ("green", "black"):
        loopback.put(f"/{colour}", article(f"{colour} tea", essay(f"{colour} tea")))
    return loopback


@pytest.mark.slow
def test_pages_are_added_and_answer(site: LoopbackSite, command: Invoke) -> None:
    """From URLs to a passage."""
    ended = command(*ADD, site.address("/green"), site.address("/black"))
    assert (ended.code, ended.out) == (0, "Collection tea: 2 of 2 pages stored\n")
    assert "green tea" in command("ask", "green tea", "--collection", "tea").out


@pytest.mark.slow
def test_pages_know_their_case(site: LoopbackSite, command: Invoke) -> None:
    """As those of a run do."""
    command(*ADD, site.address("/green"), "--case", "C-7")
    told = command("ask", "green tea", "--collection", "tea", "--json").out
    (passage,) = json.loads(told)["passages"]
    assert passage["provenance"]["case_id"] == "C-7"


@pytest.mark.slow
def test_a_second_time_tells_what_changed(site: LoopbackSite, command: Invoke) -> None:
    """A page that is gone leaves, which is no success."""
    urls = [site.address("/green"), site.address("/black")]
    command(*ADD, *urls)
    site.put("/green", article("green tea", essay("greener tea")))
    ended = command(*ADD, *urls)
    assert ended.code == 0
    assert ended.out == "Collection tea: 2 of 2 pages stored (1 changed, 1 unchanged)\n"
    site.put("/black", b"", status=410)
    ended = command(*ADD, *urls)
    assert ended.code == 5
    assert ended.out == "Collection tea: 1 of 2 pages stored (1 unchanged), 1 gone\n"
    assert f"{urls[1]} was there before and is no more: gone: " in ended.warnings[0]
    assert command(*ADD, urls[0], "--json").json["pages"][0]["change"] == "unchanged"


@pytest.mark.slow
def test_pages_that_failed_are_5(site: LoopbackSite, command: Invoke) -> None:
    """Each with its reason; a program gets one object."""
    ended = command(*ADD, site.address("/green"), site.address("/none"), "--json")
    assert ended.code == 5
    assert (ended.json["stored"], ended.json["failed"]) == (1, 1)
    assert ended.json["pages"][1]["error"].startswith("gone: ")
    assert ended.warnings == ["warning: 1 page was not ingested:"]
    assert "1  the page is gone (answered with HTTP status 404)" in ended.err
    assert f"Look for its new address and add that.\n       {site.address('/none')}\n" in ended.err


@pytest.mark.slow
def test_pdfs_of_a_site_can_be_left_out(site: LoopbackSite, command: Invoke) -> None:
    """Among the pages that are found by their links, by their addresses."""
    links = "".join(f'<a href="/{name}">{name}</a>' for name in ("green", "paper.pdf"))
    site.put("/", article("tea", essay("tea") + links))
    start = site.address("/")
    ended = command(*ADD, start, "--depth", "1", "--no-pdf", "--no-wait", "--json")
    assert [page["url"] for page in ended.json["pages"]] == [start, site.address("/green")]
    refused = command(*ADD, start, "--no-pdf")
    assert refused.code == 2
    assert "--depth" in refused.complaints[0]
    nothing = command(*ADD, site.address("/green"), "--depth", "1", "--pdf")
    assert nothing.code == 2
    assert "no PDFs among the 1 pages" in nothing.complaints[0]


@pytest.mark.slow
def test_pages_can_be_left_to_a_worker(site: LoopbackSite, command: Invoke) -> None:
    """It fetches them."""
    ended = command(*ADD, site.address("/green"), "--no-wait")
    assert ended.code == 0
    assert ended.out == (
        "Collection tea: 1 page is queued; 'collection-search worker' ingests it\n"
    )
    assert "Ingesting" not in ended.err
    assert site.requests == []
    assert command("worker", "--once").code == 0
    assert "tea                 1" in command("collections").out


@pytest.mark.slow
def test_links_are_followed_when_asked(site: LoopbackSite, command: Invoke) -> None:
    """Over `--depth` steps, for `--max-pages`, which means nothing without them."""
    links = '<a href="/green">g</a> <a href="/black">b</a>'
    start = site.put("/", article("Teas", essay("all teas") + links))
    refused = command(*ADD, start, "--max-pages", "2")
    assert (refused.code, "--depth finds: add it" in refused.complaints[0]) == (2, True)
    ended = command(*ADD, start, "--depth", "1")
    assert "3 of 3 pages stored" in ended.out
    assert "2 of 2" in command(*ADD, start, "--depth", "1", "--max-pages", "2").out


@pytest.mark.slow
def test_what_was_staged_is_added(site: LoopbackSite, command: Invoke) -> None:
    """By the session's id alone."""
    context = SearchContext(settings=process_settings())
    given = {
        "source": "preselected",
        "mode": "acquire_only",
        "collection_scope": "tea",
        "preselected_results": [site.address("/green")],
    }
    session = str(UniversalIngestionGraph(context).run(given)["session_id"])
    assert "1 of 1 pages stored" in command("ingest", "add", "--session", session).out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "Give the URLs to ingest"),
        (("ftp://e.org",), "ftp://e.org"),
        (("file:///tmp/notes.md",), "corpus add FOLDER"),
        ((__file__,), "corpus add FOLDER"),
        (("http://127.0.0.1:1/", "--depth", "11"), "--depth"),
    ],
)
def test_wrong_input_is_2(command: Invoke, arguments: tuple[str, ...], complaint: str) -> None:
    """And says what is wrong."""
    ended = command(*ADD, *arguments)
    assert ended.code == 2
    assert complaint in ended.complaints[0]


def test_a_wrong_setting_of_fetching_is_2(command: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told by its name, and no page is queued."""
    monkeypatch.setenv("COLLECTION_SEARCH_FETCH_CONTACT", "me (mail)")
    ended = command(*ADD, "https://e.org/")
    assert ended.code == 2
    assert "fetch_contact needs printable ASCII" in ended.complaints[0]
    store = SQLiteStore.from_settings(process_settings())
    assert store.ledger.pending_in_s(fetch=True) is None
    store.close()


@pytest.mark.slow
def test_a_collection_is_refreshed(site: LoopbackSite, command: Invoke) -> None:
    """What happened to each page, in lines and as one object."""
    command(*ADD, site.address("/green"), site.address("/black"))
    refreshed = ("collections", "refresh", "tea", "--no-search")
    ended = command(*refreshed)
    assert ended.code == 0
    assert ended.out == "Collection tea: 0 new, 0 changed, 2 unchanged, 0 gone\n"
    site.put("/green", article("green tea", essay("greener tea")))
    site.put("/black", b"gone", status=410)
    ended = command(*refreshed, "--json")
    assert ended.code == 0
    assert ended.json["changed"] == [site.address("/green")]
    assert ended.json["gone"] == [site.address("/black")]
    assert (ended.json["new"], ended.json["returned"]) == ([], [])


@pytest.mark.slow
def test_a_refresh_without_questions_needs_no_provider(
    site: LoopbackSite, command: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It searches nothing, so a provider that has no key is none of its business."""
    command(*ADD, site.address("/green"))
    monkeypatch.setenv("COLLECTION_SEARCH_DEFAULT_PROVIDER", "brave")
    ended = command("collections", "refresh", "tea")
    assert (ended.code, ended.complaints) == (0, [])
    assert ended.out == "Collection tea: 0 new, 0 changed, 1 unchanged, 0 gone\n"


@pytest.mark.slow
def test_a_refresh_leaves_pages_that_were_never_stored(site: LoopbackSite, command: Invoke) -> None:
    """They are not asked again, and do not make it fail."""
    command(*ADD, site.address("/green"), site.address("/none"))
    asked = len(site.asked("/none"))
    ended = command("collections", "refresh", "tea", "--no-search")
    assert (ended.code, ended.warnings) == (0, [])
    assert ended.out == "Collection tea: 0 new, 0 changed, 1 unchanged, 0 gone\n"
    assert len(site.asked("/none")) == asked
    site.put("/green", b"no", status=403)
    assert command("collections", "refresh", "tea", "--no-search").code == 5


@pytest.mark.slow
def test_a_page_that_failed_is_deleted(site: LoopbackSite, command: Invoke) -> None:
    """As one that waits is; only what is not there at all is an error."""
    url = site.address("/none")
    command(*ADD, site.address("/green"), url)
    delete = ("collections", "delete", "tea", "--yes", "--document", url)
    ended = command(*delete)
    assert ended.code == 0
    assert ended.out == f"Deleted {url}, which was not stored yet, from the queue of 'tea'.\n"
    assert command("ingest", "failed").out == ""
    command(*ADD, url, "--no-wait")
    assert command(*delete).code == 0
    assert command(*delete).code == 2


def test_an_unknown_collection_is_refused_before_anything_is_indexed(command: Invoke) -> None:
    """With those that are known."""
    ended = command("collections", "refresh", "none")
    assert (ended.code, "no collection 'none'" in ended.complaints[0]) == (2, True)
    assert "Indexing" not in ended.err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_a_worker_that_is_told_to_end_leaves_nothing_behind(
    site: LoopbackSite, started: Start
) -> None:
    """No row in hand, no process; what it did stays done."""
    site.put("/slow", b"", status=503, headers={"Retry-After": "8"})
    context = SearchContext(settings=process_settings())
    urls = [site.address("/green"), site.address("/slow")]
    ingest(urls, collection="tea", context=context, work=False)
    store = SQLiteStore.from_settings(process_settings())
    with started("worker") as worker:
        wait_until(
            lambda: (
                worker.poll() is not None
                or (store.collections.collections("local")[0].documents and site.asked("/slow"))
            )
        )
        children = Path(f"/proc/{worker.pid}/task/{worker.pid}/children")
        processes = [
            int(pid)
            for task in children.parents[1].iterdir()
            for pid in (task / "children").read_text().split()
        ]
        worker.send_signal(signal.SIGTERM)
        _, err = worker.communicate(timeout=90)
        assert worker.returncode == 0, err
    assert processes
    wait_until(lambda: not any(_is_alive(pid) for pid in processes))
    (info,) = store.collections.collections("local")
    assert (info.documents, info.waiting, info.failed) == (1, 1, 0)
    assert store.ledger.sweep(is_gone=lambda _: True) == 0
    store.close()


@pytest.mark.slow
def test_a_wait_that_is_told_to_end_gives_its_pages_back(
    site: LoopbackSite, started: Start
) -> None:
    """SIGTERM as well as Ctrl-C: the ledger has them for the next worker."""
    url = site.put("/slow", b"", status=503, headers={"Retry-After": "8"})
    with started(*ADD, url) as process:
        wait_until(lambda: site.asked("/slow") or process.poll() is not None)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=90)
    assert process.returncode == 143, err
    assert "Interrupted. Nothing is lost" in err
    store = SQLiteStore.from_settings(process_settings())
    assert store.ledger.sweep(is_gone=lambda _: True) == 0
    assert store.ledger.pending_in_s(fetch=True) is not None
    store.close()


@pytest.mark.slow
def test_a_search_for_pages_that_is_told_to_end_has_accepted_nothing(
    site: LoopbackSite, started: Start
) -> None:
    """And says so; it said before what it does."""
    url = site.put("/slow", b"", status=503, headers={"Retry-After": "8"})
    with started(*ADD, url, "--depth", "1") as process:
        wait_until(lambda: site.asked("/slow") or process.poll() is not None)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=90)
    assert process.returncode == 143, err
    assert "Looking for pages ..." in err
    assert "none was accepted yet" in err
    store = SQLiteStore.from_settings(process_settings())
    assert store.ledger.pending_in_s(fetch=True) is None
    store.close()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
def test_nobody_waits_for_what_is_put_off(site: LoopbackSite, command: Invoke) -> None:
    """`ingest add`, the worker and `refresh` end, and say what waits, for whom, until when."""
    later = site.put("/later", b"later", status=429, headers={"Retry-After": "7200"})
    ended = command(*ADD, site.address("/green"), later)
    assert ended.code == 5
    assert "1 of 2 pages stored, 1 waiting for 'collection-search worker'" in ended.out
    assert f"warning: {later} is put off until 2" in ended.err
    host = later.split("/")[2]
    ended = command("worker", "--once")
    assert ended.code == 0
    assert f"1 page waits for the site {host} until 2" in ended.err
    assert "rate_limited" in ended.err
    assert "Nothing is left" not in ended.err
    ended = command("collections", "refresh", "tea", "--no-search")
    assert ended.code == 5
    assert f"{site.address('/green')} is put off until 2" in ended.err


@pytest.mark.slow
def test_a_worker_names_a_site_that_is_down(site: LoopbackSite, command: Invoke) -> None:
    """And goes on when it answers again."""
    command(*ADD, site.address("/green"), "--no-wait")
    with sqlite3.connect(process_settings().collections_path) as database:
        database.execute(
            "INSERT INTO pauses (cause, reason, since, until) VALUES (?, 'refused', 0, ?)",
            (f"host:{site.allowed[0]}", time.time() + 900),
        )
    database.close()
    ended = command("worker", "--once")
    assert f"1 page waits for the site {site.allowed[0]} until 2" in ended.err
    assert command(*ADD, site.address("/black")).out == "Collection tea: 1 of 1 pages stored\n"
    assert command("worker", "--once").err.endswith("Nothing is left to ingest.\n")
