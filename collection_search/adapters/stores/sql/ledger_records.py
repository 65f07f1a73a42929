"""Ledger rows made from accepted pages, and claims made from ledger rows."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from ....contracts.collection import TenantScope
from ....contracts.ingestion import Claim, ExtractedPage, Fetched
from ....contracts.page import PageRules, Validators
from ....ports.ledger import FAILED_BEFORE
from ....text.clean import to_unicode

if TYPE_CHECKING:
    from ....contracts.ingestion import IngestionItem, IngestionRequest
    from .connection import Row

_FETCH_FACTS: Final = (
    *("fetched_at", "checked_at", "final_url", "canonical_url", "page_kind", "truncated_at_page"),
)
_OWN_FACTS: Final = frozenset({"ticket_id", FAILED_BEFORE, *_FETCH_FACTS})
"""Provenance that only the store writes: the ticket of a page, and how it was fetched."""


def build_row(
    collection: int,
    item: IngestionItem,
    shared: dict[str, Any],
    request: IngestionRequest,
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
        "retries": request.known != "keep",
        "renews": request.known == "renew",
        "policy": rules_json(request.rules),
        "priority": request.priority,
    }


def rules_json(rules: PageRules | None) -> str | None:
    """Return the rules as the ledger stores them."""
    return None if rules is None else rules.model_dump_json(exclude_defaults=True)


def build_claim(row: Row, probes: tuple[str, ...] = ()) -> Claim:
    """Return the claim on a row, with the attempt and the fence that it is about to get."""
    fetched = json.loads(row["fetched"]) if row["fetched"] and row["text_hash"] else {}
    titles = fetched.get("title"), row["document_title"]
    conditions = fetched if None in titles or titles[0] == titles[1] else {}
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
        validators=Validators(**conditions.get("validators", {})),
        content_hash=conditions.get("body_hash"),
        page_kind=(fetched.get("kind") or _kind_of(row)) if fetched else "",
        parser=fetched.get("parser", ""),
        text_hash=row["text_hash"],
        document_title=row["document_title"],
        fetched_title=fetched.get("title"),
        is_refresh=bool(row["refresh"]),
        extracted=_extracted(row),
        rules=PageRules.model_validate_json(row["policy"]) if row["policy"] else None,
        probes=probes,
    )


def extracted_json(page: ExtractedPage) -> str:
    """Return title and fetch of a page whose text is staged, as the ledger stores them."""
    return json.dumps({"title": to_unicode(page.title), "fetched": _plain(page.fetched)})


def _extracted(row: Row) -> ExtractedPage | None:
    if row["extracted_ref"] is None:
        return None
    page = json.loads(row["extracted"])
    fetched = page["fetched"]
    fetched["validators"] = Validators(**fetched["validators"])
    return ExtractedPage(row["extracted_ref"], page["title"], Fetched(**fetched))


def fetch_facts(fetched: Fetched | None) -> str | None:
    """Return the facts of a fetch as JSON, which the row stores."""
    return None if fetched is None else json.dumps(_plain(fetched))


def _plain(fetched: Fetched) -> dict[str, Any]:
    """Return the facts as JSON-plain values; a version before `parser` reads those without one."""
    return {name: one for name, one in asdict(fetched).items() if one or name != "parser"}


def _kind_of(row: Row) -> str:
    """Return the kind of the stored page from its document: earlier versions lost it by a 304."""
    return json.loads(row["document_facts"] or "{}").get("page_kind") or ""
