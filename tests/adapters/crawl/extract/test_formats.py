"""Title and text of documents, and every way in which a document can be unusable."""

from __future__ import annotations

import time

import pytest

from collection_search.adapters.crawl.extract.charset import decode_page
from collection_search.adapters.crawl.extract.extracted import EmptyDocumentError, Extracted
from collection_search.adapters.crawl.extract.formats import (
    PDF_BYTES,
    TEXT_BYTES,
    extract,
    sniff,
)
from collection_search.adapters.crawl.extract.markup import markdown_text, rst_text
from collection_search.adapters.crawl.extract.pdf_document import PDF_PAGES
from collection_search.errors import ExtractionError
from collection_search.testing.hostile_site.file_types import pdf as hostile_pdf
from collection_search.testing.hostile_site.replies import MARKER

ARTICLE = """<!doctype html>
<html><head>
<title> Cancelling
 tasks </title>
<link rel="canonical" href="https://docs.example.org/tasks">
<style>p { color: red }</style>
</head><body>
<nav><a href="/">Home</a> <a href="/about">About</a></nav>
<main><h1>Cancelling tasks</h1>
<p>A task that takes too long can be cancelled. The task then raises CancelledError at its next
await, and the code around it may clean up before it ends.</p>
<p>Use the timeout context manager when a block of code must not take longer than some seconds.</p>
</main><script>alert("no text")</script></body></html>
"""


def pdf(text: str, title: str = "") -> bytes:
    """Return a PDF of one page, without a cross-reference table: readers rebuild it."""
    return pdf_of(text, title=title)


def pdf_of(*texts: str, title: str = "") -> bytes:
    """Return a PDF with a page for each text."""
    first = 5
    pages = range(first, first + 2 * len(texts), 2)
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{' '.join(f'{n} 0 R' for n in pages)}] /Count {len(texts)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Title ({title}) >>",
    ]
    for page, text in zip(pages, texts, strict=True):
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        objects += [
            f"""<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {page + 1} 0 R
               /Resources << /Font << /F1 3 0 R >> >> >>""",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    body = "".join(f"{n} 0 obj\n{text}\nendobj\n" for n, text in enumerate(objects, start=1))
    trailer = f"trailer << /Root 1 0 R /Info 4 0 R /Size {len(objects) + 1} >>"
    return f"%PDF-1.4\n{body}{trailer}\n%%EOF".encode()


@pytest.mark.parametrize(
    ("data", "name", "kind"),
    [
        (b"%PDF-1.7\n...", "report.txt", "pdf"),
        (b"<!DOCTYPE html><html>", "page.md", "html"),
        (b"\xef\xbb\xbf  <html lang='en'>", "", "html"),
        (b'<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml">', "", "html"),
        (b"<p>A fragment", "part.html", "html"),
        (b"# Title", "README.MD", "markdown"),
        (b"Title\n=====", "index.rst", "rst"),
        (b"plain words", "notes.txt", "text"),
        (b"plain words", "really-no.pdf", "text"),
        ("Größe".encode("utf-16"), "notes.txt", "text"),
    ],
)
def test_the_bytes_decide_what_a_file_is(data: bytes, name: str, kind: str) -> None:
    """A PDF or HTML page is recognised under any name; a suffix only tells texts apart."""
    assert sniff(data, name) == kind


def test_binary_data_is_refused() -> None:
    """An image or program under a text's name is an error, not a page of rubbish."""
    with pytest.raises(ExtractionError, match="neither text nor PDF"):
        extract(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "notes.txt")


def test_an_html_page_gives_title_article_and_its_own_address() -> None:
    """Navigation, styles and scripts are no text; the canonical link is kept."""
    page = extract(ARTICLE.encode(), "a.html")
    assert page.title == "Cancelling tasks"
    assert page.canonical_url == "https://docs.example.org/tasks"
    assert "raises CancelledError" in page.text
    assert "alert" not in page.text
    assert "color" not in page.text


@pytest.mark.parametrize(
    "href", ["ftp://example.org/a", "https://", "https://[bad", "", "javascript:x()", "a" * 3000]
)
def test_only_a_web_address_is_a_canonical_one(href: str) -> None:
    """A broken canonical link says nothing about where the page stands."""
    page = ARTICLE.replace("https://docs.example.org/tasks", href)
    assert extract(page.encode()).canonical_url is None


@pytest.mark.parametrize(
    ("base", "href", "found"),
    [
        ("", " /tasks ", "/tasks"),
        ("", "../tasks", "../tasks"),
        ("", "//docs.example.org/tasks", "//docs.example.org/tasks"),
        ("<base href='/en/'>", "tasks", "/en/tasks"),
        (
            "<base href='https://docs.example.org/en/'>",
            "tasks",
            "https://docs.example.org/en/tasks",
        ),
        ("<base href='https://docs.example.org/a'>", "?utm_source=x", "https://docs.example.org/a"),
        ("<base href='https://[bad'>", "tasks", None),
    ],
)
def test_a_relative_canonical_address_is_kept(base: str, href: str, found: str | None) -> None:
    """Joined with the base that the page names; only its reader knows where the page stands."""
    page = ARTICLE.replace("https://docs.example.org/tasks", href).replace(
        "<head>", f"<head>{base}"
    )
    assert extract(page.encode()).canonical_url == found


def test_a_page_without_an_article_still_gives_its_text() -> None:
    """A bare list of links is no article, yet its words can be searched."""
    page = "<html><body><ul><li><a href='a'>Queues</a></li><li>Locks</li></ul></body></html>"
    assert extract(page.encode()).text.split() == ["Queues", "Locks"]


def test_the_first_heading_stands_in_for_a_missing_title() -> None:
    """A page without a title element is called by its first heading."""
    page = "<html><body><h1>Setting <em>timeouts</em></h1><p>Some text.</p></body></html>"
    assert extract(page.encode()).title == "Setting timeouts"


PAGE_WITH_CODE = """<html><head><title>Tea</title></head><body><main><article>
<h1>Brewing <em>tea</em></h1><p>A paragraph about water that is long enough to be kept by the
extraction, since it looks like an article.</p>
<h2 id="g"><a href="/g">Green</a><a class="headerlink" href="#g">¶</a></h2>
<p>Another paragraph with many words, so that it is text and not the navigation of a site.</p>
<pre># warm the pot
## twice
pour()</pre><h3></h3><p>The end of the article, which has a few words more than that.</p>
</article></main></body></html>"""


def test_headings_of_a_page_are_kept() -> None:
    """Comments in its code are none."""
    page = extract(PAGE_WITH_CODE.encode(), "a.html")
    assert page.title == "Tea"
    lines = page.text.splitlines()
    assert [line for line in lines if line.startswith("#")] == ["# Brewing tea", "## Green"]
    assert [line.strip() for line in lines if "pot" in line or "twice" in line] == [
        "# warm the pot",
        "## twice",
    ]


def test_a_plain_text_has_no_headings() -> None:
    """Its marks may be comments of a program."""
    assert extract(b"# pot\nx = 1", "a.txt") == Extracted("# pot", " # pot\nx = 1")


def test_pages_of_a_pdf_end_in_form_feeds() -> None:
    """An empty page counts."""
    pages = ["", "Black tea.", "Green tea."]
    found = extract(pdf_of(*pages), "a.pdf").text
    assert [page.strip() for page in found.split("\f")] == pages


def test_a_tag_with_thousands_of_attributes_is_refused() -> None:
    """Such a tag costs the parser time that grows with the square of their number."""
    page = f"<html><body><p {' '.join(f'a{n}=1' for n in range(3000))}>text</p></body></html>"
    with pytest.raises(ExtractionError, match="attributes"):
        extract(page.encode())


def test_long_drawings_in_attributes_are_no_offence() -> None:
    """The path of an inline drawing has thousands of numbers in one attribute."""
    path = " ".join(f"L {n} {n}" for n in range(3000))
    page = ARTICLE.replace("<main>", f'<svg><path d="{path}"></path></svg><main>')
    assert "CancelledError" in extract(page.encode()).text


def test_a_pdf_gives_its_title_and_text() -> None:
    """Title from the document's properties, text from its pages."""
    document = pdf("Tasks can be cancelled.", title="On tasks")
    assert extract(document, "a.pdf") == Extracted("On tasks", "Tasks can be cancelled.")


def test_a_broken_title_costs_a_pdf_only_its_title() -> None:
    """Titles are UTF-16, and programs have cut them within a character."""
    document = pdf("Tasks can be cancelled.").replace(b"/Title ()", b"/Title <FEFF0041D83D>")
    assert extract(document, "a.pdf") == Extracted("", "Tasks can be cancelled.")


def test_a_damaged_pdf_is_an_error() -> None:
    """What only begins like a PDF is refused with the reader's reason."""
    with pytest.raises(ExtractionError, match="PDF cannot be read"):
        extract(b"%PDF-1.7 and then nothing of the kind", "a.pdf")


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"", "empty.txt"),
        (b" \n\t\n", "blank.md"),
        (b"<html><body><img src='a.png'></body></html>", "picture.html"),
        (b"<!-- x -->", "comment.html"),
        (pdf(""), "scan.pdf"),
    ],
)
def test_a_document_without_text_is_an_error(data: bytes, name: str) -> None:
    """Nothing to search is said, not stored as an empty page."""
    with pytest.raises(ExtractionError):
        extract(data, name)


@pytest.mark.parametrize(
    ("data", "name"),
    [(b"a " * TEXT_BYTES, "big.txt"), (b"%PDF-" + b"a" * PDF_BYTES, "big.pdf")],
)
def test_documents_have_a_largest_size(data: bytes, name: str) -> None:
    """Text and HTML end at 10 MB, PDF at 30 MB."""
    with pytest.raises(ExtractionError, match=r"larger than (10|30) MB"):
        extract(data, name)


def test_text_is_titled_by_its_first_line_of_words() -> None:
    """Rules and blank lines above it do not count; a whole paragraph is no title."""
    assert (
        extract(b"=====\n\nNotes on queues\n=====\nFirst in.", "a.txt").title == "Notes on queues"
    )
    assert extract(b"word " * 100, "a.txt").title == ""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_umlauts_survive_every_usual_encoding(encoding: str) -> None:
    """Texts from Windows and from editors that write a mark are read as well."""
    assert decode_page("Größe der Übung".encode(encoding)) == "Größe der Übung"


def test_bytes_that_fit_no_encoding_are_still_text() -> None:
    """Reading never fails; what is unknown stays one character."""
    assert decode_page(b"a\x81b\xff") == "a\x81b\xff"


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("## Usage ##", "## Usage ##"),
        (" # Usage\ntext", "# Usage\ntext"),
        ("Title\n=====\n\ntext", "# Title\n\ntext"),
        ("text\nPart\n---\n\n---\n- item\n---\n", "text\n\n## Part\n\n- item"),
        ("[![build](https://a.org/b.svg)](https://a.org/ci) Words", "Words"),
        ("![logo](a.png) Words", "Words"),
        ("See [the docs](https://a.org/x_(y)) or [here][1].\n\n[1]: https://a.org", "See the docs or here."),
        ("<p align='center'>\n  <img\n src='a.png'>\n</p>\n\nWords", "Words"),
        ("<!-- a - b\n-- comment --> Words", "Words"),
        ("**Bold**, *slanted*, ~~gone~~", "Bold, slanted, gone"),
        ("Use `dict[str, *Ts]` and ``a`b``", "Use dict[str, *Ts] and a`b"),
        ("```python\n# comment\nx = a[1](b) < c\n```\nDone", " # comment\nx = a[1](b) < c\n\nDone"),
        ("Call `# x`\n`# y`", "Call # x\n # y"),
        ("~~~\nopen end\n", "open end"),
        ("---\ntitle: x\n---\nWords", "# x\n\nWords"),
        ("---\ntitle: x\ntags:\n- a\n\n# note\n---\n# Tea\nWords", "# Tea\nWords"),
        ("---\ndate: 2026-01-01\n...\nWords", "Words"),
        ("+++\ntitle = 'x: y'\n[menu]\n+++\nWords", "# x: y\n\nWords"),
        ("---\n\n# Rules\n\nThe key: below.\n\n---\n\nMore", "# Rules\n\nThe key: below.\n\nMore"),
        ("---\nThe key: below.\nAnd more\n---\nWords", "The key: below.\n\n## And more\nWords"),
        ("2 * 3 * 4 and snake_case_name", "2 * 3 * 4 and snake_case_name"),
        ("one\r\n\r\n\r\n\r\ntwo", "one\n\ntwo"),
    ],
)  # fmt: skip
def test_markdown_loses_its_marks_but_headings(marked: str, plain: str) -> None:
    """What a reader of the rendered page sees remains; code has no headings."""
    assert markdown_text(marked) == plain


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("Usage\n=====\n\nWords", "# Usage\n\nWords"),
        (
            "===\n A\n===\n\n:func:`b`\n------\nc\n\nD\n-\n\nE\n~~~\n",
            "# A\n\n## b\nc\n\nD\n-\n\n### E",
        ),
        ("A long line of text\n---\n\n# comment", "A long line of text\n\n # comment"),
        (".. image:: a.png\n   :alt: logo\n\nWords", "Words"),
        (".. |ci| image:: a.svg\n\n|ci| |docs|_\n\nWords", "Words"),
        (".. _home: https://a.org\n\n`Home <https://a.org>`_ and `x`_", "Home and x"),
        ("See :func:`~asyncio.run`, :py:meth:`do it <a.b>`", "See asyncio.run, do it"),
        ("``code`` and *slanted* **bold**", "code and slanted bold"),
    ],
)
def test_rst_loses_its_marks(marked: str, plain: str) -> None:
    """Roles, link targets, images and underlines go; their words remain."""
    assert rst_text(marked) == plain


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["[", "![", "[](", "<", "<!--", "`", "*a", ":a", "`a <", "# ", "~~~\n"]
)
def test_markup_is_read_in_linear_time(piece: str) -> None:
    """Endless repetitions of a mark that is never closed cost seconds if read again and again."""
    start = time.process_time()
    markdown_text(piece * 200_000)
    rst_text(piece * 200_000)
    assert time.process_time() - start < 20


@pytest.mark.parametrize(
    "attributes",
    [
        " ".join(f"a{n}=1" for n in range(3000)),
        "".join(f'a{n}="1"' for n in range(3000)),
        "/".join(f"a{n}" for n in range(3000)),
        " ".join(f"a{n}='>'" for n in range(3000)),
    ],
)
def test_attributes_are_counted_in_every_form(attributes: str) -> None:
    """With blanks, without, between slashes, and with brackets in their values."""
    with pytest.raises(ExtractionError, match="attributes"):
        extract(f"<html><body><p {attributes}>text</p></body></html>".encode())


def test_blanks_within_a_tag_are_counted_in_linear_time() -> None:
    """Many blanks can be shared out over attributes in more ways than there are seconds."""
    start = time.process_time()
    assert extract(b"<html><body><p" + b" " * 1_000_000 + b"x>Words</p></body></html>").text
    assert time.process_time() - start < 20


def test_a_page_of_too_many_tags_is_refused() -> None:
    """A parser's time and memory grow with them, not with the page's size alone."""
    with pytest.raises(ExtractionError, match="600,000 tags"):
        extract(b"<html>" + b"<b>" * 700_000)


def test_empty_is_told_from_broken() -> None:
    """A page without words is an outcome of its own."""
    for data in (b"", b"<html><body></body></html>", pdf("")):
        with pytest.raises(EmptyDocumentError):
            extract(data, "a.html")
    with pytest.raises(ExtractionError) as caught:
        extract(b"%PDF-1.7 and noise")
    assert not isinstance(caught.value, EmptyDocumentError)


def test_the_servers_charset_is_used_where_the_bytes_allow_it() -> None:
    """A page that says nothing itself is read as its server says."""
    page = "<html><body><p>アオサギが浅瀬で待つ</p></body></html>".encode("euc_jp")
    assert "アオサギ" in extract(page, charset="euc-jp").text


def test_a_page_in_utf16_is_html_all_the_same() -> None:
    """Zeros between letters make it neither binary nor plain text."""
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        assert extract(ARTICLE.encode(encoding)).title == "Cancelling tasks"


def test_an_html_page_that_speaks_of_pdf_is_still_html() -> None:
    """The mark of a PDF within a page's first lines decides nothing."""
    assert sniff(b"<!doctype html><title>What %PDF-1.7 means</title>") == "html"


def test_a_page_says_whether_it_is_free_and_asks_for_a_password() -> None:
    """What a judge of pages needs and the text alone does not tell."""
    assert not extract(ARTICLE.encode()).not_free
    data = '<script type="application/ld+json">{"isAccessibleForFree" : "False"}</script>'
    page = ARTICLE.replace("<main>", f'{data}<form><input type="password"></form><main>')
    found = extract(page.encode())
    assert (found.not_free, found.asks_password) == (True, True)


def test_half_characters_and_controls_never_reach_a_text() -> None:
    """Databases, JSON and terminals cannot hold them."""
    page = ARTICLE.replace("Use the", "Use &#xD800; &#0; \x1b[31m the")
    for data, name in ((page.encode(), "a.html"), (b"Words \x1b[31m\x07 here", "a.txt")):
        text = extract(data, name).text
        assert not {"\x00", "\x1b", "\x07"} & set(text)
        text.encode()


@pytest.mark.slow
def test_a_pdf_is_read_up_to_its_largest_number_of_pages() -> None:
    """The same page, shown more often than a book has pages."""
    found = extract(hostile_pdf(kids=PDF_PAGES + 50))
    assert found.text.count(MARKER) == PDF_PAGES
