"""The API of the page, called without a browser: what a test needs before it opens the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import httpx
from support.waiting import wait_until

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

PATIENCE_S: Final = 120.0
QUESTION: Final = "How do I cancel an asyncio task after a timeout?"


class PageApi:
    """A client of the API inside a `with` block; all of its answers are successes."""

    def __init__(self, url: str, token: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.Client(
            base_url=f"{url}/app/api", headers=headers, timeout=PATIENCE_S, trust_env=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._client.close()

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        return self._answer(self._client.get(path, params=query))

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        return self._answer(self._client.post(path, json=body))

    def delete(self, path: str) -> dict[str, Any]:
        return self._answer(self._client.delete(path))

    def run(
        self,
        collection: str,
        question: str = QUESTION,
        *,
        graph: str = "collection_search",
        context: dict[str, Any] | None = None,
        **given: Any,
    ) -> dict[str, Any]:
        """Run a graph until it is done or waits, and return the run."""
        fields = {"question": question, "collection_scope": collection, **given}
        begun = self.post("/runs", graph=graph, input=fields, context=context or {})
        return self.ended(begun["run_id"])

    def ended(self, run_id: str) -> dict[str, Any]:
        """Return the run once it is done or waits."""
        wait_until(lambda: self.get(f"/runs/{run_id}")["status"] != "running", timeout_s=PATIENCE_S)
        return self.get(f"/runs/{run_id}")

    def filled(self, collection: str, question: str = QUESTION, **given: Any) -> None:
        """Run with ingestion, and return once the pages are stored."""
        run = self.run(collection, question, auto_ingest=True, **given)
        ticket = f"/tickets/{run['output']['ingestion']['ticket']}"
        wait_until(lambda: self.get(ticket)["done"], timeout_s=PATIENCE_S)

    def documents(self, collection: str) -> list[dict[str, Any]]:
        """Return the first documents of a collection."""
        found: list[dict[str, Any]] = self.get(f"/collections/{collection}/documents")["documents"]
        return found

    @staticmethod
    def _answer(response: httpx.Response) -> dict[str, Any]:
        assert response.is_success, f"{response.status_code}: {response.text[:2000]}"
        return dict(response.json())
