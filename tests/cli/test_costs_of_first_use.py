"""`costs` equals what the servers counted where an embedder is new, and a ceiling ends each work.

The default ranking measures the scale of a new embedder on its anchors: they are paid for too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from support.labelled_data import write_dataset
from support.paid_world import QUERIES, PaidWorld

from collection_search import SearchContext
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.price_list import LIST_PRICES
from collection_search.contracts.prices import total_cost
from collection_search.ranking.anchors import anchor_texts
from collection_search.runtime.concurrency import run_blocking
from collection_search.settings.process_defaults import process_settings
from collection_search.testing.stores.suite import chunks, document
from collection_search.tools.reembed import BATCH
from collection_search.tools.spending.spend_writer import spend_writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.command_line import Invoke

CHAT, EMBEDDER = "gpt-4o-mini", "openai:text-embedding-3-small"
SCOPE = TenantScope("local", "tea")
TEXT = "Green tea is a leaf that was not oxidised and keeps its colour in the cup. "
REPLIES: dict[str, Any] = {"ask": "Green tea is a leaf that was not oxidised [1]."}
FREE = {"per_thousand_requests": 0}
Counted = dict[str, tuple[int, int, int, float]]
"""By name: requests, tokens of input and of output, and their price in US dollars."""


@dataclass
class Work:
    """A command that is the first to use an embedder."""

    kind: str
    arguments: tuple[str, ...]
    chunks: int = 0
    """Chunks that the collection has before."""
    is_embedded: bool = False
    """Whether these have vectors."""
    anchors: int = 1
    """Requests for anchors that it makes."""
    codes: dict[float, int] = field(default_factory=dict)
    """Exit codes by the share of the cost that the ceiling allows."""


RUN = ("run", "How is green tea made?", "--provider", "tavily", "--collection", "tea")
WORK = [
    Work("run", RUN, codes={0: 4, 0.4: 0, 0.999: 0}),
    Work(
        "ingest",
        (*RUN, "--provider", "scripted", "--auto-ingest", "--min-score", "0", "--top-k", "3"),
        codes={0: 5, 0.4: 0, 0.999: 0},
    ),
    Work(
        "ask",
        ("ask", "How is green tea made?", "--collection", "tea"),
        chunks=2,
        is_embedded=True,
        codes={0: 4, 0.4: 4, 0.999: 4},
    ),
    Work(
        "reembed",
        ("collections", "reembed", "tea", "--yes"),
        chunks=2 * BATCH,
        anchors=0,
        codes={0: 4, 0.4: 4, 0.999: 4},
    ),
    Work("eval", ("eval", "--yes", "--dataset"), codes={0: 4, 0.4: 4, 0.999: 4}),
]


@pytest.fixture(params=WORK, ids=lambda work: work.kind)
def work(request: pytest.FixtureRequest) -> Work:
    work: Work = request.param
    return work


@pytest.fixture
def world(work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PaidWorld]:
    """The servers, named by the environment alone, and the collection as the work needs it."""
    with PaidWorld(tmp_path, reply=REPLIES.get(work.kind, {"queries": QUERIES})) as world:
        access = {"api_key": world.search.dialect.key, "base_url": world.search.base_url}
        for name, value in {
            "COLLECTION_SEARCH_MODEL": f"openai:{CHAT}",
            "COLLECTION_SEARCH_EMBEDDINGS": EMBEDDER,
            "COLLECTION_SEARCH_PROVIDERS": json.dumps({"tavily": access}),
            "COLLECTION_SEARCH_PRICES": json.dumps({"search": {"scripted": FREE}}),
            "COLLECTION_SEARCH_ANSWER_CACHE_S": "0",
            "OPENAI_API_KEY": "sk-of-the-test",
            "OPENAI_BASE_URL": world.models.base_url,
        }.items():
            monkeypatch.setenv(name, value)
        process_settings.cache_clear()
        yield world


def prepare(work: Work, world: PaidWorld, command: Invoke, folder: Path) -> tuple[str, ...]:
    """Return the command; the servers have counted nothing yet, and the books are empty."""
    if work.chunks:
        store = run_blocking(SearchContext().storage())
        texts = [f"{n} {TEXT}" for n in range(work.chunks)]
        store.collections.replace_document(SCOPE, document("page"), chunks(*texts))
    if work.is_embedded:
        assert command("collections", "reembed", "tea", "--yes").code == 0
        spend_writer().flush()
        usage = run_blocking(SearchContext().usage())
        assert usage is not None
        usage.forget_tenant("local")
    world.forget()
    return (*work.arguments, str(write_dataset(folder))) if work.kind == "eval" else work.arguments


def counted(world: PaidWorld) -> Counted:
    """Return what the servers saw."""
    found: Counted = {}
    asked = [one.body["input"] for one in world.models.requests if "input" in one.body]
    if asked:
        tokens = [sum(len(text.split()) for text in texts) for texts in asked]
        cost = total_cost(LIST_PRICES.embedding_cost(EMBEDDER, each) or 0.0 for each in tokens)
        found[EMBEDDER] = len(asked), sum(tokens), 0, cost
    if chats := world.plans:
        cost = total_cost([LIST_PRICES.chat_cost(CHAT, 29, 44) or 0.0] * chats)
        found[CHAT] = chats, 29 * chats, 44 * chats, cost
    if searches := len(world.searches):
        found["tavily"] = searches, 0, 0, LIST_PRICES.search_cost("tavily", searches) or 0.0
    return found


def booked(command: Invoke) -> Counted:
    """Return what the command `costs` tells."""
    spend_writer().flush()
    told = command("costs", "--by", "name", "--json")
    assert told.code == 0, told.err
    totals = told.json["totals"]
    assert not any(one["unpriced"] for one in totals)
    names = ("requests", "input_tokens", "output_tokens", "cost_usd")
    return {one["group"]: tuple(one[name] for name in names) for one in totals if one["requests"]}


def anchors(world: PaidWorld) -> int:
    """Return the requests for anchors."""
    first = anchor_texts()[0]
    asked = [one.body["input"] for one in world.models.requests if "input" in one.body]
    return sum(first in texts for texts in asked)


@pytest.fixture
def begin(
    work: Work,
    world: PaidWorld,
    command: Invoke,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[], tuple[str, ...]]:
    """Return a function that returns the command; each call leaves all that was before behind."""
    homes = count(1)

    def prepared() -> tuple[str, ...]:
        home = tmp_path / f"home-{next(homes)}"
        monkeypatch.setenv("COLLECTION_SEARCH_HOME", str(home))
        process_settings.cache_clear()
        return prepare(work, world, command, tmp_path / "data")

    return prepared


@pytest.mark.slow
def test_costs_tell_what_the_servers_counted(
    work: Work, world: PaidWorld, command: Invoke, begin: Callable[[], tuple[str, ...]]
) -> None:
    """Each request and each token, with the anchors."""
    ended = command(*begin())
    assert ended.code == 0, ended.err
    assert booked(command) == counted(world) != {}
    assert anchors(world) == work.anchors


@pytest.mark.slow
@pytest.mark.parametrize("share", [0, 0.4, 0.999])
def test_a_ceiling_ends_the_command(
    work: Work,
    share: float,
    world: PaidWorld,
    command: Invoke,
    begin: Callable[[], tuple[str, ...]],
) -> None:
    """Before a call that could exceed it, with its code and cause; without it all is done."""
    assert command(*begin()).code == 0
    limit = share * total_cost(cost for *_, cost in counted(world).values())
    arguments = begin()
    ended = command(*arguments, "--max-cost", f"{limit:.12f}")
    assert booked(command) == counted(world)
    assert total_cost(cost for *_, cost in counted(world).values()) <= limit
    assert bool(counted(world)) <= bool(share)
    said = " ".join((ended.out + ended.err).split())
    assert "ceiling" in said
    assert "None" not in said
    assert ended.code == work.codes[share]
    again = command(*arguments)
    assert again.code == 0, again.err
    assert booked(command) == counted(world)
    assert anchors(world) == work.anchors
