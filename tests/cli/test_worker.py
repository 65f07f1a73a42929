"""`collection-search worker`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from command_line import Invoke


def test_once_ends_when_nothing_is_left(command: Invoke) -> None:
    """An empty ledger is no error; what happens is told on stderr."""
    ended = command("worker", "--once")
    assert (ended.code, ended.out) == (0, "")
    assert "Nothing is left to ingest." in ended.err


def test_every_tenants_pages_are_ingested(run: Invoke, command: Invoke) -> None:
    """One worker serves the whole ledger."""
    for tenant in ("acme", "globex"):
        run("--auto-ingest", "--no-wait", "--top-k", "2", "--tenant", tenant)
    assert command("worker", "--once").code == 0
    for tenant in ("acme", "globex"):
        assert "py                  2" in command("collections", "--tenant", tenant).out
