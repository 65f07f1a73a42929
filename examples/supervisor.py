"""A graph of LangGraph's: a supervisor sends a question to a researcher, then to a writer.

The researcher has tools and takes notes; the writer has the notes alone.

```
python examples/supervisor.py "How do I cancel an asyncio task?" --model openai:gpt-5.4-mini
python examples/supervisor.py --offline
```
"""

from __future__ import annotations

import asyncio
import operator
from typing import TYPE_CHECKING, Annotated, Any, Literal

from langgraph.graph import START, StateGraph
from langgraph.types import Command
from program import run_program
from scripted import CITE, Call
from typing_extensions import TypedDict

from collection_search import ReadPageTool, SearchContext, WebSearchTool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.language_models import BaseChatModel
    from langgraph.graph.state import CompiledStateGraph
    from transcript import Transcript

MAX_NOTES = 3
SUPERVISE = (
    "You lead a researcher and a writer. Answer with one word: 'research' if the notes do not"
    " answer the question, 'write' if they do."
)
RESEARCH = (
    "Find out what answers the question, with your tools. Answer with notes; after each note write"
    " the URL of its source in angle brackets."
)
WRITE = (
    "Answer the question from the notes alone, in a few sentences. After each statement write the"
    " URL of its source in angle brackets, as it stands in the notes."
)
SCRIPT = (
    "research",
    Call("web_search", {"query": "asyncio task timeout cancel", "max_results": 3}),
    CITE,
    "write",
    CITE,
)


class State(TypedDict):
    """The state of the graph."""

    question: str
    notes: Annotated[list[str], operator.add]
    answer: str


def build_graph(
    model: BaseChatModel, transcript: Transcript
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the graph; its context is a `SearchContext`."""
    from langchain.agents import create_agent

    researcher = create_agent(
        model,
        [WebSearchTool(), ReadPageTool()],
        system_prompt=RESEARCH,
        context_schema=SearchContext,
    )

    async def supervise(state: State) -> Command[Literal["research", "write"]]:
        reply = await model.ainvoke([("system", SUPERVISE), ("user", _brief(state))])
        wants_more = "research" in reply.text.lower() and len(state["notes"]) < MAX_NOTES
        chosen: Literal["research", "write"] = "research" if wants_more else "write"
        transcript.show_step(f"\nThe supervisor chooses: {chosen}")
        return Command(goto=chosen)

    async def research(state: State) -> dict[str, list[str]]:
        asked: Any = {"messages": [("user", _brief(state))]}
        notes = await transcript.follow(researcher.astream(asked, stream_mode="updates"))
        transcript.show_step(f"\nThe researcher notes: {notes}")
        return {"notes": [notes]}

    async def write(state: State) -> dict[str, str]:
        reply = await model.ainvoke([("system", WRITE), ("user", _brief(state))])
        return {"answer": reply.text}

    graph = StateGraph(State, context_schema=SearchContext)
    for node in (supervise, research, write):
        graph.add_node(node)
    graph.add_edge(START, "supervise")
    graph.add_edge("research", "supervise")
    return graph.compile()


def _brief(state: State) -> str:
    return "\n\n".join([f"Question: {state['question']}", "Notes:", *state["notes"]])


def main(given: Sequence[str] | None = None) -> None:
    """Answer one question."""
    with run_program(__doc__, given) as program:
        graph = build_graph(program.chat_model(*SCRIPT), program.transcript)
        asked = {"question": program.question, "notes": []}
        state = asyncio.run(graph.ainvoke(asked, context=program.context))
        program.transcript.show_answer(state["answer"])


if __name__ == "__main__":
    main()
