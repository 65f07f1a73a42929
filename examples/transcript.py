"""What an example prints while it runs: the question, calls, what came back, the answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from citations import find_citations, urls_in
from langchain_core.messages import AIMessage, ToolMessage

from collection_search.text.untrusted import FENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

MAX_CHARS = 300


class Transcript:
    """Prints each step as it is made; `results` has what the model was given by its tools."""

    def __init__(self) -> None:
        self.results: list[str] = []

    def show_question(self, question: str) -> None:
        """Print the question."""
        _print(f"Question: {question}")

    def show_step(self, text: str) -> None:
        """Print anything else that happens."""
        _print(text)

    def show_call(self, name: str, arguments: str | Mapping[str, Any] = "") -> None:
        """Print the call of a tool, before it is made; arguments as a mapping or as JSON."""
        given = (
            arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        )
        _print(f"\nCall: {name} {given}".rstrip())

    def show_result(self, result: str) -> None:
        """Print in a few words what the tool gave back, and remember all of it."""
        self.results.append(result)
        _print(f"  came back: {describe_result(result)}")

    def show_answer(self, answer: str) -> None:
        """Print the answer and the sources that it cites.

        Ends the program with exit code 1 for an answer that cites nothing, or a URL that is in
        none of the results: a model may make one up.
        """
        cited = find_citations(answer, self.results)
        _print(f"\nAnswer:\n{answer}\n\nSources that it cites:")
        for url, was_found in cited.items():
            _print(f"  {url}{'' if was_found else '  (not among the results)'}")
        if not cited:
            raise SystemExit("warning: The answer cites no source.")
        if not all(cited.values()):
            raise SystemExit("warning: The answer cites a source that was not among the results.")

    async def follow(self, updates: AsyncIterator[Mapping[str, Any]]) -> str:
        """Print the calls and results of an agent as its stream tells them; return its answer."""
        answer = ""
        async for update in updates:
            for message in (one for step in update.values() for one in step["messages"]):
                if isinstance(message, ToolMessage):
                    self.show_result(message.text)
                elif isinstance(message, AIMessage):
                    answer = message.text
                    for call in message.tool_calls:
                        self.show_call(call["name"], call["args"])
        return answer


def describe_result(result: str) -> str:
    """Return how much a tool gave back, or its sentence where it found nothing or failed."""
    if f"<{FENCE}" not in result:  # nothing of the web
        return " ".join(result.split())[:MAX_CHARS]
    count, length = len(urls_in(result)), f"{len(result):,} characters"
    if not count:
        return f"{length} without the URL of a source"
    return f"{count} source{'' if count == 1 else 's'} in {length}"


def _print(text: str) -> None:
    print(text, flush=True)
