import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.text.redaction import mask, mask_text

SECRETS = st.sampled_from(
    [
        "sk-ant-api03-AAAAbbbbCCCC", "tvly-abcdef123456", "AKIAIOSFODNN7EXAMPLE",
        "jane@example.com", "+49 30 1234567", "(555) 123-4567", "DE89370400440532013000",
        "AT61 1904 3002 3457 3201", "0123456789abcdef0123456789abcdef01234567",
        "q7Jf0Zx2Kp9LmW3tR8vYb1Nc5HdS6gUa4QeTiXwo0", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0",
    ]
)  # fmt: skip
PIECES = st.sampled_from(
    [
        " ", "-", "_", ".", ":", "=", "/", "://", "@", "+", "?key=", "&", '"', "'", "\\", "\n", "[",
        "]", "(", "token", "password: ", "Authorization: ", "Bearer ", "basic ", "DE12 ", "AT61",
        "0049", "030 ", "a", "Z9", "%40", "example.com", "https", "x" * 40,
        "-----BEGIN PRIVATE KEY-----",
    ]
)  # fmt: skip
TEXTS = st.lists(SECRETS | PIECES | st.text(max_size=5), max_size=14).map("".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
WORDS = st.text(st.characters(categories=["Ll", "Lu"]), min_size=1, max_size=12)


@pytest.mark.slow
@given(TEXTS)
def test_masking_twice_changes_nothing(text):
    """What was masked stays as it is, whatever stands beside it."""
    once = mask_text(text)
    assert mask_text(once) == once


@pytest.mark.slow
@given(SECRETS, st.lists(WORDS), st.lists(WORDS))
def test_no_secret_survives_between_words(secret, before, after):
    """A secret that stands for itself is found wherever it stands in a sentence."""
    assert secret not in mask_text(" ".join([*before, secret, *after]))


@pytest.mark.slow
@given(st.lists(WORDS, min_size=1))
def test_words_alone_are_never_masked(words):
    """Letters and blanks hold nothing to mask."""
    assert mask_text(" ".join(words)) == " ".join(words)


@pytest.mark.slow
@given(JSON)
def test_mask_keeps_the_shape_and_is_idempotent(value):
    """The copy differs from the original in strings only."""
    once = mask(value)
    assert _shape(once) == _shape(value)
    assert mask(once) == once


def _shape(value):
    if isinstance(value, dict):
        return {name: _shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_shape(inner) for inner in value]
    return str if isinstance(value, str) else value
