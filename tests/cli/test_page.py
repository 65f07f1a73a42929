"""`collection-search page`: one page of the web through the safe fetch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.loopback_site import LoopbackSite, article, essay

from collection_search.adapters.crawl.extract.pdf_document import PDF_PAGES
from collection_search.settings.process_defaults import process_settings
from collection_search.testing.hostile_site.file_types import pdf

if TYPE_CHECKING:
    from support.command_line import Invoke

KEYS = {
    "url",
    "final_url",
    "canonical_url",
    "status",
    "kind",
    "title",
    "text",
    "content_hash",
    "fetched_at",
    "truncated_at_page",
}


PAGE = (
    b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
    b" /Resources << /Font << /F1 5 0 R >> >> >>"
)


def pdf_of(text: str) -> bytes:
    """A PDF document of one page with one line."""
    stream = f"BT /F1 18 Tf 72 720 Td ({text}) Tj ET".encode()
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        PAGE,
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    body, places = b"%PDF-1.4\n", []
    for n, part in enumerate(parts, start=1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (n, part)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 6\n0000000000 65535 f \n"
    tail = b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(body)
    return body + head + table + tail


@pytest.fixture
def site(loopback: LoopbackSite) -> LoopbackSite:
    loopback.put("/tea", article("Green tea", essay("green tea")))
    return loopback


@pytest.mark.slow
def test_the_text_of_a_page(site: LoopbackSite, command: Invoke) -> None:
    """The text alone on standard output, title and address beside it; nothing is stored."""
    ended = command("page", site.address("/tea"))
    assert ended.code == 0
    assert "Of green tea it is said that it grows slowly" in ended.out
    assert "<p>" not in ended.out
    assert ended.err == f"Title: Green tea\nSource: {site.address('/tea')}\n"
    assert len(site.asked("/tea")) == 1
    assert not list(Path(os.environ["COLLECTION_SEARCH_HOME"]).glob("collections*"))


@pytest.mark.slow
def test_the_page_as_json(site: LoopbackSite, command: Invoke) -> None:
    """One object with all that is known of the page, after a redirect too."""
    site.put("/old", b"", status=301, headers={"Location": "/tea"})
    ended = command("page", site.address("/old"), "--json")
    assert (ended.code, ended.err) == (0, "")
    page = ended.json
    assert page.keys() == KEYS
    assert (page["url"], page["final_url"]) == (site.address("/old"), site.address("/tea"))
    assert (page["status"], page["kind"], page["title"]) == (200, "html", "Green tea")
    assert "grows slowly" in page["text"]
    assert len(page["content_hash"]) == 64
    assert page["fetched_at"] > 1_700_000_000


@pytest.mark.slow
def test_a_pdf(site: LoopbackSite, command: Invoke) -> None:
    """Is read too, whatever its address is called."""
    headers = {"Content-Type": "application/pdf"}
    url = site.put("/paper", pdf_of("Green tea grows slowly."), headers=headers)
    ended = command("page", url, "--json")
    assert ended.code == 0
    assert ended.json["kind"] == "pdf"
    assert "Green tea grows slowly." in ended.json["text"]


@pytest.mark.slow
def test_a_long_pdf_says_where_its_reading_ended(site: LoopbackSite, command: Invoke) -> None:
    """As a note and in the object."""
    headers = {"Content-Type": "application/pdf"}
    url = site.put("/book", pdf(kids=PDF_PAGES + 1), headers=headers)
    assert "Only pages 1 to 2000 were read" in command("page", url).err
    assert command("page", url, "--json").json["truncated_at_page"] == PDF_PAGES


@pytest.mark.slow
def test_a_page_that_is_not_there(site: LoopbackSite, command: Invoke) -> None:
    """Exit code 4 with one sentence; nothing on standard output."""
    ended = command("page", site.address("/none"))
    assert (ended.code, ended.out) == (4, "")
    assert len(ended.complaints) == 1
    assert "404" in ended.complaints[0]


@pytest.mark.slow
def test_robots_txt_is_obeyed(site: LoopbackSite, command: Invoke) -> None:
    """Exit code 4, and the page is not asked for."""
    rules = b"User-agent: *\nDisallow: /tea\n"
    site.put("/robots.txt", rules, headers={"Content-Type": "text/plain"})
    ended = command("page", site.address("/tea"))
    assert ended.code == 4
    assert "robots.txt" in ended.complaints[0]
    assert site.asked("/tea") == []


@pytest.mark.slow
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_private_address_is_refused(command: Invoke, form: tuple[str, ...]) -> None:
    """Exit code 4: the address is judged, whatever answers there."""
    with LoopbackSite() as site:
        site.put("/tea", article("Green tea", essay("green tea")))
        ended = command("page", site.address("/tea"), *form)
        assert ended.code == 4
        assert "not on the public web" in ended.complaints[0]
        way_out = f"set COLLECTION_SEARCH_FETCH_ALLOWED={site.address('/tea').split('/')[2]}"
        assert ended.complaints[0].endswith(f"If it is yours, {way_out}")
        assert site.requests == []


@pytest.mark.parametrize(
    ("url", "entry"),
    [
        ("http://127.0.0.1/", "127.0.0.1:80"),
        ("https://WIKI.intra./x", "wiki.intra.:443"),
        ("http://wiki:8080", "wiki:8080"),
        ("http://[::1]:8000/", "[::1]:8000"),
    ],
)
def test_the_way_to_a_private_address_is_named(
    command: Invoke, monkeypatch: pytest.MonkeyPatch, url: str, entry: str
) -> None:
    """As the setting takes it, beside what it has already."""
    ended = command("page", url)
    assert ended.code == 4
    assert ended.complaints[0].endswith(f"set COLLECTION_SEARCH_FETCH_ALLOWED={entry}")
    monkeypatch.setenv("COLLECTION_SEARCH_FETCH_ALLOWED", "other.intra:443")
    process_settings.cache_clear()
    ended = command("page", url)
    assert ended.complaints[0].endswith(f"FETCH_ALLOWED=other.intra:443,{entry}")


@pytest.mark.parametrize("host", ["169.254.169.254", "[fe80::1]", "[::ffff:169.254.170.2]"])
def test_no_way_leads_to_the_metadata_of_a_cloud(
    command: Invoke, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    """Permitted or not, the refusal is the same."""
    refused = command("page", f"http://{host}/")
    monkeypatch.setenv("COLLECTION_SEARCH_FETCH_ALLOWED", f"{host}:80")
    process_settings.cache_clear()
    assert command("page", f"http://{host}/") == refused
    assert refused.code == 4
    assert refused.complaints[0].endswith("metadata address, which no setting permits")


@pytest.mark.slow
def test_a_page_that_leads_to_a_private_address(site: LoopbackSite, command: Invoke) -> None:
    """No entry opens that way, so none is named."""
    site.put("/old", b"", status=301, headers={"Location": "http://127.0.0.1:1/"})
    ended = command("page", site.address("/old"))
    assert ended.code == 4
    assert "not on the public web" in ended.complaints[0]
    assert "FETCH_ALLOWED" not in ended.complaints[0]
    site.put("/old", b"", status=301, headers={"Location": "http://wiki.intra/"})
    assert "FETCH_ALLOWED" not in command("page", site.address("/old")).complaints[0]


@pytest.mark.parametrize(
    "url", ["nonsense", "ftp://a.org/", "http://", "https://u:p@a.org/", "file:///etc/passwd", ""]
)
def test_what_is_no_address_is_refused(command: Invoke, url: str) -> None:
    """Exit code 2 with one sentence."""
    ended = command("page", url)
    assert (ended.code, ended.out) == (2, "")
    assert len(ended.complaints) == 1
    assert "passwd" not in ended.complaints[0]
