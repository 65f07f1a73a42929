"""What an example prints of a run, and that an answer may cite what was found and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from support.example_modules import FOLDER, example_module

from collection_search.text.untrusted import fence

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

transcript = example_module("transcript")
RESULT = fence("[1] Tasks\nURL: https://a.example/tasks?x=1\nSnippet: They wait.")
CALL = {"name": "web_search", "args": {"query": "Aufgaben für später"}, "id": "1"}


@pytest.fixture
def shown() -> Any:
    """A transcript of a run in which one source was found."""
    transcript_of_run = transcript.Transcript()
    transcript_of_run.show_result(RESULT)
    return transcript_of_run


def test_a_citation_that_was_found_is_shown(shown: Any, capsys: pytest.CaptureFixture[str]):
    """Punctuation behind a URL does not belong to it."""
    shown.show_answer("They wait (https://a.example/tasks?x=1).")
    told = "\nSources that it cites:\n  https://a.example/tasks?x=1\n"
    assert capsys.readouterr().out.endswith(told)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("They wait <https://a.example/tasks?x=2>.", "warning: .* not among the results"),
        ("<https://a.example/tasks?x=1> <https://b.example>", "warning: .* not among the results"),
        ("They wait.", "warning: .* cites no source"),
    ],
)
def test_what_was_not_found_ends_with_a_warning(shown: Any, answer: str, reason: str):
    """Also beside a URL that was."""
    with pytest.raises(SystemExit, match=reason):
        shown.show_answer(answer)


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (RESULT, f"1 source in {len(RESULT)} characters"),
        (fence("Search"), f"{len(fence('Search'))} characters without the URL of a source"),
        (
            "Search failed: https://a.example/\nis down.",
            "Search failed: https://a.example/ is down.",
        ),
    ],
)
def test_what_came_back_is_told_in_a_few_words(result: str, told: str):
    """A failure is told as it is."""
    assert transcript.describe_result(result) == told


async def updates_of(*messages: Any) -> AsyncIterator[dict[str, Any]]:
    """Yield one update for each message."""
    for message in messages:
        yield {"node": {"messages": [message]}}


async def test_an_agent_is_followed(capsys: pytest.CaptureFixture[str]):
    """Its calls and results stand in their order; its last words are the answer."""
    told = transcript.Transcript()
    asked = AIMessage("Let me look.", tool_calls=[CALL])
    replied = ToolMessage(RESULT, tool_call_id="1")
    assert await told.follow(updates_of(asked, replied, AIMessage("They wait."))) == "They wait."
    assert told.results == [RESULT]
    assert capsys.readouterr().out == (
        '\nCall: web_search {"query": "Aufgaben für später"}\n'
        f"  came back: 1 source in {len(RESULT)} characters\n"
    )


def test_every_program_is_in_the_readme():
    """With a line that says what it shows."""
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    for path in FOLDER.glob("*.py"):
        assert f"`{path.name}`" in readme
