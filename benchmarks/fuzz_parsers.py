"""What becomes of broken answers: every parser of search providers under mutated real ones.

    .venv/bin/python benchmarks/fuzz_parsers.py [INPUTS_PER_PARSER] [--seed N] [--only PARSER]

The bodies of the vendors' doubles, good ones and refusals, are changed at random: values replaced,
taken out, doubled and moved, bytes cut, turned and inserted, statuses and headers exchanged. A
search may give rows, for an amount that can be, or raise a SearchProviderError; anything else is
printed with the input that caused it, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from answer_mutations import STATUSES, json_bytes, mutated
from langchain_core.documents import Document
from langchain_core.messages import ToolMessage

from collection_search.adapters.http import HttpRequest, HttpResponse
from collection_search.adapters.search.ddgs import DdgsSearch
from collection_search.adapters.search.google import GoogleSearchAdapter
from collection_search.adapters.search.langchain_shapes import UnknownShapeError, extract_rows
from collection_search.cassette.codec import search_answer
from collection_search.contracts.options import NO_OPTIONS, SearchOptions
from collection_search.contracts.prices import parse_usd
from collection_search.contracts.search import SearchAdapterResponse
from collection_search.errors import SearchProviderBadResponse, SearchProviderError
from collection_search.settings import registry
from collection_search.settings.endpoint_description import JsonApi
from collection_search.testing.provider_server import DIALECTS
from collection_search.testing.providers.google import ENGINE_ID
from collection_search.testing.providers.json_endpoint import JsonEndpoint
from collection_search.testing.providers.sample_index import find_hits as pages
from collection_search.testing.providers.wire import KEY, Dialect, ProviderRequest
from collection_search.tools.search.billing import cost_of
from collection_search.tools.search.normalize import valid_results
from collection_search.tools.search.response_validation import validate_response

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

INPUTS: Final = 100_000
QUERIES: Final = ("asyncio", "markup", "qzxv jwkpf")
WISHES: Final = (NO_OPTIONS, SearchOptions(topic="news", include_content=True))


@dataclass
class Parser:
    """One parser, with what it gets from the real provider."""

    name: str
    search: Callable[[HttpResponse], SearchAdapterResponse]
    """Raises SearchProviderError alone."""
    seeds: Sequence[HttpResponse]


@dataclass
class Tally:
    """What became of the inputs of one parser."""

    outcomes: Counter[str] = field(default_factory=Counter)
    untyped: list[tuple[HttpResponse, BaseException]] = field(default_factory=list)
    seconds: float = 0.0
    slowest_s: float = 0.0
    """Of the processor, so that a busy machine changes nothing; so are `seconds`."""


def parsers() -> dict[str, Parser]:
    """Return the parser of every provider by name."""
    found = {name: _of_vendor(name, DIALECTS[name]()) for name in sorted(DIALECTS)}
    found["json_api"] = _of_vendor("json_api", JsonEndpoint())
    tools = [found[name].seeds[0] for name in ("tavily", "serper", "exa", "searxng", "serpapi")]
    found["langchain"] = Parser("langchain", _langchain, tools)
    rows = [{"title": p.title, "href": p.url, "body": p.snippet} for p in pages("asyncio")[:3]]
    found["ddgs"] = Parser("ddgs", _ddgs, [HttpResponse(200, {}, json_bytes(rows))])
    return found


def outcome(parser: Parser, response: HttpResponse) -> str:
    """Return what became of the answer. Raises what is neither rows nor a SearchProviderError."""
    try:
        answer = validate_response(parser.search(response), provider=parser.name)
    except SearchProviderError as error:
        str(error)
        return error.code
    rows, cost = answer.results, cost_of(parser.name, answer)
    if cost is not None and parse_usd(cost) is None:
        raise ValueError(f"an amount that cannot be: {cost!r}")
    json.dumps(search_answer(answer), allow_nan=False)
    for row in rows:
        if not (isinstance(row.url, str) and isinstance(row.title, str)):
            raise TypeError(f"a row of other types: {row!r}")
    valid_results(rows, provider=parser.name, dropped=str)
    return "rows" if rows else "no rows"


def tally(parser: Parser, inputs: int, seed: int) -> Tally:
    """Return what became of that many inputs."""
    rng, told = random.Random(f"{parser.name} {seed}"), Tally()
    for _ in range(inputs):
        response = mutated(parser.seeds, rng)
        started = time.thread_time()
        try:
            told.outcomes[outcome(parser, response)] += 1
        except Exception as error:  # noqa: BLE001 - it is what is looked for
            told.outcomes["UNTYPED"] += 1
            told.untyped.append((response, error))
        took = time.thread_time() - started
        told.seconds += took
        told.slowest_s = max(told.slowest_s, took)
    return told


def _of_vendor(name: str, dialect: Dialect) -> Parser:
    make = registry.load_adapter("search", name)
    access: dict[str, Any] = {"base_url": "http://127.0.0.1", "today": lambda: date(2026, 3, 3)}
    if make.key_variable:
        access["api_key"] = KEY
    if make is GoogleSearchAdapter:
        access["search_engine_id"] = ENGINE_ID
    if isinstance(dialect, JsonEndpoint):
        access |= {"api_key": KEY, "name": "intranet"}
        access["description"] = JsonApi.model_validate(dialect.description)
    vendor: Any = make(**access)
    replies = [
        dialect.answer(_received(vendor.request(query, 3, 0, vendor.taken(wish))))
        for query in QUERIES
        for wish in WISHES
    ]
    replies += [failure.reply for failure in dialect.failures().values()]
    seeds = [
        HttpResponse(each.status, {k.lower(): v for k, v in each.headers.items()}, each.body)
        for each in replies
    ]
    loop = asyncio.new_event_loop()

    def search(response: HttpResponse) -> SearchAdapterResponse:
        async def sent(request: HttpRequest, *, timeout_s: float) -> HttpResponse:  # noqa: ARG001
            return response

        vendor.transmit = sent
        call: Any = vendor.asearch("asyncio", max_results=3)
        return loop.run_until_complete(call)  # type: ignore[no-any-return]

    return Parser(name, search, seeds)


def _received(request: HttpRequest) -> ProviderRequest:
    headers = {name.lower(): value for name, value in request.headers.items()}
    headers.pop("accept-encoding", None)  # bodies that can be read
    return ProviderRequest(
        request.method,
        urlsplit(request.url).path,
        {name: str(value) for name, value in (request.params or {}).items()},
        {"user-agent": "fuzz", **headers},
        body=request.json,
    )


def _langchain(response: HttpResponse) -> SearchAdapterResponse:
    """Read the body as a tool may give it: as text, as values, as documents, in a message."""
    given: Any = response.text()
    if response.status != STATUSES[0]:
        try:
            given = response.json()
        except ValueError:
            given = response.text()
    if isinstance(given, list) and response.status > STATUSES[-3]:
        given = [Document(str(each), metadata={"url": "https://a.org/"}) for each in given]
    elif response.status in {401, 403} and isinstance(given, str | list):
        content = given if isinstance(given, str) else [str(each) for each in given]
        given = ToolMessage(content, tool_call_id="1", artifact=response.status)
    try:
        return SearchAdapterResponse(extract_rows(given, source="langchain")[0], STATUSES[0])
    except UnknownShapeError as error:
        raise SearchProviderBadResponse(str(error)) from error


def _ddgs(response: HttpResponse) -> SearchAdapterResponse:
    """Read the results in the body as the library may give them."""
    try:
        body = response.json()
    except ValueError:
        body = response.text()
    found = body.get("results", body) if isinstance(body, dict) else body

    class Library:
        def __init__(self, timeout: int) -> None:
            self.timeout = timeout

        def text(self, query: str, **keywords: Any) -> Any:  # noqa: ARG002
            return found

    return DdgsSearch(client=Library).search("asyncio", max_results=5)


def main() -> int:
    """Print one line for each parser; return 1 when something untyped came out of one."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("inputs", nargs="?", type=int, default=INPUTS)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--only", metavar="PARSER")
    given = arguments.parse_args()
    failed = 0
    heads = ("inputs", "rows", "no rows", "typed", "untyped", "us/input", "slowest ms")
    print("parser      " + "".join(f"{head:>11}" for head in heads))
    for name, parser in parsers().items():
        if given.only in {None, name}:
            told = tally(parser, given.inputs, given.seed)
            counts = told.outcomes
            typed = counts.total() - counts["rows"] - counts["no rows"] - counts["UNTYPED"]
            numbers = (given.inputs, counts["rows"], counts["no rows"], typed, counts["UNTYPED"])
            each_us = 1e6 * told.seconds / max(1, given.inputs)
            times = f"{each_us:>11.0f}{1e3 * told.slowest_s:>11.1f}"
            print(f"{name:<12}" + "".join(f"{n:>11}" for n in numbers) + times, flush=True)
            failed += len(told.untyped)
            for response, error in told.untyped[:3]:
                print(f"  {error!r} from HTTP {response.status}: {response.body[:300]!r}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
