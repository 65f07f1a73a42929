"""What an adapter returns that is no response of the port."""

from __future__ import annotations

from typing import Any

import pytest

from collection_search.contracts.search import SearchAdapterResponse
from collection_search.errors import SearchProviderBadResponse
from collection_search.tools.search.response_validation import validate_response


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("notices", None, "`notices` are NoneType"),
        ("notices", "slow", "`notices` are str"),
        ("applied", None, "`applied` are NoneType"),
        ("applied", ["native"], "`applied` are list"),
    ],
)
def test_a_part_of_a_wrong_form_is_told(name: str, value: Any, told: str) -> None:
    """By its name, with what is wanted."""
    answer = SearchAdapterResponse(results=[], status_code=200)
    assert validate_response(answer, provider="own") is answer
    setattr(answer, name, value)
    with pytest.raises(SearchProviderBadResponse, match=f"own returned .*{told}.*status_code=200"):
        validate_response(answer, provider="own")
