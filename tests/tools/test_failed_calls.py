"""Failures as a model is told of them."""

from __future__ import annotations

import pytest
from support.hostile_texts import HOSTILE, assert_harmless

from collection_search.errors import (
    FetchError,
    InputError,
    SearchProviderBadResponse,
    SearchProviderUnavailable,
    UnknownCollectionError,
)
from collection_search.tools.failed_calls import (
    describe_failed_search,
    describe_failure,
    failed_call,
)

URL_FORM = "not an absolute http(s) URL with a host, such as https://example.com/page"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (InputError(URL_FORM), f"{URL_FORM}."),
        (InputError("write https://search.example.com, please"), None),
        (SearchProviderUnavailable("It is down."), "It is down. It may work later."),
        (SearchProviderBadResponse("No JSON"), "No JSON. The same call fails again."),
        (FetchError("No answer", reason="too_slow"), "No answer. It may work later."),
        (FetchError("Gone", reason="gone"), "Gone. The same call fails again."),
        (FetchError("No name", reason="dns_failed"), "No name. It may work later."),
        (
            FetchError("No name", reason="dns_failed", retryable=False),
            "No name. Check the name of the site, or try again later.",
        ),
        (
            UnknownCollectionError("Tenant 'acme' has none", collection="a", known=("b", "c")),
            "There is no collection 'a'. Known: b, c.",
        ),
        (KeyError("secret"), "something unexpected failed (KeyError). The log has the cause."),
    ],
)
def test_a_failure_says_what_to_do(error: Exception, text: str | None) -> None:
    """Advice stands where the error knows whether a retry may help."""
    assert describe_failure(error) == (text or f"{error}.")
    assert failed_call(error).text == f"Error: {describe_failure(error)}"


def test_a_failed_search_is_told_likewise() -> None:
    """An unexpected failure's own words are for the log."""
    error = {"kind": "KeyError", "message": "It is down", "retryable": True}
    told = "Search failed (provider_unavailable): It is down. It may work later."
    assert describe_failed_search("provider_unavailable", error) == told
    told = "Search failed (unexpected_error): KeyError. It may work later."
    assert describe_failed_search("unexpected_error", error) == told


def test_a_search_that_our_settings_made_fail_says_why() -> None:
    """The message of an error of ours is for everybody; the name of a function is no error."""
    error = {"kind": "ConfigError", "message": "Set COLLECTION_SEARCH_HOME", "retryable": False}
    told = describe_failed_search("unexpected_error", error)
    assert "(unexpected_error): Set COLLECTION_SEARCH_HOME. The same call fails" in told
    for kind in ("partial", "RETRYABLE_CODES", "__doc__", "annotations"):
        told = describe_failed_search("unexpected_error", {**error, "kind": kind})
        assert f": {kind}. The same call fails" in told


@pytest.mark.parametrize("name", sorted(HOSTILE))
@pytest.mark.parametrize("example", ["", " https://example.com/page ", "https://example.com/page"])
def test_words_of_others_have_no_effect(name: str, example: str) -> None:
    """One line, also where our example stands between them."""
    message = f"{HOSTILE[name]}{example}{HOSTILE[name]}"
    told = describe_failure(SearchProviderUnavailable(message))
    assert "\n" not in told
    assert_harmless(told.replace("https://example.com/page", "example"))
