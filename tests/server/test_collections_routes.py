"""Collections over the API: listed, searched, deleted, and never another tenant's."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from support.api_client import ONE, TWO, as_caller, process_store, put_page

from collection_search.contracts.collection import TenantScope
from collection_search.server.routes import collections as routes

if TYPE_CHECKING:
    import httpx

TEA = "https://example.com/tea"
MANY = 5_000


async def test_the_list_has_figures_and_times(api: httpx.AsyncClient) -> None:
    put_page(TEA, "Green tea from Japan.")
    put_page("https://example.com/coffee", "Coffee from Brazil.", collection="a / b")
    shown = (await api.get("/collections")).json()["collections"]
    assert [(one["name"], one["documents"], one["chunks"]) for one in shown] == [
        ("a / b", 1, 1),
        ("docs", 1, 1),
    ]
    assert shown[0]["updated_at"].endswith("Z")
    assert shown[0]["open_gates"] == 0
    assert (await api.get("/collections/docs")).json() == shown[1]
    assert (await api.get("/collections/a%20%2F%20b")).json() == shown[0]


@pytest.mark.parametrize(
    "name",
    [
        *("x/documents", "x/document", "x/coverage", "x/refresh", "x/ask", "x/documents/documents"),
        *("documents", "a/b", "50%", "50%2Fa", "ä/ü ?#", "%25/documents", "/x/", "../../me"),
    ],
)
async def test_a_name_that_looks_like_a_path(api: httpx.AsyncClient, name: str) -> None:
    """It is shown, listed, asked and deleted like any other, and it is not the path of `x`."""
    put_page(TEA, "Green tea from Japan.", collection=name)
    put_page("https://example.com/x", "The text of x.", collection="x")
    path = f"/collections/{quote(name, safe='')}"
    assert (await api.get(path)).json()["name"] == name
    (listed,) = (await api.get(f"{path}/documents")).json()["documents"]
    assert listed["url"] == TEA
    assert (await api.get(f"{path}/document", params={"url": TEA})).status_code == 200
    assert (await api.get(f"{path}/refresh")).json()["status"] == "none"
    assert (await api.get(f"{path}/coverage")).json()["documents"] == 1
    asked = await api.post(f"{path}/ask", json={"question": "Which tea?"})
    assert asked.json()["collection"] == name
    assert (await api.delete(path)).json() == {"documents": 1}
    assert [one["name"] for one in (await api.get("/collections")).json()["collections"]] == ["x"]


async def test_slashes_as_they_are(api: httpx.AsyncClient) -> None:
    """They are understood where they can mean one thing only."""
    put_page(TEA, "tea", collection="a/b")
    assert (await api.get("/collections/a/b")).json()["name"] == "a/b"
    assert (await api.get("/collections/a/b/documents")).json()["total"] == 1


async def test_without_collections_the_list_is_empty(api: httpx.AsyncClient) -> None:
    assert (await api.get("/collections")).json() == {"collections": []}


@pytest.mark.slow
async def test_thousands_of_documents_are_read_a_page_at_a_time(api: httpx.AsyncClient) -> None:
    """A page holds what was asked for alone, whatever the number of all is."""
    for n in range(MANY):
        put_page(f"https://example.com/{n:04}", f"text {n}", title=f"Straße {n}")
    page = (await api.get("/collections/docs/documents", params={"offset": 4_990})).json()
    assert page["total"] == MANY
    assert [one["url"][-4:] for one in page["documents"]] == [f"{n}" for n in range(4990, MANY)]
    found = await api.get("/collections/docs/documents", params={"search": "STRASSE 499"})
    assert found.json()["total"] == len([n for n in range(MANY) if "499" in f"{n:04}"])
    assert len((await api.get("/collections/docs/documents")).json()["documents"]) == 50


async def test_a_document_comes_with_its_text(api: httpx.AsyncClient) -> None:
    put_page(TEA, "Green tea from Japan.", fetched_at="2026-11-25T10:00:00Z")
    (listed,) = (await api.get("/collections/docs/documents")).json()["documents"]
    assert listed["fetched_at"] == "2026-11-25T10:00:00Z"
    whole = (await api.get("/collections/docs/document", params={"url": TEA})).json()
    assert [chunk["text"] for chunk in whole["chunks"]] == ["Green tea from Japan."]
    missing = await api.get("/collections/docs/document", params={"url": f"{TEA}/none"})
    assert missing.status_code == 404


async def test_a_document_is_written_beside_the_loop(
    api: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large one would hold up all other requests; its description stays that of its fields."""
    put_page(TEA, "Green tea from Japan.")
    threads = []

    class Watched(routes.WholeDocument):
        def __init__(self, **fields: Any) -> None:
            threads.append(threading.current_thread())
            super().__init__(**fields)

    monkeypatch.setattr(routes, "WholeDocument", Watched)
    whole = await api.get("/collections/docs/document", params={"url": TEA})
    assert (whole.headers["content-type"], whole.json()["url"]) == ("application/json", TEA)
    assert threads
    assert threading.main_thread() not in threads
    described = (await api.get("/openapi.json")).json()
    path = described["paths"]["/app/api/collections/{name}/document"]["get"]
    assert path["responses"]["200"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/WholeDocument"
    }


async def test_deleted_documents_are_gone(api: httpx.AsyncClient) -> None:
    put_page(TEA, "tea")
    put_page("https://example.com/coffee", "coffee")
    answer = await api.request(
        "DELETE", "/collections/docs/documents", json={"urls": [TEA, "https://example.com/none"]}
    )
    assert answer.json() == {"deleted": [TEA], "unknown": ["https://example.com/none"]}
    left = (await api.get("/collections/docs/documents")).json()["documents"]
    assert [one["url"] for one in left] == ["https://example.com/coffee"]


async def test_a_deleted_collection_is_gone(api: httpx.AsyncClient) -> None:
    put_page(TEA, "tea")
    put_page(TEA, "tea", tenant=TWO)
    assert (await api.delete("/collections/docs")).json() == {"documents": 1}
    assert (await api.get("/collections/docs")).status_code == 404
    assert len(process_store().collections.hashes(TenantScope(TWO, "docs"))) == 1


@pytest.mark.parametrize("role", ["viewer", "reviewer"])
async def test_only_admins_delete(api: httpx.AsyncClient, role: str) -> None:
    put_page(TEA, "tea")
    caller = as_caller(ONE, role)
    assert (await api.delete("/collections/docs", **caller)).status_code == 403
    refused = await api.request(
        "DELETE", "/collections/docs/documents", json={"urls": [TEA]}, **caller
    )
    assert refused.status_code == 403
    assert (await api.get("/collections/docs", **caller)).json()["documents"] == 1


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None),
        ("GET", "/documents", None),
        ("GET", f"/document?url={TEA}", None),
        ("GET", "/coverage", None),
        ("POST", "/coverage", {"question": "Which tea?"}),
        ("GET", "/refresh", None),
        ("POST", "/refresh", {}),
        ("POST", "/ask", {"question": "Which tea?"}),
        ("DELETE", "/documents", {"urls": [TEA]}),
        ("DELETE", "", None),
    ],
)
async def test_another_tenant_s_collection_does_not_exist(
    api: httpx.AsyncClient, method: str, path: str, body: dict[str, object] | None
) -> None:
    """It is answered as a name that nobody has."""
    put_page(TEA, "tea", collection="theirs", tenant=TWO)
    answers = [
        await api.request(method, f"/collections/{name}{path}", json=body)
        for name in ("theirs", "nowhere")
    ]
    assert [one.status_code for one in answers] == [404, 404]
    assert answers[0].text.replace("theirs", "nowhere") == answers[1].text
    assert "tenant-two" not in answers[0].text
    assert len(process_store().collections.hashes(TenantScope(TWO, "theirs"))) == 1


@pytest.mark.parametrize("limit", [0, 501, "many"])
async def test_a_wrong_part_is_refused(api: httpx.AsyncClient, limit: object) -> None:
    put_page(TEA, "tea")
    answer = await api.get("/collections/docs/documents", params={"limit": str(limit)})
    assert answer.status_code == 422
    assert answer.json()["error"]["fields"][0]["field"] == "limit"
