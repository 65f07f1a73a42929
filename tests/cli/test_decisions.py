"""`collection-search decisions`: figures and export of what people decided."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.decided_reviews import COLLECTION, decide_review, decide_strictly

from collection_search.adapters.stores.sqlite import SQLiteStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.command_line import Invoke


@pytest.fixture
def store(command: Invoke) -> Iterator[SQLiteStore]:
    home = Path(os.environ["COLLECTION_SEARCH_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    store = SQLiteStore(home / "collections.db")
    yield store
    store.close()


def test_a_review_by_the_command_is_counted(command: Invoke, run: Invoke) -> None:
    """With what was approved and rejected."""
    paused = run("--review", "--json", provider="scripted").json["request"]
    shown = len(paused["candidates"])
    command("review", paused["gate_id"], "--approve", "1", "--json")
    told = command("decisions", "stats", "--json").json
    (period,) = told["periods"]
    assert (period["opened"], period["by_person"], period["open"]) == (1, 1, 0)
    assert (period["shown"], period["approved"], period["rejected"]) == (shown, 1, shown - 1)
    assert sum(band["approved"] for band in told["score_bands"]) == 1
    assert told["adaptive_threshold"] is False


def test_the_tables_fit_eighty_columns(command: Invoke, store: SQLiteStore) -> None:
    """Also where too little was decided, and with other collections."""
    decide_strictly(store)
    decide_review(store, "one", {"a": (90, True)}, collection="a-collection")
    out = command("decisions", "stats", "--by", "day").out
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    assert f"Collection {COLLECTION}, scale lexical" in lines
    assert any(line.startswith("  learnt from 10 decisions of people") for line in lines)
    assert any(line.startswith("  the default: people decided 1 review ") for line in lines)


def test_only_the_tenant_s_reviews_are_told(command: Invoke, store: SQLiteStore) -> None:
    decide_strictly(store, tenant="theirs")
    assert command("decisions", "stats").out == "There are no reviews of that time.\n"
    ended = command("decisions", "export", "decided")
    assert ended.code == 2
    assert "There are no decisions of people." in ended.err
    assert command("decisions", "stats", "--tenant", "theirs", "--json").json["min_scores"]


def test_an_export_is_judged_by_eval(command: Invoke, store: SQLiteStore, tmp_path: Path) -> None:
    """The folder as it is; a second export into it is refused."""
    decide_strictly(store, 3)
    folder = str(tmp_path / "decided")
    counts = command("decisions", "export", folder, "--json").json
    assert (counts["questions"], counts["approved"], counts["rejected"]) == (3, 6, 12)
    judged = command("eval", "--dataset", folder, "--json").json
    assert (judged["questions"], judged["pages"]) == (3, 18)
    again = command("decisions", "export", folder)
    assert again.code == 2
    assert "no empty folder" in again.err


def test_an_export_without_an_approved_page_warns(
    command: Invoke, store: SQLiteStore, tmp_path: Path
) -> None:
    decide_review(store, "one", {"a": (90, False)})
    ended = command("decisions", "export", str(tmp_path / "decided"))
    assert ended.code == 0
    assert "no page was approved" in ended.err


def test_the_learnt_score_is_printed_by_a_run(
    command: Invoke, store: SQLiteStore, run: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    decide_strictly(store, collection="py")
    monkeypatch.setenv("COLLECTION_SEARCH_ADAPTIVE_THRESHOLD", "true")
    out = run("--auto-ingest", provider="scripted").out
    assert ": learnt from 10 decisions of people in this collection: 60 -> " in out
    assert "COLLECTION_SEARCH_ADAPTIVE_THRESHOLD" not in command("decisions", "stats").err
