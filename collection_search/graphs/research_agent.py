"""The research agent: a model with tools answers a question with citations that exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph.graph import END, START, StateGraph

from ..context import SearchContext
from ..contracts.research import ResearchInput, ResearchTurn
from ..nodes.ask_model import ask_model
from ..nodes.call_tools import call_tools
from ..nodes.cite_answer import cite_answer
from ..nodes.read_question import read_question
from ..nodes.research_state import ResearchOutput, ResearchState
from ..runtime.concurrency import run_blocking
from ..tools.public_arguments import validate_arguments
from .runnables import NodeRunnable, Route, RouteRunnable
from .validating_graph import ValidatingGraph, validate_input

if TYPE_CHECKING:
    from collections.abc import Mapping

    from langgraph.graph.state import CompiledStateGraph

NAME = "research_agent"


def _next_step(state: ResearchState) -> str:
    """Return whether the model asked for tools or is done."""
    return "asks for tools" if state["turn"][-1]["tool_calls"] else "has an answer"


_NEXT_STEP = Route(_next_step, {"asks for tools": "k_call_tools", "has an answer": "k_cite_answer"})


def build_graph(**compile_options: Any) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the compiled graph; `compile_options` (checkpointer, cache ...) go to `compile`.

    With a checkpointer a thread is a conversation: earlier messages are known, and passages that
    were found can be cited again. As a node of a host's graph with a checkpointer it needs
    `checkpointer=True` for that, a memory of its own on the host's thread.
    """
    graph = StateGraph(
        ResearchState,
        context_schema=SearchContext,
        input_schema=ResearchInput,
        output_schema=ResearchOutput,
    )
    for stage, node, schema in (
        ("k_read_question", read_question, ResearchTurn),
        ("k_ask_model", ask_model, ResearchState),
        ("k_call_tools", call_tools, ResearchState),
        ("k_cite_answer", cite_answer, ResearchState),
    ):
        runnable = NodeRunnable(node, NAME, is_end=lambda state: bool(state.get("outcome")))
        graph.add_node(stage, runnable, input_schema=schema)
    graph.add_edge(START, "k_read_question")
    graph.add_edge("k_read_question", "k_ask_model")
    graph.add_conditional_edges("k_ask_model", RouteRunnable(_NEXT_STEP), _NEXT_STEP.targets)
    graph.add_edge("k_call_tools", "k_ask_model")
    graph.add_edge("k_cite_answer", END)
    return ValidatingGraph.compile(graph, "k_read_question", name=NAME, **compile_options)


graph = build_graph()


class ResearchAgent:
    """The graph with a context of its own: the shortest way to run it from Python."""

    def __init__(self, context: SearchContext | None = None) -> None:
        validate_arguments(context=context)
        self.context = context or SearchContext()
        self.graph = graph

    def run(self, state: Mapping[str, Any]) -> ResearchOutput:
        """Return the graph's output for one question without a conversation before it.

        Raises InputError naming each wrong field, and ConfigError. A failing model or tool is an
        outcome, not an exception.
        """
        return run_blocking(self.arun(state))

    async def arun(self, state: Mapping[str, Any]) -> ResearchOutput:
        """Return what `run` returns, from within an event loop."""
        asked = validate_input(ResearchInput, state)
        given = {name: value for name, value in dict(asked).items() if value is not None}
        output: ResearchOutput = await self.graph.ainvoke(given, context=self.context)  # type: ignore[assignment]
        return output
