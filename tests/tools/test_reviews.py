"""What a decision about a review may name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest
from pydantic import ValidationError

from collection_search.tools.reviews import decision_model

if TYPE_CHECKING:
    from collection_search.contracts.review import ReviewCandidate


def candidates(*urls: str) -> list[ReviewCandidate]:
    return [cast("ReviewCandidate", {"url": url}) for url in urls]


def approved(urls: list[str], *named: str) -> list[str]:
    given: dict[str, Any] = {"status": "approved", "approved_urls": list(named)}
    return decision_model(candidates(*urls)).model_validate(given).approved_urls


def test_a_candidate_is_meant_by_a_likely_address() -> None:
    """As people write it; a candidate that has this very address comes first."""
    www, plain = "https://www.example.org/tea/", "http://example.org/tea"
    for typed in (www, plain, "https://example.org/tea/index.html"):
        assert approved([www, "https://example.org/coffee"], typed) == [www]
    assert approved([www, plain], plain, www) == [plain, www]


@pytest.mark.parametrize("typed", ["https://example.org/tea", "https://example.net/", "no url"])
def test_nothing_is_guessed(typed: str) -> None:
    """Two candidates are likely, or none is."""
    with pytest.raises(ValidationError, match="is no candidate"):
        approved(["https://www.example.org/tea/", "http://example.org/tea"], typed)
