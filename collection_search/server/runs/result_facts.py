"""Facts of a run's results that its output does not have: dates, and what is stored by now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from ...contracts.collection import TenantScope
from ...runtime.concurrency import offload
from ...text.urls import url_key

if TYPE_CHECKING:
    from ...context import SearchContext
    from ...contracts.server_run import ServerRun


class ResultFacts(TypedDict):
    """What is known of one result beside its scores."""

    published_date: str | None
    in_collection: bool
    """Whether the run's collection has the page now."""


async def read_result_facts(run: ServerRun, context: SearchContext) -> dict[str, ResultFacts]:
    """Return the facts of the run's results by their URL. Raises StoreError."""
    if not run.pages:
        return {}
    keys = {page["url"]: url_key(page["url"]) for page in run.pages}
    store = await context.storage()
    scope = TenantScope(run.tenant_id, run.collection)
    stored = await offload(store.collections.get, scope, list(keys.values()))
    known = {
        key for document, _ in stored for key in (document.url_key, *map(url_key, document.also_at))
    }
    return {
        page["url"]: {
            "published_date": page.get("published_date"),
            "in_collection": keys[page["url"]] in known,
        }
        for page in run.pages
    }
