"""A `configurable` that names fields of the context: obeyed or refused, never ignored."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from collection_search import SearchContext
from collection_search.errors import ConfigError, InputError
from collection_search.graphs import served
from collection_search.graphs.collection_search import graph
from collection_search.testing import ScriptedAdapter
from collection_search.testing.search_adapter import rows

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from collection_search import Settings

pytestmark = pytest.mark.usefixtures("offline_index")

QUESTION = {"question": "How do I cancel an asyncio task?", "collection_scope": "python"}


def choosing(**fields: Any) -> RunnableConfig:
    return {"configurable": fields}


def run(config: RunnableConfig, context: Any = None) -> Any:
    return graph.invoke(QUESTION, config, context=context)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "context", [None, {}, {"case_id": "c"}, {"provider": "offline"}, SearchContext(case_id="c")]
)
def test_it_counts_as_the_context(context: Any) -> None:
    """Beside it the keys of the host stay the host's own."""
    output = run(choosing(provider="offline", tone="friendly"), context)
    assert output["search"]["provider_reason"] == "asked for"


async def test_a_bound_configurable_counts_too() -> None:
    bound = graph.with_config(configurable={"provider": "nowhere"})
    with pytest.raises(ConfigError, match="nowhere"):
        await bound.ainvoke(QUESTION)
    output = await bound.ainvoke(QUESTION, choosing(provider="offline"))
    assert output["search"]["provider"] == "offline"


def test_live_objects_are_taken_in_python() -> None:
    adapter = ScriptedAdapter(rows(5))
    assert run(choosing(provider=adapter, embeddings="lexical"))["results"]
    assert adapter.requests


@pytest.mark.parametrize(
    ("fields", "context", "says"),
    [
        ({"provider": "nowhere"}, None, "nowhere"),
        ({"max_cost_usd": "much"}, None, "max_cost_usd: give a number"),
        ({"max_cost_usd": "much"}, SearchContext(), "max_cost_usd: give a number"),
        (
            {"provider": "tavily"},
            {"provider": "offline"},
            "provider: configurable and context differ",
        ),
        (
            {"provider": "tavily"},
            SearchContext(provider="offline"),
            "provider: configurable and context differ",
        ),
        ({"provider": "tavily"}, SimpleNamespace(own=1), "Give provider in the context"),
        ({"tenant_id": "acme"}, None, "tenant_id: `configurable` does not choose the tenant"),
        ({"tenant_id": "acme"}, SearchContext(), "tenant_id: `configurable` does not choose"),
        ({"tenant_id": "acme"}, {"provider": "offline"}, "tenant_id: `configurable` does not"),
    ],
)
def test_what_cannot_be_obeyed_is_refused(fields: dict[str, Any], context: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        run(choosing(**fields), context)


def test_an_empty_text_is_not_given() -> None:
    output = run(choosing(provider="", model=""), SearchContext(provider="offline"))
    assert output["search"]["provider"] == "offline"


class Parent(TypedDict):
    """The state of a graph around ours."""

    question: str
    collection_scope: str
    summary: str


@pytest.mark.parametrize("tenant", ["house", "other"])
def test_a_tenant_in_configurable_is_the_settings_or_refused(
    settings: Settings, tenant: str
) -> None:
    """The pages go to that one, so it may stand there."""
    context = SearchContext(settings=settings.model_copy(update={"tenant": "house"}))
    if tenant == "house":
        assert graph.invoke(QUESTION, choosing(tenant_id=tenant), context=context)  # type: ignore[call-overload]
    else:
        with pytest.raises(ConfigError, match="does not choose the tenant"):
            graph.invoke(QUESTION, choosing(tenant_id=tenant), context=context)  # type: ignore[call-overload]


@pytest.mark.parametrize("is_node", [True, False], ids=["as a node", "called in a node"])
def test_the_keys_of_a_parent_graph_are_its_own(is_node: bool) -> None:
    """It may call its own chat model `model` there."""
    parent = StateGraph(Parent)
    parent.add_node(
        "search", graph if is_node else lambda _, config: graph.invoke(QUESTION, config)
    )
    parent.add_edge(START, "search")
    parent.add_edge("search", END)
    output = parent.compile().invoke(QUESTION, choosing(model="their:model"))  # type: ignore[arg-type]
    assert "ranked" in output["summary"]


def test_a_served_graph_takes_an_empty_text_of_a_form_as_not_given() -> None:
    """A required field stays refused, and so does an empty name in Python."""
    form = served.collection_search(SimpleNamespace())
    blank = dict.fromkeys(("purpose", "is_pdf", "max_candidates", "criteria"), "")
    choices = dict.fromkeys(("provider", "model", "max_cost_usd", "workflow_id"), " ")
    output = form.invoke({**QUESTION, **blank}, context={**choices, "embeddings": "lexical"})
    assert output["outcome"] == "search_completed"
    with pytest.raises(InputError, match="question: give 1 or more"):
        form.invoke({**QUESTION, "question": ""})
    with pytest.raises(InputError, match="purpose: give 1 or more"):
        graph.invoke({**QUESTION, "purpose": ""})  # type: ignore[call-overload]
