"""URLs of the web: what is refused and why, and what is sent for what is not."""

from __future__ import annotations

import pytest

from collection_search.adapters.crawl.fetch.public_hosts import check_host
from collection_search.adapters.crawl.fetch.url_rules import UrlRules
from collection_search.errors import ConfigError, FetchError

GATE = UrlRules()


def reason(url: str) -> str:
    with pytest.raises(FetchError) as caught:
        GATE.target(url)
    assert caught.value.retryable is False
    return caught.value.reason


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("", "bad_url"),
        ("example.com/page", "bad_url"),
        ("//example.com/", "bad_url"),
        ("http:///page", "bad_url"),
        ("http:\\\\example.com\\", "bad_url"),
        ("http://example.com\\@127.0.0.1/", "bad_url"),
        ("http://exa mple.com/", "bad_url"),
        ("http://example.com:99999/", "bad_url"),
        ("http://example.com:0/", "bad_url"),
        ("http://example.com:80:80/", "bad_url"),
        ("http://[::1/", "bad_url"),
        ("http://[fe80::1%25eth0]/", "bad_url"),
        ("http://a..example.com/", "bad_url"),
        ("http://example.com/\x00", "bad_url"),
        ("http://example.com/" + "a" * 9_000, "bad_url"),
        ("http://" + "a" * 300 + ".com/", "bad_url"),
        ("http://xn--\u00e4.com/", "bad_url"),
        ("http://%ff.com/", "bad_url"),
        ("http://\u00e4%ff.com/", "bad_url"),
        ("file:///etc/passwd", "bad_scheme"),
        ("javascript:alert(1)", "bad_scheme"),
        ("ftp://example.com/", "bad_scheme"),
        ("http://user:secret@example.com/", "credentials_in_url"),
        ("http://example.com@127.0.0.1/", "credentials_in_url"),
        ("http://localhost/", "blocked_host"),
        ("http://LOCALHOST./", "blocked_host"),
        ("http://a.localhost/", "blocked_host"),
        ("http://printer/", "blocked_host"),
        ("http://db.internal/", "blocked_host"),
        ("http://metadata.google.internal/", "blocked_host"),
        ("http://router.home.arpa/", "blocked_host"),
        ("http://x.onion/", "blocked_host"),
        ("http://0177.0.0.1/", "blocked_host"),
        ("http://127.1/", "blocked_host"),
        ("http://1.2.3.4.5/", "blocked_host"),
        ("http://256.1.1.1/", "blocked_host"),
        ("http://%31%32%37.0.0.1/", "blocked_address"),
        ("http://169.254.169.254/latest/", "blocked_address"),
        ("http://168.63.129.16/", "blocked_address"),
        ("http://[::ffff:127.0.0.1]/", "blocked_address"),
        ("http://[2002:7f00:1::]/", "blocked_address"),
        ("http://example.com:22/", "blocked_port"),
        ("https://example.com:8123/", "blocked_port"),
    ],
)
def test_refused(url, expected):
    assert reason(url) == expected


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("HTTP://Example.COM", "http://example.com/"),
        ("https://example.com.:443/a#b", "https://example.com/a"),
        ("http://example.com:8080/?", "http://example.com:8080/?"),
        ("https://example.com/a/../../b/./c", "https://example.com/b/c"),
        ("https://example.com/%2e%2e/c", "https://example.com/c"),
        ("https://example.com/a b?q=a b&utm_source=x", "https://example.com/a%20b?q=a%20b&utm_source=x"),
        ("https://b\u00fccher.de/\u00e4?\u00f6", "https://xn--bcher-kva.de/%C3%A4?%C3%B6"),
        ("https://example.com/?b=2&a=1&b=1", "https://example.com/?b=2&a=1&b=1"),
        ("https://my_host.example.com/", "https://my_host.example.com/"),
        ("https://example.com/", "https://example.com/"),
        ("https://localhost.run/", "https://localhost.run/"),
        ("https://internal.example.org/", "https://internal.example.org/"),
        ("https://1e100.net/", "https://1e100.net/"),
        ("https://10.0.0.1.example.com/", "https://10.0.0.1.example.com/"),
        ("http://[2606:4700:0::1111]/", "http://[2606:4700::1111]/"),
    ],
)  # fmt: skip
def test_sent(url, sent):
    assert GATE.target(url).url == sent


def test_a_redirect_is_read_from_where_it_stands():
    source = GATE.target("https://example.com/a/b?c")
    assert GATE.redirect(source, "../d").url == "https://example.com/d"
    assert GATE.redirect(source, "//other.org/x").url == "https://other.org/x"
    assert GATE.redirect(source, "/gr\udcfc\udcdfe").url == "https://example.com/gr%FC%DFe"


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("", "bad_redirect"),
        ("  ", "bad_redirect"),
        ("http://[::1/", "bad_redirect"),
        ("http:///x", "bad_redirect"),
        ("//%ff.com/", "bad_redirect"),
        ("/a\x01b", "bad_redirect"),
        ("http://127.0.0.1/", "blocked_address"),
        ("//localhost/", "blocked_host"),
        ("ftp://example.com/", "bad_scheme"),
        ("//a:b@example.com/", "credentials_in_url"),
    ],
)
def test_a_refused_redirect(location, expected):
    source = GATE.target("https://example.com/")
    with pytest.raises(FetchError) as caught:
        GATE.redirect(source, location)
    assert caught.value.reason == expected


def test_hosts_have_one_turn_for_their_usual_ports():
    sites = [GATE.target(f"{start}.com/").site for start in ("http://a", "https://a", "http://b")]
    assert sites == ["a.com", "a.com", "b.com"]
    assert GATE.target("http://a.com:8080/").site == "a.com:8080"
    assert GATE.target("https://a.com/x").origin == "https://a.com:443"


@pytest.mark.parametrize("entry", ["wiki.intra", "wiki.intra:0", "10.0.0.0/8", "", "a b:80", ":80"])
def test_an_entry_names_one_address(entry):
    with pytest.raises(ConfigError, match="host:port"):
        UrlRules(entries=[entry])


def test_entries_lift_port_and_name_but_no_spelling():
    gate = UrlRules(entries=["wiki.intra:8123"])
    assert gate.target("http://wiki.intra:8123/").port == 8123
    for url in ("http://wiki.intra/", "http://wiki.intra:8124/", "http://intra:8123/"):
        with pytest.raises(FetchError):
            gate.target(url)


@pytest.mark.parametrize(
    ("source", "url", "leads"),
    [
        ("http://evil.com/", "https://wiki.intra/", False),
        ("http://evil.com/", "https://docs.example.com/", False),
        ("http://evil.com/", "http://127.0.0.1:8123/", False),
        ("http://wiki.intra/", "https://evil.com/", True),
        ("http://wiki.intra/", "https://wiki.intra/", True),
        ("https://wiki.intra/a", "https://wiki.intra/b", True),
        ("https://wiki.intra/", "https://docs.example.com/", False),
        ("http://docs.example.com/", "https://docs.example.com/", False),
    ],
)
def test_an_entry_counts_when_it_is_asked_for_or_leads_on_to_itself(source, url, leads):
    """A page of another host does not open what the operator named."""
    named = ["wiki.intra:80", "wiki.intra:443", "docs.example.com:443", "127.0.0.1:8123"]
    gate = UrlRules(entries=named)
    page = gate.target(source)
    assert gate.target(url).url == url
    if leads:
        assert gate.target(url, source=page) == gate.redirect(page, url) == gate.target(url)
        return
    for led in (lambda: gate.target(url, source=page), lambda: gate.redirect(page, url)):
        with pytest.raises(FetchError, match="named address") as caught:
            led()
        assert (caught.value.reason, caught.value.retryable) == ("blocked_host", False)


def test_the_host_of_a_long_text_is_judged_quickly():
    assert check_host("\u00e4" * 5_000).refused == "bad_url"
