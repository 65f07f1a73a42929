"""Ledger rows made from accepted pages, and claims made from ledger rows."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from ....contracts.collection import TenantScope
from ....contracts.ingestion import Claim
from ....contracts.page import Validators
from ....ports.ledger import FAILED_BEFORE
from ....text.clean import to_unicode

if TYPE_CHECKING:
    import sqlite3

    from ....contracts.ingestion import Fetched, IngestionItem, KnownPages

_FETCH_FACTS: Final = ("fetched_at", "checked_at", "final_url", "canonical_url", "page_kind")
_OWN_FACTS: Final = frozenset({"ticket_id", FAILED_BEFORE, *_FETCH_FACTS})
"""Provenance that only the store writes: the ticket of a page, and how it was fetched."""


def build_row(
    collection: int, item: IngestionItem, shared: dict[str, Any], known: KnownPages
) -> dict[str, Any]:
    """Return the values of `ACCEPT` for one page."""
    said = {name: value for name, value in item.provenance.items() if name not in _OWN_FACTS}
    provenance = {**{key: value for key, value in shared.items() if value}, **said}
    return {
        "collection": collection,
        "url_key": item.url_key,
        "url": item.url,
        "title": to_unicode(item.title),
        "content_ref": item.content_ref,
        "provenance": json.dumps(provenance),
        "retries": known != "keep",
        "renews": known == "renew",
    }


def build_claim(row: sqlite3.Row) -> Claim:
    """Return the claim on a row, with the attempt and the fence that it is about to get."""
    fetched = json.loads(row["fetched"]) if row["fetched"] and row["text_hash"] else {}
    return Claim(
        row_id=row["id"],
        scope=TenantScope(row["tenant_id"], row["collection"]),
        url=row["url"],
        url_key=row["url_key"],
        title=row["title"],
        content_ref=None if row["refresh"] else row["content_ref"],
        provenance=json.loads(row["provenance"]),
        attempts=row["attempts"] + 1,
        fence=row["fence"] + 1,
        validators=Validators(**fetched.get("validators", {})),
        content_hash=fetched.get("body_hash"),
        text_hash=row["text_hash"],
        is_refresh=bool(row["refresh"]),
    )


def fetch_facts(fetched: Fetched | None) -> str | None:
    """Return the facts of a fetch as JSON, which the row stores."""
    return None if fetched is None else json.dumps(asdict(fetched))
