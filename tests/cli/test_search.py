"""`collection-search search`: the worker on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from command_line import Invoke


def test_results_are_numbered_with_their_addresses(command: Invoke) -> None:
    """Each result shows place, title, address and snippet; stderr says where was searched."""
    ended = command("search", "cancel a task", "--provider", "scripted", "--max-results", "2")
    assert ended.code == 0
    assert ended.out.count("https://") == 2
    assert "  1  asyncio — How to cancel" in ended.out
    assert ended.err == "Searched: scripted (asked for)\n"


def test_json_is_the_workers_response(command: Invoke) -> None:
    """Results and outcome as the worker returns them, without the pages' texts."""
    ended = command(
        "search", "cancel a task", "--provider", "scripted", "--tenant", "acme", "--json"
    )
    assert ended.err == ""
    assert ended.json.keys() == {"results", "outcome"}
    assert len(ended.json["results"]) == 10
    assert "content" not in ended.json["results"][0]
    assert ended.json["outcome"]["decision"] == "ok"
    assert ended.json["outcome"]["meta"]["tenant_id"] == "acme"


@pytest.mark.parametrize(("provider", "code"), [("empty", 3), ("refusing", 4)])
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_nothing_found_and_a_failure_are_told_apart(
    command: Invoke, provider: str, code: int, form: tuple[str, ...]
) -> None:
    """No result is 3, a failed provider 4, with one sentence, in either form."""
    ended = command("search", "cancel a task", "--provider", provider, *form)
    assert ended.code == code
    assert len(ended.complaints) == 1
