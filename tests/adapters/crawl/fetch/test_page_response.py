"""Refusals that are challenges, by their header or their body."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import pytest
from support.small_site import SmallSite, answer

from collection_search.adapters.crawl.fetch.fetcher import FetchPolicy, SafeFetcher
from collection_search.errors import FetchError
from collection_search.testing.hostile_site.replies import PAGE
from collection_search.testing.hostile_site.stand_in_pages import CHALLENGES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

CHALLENGE = CHALLENGES["Cloudflare"]


@pytest.fixture
async def site() -> AsyncIterator[SmallSite]:
    async with SmallSite({"/page": answer()}) as site:
        yield site


async def error_of(site: SmallSite, reply: bytes, **changes: Any) -> FetchError:
    site.routes["/page"] = reply
    allowed = frozenset({site.address})
    fetcher = SafeFetcher(FetchPolicy(min_delay_s=0.0, allowed_addresses=allowed, **changes))
    try:
        with pytest.raises(FetchError) as caught:
            await fetcher.fetch(site.url("/page"))
    finally:
        await fetcher.aclose()
    return caught.value


@pytest.mark.parametrize("status", [403, 429, 503])
@pytest.mark.parametrize("packed", [False, True])
async def test_a_challenge_is_known_by_its_body(site: SmallSite, status: int, packed: bool) -> None:
    """It is not tried again, and says what to do."""
    reply = answer(CHALLENGE, status)
    if packed:
        reply = answer(gzip.compress(CHALLENGE), status, Content_Encoding="gzip")
    error = await error_of(site, reply)
    assert (error.reason, error.retryable, error.status) == ("challenge", False, status)
    assert "What is stored of the page stays" in str(error)


@pytest.mark.parametrize("status", [200, 403, 503])
async def test_a_challenge_is_known_by_its_header(site: SmallSite, status: int) -> None:
    assert (
        await error_of(site, answer(PAGE, status, cf_mitigated="challenge"))
    ).reason == "challenge"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (answer(PAGE, 403), "needs_login"),
        (answer(b"<h1>Access Denied</h1>", 403), "needs_login"),
        (answer(b"\xff\x00" * 90_000, 403), "needs_login"),
        (answer(b"no gzip", 403, Content_Encoding="gzip"), "needs_login"),
        (answer(CHALLENGE, 404), "gone"),
        (answer(PAGE, 429), "rate_limited"),
        (answer(b"", 503), "rate_limited"),
    ],
)
async def test_other_refusals_keep_their_reason(site: SmallSite, reply: bytes, reason: str) -> None:
    """Whatever stands in the body, and if it cannot be read at all."""
    assert (await error_of(site, reply)).reason == reason
