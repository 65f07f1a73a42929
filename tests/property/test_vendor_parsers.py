"""A sample of `benchmarks/fuzz_parsers.py`: no answer of a provider is an untyped exception."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.benchmark_modules import benchmark

from collection_search.adapters.http import HttpResponse
from collection_search.settings import registry
from collection_search.testing.provider_server import DIALECTS

fuzz = benchmark("fuzz_parsers")
PARSERS = fuzz.parsers()


def test_every_provider_has_a_parser_here():
    """All that talk to somebody outside."""
    assert PARSERS.keys() == {*registry.BUILTIN["search"], *DIALECTS} - {"offline"}


@pytest.mark.parametrize("name", PARSERS)
def test_real_answers_are_read(name):
    """The seeds of the mutations: rows, nothing, and refusals that have a code."""
    outcomes = {fuzz.outcome(PARSERS[name], seed) for seed in PARSERS[name].seeds}
    assert "rows" in outcomes


@pytest.mark.slow
@pytest.mark.parametrize("name", PARSERS)
@given(seed=st.integers(min_value=0))
def test_changed_answers_are_rows_or_typed_errors(name, seed):
    fuzz.outcome(PARSERS[name], fuzz.mutated(PARSERS[name].seeds, random.Random(seed)))


@pytest.mark.slow
@pytest.mark.parametrize("name", PARSERS)
@given(body=st.binary(max_size=200), status=st.integers(min_value=200, max_value=599))
def test_any_bytes_are_rows_or_typed_errors(name, body, status):
    fuzz.outcome(PARSERS[name], HttpResponse(status, {}, body))


@pytest.mark.parametrize("cost", ["-1000", "NaN", "1e999", "9" * 400, '"7"', "true", "[]", "0.007"])
def test_a_price_is_an_amount_or_none(cost):
    """Whatever Exa says that a search costs."""
    body = f'{{"results": [], "costDollars": {{"total": {cost}}}}}'
    response = HttpResponse(200, {}, body.encode())
    assert fuzz.outcome(PARSERS["exa"], response) == "no rows"
    assert PARSERS["exa"].search(response).cost_usd == (0.007 if cost == "0.007" else None)


def test_what_is_untyped_is_counted():
    """The program would notice."""

    def broken(response: HttpResponse) -> list[object]:
        raise KeyError(response.status)

    parser = fuzz.Parser("broken", broken, PARSERS["exa"].seeds)
    told = fuzz.tally(parser, 20, seed=1)
    assert told.outcomes == {"UNTYPED": 20}
    assert len(told.untyped) == 20


def test_the_same_seed_gives_the_same_inputs():
    first, second = (fuzz.tally(PARSERS["brave"], 50, seed=7) for _ in range(2))
    assert first.outcomes == second.outcomes
    assert len(first.outcomes) > 2
