"""A review outlives its process: paused, killed, and resumed by another one."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from collection_search.adapters.stores.sqlite import SQLiteStore

PROGRAM = Path(__file__).with_name("review_run.py")
ADDED = "https://added.example.org/by-hand"
HOUR_S = 3700


def step(name: str, home: Path, offset_s: float = 0) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, PROGRAM, name, home, str(offset_s)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def paused(tmp_path: Path) -> dict[str, Any]:
    ended = step("pause", tmp_path)
    assert ended.returncode == -9, ended.stderr
    return json.loads(ended.stdout)  # type: ignore[no-any-return]


def accepted(home: Path) -> dict[str, dict[str, Any]]:
    """The pages in the ledger, with their provenance."""
    store = SQLiteStore(home / "collections.db")
    try:
        with store._database.read() as connection:
            rows = connection.execute("SELECT url, provenance FROM ledger ORDER BY id").fetchall()
        assert len(rows) == len({row["url"] for row in rows})
        return {row["url"]: json.loads(row["provenance"]) for row in rows}
    finally:
        store.close()


def test_a_killed_run_is_resumed_by_another_process(tmp_path: Path, paused: dict[str, Any]) -> None:
    """Exactly what was approved and added is ingested, in the same trace, with the approver."""
    ended = step("decide", tmp_path)
    assert ended.returncode == 0, ended.stderr
    outcome, trace_id = json.loads(ended.stdout.splitlines()[-1])
    assert outcome in ("coverage_verified", "coverage_incomplete")
    assert trace_id == paused["trace_id"]
    pages = accepted(tmp_path)
    assert list(pages) == [*paused["urls"][:2], ADDED]
    assert {page["approved_by"] for page in pages.values()} == {"ann"}
    assert {page["trace_id"] for page in pages.values()} == {paused["trace_id"]}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_process_that_is_killed_while_it_decides(
    tmp_path: Path, paused: dict[str, Any], seed: int
) -> None:
    """Wherever it dies, the decision is either not made, or made and carried out by a sweep."""
    delay_s = random.Random(seed).uniform(0, 0.6)
    command = [sys.executable, PROGRAM, "decide", tmp_path, "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as deciding:
        assert deciding.stdout is not None
        assert deciding.stdout.readline() == "deciding\n"
        try:
            deciding.wait(timeout=delay_s)
        except subprocess.TimeoutExpired:
            deciding.kill()
    store = SQLiteStore(tmp_path / "collections.db")
    gate = store.gates.get("local", paused["gate_id"])
    store.close()
    assert gate is not None
    if gate.state == "open":
        assert accepted(tmp_path) == {}
        assert step("decide", tmp_path).returncode == 0
    else:
        swept = step("sweep", tmp_path, HOUR_S)
        assert swept.returncode == 0, swept.stderr
        assert json.loads(swept.stdout) == ([paused["gate_id"]] if gate.state == "decided" else [])
    assert list(accepted(tmp_path)) == [*paused["urls"][:2], ADDED]
    assert json.loads(step("sweep", tmp_path, HOUR_S).stdout) == []
