"""Pages that are judged again by their text, before they are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.judging_model import ORDER, JudgingModel

from collection_search import SearchContext, Settings
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest
from collection_search.contracts.page import ReadPage, Validators
from collection_search.errors import ModelError
from collection_search.testing import FakeClock, ScriptedAnswerModel
from collection_search.tools.criteria.verdicts import weigh_verdicts
from collection_search.tools.ingestion.engine import IngestionEngine
from collection_search.tools.spending.spend_writer import spend_writer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from collection_search.contracts.criteria import JudgedText, UnclearPages

SCOPE = TenantScope("local", "docs")
CRITERIA = ["It names: price", "It is about: tea"]
TEXTS = {
    "priced": "The price of tea is two euros.",
    "free": f"Green tea, listed without price. {ORDER}",
    "silent": "Green tea in the morning.",
}


class Pages:
    """A reader that knows some texts and counts its visits."""

    def __init__(self) -> None:
        self.visits: list[str] = []

    async def read(self, url: str, **_: Any) -> ReadPage:
        name = url.rpartition("/")[2]
        self.visits.append(name)
        text = TEXTS[name]
        return ReadPage(url, url, None, "Tea", text, "html", Validators(), "b" * 64, 0.0, 200)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, ingest_workers=1, model=None)


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Iterator[SQLiteStore]:
    store = SQLiteStore(tmp_path / "collections.db", clock=clock.time)
    yield store
    store.close()


def provenance(
    *, unclear: UnclearPages = "keep", judged: JudgedText = "result", on_page: bool = True
) -> dict[str, Any]:
    verdicts: Any = [
        {"criterion": one, "verdict": "unclear", "reason": "so", "quote": ""} for one in CRITERIA
    ]
    told = weigh_verdicts(verdicts, judged=judged, unclear=unclear, on_page=on_page)
    return {"run_id": "run-1", "criteria": told}


def work(
    store: SQLiteStore,
    settings: Settings,
    model: Any,
    told: dict[str, Any],
    *,
    names: Any = TEXTS,
    content_ref: str | None = None,
) -> dict[str, Any]:
    """Ingest the pages; return the rows of their ticket by name."""
    items = [
        IngestionItem(f"https://e.com/{name}", f"e.com/{name}", "Tea", content_ref, told)
        for name in names
    ]
    ticket = store.ledger.enqueue(IngestionRequest(SCOPE, items))
    drain(store, settings, model, Pages())
    status = store.ledger.status("local", ticket.ticket_id)
    assert status is not None
    return {row.url.rpartition("/")[2]: row for row in status.rows}


def drain(store: SQLiteStore, settings: Settings, model: Any, pages: Pages) -> None:
    async def reader(_rules: Any) -> Any:
        return pages

    engine = IngestionEngine(store, settings, reader=reader, backoff_s=0.001)
    engine.add_embedder(None, SearchContext(settings=settings, model=model))
    try:
        engine.drain(timeout_s=60)
    finally:
        engine.stop()  # a page that waits is left to the next engine


def stored(store: SQLiteStore) -> dict[str, Any]:
    found = store.collections.get(SCOPE, [f"e.com/{name}" for name in TEXTS])
    return {one.document.url_key[6:]: one.document.provenance for one in found}


@pytest.mark.parametrize(
    ("unclear", "kept"), [("keep", {"priced", "silent"}), ("refuse", {"priced"})]
)
def test_a_page_that_fails_is_not_stored(
    store: SQLiteStore, settings: Settings, unclear: UnclearPages, kept: set[str]
) -> None:
    """Its row ends with the reason; those of the others have the verdicts in their provenance."""
    script = JudgingModel()
    rows = work(store, settings, ScriptedAnswerModel(script), provenance(unclear=unclear))
    assert script.orders == []
    assert {name for name, row in rows.items() if row.state == "stored"} == kept
    assert rows["free"].state == "dead"
    assert "It does not meet 'It names: price'" in (rows["free"].error or "")
    assert rows["free"].attempts == 1
    known = stored(store)
    assert {*known} == kept
    criteria = known["priced"]["criteria"]
    assert criteria["judged"] == "page"
    assert [one["verdict"] for one in criteria["verdicts"]] == ["yes", "yes"]
    assert criteria["verdicts"][0]["quote"] in TEXTS["priced"]


@pytest.mark.parametrize("model", [None, ScriptedAnswerModel(ModelError("down"))])
def test_a_page_waits_for_a_model(
    store: SQLiteStore, settings: Settings, clock: FakeClock, model: Any
) -> None:
    """Nothing is stored unjudged and nothing is lost; its site is not asked again."""
    rows = work(store, settings, model, provenance(), names=["priced"])
    assert (rows["priced"].state, rows["priced"].attempts) == ("waiting", 0)
    assert "waits to be judged" in (rows["priced"].error or "")
    assert stored(store) == {}
    clock.advance(3_600)
    pages = Pages()
    drain(store, settings, ScriptedAnswerModel(JudgingModel()), pages)
    assert {*stored(store)} == {"priced"}
    assert pages.visits == []


def test_the_ceiling_of_a_run_ends_the_work_on_a_page(
    store: SQLiteStore, settings: Settings
) -> None:
    """It would find the same ceiling whenever it is tried again; a higher one goes on with it."""
    low = settings.model_copy(update={"max_cost_usd": 0.000001})
    script = JudgingModel()
    model = ScriptedAnswerModel(script, model_name="gpt-4o-mini", usage=(1_000, 100))
    rows = work(store, low, model, provenance(), names=["priced"])
    assert rows["priced"].state == "dead"
    assert "ceiling of $0.000001" in (rows["priced"].error or "")
    assert model.chats == []
    assert store.ledger.retry_failed(SCOPE) == 1
    pages = Pages()
    drain(store, settings, model, pages)
    assert {*stored(store)} == {"priced"}
    assert pages.visits == []


def test_a_reply_without_verdicts_lets_a_page_wait(store: SQLiteStore, settings: Settings) -> None:
    """Unclear pages would be kept, but nobody judged this one; a no ends it at once."""
    rows = work(store, settings, ScriptedAnswerModel("Sorry."), provenance(), names=["priced"])
    assert rows["priced"].state == "waiting"
    denied = '[{"page": 1, "criterion": 1, "verdict": "no", "quote": "without price"}]'
    rows = work(store, settings, ScriptedAnswerModel(denied), provenance(), names=["free"])
    assert rows["free"].state == "dead"


@pytest.mark.parametrize(
    "told",
    [
        {"run_id": "run-1"},
        provenance(on_page=False),
        {"criteria": {**provenance()["criteria"], "overruled_by": "anna"}},
        {"criteria": {**provenance()["criteria"], "verdicts": "none"}},
        {"criteria": ["It names: price"]},
    ],
)
def test_other_pages_are_not_judged(
    store: SQLiteStore, settings: Settings, told: dict[str, Any]
) -> None:
    """Those of runs without criteria or without the setting, and what a person took all the same."""
    model = ScriptedAnswerModel(JudgingModel())
    rows = work(store, settings, model, told)
    assert {row.state for row in rows.values()} == {"stored"}
    assert model.chats == []
    assert stored(store)["free"].get("criteria") == told.get("criteria")


@pytest.mark.parametrize(("judged", "calls"), [("page", 0), ("result", 1)])
def test_a_staged_text_is_judged_once(
    store: SQLiteStore, settings: Settings, judged: JudgedText, calls: int
) -> None:
    """With its search result, or if that failed before it is stored."""
    (ref,) = store.staging.put("local", [TEXTS["priced"]])
    model = ScriptedAnswerModel(JudgingModel())
    told = provenance(judged=judged)
    rows = work(store, settings, model, told, names=["priced"], content_ref=ref)
    assert rows["priced"].state == "stored"
    assert len(model.chats) == calls


async def test_the_cost_is_booked(store: SQLiteStore, settings: Settings) -> None:
    """For the run and the tenant of the page."""
    model = ScriptedAnswerModel(JudgingModel(), model_name="gpt-4o-mini", usage=(1_000, 100))
    work(store, settings, model, provenance())
    spend_writer().flush()
    usage = await SearchContext(settings=settings).usage()
    assert usage is not None
    total = usage.run_total("local", "run-1")
    assert float(total.cost_usd) == pytest.approx(3 * 0.00021)
