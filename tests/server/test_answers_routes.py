"""Answers over the API: sentences whose citations lead to passages of stored documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.api_client import ONE, as_caller, open_api, put_page

from collection_search.testing import OpenAIServer

if TYPE_CHECKING:
    import httpx

TEA = "https://example.com/tea"
TEXT = "Green tea is steamed for half a minute, so that its leaves stay green."
ASKED = {"question": "How long is green tea steamed?"}


async def test_without_a_model_there_are_passages(api: httpx.AsyncClient) -> None:
    """Viewers may ask; the note says what to do for a written answer."""
    put_page(TEA, TEXT)
    answer = await api.post("/collections/docs/ask", json=ASKED, **as_caller(ONE, "viewer"))
    shown = answer.json()
    assert (shown["answer"], shown["reason"]) == (None, "no_model")
    assert shown["note"]
    (passage,) = shown["passages"]
    assert (passage["n"], passage["url"], passage["text"]) == (1, TEA, TEXT)
    assert passage["answers"] is True
    assert [TEXT[part["start"] : part["end"]] for part in passage["best"]] == [TEXT]
    assert shown["cost_usd"] == 0


async def test_another_language_is_told(api: httpx.AsyncClient) -> None:
    """Where words alone are compared, with what to do; the question in the same one is not."""
    put_page(TEA, TEXT)
    asked = {"question": "Wie lange wird der grüne Tee gedämpft?"}
    (notice,) = (await api.post("/collections/docs/ask", json=asked)).json()["notices"]
    assert notice.startswith("The question is in German, 'docs' is in English")
    assert (await api.post("/collections/docs/ask", json=ASKED)).json()["notices"] == []


async def test_white_space_does_not_count(api: httpx.AsyncClient) -> None:
    """The limit is that of the question's words, as the page counts them."""
    put_page(TEA, TEXT)
    answer = await api.post("/collections/docs/ask", json={"question": "tea  " * 500})
    assert answer.status_code == 200


async def test_citations_lead_to_the_place_in_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sentence names a passage, and the passage the characters of the stored text."""
    with OpenAIServer("It is steamed for half a minute [1]. Aliens help [7].") as server:
        monkeypatch.setenv("COLLECTION_SEARCH_MODEL", "openai:gpt-4o-mini")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test")
        put_page(TEA, TEXT)
        async with open_api() as api:
            shown = (await api.post("/collections/docs/ask", json=ASKED)).json()
            found = await api.get("/collections/docs/document", params={"url": TEA})
    first, second = shown["answer"]["sentences"]
    assert (first["citations"], first["supported"]) == ([1], True)
    assert (second["citations"], second["supported"]) == ([], False)
    assert shown["answer"]["removed"] == 1
    assert shown["cost_usd"] > 0
    (passage,) = [one for one in shown["passages"] if one["n"] in first["citations"]]
    text = "".join(chunk["text"] for chunk in found.json()["chunks"])
    assert text[passage["start"] : passage["end"]] == passage["text"]


@pytest.mark.parametrize(
    "asked", [{"question": ""}, {"question": "x" * 2001}, {}, {**ASKED, "k": 0}]
)
async def test_what_is_no_question_is_refused(
    api: httpx.AsyncClient, asked: dict[str, object]
) -> None:
    put_page(TEA, TEXT)
    assert (await api.post("/collections/docs/ask", json=asked)).status_code == 422
