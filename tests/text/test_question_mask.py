"""Secrets in what was asked, and in the queries that are made of it."""

from __future__ import annotations

from collection_search.text.question_mask import QuestionMask

TOKEN = "Zx9YwVuTsRq8PoNmLkJi7HgFe"
STATE = {"question": "Why does asyncio fail?", "purpose": f"token=tvly-{TOKEN}"}


def test_a_query_made_of_the_purpose_shows_no_part_of_its_secret() -> None:
    """The words of both are searched for; those that are no secret stay."""
    masks = QuestionMask.of(STATE)
    shown = masks.mask({"queries": [f"asyncio fail token tvly {TOKEN}"], "url_key": TOKEN})
    assert shown == {"queries": ["asyncio fail token tvly [secret]"], "url_key": TOKEN}


def test_a_question_without_a_secret_masks_nothing_else() -> None:
    """Long words of a plain question are no secrets."""
    plain = "How are asynchronous generators finalized?"
    assert QuestionMask(plain).mask({"query": plain, "note": 3}) == {"query": plain, "note": 3}
