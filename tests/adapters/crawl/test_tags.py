"""Tags and attributes as browsers read them, without a parser."""

from __future__ import annotations

import pytest

from collection_search.adapters.crawl.tags import tags_in


@pytest.mark.parametrize(
    ("text", "hrefs"),
    [
        ("<a href=1><A\nHREF = '2'><a/href=\"3\"title=x>", ["1", "2", "3"]),
        ("<a href=1/><a href=2 href=3>", ["1/", "2"]),
        ("<a x='>' href=1><a x=\">\" href=2>", ["1", "2"]),
        ("<a href=' a&amp;b '>", ["a&b"]),
        ("<abbr href=1><aside href=2></a href=3>", []),
        ("<!-- <a href=1> --><a href=2><!-- <a href=3>", ["2"]),
        ("<!--><a href=1><!---><a href=2>", ["1", "2"]),
        ("<script><!-- <a href=1></script><a href=2>", ["2"]),
        ("<SCRIPT>'</scripted><a href=1>'</Script ><a href=2>", ["2"]),
        ("<script src=x /><a href=1><script><a href=2>", ["1"]),
        ("<style><a href=1></style><textarea><a href=2></textarea><title><a href=3></title>", []),
        ("<a href=1", []),
        (f"<a href={'x' * 3000}><a href=1>", ["1"]),
    ],
)
def test_tags(text: str, hrefs: list[str]) -> None:
    assert [href for one in tags_in(text, "a") if (href := one.get("href"))] == hrefs
