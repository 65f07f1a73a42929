"""What a model wrote, from which the queries are read."""

from __future__ import annotations

import json

import pytest

from collection_search.adapters.models.plan_parsing import NoJsonError, parse_queries

ANSWER = json.dumps({"queries": ["asyncio cancel"]})
ENDLESS = 2_000_000


@pytest.mark.slow
@pytest.mark.parametrize("mark", ["<think>", "{", "[", "}", '{"a":', "<think></think>{"])
def test_an_endless_answer_ends_with_the_typed_error(mark):
    """Marks that are never closed are read once, not from every one of them to the end."""
    with pytest.raises(NoJsonError):
        parse_queries(mark * (ENDLESS // len(mark)))


@pytest.mark.parametrize(
    "text",
    [
        f"<think>{'long ' * 50_000}</think>{ANSWER}",
        f"<think>{{</think>{ANSWER}<think>}}</think>",
        f"<think></think>{ANSWER}<think>never closed",
        f"{ANSWER}{' ' * ENDLESS}",
        '{"queries": ["asyncio cancel"], "note": "<think>"}',
    ],
    ids=["long", "twice", "open", "blanks", "in a string"],
)
def test_thoughts_do_not_hide_the_answer(text):
    """However long they are and wherever they stand."""
    assert parse_queries(text) == ["asyncio cancel"]


def test_a_long_list_is_cut():
    """Whatever form it comes in."""
    answer = {"queries": [str(number) for number in range(60)]}
    assert parse_queries(answer) == parse_queries(json.dumps(answer)) == answer["queries"][:50]
