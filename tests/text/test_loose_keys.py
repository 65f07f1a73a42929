import pytest

from collection_search.text.loose_keys import current_key, loose_url_key, similar_keys
from collection_search.text.urls import normalize_url, url_key

from .test_urls import DIFFERENT_PAGES, LIKELY_THE_SAME, SAME_PAGE


@pytest.mark.parametrize(("one", "other"), LIKELY_THE_SAME + SAME_PAGE)
def test_addresses_of_likely_one_page_are_found(one, other):
    """By one loose key, and each among the keys that are similar to the other."""
    assert loose_url_key(one) == loose_url_key(other)
    assert url_key(one) in similar_keys(other)
    assert similar_keys(one) == similar_keys(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT_PAGES)
def test_different_pages_are_not_similar(one, other):
    """Only a slash at the end of a route is ignored by neither key."""
    assert loose_url_key(one) != loose_url_key(other)
    assert url_key(one) not in similar_keys(other)


@pytest.mark.parametrize("url", [one for pair in LIKELY_THE_SAME + SAME_PAGE for one in pair])
def test_a_key_of_an_earlier_version_becomes_that_of_today(url):
    """Once: the key of today stays, and so does one that is no key of the URL."""
    normal = normalize_url(url)
    key = current_key(normal, loose_url_key(normal))
    assert key == url_key(normal) == current_key(normal, key)
    assert current_key(normal, "elsewhere.example/a") == "elsewhere.example/a"


def test_routes_and_own_keys_stay():
    """A stored URL has no fragment, but its key may have a route; a text may have no URL."""
    stored = "http://www.example.com/"
    assert current_key(stored, "example.com#!/inbox") == "http://www.example.com/#!/inbox"
    assert current_key("langchain:my id", "my id") == "my id"
