import pytest

from collection_search.text.card_numbers import is_card_number, mask_cards


@pytest.mark.parametrize(
    "number",
    ["4111111111111111", "4222222222222", "5555555555554444", "378282246310005", "6011000990139424",
     "3530111333300000", "30569309025904", "6304000000000000000"],
)  # fmt: skip
def test_the_networks_own_test_numbers_are_cards(number):
    """Of 13 to 19 digits."""
    assert is_card_number(number)
    assert mask_cards(number) == "[card]"


@pytest.mark.parametrize(
    "digits",
    ["411111111111", "41111111111111111110", "4111111111111110", "0000000000000000", "1763851200002"],
)  # fmt: skip
def test_other_numbers_are_none(digits):
    """Too short, too long, without the check digit, or beginning with 0 or 1."""
    assert not is_card_number(digits)
    assert mask_cards(digits) == digits
