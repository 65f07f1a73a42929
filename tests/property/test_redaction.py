import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.text.card_numbers import CARD, is_card_number, mask_cards
from collection_search.text.redaction import mask, mask_text

SECRETS = st.sampled_from(
    [
        "sk-ant-api03-AAAAbbbbCCCC", "tvly-abcdef123456", "AKIAIOSFODNN7EXAMPLE",
        "jane@example.com", "+49 30 1234567", "(555) 123-4567", "DE89370400440532013000",
        "AT61 1904 3002 3457 3201", "0123456789abcdef0123456789abcdef01234567",
        "4111 1111 1111 1111", "3782-822463-10005", "6011000990139424",
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


@pytest.mark.slow
@given(st.text("0123456789", min_size=12, max_size=18), st.sampled_from("234568"), st.data())
def test_every_card_number_is_found_however_it_is_grouped(digits, first, data):
    """With its check digit it is masked, with any other it is not."""
    number = first + digits[1:]
    check = next(n for n in "0123456789" if is_card_number(number + n))
    cuts = data.draw(st.lists(st.sampled_from(["", " ", "-"]), min_size=len(number)))
    written = "".join(digit + cut for digit, cut in zip(number, cuts, strict=False)) + check
    assert mask_cards(written) == CARD
    assert mask_text(f"my card is {written}.") == f"my card is {CARD}."
    other = str((int(check) + 1) % 10)
    assert not is_card_number(number + other)


def _shape(value):
    if isinstance(value, dict):
        return {name: _shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_shape(inner) for inner in value]
    return str if isinstance(value, str) else value
