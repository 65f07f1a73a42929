"""Options after the answer: exact domains, dates, order, and what is told of each wish."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from collection_search.adapters.search.wikipedia import WikipediaSearch
from collection_search.contracts.options import SearchOptions, in_domains, utc_today
from collection_search.contracts.search import SearchResult
from collection_search.text.urls import host_of
from collection_search.tools.search.option_filter import applied_options, filter_results
from collection_search.tools.web_search import WebSearchWorker

TODAY = date(2026, 11, 21)


def result(url: str, published: str | None = None, content: str | None = None) -> SearchResult:
    return SearchResult(
        url=url, title="t", snippet="s", source="p", published_date=published, content=content
    )


def kept(urls: list[str], **wish: Any) -> list[str]:
    """Return the addresses that the options leave, in their order."""
    found = filter_results([result(url) for url in urls], SearchOptions(**wish), today=TODAY)
    by_url = {result(url).url: url for url in urls}
    return [by_url[each.url] for each in found]


@pytest.mark.parametrize(
    ("published", "is_kept"),
    [
        ("2026-11-21T00:30:00+02:00", True),  # the 20th in UTC
        ("2026-11-19T23:30:00-02:00", True),
        ("2026-11-20T01:00:00+02:00", False),
        ("2026-11-20T23:30:00-02:00", False),
        ("2026-11-20 or so", True),
        ("0001-01-01T00:00:00+14:00", False),
    ],
)
def test_a_day_is_one_in_utc(published: str, is_kept: bool) -> None:
    """Whatever zone a time is told in."""
    wish = SearchOptions(freshness="2026-11-20..2026-11-20")
    found = filter_results([result("https://a.org/", published)], wish, today=TODAY)
    assert bool(found) == is_kept


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of the process cannot be set")
@pytest.mark.parametrize("zone", ["Etc/GMT+12", "Etc/GMT-14"])
def test_today_is_the_day_in_utc(monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    """Wherever the process runs: at any hour one of these zones has another day."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        before = datetime.now(UTC).date()
        adapter = WikipediaSearch()
        days = {utc_today(), adapter.today(), WebSearchWorker(adapter)._today()}
        assert days <= {before, datetime.now(UTC).date()}
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()


# --- domains

INSIDE = [
    "https://python.org/",
    "https://docs.python.org/3/",
    "https://a.b.c.python.org/x",
    "http://python.org:8080/x",
    "https://docs.python.org:444/?q=evil.example",
    "https://python.org./x",
    "https://DOCS.Python.ORG/x",
]
OUTSIDE = [
    "https://notpython.org/",
    "https://python.org.evil.example/",
    "https://python-org.example/",
    "https://evil.example/python.org",
    "https://evil.example/?site=python.org",
    "https://evil.example/#python.org",
    "https://python.orgs/",
    "https://xpython.org/",
    "https://org/",
    "https://pythonxorg/",
    "https://python.or/",
    "https://192.0.2.1/python.org",
]


@pytest.mark.parametrize("url", INSIDE)
def test_a_domain_holds_itself_and_what_is_below(url: str) -> None:
    """Whatever port, letters or final dot the address has."""
    assert kept([url], include_domains=["python.org"], domain_mode="restrict") == [url]
    assert kept([url], exclude_domains=["python.org"]) == []


@pytest.mark.parametrize("url", OUTSIDE)
def test_a_look_alike_is_another_domain(url: str) -> None:
    """Nor does a path, a query or a part of a name make it one."""
    assert kept([url], include_domains=["python.org"], domain_mode="restrict") == []
    assert kept([url], exclude_domains=["python.org"]) == [url]


@pytest.mark.parametrize(
    "written",
    [
        "bücher.example",
        "BÜCHER.example",
        "xn--bcher-kva.example",
        "https://bücher.example/",
        "*.bücher.example",
    ],
)
@pytest.mark.parametrize("url", ["https://xn--bcher-kva.example/x", "https://shop.bücher.example/"])
def test_an_international_name_is_the_same_in_both_writings(written: str, url: str) -> None:
    """As people write it and as the wire has it."""
    assert kept([url], include_domains=[written], domain_mode="restrict") == [url]
    assert kept(["https://bucher.example/"], exclude_domains=[written]) != []


@pytest.mark.parametrize(
    "wrong", ["", " ", "org", "a b.org", "a.org/path", "a.org:80", "http://", "..", "[::1]"]
)
def test_what_is_no_domain_is_refused(wrong: str) -> None:
    """A wish that could never match is told at once."""
    for name in ("include_domains", "exclude_domains"):
        with pytest.raises(ValidationError):
            SearchOptions(**{name: [wrong]})


def test_excluding_wins_over_including() -> None:
    """Part of a wanted domain may be unwanted."""
    urls = ["https://docs.python.org/", "https://bugs.python.org/"]
    wish = {"include_domains": ["python.org"], "exclude_domains": ["bugs.python.org"]}
    assert kept(urls, **wish, domain_mode="restrict") == urls[:1]
    assert kept(urls, **wish) == urls[:1]


LABEL = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,6}[a-z0-9])?", fullmatch=True).filter(
    lambda label: not label.startswith("xn--")
)
DOMAIN = st.lists(LABEL, min_size=1, max_size=4).map(lambda labels: ".".join([*labels, "example"]))


@pytest.mark.slow
@settings(deadline=None)
@given(host=DOMAIN, domain=DOMAIN)
def test_containment_is_that_of_labels(host: str, domain: str) -> None:
    """A host is in a domain when its last labels are the domain's, and else never."""
    labels, wanted = host.split("."), domain.split(".")
    assert in_domains(host, (domain,)) == (labels[-len(wanted) :] == wanted)


@pytest.mark.slow
@settings(deadline=None)
@given(domain=DOMAIN, below=LABEL)
def test_every_name_below_is_inside_and_no_longer_one_is(domain: str, below: str) -> None:
    """With a dot between it is inside, without one it is a stranger."""
    assert in_domains(f"{below}.{domain}", (domain,))
    assert not in_domains(f"{below}{domain}", (domain,))
    assert not in_domains(f"{domain}.{below}", (domain,)) or below == "example"


@pytest.mark.slow
@settings(deadline=None)
@given(hosts=st.lists(DOMAIN, max_size=12), wanted=st.lists(DOMAIN, min_size=1, max_size=3))
def test_restricting_and_excluding_split_the_results(hosts: list[str], wanted: list[str]) -> None:
    """Each result is in one of the two halves, in its old order."""
    urls = [f"https://{host}/{number}" for number, host in enumerate(hosts)]
    inside = kept(urls, include_domains=wanted, domain_mode="restrict")
    outside = kept(urls, exclude_domains=wanted)
    assert sorted(inside + outside) == sorted(urls)
    assert inside == [url for url in urls if url in inside]
    assert outside == [url for url in urls if url in outside]


@pytest.mark.slow
@settings(deadline=None)
@given(hosts=st.lists(DOMAIN, max_size=12), wanted=st.lists(DOMAIN, min_size=1, max_size=3))
def test_preferring_drops_nothing_and_is_stable(hosts: list[str], wanted: list[str]) -> None:
    """Those of the domains first, either group as the provider ordered it."""
    urls = [f"https://{host}/{number}" for number, host in enumerate(hosts)]
    inside = [url for url in urls if in_domains(host_of(url), tuple(wanted))]
    outside = [url for url in urls if url not in inside]
    assert kept(urls, include_domains=wanted) == inside + outside


# --- dates


def fresh(published: str | None, freshness: str) -> bool:
    row = result("https://a.example/", published)
    return bool(filter_results([row], SearchOptions(freshness=freshness), today=TODAY))


@pytest.mark.parametrize(("wish", "days"), [("day", 1), ("week", 7), ("month", 30), ("year", 365)])
def test_a_span_ends_on_its_day(wish: str, days: int) -> None:
    """The oldest day is in it, the one before is not; the future is not too new."""
    assert fresh((TODAY - timedelta(days)).isoformat(), wish)
    assert not fresh((TODAY - timedelta(days + 1)).isoformat(), wish)
    assert fresh((TODAY + timedelta(1)).isoformat(), wish)


@pytest.mark.parametrize(
    ("published", "is_in"),
    [
        ("2025-12-31", False),
        ("2026-01-01", True),
        ("2026-03-31T23:59:59Z", True),
        ("2026-04-01T00:00:00+00:00", False),
    ],
)
def test_both_days_of_a_range_belong_to_it(published: str, is_in: bool) -> None:
    """Whatever the time of the day."""
    assert fresh(published, "2026-01-01..2026-03-31") is is_in


def test_a_range_may_be_open() -> None:
    """Everything from a day on."""
    assert fresh("2099-01-01", "2026-01-01..")
    assert not fresh("2025-12-31", "2026-01-01..")


@pytest.mark.parametrize("published", [None, "", "yesterday", "2026", "31.12.2020", "2026-13-45"])
def test_without_a_date_it_stays(published: str | None) -> None:
    """Nobody knows that it is too old."""
    assert fresh(published, "day")


@pytest.mark.parametrize(
    "wrong", ["", "hour", "2026", "2026-03-31..2026-01-01", "2026-02-30..", "..2026-01-01", "7"]
)
def test_what_is_no_span_is_refused(wrong: str) -> None:
    """With the forms that there are."""
    with pytest.raises(ValidationError, match="day, week, month, year"):
        SearchOptions(freshness=wrong)


@pytest.mark.slow
@settings(deadline=None)
@given(st.dates(date(2000, 1, 1), date(2099, 1, 1)), st.dates(), st.dates())
def test_a_range_is_that_of_days(published: date, first: date, last: date) -> None:
    """Compared as days, in any year."""
    first, last = sorted((first, last))
    wish = f"{first.isoformat()}..{last.isoformat()}"
    assert fresh(published.isoformat(), wish) == (first <= published <= last)


# --- what is told


def states(applied: dict[str, Any], *rows: SearchResult, **wish: Any) -> dict[str, str]:
    counts = wish.pop("counts", True)
    told = applied_options(SearchOptions(**wish), applied, rows, counts=counts)  # type: ignore[arg-type]
    return {name: each["applied"] for name, each in told.items()}


def test_nothing_wished_is_nothing_told() -> None:
    """What was left out is no wish, and the provider's extras are not ours to tell."""
    assert states({"topic": "native"}) == {}
    assert states({}, topic=None, include_domains=[]) == {}


def test_each_option_that_was_asked_for_is_answered() -> None:
    """What is anybody's usual needs nothing done; the mode goes with its domains."""
    usual = {"search_depth": "basic", "topic": "general", "include_content": False}
    assert states({}, **usual) == dict.fromkeys(usual, "native")
    assert states({}, domain_mode="restrict") == {"domain_mode": "native"}
    told = states({"include_domains": "native"}, include_domains=["a.org"], domain_mode="prefer")
    assert told == {"include_domains": "native", "domain_mode": "native"}


def test_the_providers_word_comes_first() -> None:
    """What it did itself was not done here."""
    wish = {"include_domains": ["a.org"], "exclude_domains": ["b.org"], "freshness": "day"}
    applied = dict.fromkeys(wish, "native") | {"exclude_domains": "emulated"}
    assert states(applied, **wish) == applied


def test_what_is_done_here_is_told_as_such() -> None:
    """Dropped, put in another order, or counted here."""
    assert states({}, exclude_domains=["b.org"]) == {"exclude_domains": "post_filtered"}
    assert states({}, include_domains=["a.org"]) == {"include_domains": "emulated"}
    restricted = states({}, include_domains=["a.org"], domain_mode="restrict")
    assert restricted == {"include_domains": "post_filtered", "domain_mode": "post_filtered"}
    assert states({}, max_results=3) == {"max_results": "native"}
    assert states({}, max_results=3, counts=False) == {"max_results": "post_filtered"}


def test_dates_and_texts_decide() -> None:
    """Without a single date nothing was filtered, without a text nothing was delivered."""
    dated = result("https://a.example/", "2026-11-20")
    assert states({}, result("https://a.example/"), freshness="day") == {"freshness": "unsupported"}
    assert states({}, dated, freshness="day") == {"freshness": "post_filtered"}
    assert states({}, dated, include_content=True) == {"include_content": "unsupported"}
    full = result("https://a.example/", content="text")
    assert states({}, full, include_content=True) == {"include_content": "native"}


@pytest.mark.parametrize(
    "wish", [{"topic": "news"}, {"search_depth": "deep"}, {"language": "de"}, {"country": "DE"}]
)
def test_what_nobody_did_is_unsupported(wish: dict[str, Any]) -> None:
    """It is said, and the search goes on."""
    [name] = wish
    assert states({}, result("https://a.example/", "2026-11-20", "text"), **wish) == {
        name: "unsupported"
    }
    assert states({name: "native"}, **wish) == {name: "native"}


def test_the_wish_itself_is_told_as_json_has_it() -> None:
    """In the form in which it was understood."""
    told = applied_options(
        SearchOptions(include_domains=("A.org",), country="de"), {}, [], counts=True
    )
    assert {name: each["requested"] for name, each in told.items()} == {
        "include_domains": ["a.org"],
        "country": "DE",
    }
