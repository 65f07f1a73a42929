"""`collections show` and `forget`, and the crawls of `ingest add --depth`, on a loopback site."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.loopback_site import LoopbackSite, article, essay

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import QuestionRecord, TenantScope
from collection_search.settings.process_defaults import process_settings

if TYPE_CHECKING:
    from support.command_line import Invoke


@pytest.fixture
def site(loopback: LoopbackSite) -> LoopbackSite:
    link(loopback, "green", "black", "old/red")
    return loopback


def link(site: LoopbackSite, *names: str) -> None:
    """Let the front page link to these pages alone."""
    for name in names:
        site.put(f"/{name}", article(name, essay(f"tea {name}")))
    links = "".join(f'<a href="/{name}">{name}</a>' for name in names)
    site.put("/", article("Teas", essay("all teas") + links))


def add(command: Invoke, site: LoopbackSite, *more: str) -> str:
    arguments = ("ingest", "add", site.address("/"), "--collection", "tea", "--depth", "1", *more)
    ended = command(*arguments)
    assert ended.code == 0, ended.err
    return str(ended.out)


@pytest.mark.slow
def test_a_crawl_is_shown_and_repeated(site: LoopbackSite, command: Invoke) -> None:
    """With its patterns, within its bound; no search provider is needed for that."""
    rules = ("--exclude", "/old/*", "--exclude", "*?*", "--no-pdf", "--max-pages", "4")
    assert "3 of 3 pages stored" in add(command, site, *rules)
    start = site.address("/")
    bounds = "depth 1, 3 of 4 pages, exclude /old/* *?*, no PDFs, last run"
    assert f"crawl    {start} ({bounds}" in command("collections", "show", "tea").out
    (crawl,) = command("collections", "show", "tea", "--json").json["crawls"]
    assert (crawl["exclude"], crawl["is_pdf"], crawl["pages"]) == (["/old/*", "*?*"], False, 3)
    link(site, "green", "black", "old/red", "old/blue", "white", "yellow")
    ended = command("collections", "refresh", "tea", "--no-crawl")
    assert "Crawled" not in ended.out
    ended = command("collections", "refresh", "tea")
    assert ended.code == 0, ended.err
    assert f"new      {site.address('/white')}\n" in ended.out
    found = f"Crawled {start}: 1 new page found; its --max-pages is reached"
    assert ended.out.splitlines()[-1] == found
    assert "Indexing" not in ended.err


@pytest.mark.slow
def test_a_crawl_is_repeated_no_more_once_it_is_forgotten(
    site: LoopbackSite, command: Invoke
) -> None:
    """Its pages stay."""
    add(command, site)
    forget = ("collections", "forget", "tea", "--crawl", site.address("/"))
    assert "not crawled from" in command(*forget).out
    link(site, "green", "black", "old/red", "white")
    report = command("collections", "refresh", "tea", "--json").json
    assert (report["crawls"], report["new"], len(report["unchanged"])) == ([], [], 3)
    ended = command(*forget)
    assert (ended.code, "has no crawl from" in ended.complaints[0]) == (2, True)


def test_a_question_is_asked_no_more_once_it_is_forgotten(command: Invoke) -> None:
    """One of both is named."""
    store = SQLiteStore.from_settings(process_settings())
    store.collections.remember_question(TenantScope("local", "tea"), QuestionRecord(question="Y?"))
    store.close()
    assert "question Y?\n" in command("collections", "show", "tea").out
    assert command("collections", "forget", "tea").code == 2
    assert command("collections", "forget", "tea", "--question", "Y?").code == 0
    assert command("collections", "forget", "tea", "--question", "Y?").code == 2
    assert "question" not in command("collections", "show", "tea").out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--include", "/docs/*"), "add it"),
        (("--depth", "1", "--exclude", "docs"), "'docs' is no pattern of a path"),
    ],
)
def test_wrong_patterns_are_2(command: Invoke, arguments: tuple[str, ...], complaint: str) -> None:
    """Before anything is fetched."""
    ended = command("ingest", "add", "http://127.0.0.1:1/", "--collection", "tea", *arguments)
    assert ended.code == 2
    assert complaint in ended.complaints[0]
