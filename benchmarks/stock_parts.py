"""The same job from stock parts: LangGraph, LangChain's OpenAI clients and httpx.

With `judge`, a chat model grades all found pages in one call, in place of the embeddings.
"""

from __future__ import annotations

import operator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import BaseModel
from typing_extensions import TypedDict

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

LIMIT = 20


class Plan(BaseModel):
    """Up to five web searches."""

    queries: list[str]


class Grades(BaseModel):
    """One grade of 0 to 3 for each page, in the order of the pages."""

    grades: list[int]


class State(TypedDict, total=False):
    """The state of the graph."""

    question: str
    queries: list[str]
    found: Annotated[list[dict[str, Any]], operator.add]
    urls: list[str]


@asynccontextmanager
async def stock_parts(
    config: Mapping[str, str], *, judge: bool = False
) -> AsyncIterator[Callable[[str], Awaitable[dict[str, Any]]]]:
    """Give the graph, ready to be asked."""
    import httpx
    from langchain_openai import ChatOpenAI, OpenAIEmbeddings
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import Send

    given = {"base_url": config["models_url"], "api_key": "sk-key"}
    model = ChatOpenAI(model="gpt-4o-mini", **given)  # type: ignore[arg-type]
    planner = model.with_structured_output(Plan, method="json_schema")
    grader = model.with_structured_output(Grades, method="json_schema")
    embedder = OpenAIEmbeddings(
        model="text-embedding-3-small",
        check_embedding_ctx_length=False,
        **given,  # type: ignore[arg-type]
    )

    async with httpx.AsyncClient() as client:

        async def plan(state: State) -> State:
            asked = f"Plan up to five web searches. Answer in JSON.\n{state['question']}"
            planned: Any = await planner.ainvoke(asked)
            return {"queries": planned.queries}

        async def search(state: dict[str, str]) -> State:
            body = {"query": state["query"], "max_results": 10}
            answer = await client.post(f"{config['search_url']}/search", json=body)
            return {"found": answer.raise_for_status().json()["results"]}

        async def rank(state: State) -> State:
            pages = {row["url"]: f"{row['title']}\n{row['content']}" for row in state["found"]}
            if judge:
                listed = "\n\n".join(f"[{n}] {text}" for n, text in enumerate(pages.values(), 1))
                asked = f"Grade each page from 0 to 3.\nQuestion: {state['question']}\n\n{listed}"
                graded: Any = await grader.ainvoke(asked)
                points = np.array(graded.grades)
            else:
                vectors = np.array(await embedder.aembed_documents(list(pages.values())))
                points = vectors @ np.array(await embedder.aembed_query(state["question"]))
            addresses = list(pages)
            return {"urls": [addresses[place] for place in np.argsort(-points)[:LIMIT]]}

        graph = StateGraph(State)
        graph.add_node("plan", plan)
        graph.add_node("search", search)
        graph.add_node("rank", rank)
        graph.add_edge(START, "plan")
        graph.add_conditional_edges(
            "plan", lambda state: [Send("search", {"query": q}) for q in state["queries"]]
        )
        graph.add_edge("search", "rank")
        graph.add_edge("rank", END)
        compiled = graph.compile()

        async def once(question: str) -> dict[str, Any]:
            return {"urls": (await compiled.ainvoke({"question": question}))["urls"]}

        yield once
