"""The sentence about a collection that there is not."""

from __future__ import annotations

from collection_search.cli.shared.missing_collection import explain_missing
from collection_search.errors import UnknownCollectionError


def test_a_long_list_is_cut() -> None:
    """Ten are named, and where the others are."""
    known = [f"topic-{letter}" for letter in "abcdefghijkl"]
    error = UnknownCollectionError("no", collection="x", known=known, tenant_id="local")
    told = str(explain_missing(error, []))
    assert told.startswith("There is no collection 'x'. Known: topic-a, ")
    assert told.endswith("topic-j, and 2 more: collection-search collections")
