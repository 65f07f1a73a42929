"""The conversation as the model gets it: texts from the web stand inside fences, also old ones."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from langchain_core.messages import AIMessage, HumanMessage

from ..contracts.collection import Passage
from ..planning.answer_prompts import research_prompt
from ..ports import ChatMessage, ChatToolCall
from ..text.untrusted import fence, neutralize
from ..tools.answers.marks import keep_citations
from ..tools.answers.passage_lists import fence_passages, list_sources

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .research_state import ResearchState, TurnEntry

MAX_EARLIER: Final = 8
"""Messages of earlier turns that the model gets."""
_MAX_CHARS: Final = 3000
"""Of each of them."""
_SOURCE = re.compile(r"^(?:- )?(\[(\d{1,6})\] .* — https?://\S+)$", re.MULTILINE)
"""A line of the list of sources below an answer."""


def conversation(state: ResearchState) -> list[ChatMessage]:
    """Return prompt, earlier turns, the question, and what model and tools said since.

    Earlier answers were written from pages of the web, so they are fenced too; messages of other
    tools and systems are left out. A number whose passage is not in the state is left out of an
    earlier answer: it would be taken for that of another passage.
    """
    earlier, passages = _before_question(state["messages"]), _by_number(state)
    said = (_earlier(message, passages) for message in earlier[-MAX_EARLIER:])
    messages = [research_prompt(), *said]
    if cited := _cited(earlier, passages):
        again = fence_passages(cited)
        messages.append(ChatMessage("user", f"The passages of the last answer:\n{again}"))
    messages.append(ChatMessage("user", state["asked"]))
    return [*messages, *(_entry(entry, passages) for entry in state["turn"])]


def given_passages(state: ResearchState) -> list[Passage]:
    """Return the passages whose texts the model was given in this turn: only these can be cited."""
    passages = _by_number(state)
    again = _cited(_before_question(state["messages"]), passages)
    found = {one.n for one in found_passages(state)}
    return _of(sorted(found | {one.n for one in again}), passages)


def found_passages(state: ResearchState) -> list[Passage]:
    """Return the passages that the tools found in this turn, by their numbers."""
    numbers = {number for entry in state["turn"] for number in entry["sources"]}
    return _of(sorted(numbers), _by_number(state))


def last_number(state: ResearchState) -> int:
    """Return the highest number of a passage in the thread, also of one that is not in the state.

    A host's thread may keep the messages alone.
    """
    answers = (one for one in state["messages"] if isinstance(one, AIMessage))
    listed = (number for answer in answers for number in _listed(answer))
    return max([*listed, *(one["n"] for one in state["passages"])], default=0)


def _by_number(state: ResearchState) -> dict[int, Passage]:
    return {one["n"]: Passage.model_validate(one) for one in state["passages"]}


def _before_question(messages: Sequence[Any]) -> list[Any]:
    """Return what people and the agent said before the last question."""
    asked = [place for place, one in enumerate(messages) if isinstance(one, HumanMessage)]
    before = messages[: asked[-1]] if asked else messages
    return [one for one in before if isinstance(one, HumanMessage | AIMessage) and one.text]


def _earlier(message: Any, passages: dict[int, Passage]) -> ChatMessage:
    text = str(message.text)[:_MAX_CHARS]
    if isinstance(message, HumanMessage):
        return ChatMessage("user", text)
    known = keep_citations(text, _known(message, passages))
    return ChatMessage("assistant", fence(neutralize(known)))


def _known(answer: Any, passages: dict[int, Passage]) -> list[int]:
    """Return the numbers below an answer that are still those of the same pages."""
    listed = _listed(answer).items()
    return [n for n, head in listed if n in passages and list_sources([passages[n]]) == head]


def _listed(answer: Any) -> dict[int, str]:
    """Return the sources below an answer, by number: its own text has no such lines."""
    return {int(number): head for head, number in _SOURCE.findall(str(answer.text))}


def _cited(earlier: Sequence[Any], passages: dict[int, Passage]) -> list[Passage]:
    """Return the passages that the last answer lists."""
    last = next((one for one in reversed(earlier) if isinstance(one, AIMessage)), None)
    return [] if last is None else _of(sorted(_known(last, passages)), passages)


def _of(numbers: Iterable[int], passages: dict[int, Passage]) -> list[Passage]:
    return [passages[number] for number in numbers if number in passages]


def _entry(entry: TurnEntry, passages: dict[int, Passage]) -> ChatMessage:
    if entry["role"] == "tool":
        found = _of(entry["sources"], passages)
        text = fence_passages(found) if found else entry["text"]
        return ChatMessage("tool", text, call_id=entry["call_id"])
    calls = (ChatToolCall(one["id"], one["name"], one["arguments"]) for one in entry["tool_calls"])
    return ChatMessage("assistant", entry["text"], tuple(calls))
