"""Words that were divided at the end of a line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.adapters.crawl.extract.hyphenation import join_hyphenated


@pytest.mark.parametrize(
    ("divided", "whole"),
    [
        ("appli\ufffecations", "applications"),
        ("appli-\ncations", "applications"),
        ("appli\xad\ncations", "applications"),
        ("Donau\xaddampf\xadschiff", "Donaudampfschiff"),
        ("well\ufffeknown", "well-known"),
        ("COVID\ufffe19", "COVID-19"),
        ("DNA\ufffebased", "DNA-based"),
        ("Baden-\nBaden", "Baden-Baden"),
        ("CUR\ufffeRENT", "CURRENT"),
        ("state-of-the-\nart", "state-of-the-art"),
        ("state\ufffeof-the-art", "state-of-the-art"),
        ("Haupt\ufffeund Neben\ufffesatz", "Haupt- und Nebensatz"),
        ("a pre-\nand post-war", "a pre- and post-war"),
        ("an e-mail by e\ufffemail", "an e-mail by e-mail"),
        ("to cooperate and co-\noperate", "to cooperate and cooperate"),
        ("one -\ntwo", "one -\ntwo"),
        ("x-\n12", "x-\n12"),
        ("- one\n- two", "- one\n- two"),
        ("end\ufffe", "end-"),
        ("con\ufffesid\ufffeering", "considering"),
    ],
)
def test_divided_words_are_whole_and_compounds_keep_their_hyphen(divided: str, whole: str) -> None:
    assert join_hyphenated(divided) == whole


@given(st.text(alphabet="ab-\n \ufffe\xad1A", max_size=60))
def test_no_mark_is_left_and_nothing_else_is_lost(text: str) -> None:
    """Whatever stands beside a mark."""
    joined = join_hyphenated(text)
    assert not {"\ufffe", "\xad"} & {*joined}
    assert [char for char in joined if char.isalnum()] == [char for char in text if char.isalnum()]
