"""Stems as lexemes of PostgreSQL's full-text search."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("psycopg")

from collection_search.adapters.stores.postgres.words import lexemes, to_tsvector


@given(st.text(st.characters(codec="ascii")))
def test_plain_words_are_divided_like_all_others(stems: str) -> None:
    """The shorter way for ASCII has the result of the other one."""
    assert [*lexemes(stems), "e"] == lexemes(f"{stems} é")


@given(st.text(), st.text())
def test_each_word_has_a_place(title: str, body: str) -> None:
    """Those of the title have the weight A."""
    titled, said = lexemes(title), lexemes(body)
    written = to_tsvector(titled, said)
    assert written.count("A") >= len({*titled})
    assert all(f"'{word}':" in written for word in titled + said)
