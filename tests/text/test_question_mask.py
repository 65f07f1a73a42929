"""Secrets in what was asked, and in the queries that are made of it."""

from __future__ import annotations

from typing import Any

import pytest

from collection_search.text.question_mask import QuestionMask

TOKEN = "Zx9YwVuTsRq8PoNmLkJi7HgFe"
STATE = {"question": "Why does asyncio fail?", "purpose": f"token=tvly-{TOKEN}"}


def test_a_query_made_of_the_purpose_shows_no_part_of_its_secret() -> None:
    """The words of both are searched for; those that are no secret stay."""
    masks = QuestionMask.of(STATE)
    shown = masks.mask({"queries": [f"asyncio fail token tvly {TOKEN}"]})
    assert shown == {"queries": ["asyncio fail token tvly [secret]"]}


@pytest.mark.parametrize(
    "fact",
    [
        {"url": f"https://example.com/commit/{TOKEN}"},
        {"urls": [f"https://example.com/{TOKEN}"]},
        {"title": TOKEN, "snippet": f"of {TOKEN}", "source": TOKEN},
        {"url_key": TOKEN, "content_ref": TOKEN, "case_id": TOKEN, "collection_scope": TOKEN},
        {"evidence": [{"text": TOKEN, "score": 3.0}]},
        {"approved_urls": [TOKEN], "added_urls": [TOKEN]},
    ],
)
def test_pages_and_ids_stay(fact: dict[str, Any]) -> None:
    """They are what the web and other programs say, also where the question has the same words."""
    assert QuestionMask.of(STATE).mask({"results": [fact]}) == {"results": [fact]}


@pytest.mark.parametrize("name", ["query", "message", "explanation", "comment"])
def test_what_is_written_about_a_page_is_masked(name: str) -> None:
    """It may repeat what was asked."""
    page = {"url": f"https://example.com/{TOKEN}", name: [{"matched": [TOKEN]}]}
    shown = QuestionMask.of(STATE).mask({"results": [page]})
    assert shown == {"results": [page | {name: [{"matched": ["[secret]"]}]}]}


def test_a_question_without_a_secret_masks_nothing_else() -> None:
    """Long words of a plain question are no secrets."""
    plain = "How are asynchronous generators finalized?"
    assert QuestionMask(plain).mask({"query": plain, "note": 3}) == {"query": plain, "note": 3}
