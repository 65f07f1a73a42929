"""The research agent: a model with tools, an answer with citations that exist."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from support.hostile_texts import FENCE_ESCAPES, INSTRUCTIONS, MARKUP
from support.obeying_model import ORDER, ObeyingModel
from support.recorded_runs import RunRecorder
from support.scripted_world import QUESTION, good_pages

from collection_search import ResearchAgent, SearchContext, Settings
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.cassette import Cassette
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.search import ProviderSearchResult
from collection_search.errors import InputError, ModelError
from collection_search.graphs.research_agent import build_graph, graph
from collection_search.nodes.ask_model import MAX_CALLS, MAX_STEPS
from collection_search.nodes.read_question import MAX_KEPT
from collection_search.ports import ChatReply
from collection_search.testing import (
    OpenAIServer,
    RecordingSink,
    ScriptedAdapter,
    ScriptedAnswerModel,
    ScriptedChatModel,
    ScriptedToolCalls,
    rows,
)
from collection_search.testing.stores.suite import chunks, document
from collection_search.text.clean import MAX_CHAT_CHARS, MAX_QUERY_CHARS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TASKS = "To cancel an asyncio task after a timeout, use asyncio.timeout as a context manager."
RETRIEVE = ("retrieve", {"question": QUESTION})
SEARCH = ("web_search", {"query": "asyncio timeout"})
ASKED = {"messages": [{"role": "user", "content": QUESTION}], "collection_scope": "docs"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore.from_settings(Settings(home=tmp_path))
    put(store, "tasks", TASKS)
    yield store
    store.close()


@pytest.fixture
def search() -> ScriptedAdapter:
    return ScriptedAdapter(good_pages(3))


@pytest.fixture
def context(
    settings: Settings, store: SQLiteStore, search: ScriptedAdapter, sink: RecordingSink
) -> SearchContext:
    return SearchContext(provider=search, settings=settings, store=store, spans=sink)


def put(store: SQLiteStore, name: str, text: str) -> None:
    page = document(name, text, query="asyncio", rank=1)
    store.collections.replace_document(TenantScope("local", "docs"), page, chunks(text))


def run(context: SearchContext, model: Any, given: Any = ASKED, **config: Any) -> Any:
    return graph.invoke(given, config or None, context=context.model_copy(update={"model": model}))


def test_an_answer_from_a_collection_and_the_web(
    context: SearchContext, sink: RecordingSink
) -> None:
    """Both tools in one step, numbers over both, and the sources below the text."""
    model = ScriptedAnswerModel(
        ScriptedToolCalls(RETRIEVE, SEARCH), "Use asyncio.timeout [1]. So says the web [2][99]."
    )
    result = run(context, model)
    assert (result["outcome"], result["flags"]) == ("answered", [])
    assert model.tools == [["retrieve", "web_search"]] * 2
    assert result["answer"]["text"] == "Use asyncio.timeout. [1] So says the web. [2]"
    assert [one["n"] for one in result["passages"]] == [1, 2, 3, 4]
    question, reply = result["messages"]
    assert (question.content, reply.type) == (QUESTION, "ai")
    assert reply.content.startswith(
        "Use asyncio.timeout. [1] So says the web. [2]\n\nSources:\n\n- [1] "
    )
    assert "[3]" not in reply.content
    nodes = result["telemetry"]["nodes"]
    assert list(nodes) == ["k_read_question", "k_ask_model", "k_call_tools", "k_cite_answer"]
    assert (nodes["k_ask_model"]["visits"], nodes["k_ask_model"]["input_tokens"]) == (2, 58)
    assert (result["telemetry"]["input_tokens"], result["telemetry"]["output_tokens"]) == (58, 88)
    assert {one.name for one in sink.spans} >= {*nodes, "retrieve", "web_search"}
    ((_, ended),) = sink.runs
    assert (ended.name, ended.result["outcome"]) == ("research_agent", "answered")


def test_results_of_tools_have_the_numbers_of_the_thread(context: SearchContext) -> None:
    """Two calls do not both begin with 1, and what is known keeps its number."""
    model = ScriptedAnswerModel(
        ScriptedToolCalls(SEARCH), ScriptedToolCalls(RETRIEVE, SEARCH), "Use it [4]."
    )
    result = run(context, model)
    *_, first, retrieved, searched = model.chats[2]
    assert "\n[4] " in retrieved.text
    assert "\n[1] " in searched.text
    assert len(result["passages"]) == 4
    assert [one["n"] for one in result["answer"]["passages"]] == [1, 2, 3, 4]
    assert first.role == "assistant"


def test_the_model_cannot_choose_the_collection(context: SearchContext, store: SQLiteStore) -> None:
    """The tool has no such argument, and one that is given all the same changes nothing."""
    page = document("other", f"{TASKS} Elsewhere.", query="q", rank=1)
    store.collections.replace_document(
        TenantScope("local", "other"), page, chunks(f"{TASKS} Elsewhere.")
    )
    call = ("retrieve", {"question": QUESTION, "collection": "other"})
    result = run(context, ScriptedAnswerModel(ScriptedToolCalls(call), "Use it [1]."))
    assert [one["text"] for one in result["passages"]] == [TASKS]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("collection_search", {}), "There is no function 'collection_search'"),
        (("read_page", {"url": "http://127.0.0.1/"}), "There is no function 'read_page'"),
        (("web_search", "tea, please"), "no JSON object"),
        (("web_search", {}), "arguments of web_search cannot be used"),
        (("retrieve", {"question": "tea", "k": 99}), "arguments of retrieve cannot be used"),
    ],
)
def test_a_wrong_call_is_told_to_the_model(
    context: SearchContext, call: tuple[str, Any], told: str
) -> None:
    """The run goes on, and only the two tools can be called."""
    model = ScriptedAnswerModel(ScriptedToolCalls(call, RETRIEVE), "Use asyncio.timeout [1].")
    result = run(context, model)
    wrong, right = model.chats[1][-2:]
    assert told in wrong.text
    assert TASKS in right.text
    assert (result["outcome"], result["flags"]) == ("answered", ["tool_failed"])


def test_a_failing_search_is_told_to_the_model(context: SearchContext) -> None:
    """As is an unknown collection."""
    broken = context.model_copy(update={"provider": ScriptedAdapter(RuntimeError("boom"))})
    model = ScriptedAnswerModel(ScriptedToolCalls(SEARCH, RETRIEVE), "NO_ANSWER")
    result = run(broken, model, {"question": QUESTION, "collection_scope": "unknown"})
    failed, unknown = model.chats[1][-2:]
    assert "Search failed" in failed.text
    assert "no collection" in unknown.text
    assert (result["outcome"], result["answer"]["reason"]) == ("unanswered", "not_answered")


def test_the_number_of_steps_is_bounded(context: SearchContext, search: ScriptedAdapter) -> None:
    """A model that never answers is told to, and its further calls are not made."""
    model = ScriptedAnswerModel(ScriptedToolCalls(*[SEARCH] * 9))
    result = run(context, model)
    assert len(model.chats) == MAX_STEPS
    assert "No further tool" in model.chats[-1][-1].text
    assert result["telemetry"]["nodes"]["k_call_tools"]["call_count"] == MAX_CALLS * (MAX_STEPS - 1)
    assert (result["outcome"], result["answer"]["text"]) == ("unanswered", None)


@pytest.mark.parametrize("collection", ["docs", None])
def test_without_a_model_there_are_passages(context: SearchContext, collection: str | None) -> None:
    """Those of the collection; without one those of the web."""
    result = run(context, None, {"question": QUESTION, "collection_scope": collection})
    assert (result["outcome"], result["flags"]) == ("unanswered", ["no_model"])
    assert result["answer"]["reason"] == "no_model"
    tool = {one["provenance"]["tool"] for one in result["passages"]}
    assert tool == {"retrieve" if collection else "web_search"}
    assert "No model writes the answer" in result["messages"][-1].content
    assert "- [1] " in result["messages"][-1].content


def test_a_model_that_fails_leaves_what_can_be_found(context: SearchContext) -> None:
    """At once or later; the cause is told, and the question itself is looked up."""
    down = ModelError("The model is down.", may_be_billed=False)
    for replies in ((down,), (ScriptedToolCalls(RETRIEVE), down)):
        result = run(context, ScriptedAnswerModel(*replies))
        assert (result["outcome"], result["flags"]) == ("unanswered", ["model_failed"])
        assert "The model is down." in result["answer"]["message"]
        assert [one["text"] for one in result["passages"]] == [TASKS]
        assert result["telemetry"]["input_tokens"] == 29 * (len(replies) - 1)
    billed = ScriptedAnswerModel(ScriptedToolCalls(RETRIEVE), ModelError("The model is down."))
    assert run(context, billed)["telemetry"]["input_tokens"] is None


def test_the_ceiling_counts_over_the_whole_run(context: SearchContext) -> None:
    """A second call that could exceed it is not made."""
    model = ScriptedAnswerModel(
        ScriptedToolCalls(RETRIEVE), "Use it [1].", model_name="gpt-4o-mini", usage=(5000, 500)
    )
    result = run(context.model_copy(update={"max_cost_usd": 0.0011}), model)
    assert len(model.chats) == 1
    assert result["flags"] == ["cost_limit_reached"]
    assert result["answer"]["reason"] == "cost_limit"
    assert result["telemetry"]["cost_usd"] == pytest.approx(0.00105)
    assert result["telemetry"]["input_tokens"] == 5000
    assert result["passages"]


def test_a_second_turn_knows_the_first(context: SearchContext) -> None:
    """History, numbers and passages stay; a question of the first turn does not."""
    compiled = build_graph(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    first = ScriptedAnswerModel(ScriptedToolCalls(RETRIEVE), "Use asyncio.timeout [1].")
    compiled.invoke(
        {"question": QUESTION, "collection_scope": "docs"},
        config,
        context=context.model_copy(update={"model": first}),
    )
    second = ScriptedAnswerModel(ScriptedToolCalls(SEARCH), "As before [1], and the web [2].")
    result = compiled.invoke(
        {"messages": [("user", "And in a thread?")]},
        config,
        context=context.model_copy(update={"model": second}),
    )
    assert result["answer"]["question"] == "And in a thread?"
    assert result["collection_scope"] == "docs"
    assert [one.type for one in result["messages"]] == ["human", "ai", "human", "ai"]
    assert result["answer"]["text"] == "As before, and the web. [1][2]"
    assert [one["n"] for one in result["answer"]["passages"]] == [1, 2, 3, 4]
    assert result["answer"]["message"] is None
    _, asked, answered, sources, question = second.chats[0]
    assert (asked.text, question.text) == (QUESTION, "And in a thread?")
    assert (answered.role, sources.role) == ("assistant", "user")
    assert "<untrusted-web-content" in answered.text
    assert TASKS in sources.text
    third = run_again(compiled, config, context, ScriptedAnswerModel("Nothing new [1]."))
    assert third["telemetry"]["nodes"]["k_ask_model"].get("visits") is None
    with pytest.raises(ValueError, match="give a question"):
        compiled.invoke({"collection_scope": "docs"}, config, context=context)


def test_a_passage_that_the_model_was_not_shown_cannot_be_cited(context: SearchContext) -> None:
    """Its number exists in the thread, but neither this turn nor the last answer has it."""
    compiled = build_graph(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    for call, said, outcome in (
        (SEARCH, "By asyncio.timeout [1].", "answered"),
        (RETRIEVE, "By asyncio.timeout [4].", "answered"),
        (RETRIEVE, "By asyncio.timeout [1].", "unanswered"),
    ):
        model = ScriptedAnswerModel(ScriptedToolCalls(call), said)
        result = compiled.invoke(
            {"question": QUESTION, "collection_scope": "docs"},
            config,
            context=context.model_copy(update={"model": model}),
        )
        assert result["outcome"] == outcome
        assert len(result["passages"]) in (3, 4)


def run_again(compiled: Any, config: Any, context: SearchContext, model: Any) -> Any:
    again = context.model_copy(update={"model": model})
    return compiled.invoke({"question": "Once more?"}, config, context=again)


def test_passages_of_earlier_turns_are_bounded(context: SearchContext) -> None:
    """The last ones are kept, under their numbers."""
    pages = [
        ProviderSearchResult(
            f"https://a.org/{n}", f"asyncio timeout {n}", f"asyncio timeout {n}", "a"
        )
        for n in range(MAX_KEPT * 2)
    ]
    compiled = build_graph(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    for turn in range(10):
        found = ScriptedAdapter(pages[turn * 7 : turn * 7 + 7])
        call = ("web_search", {"query": "asyncio timeout", "max_results": 7})
        asking = context.model_copy(
            update={
                "provider": found,
                "model": ScriptedAnswerModel(ScriptedToolCalls(call), "It [1]."),
            }
        )
        result = compiled.invoke({"question": QUESTION}, config, context=asking)
    numbers = [one["n"] for one in result["passages"]]
    assert numbers == list(range(70 - MAX_KEPT - 7 + 1, 71))
    assert result["outcome"] == "unanswered"


def test_messages_alone_are_enough(context: SearchContext) -> None:
    """A chat client names no collection: that of the settings is read, or the web alone."""
    given = {"messages": [HumanMessage(QUESTION)]}
    web_only = ScriptedAnswerModel(ScriptedToolCalls(SEARCH), "It [1].")
    run(context, web_only, given)
    assert web_only.tools[0] == ["web_search"]
    settings = context.using().model_copy(update={"default_collection": "docs"})
    both = ScriptedAnswerModel("NO_ANSWER")
    run(context.model_copy(update={"settings": settings}), both, given)
    assert both.tools[0] == ["retrieve", "web_search"]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"question": " "},
        {"question": "\u200b"},
        {"question": "x" * (MAX_CHAT_CHARS + 1)},
        {"messages": [("user", "x" * (MAX_CHAT_CHARS + 1))]},
        {"messages": []},
        {"messages": [("ai", "Hello")]},
        {"messages": [("user", "")]},
        {"messages": 3},
        {"question": "tea", "colection": "docs"},
    ],
)
def test_input_without_a_question_is_refused(context: SearchContext, given: Any) -> None:
    """By name, before anything is asked."""
    with pytest.raises(InputError, match="The input is not valid"):
        ResearchAgent(context).run(given)


async def test_the_facade_runs_in_a_loop(context: SearchContext) -> None:
    """With a question, and with messages in any of LangChain's forms."""
    model = ScriptedAnswerModel(ScriptedToolCalls(RETRIEVE), "Use asyncio.timeout [1].")
    for given in ({"question": QUESTION}, {"messages": [("user", QUESTION)]}):
        asking = context.model_copy(update={"model": model})
        result = await ResearchAgent(asking).arun({**given, "collection_scope": "docs"})
        assert len(result["messages"]) == 2
        json.dumps({name: value for name, value in result.items() if name != "messages"})


async def test_it_is_a_node_of_a_host_s_chat(context: SearchContext) -> None:
    """They share `messages`; tool calls and systems of the host are not passed on."""
    host = StateGraph(MessagesState, context_schema=SearchContext)
    host.add_node("research", build_graph())
    host.add_edge(START, "research")
    model = ScriptedAnswerModel("NO_ANSWER")
    result = await host.compile(checkpointer=InMemorySaver()).ainvoke(
        {"messages": [("system", "Host."), ("user", "Hi"), ("ai", "Hello"), ("user", QUESTION)]},
        {"configurable": {"thread_id": "1"}},
        context=context.model_copy(update={"model": model}),
    )
    assert isinstance(result["messages"][-1], AIMessage)
    assert len(result["messages"]) == 5
    assert [one.role for one in model.chats[0]] == ["system", "user", "assistant", "user"]
    assert "Host." not in str(model.chats[0])


def host_with(agent: Any) -> Any:
    """Return a host's chat with the agent as its node, and the thread of a person."""
    host = StateGraph(MessagesState, context_schema=SearchContext)
    host.add_node("research", agent)
    host.add_edge(START, "research")
    chat = host.compile(checkpointer=InMemorySaver())

    def turn(asked: str, context: SearchContext, *replies: Any) -> tuple[str, list[str]]:
        """Return the answer, and what the model was told before the question of this turn."""
        model = ScriptedAnswerModel(*replies)
        result = chat.invoke(
            {"messages": [("user", asked)]},
            {"configurable": {"thread_id": "1"}},
            context=context.model_copy(update={"model": model}),
        )
        told = [one.text for one in model.chats[0][1:-1]]
        return result["messages"][-1].content, told

    return turn


def about(context: SearchContext, subject: str) -> SearchContext:
    """Return the context with two pages of the web about the subject."""
    return context.model_copy(update={"provider": ScriptedAdapter(rows(2, about=subject))})


def test_a_host_s_thread_attaches_no_citation_to_another_page(context: SearchContext) -> None:
    """The host keeps the messages alone: numbers go on, and those of lost passages are not told."""
    turn = host_with(graph)
    asked = ScriptedToolCalls(("web_search", {"query": "asyncio"}))
    first, _ = turn("What is asyncio?", about(context, "asyncio"), asked, "It is a library [1].")
    assert "- [1] asyncio 1 — https://example.com/asyncio/1" in first
    again = ScriptedToolCalls(("web_search", {"query": "kumquat"}))
    said = "As said, asyncio is a library [1]. A kumquat is a fruit [2]."
    second, told = turn("And a kumquat?", about(context, "kumquat"), again, said)
    assert second == (
        "As said, asyncio is a library. [no source] A kumquat is a fruit. [2]\n\nSources:\n\n"
        "- [2] kumquat 1 — https://example.com/kumquat/1"
    )
    assert "It is a library." in told[1]
    assert "[1]" not in str(told)
    assert "example.com" not in str(told)


def test_an_agent_with_a_memory_in_a_host_s_thread(context: SearchContext) -> None:
    """It cites what an earlier turn found, and goes on for its tenant alone."""
    turn = host_with(build_graph(checkpointer=True))
    asked = ScriptedToolCalls(("web_search", {"query": "asyncio"}))
    acme = about(context, "asyncio").model_copy(update={"tenant_id": "acme"})
    turn("What is asyncio?", acme, asked, "It is a library [1].")
    second, told = turn("Really?", acme, "As said, it is a library [1].")
    assert second.startswith(
        "As said, it is a library. [1]\n\nSources:\n\n- [1] asyncio 1 — https:"
    )
    assert "It is a library. [1]" in told[1]
    with pytest.raises(InputError, match="another tenant"):
        turn("And now?", acme.model_copy(update={"tenant_id": "beta"}), "It is a library [1].")


def test_numbers_of_other_agents_are_none_of_ours(context: SearchContext) -> None:
    """A text of the host's own that looks as if it cited a passage that this turn found."""
    model = ScriptedAnswerModel(ScriptedToolCalls(SEARCH), "NO_ANSWER")
    said = [("user", "Hi"), ("ai", "Tea is hot [1]."), ("user", "And asyncio?")]
    run(context, model, {"messages": said})
    assert "Tea is hot." in model.chats[1][2].text
    assert "[1]" not in model.chats[1][2].text


@pytest.mark.parametrize("said", ["And?", "Not?", "OR", "?", "...", "-x", "x " * 1500])
def test_a_turn_of_a_chat_is_no_query(context: SearchContext, said: str) -> None:
    """What nobody could search for, or is too long to, is a question all the same."""
    for given in ({"messages": [("user", said)]}, {"question": said}):
        model = ScriptedAnswerModel(ScriptedToolCalls(SEARCH), "Use asyncio.timeout [1].")
        result = run(context, model, given)
        assert result["outcome"] == "answered"
        assert model.chats[-1][1].text == said.strip()


def test_the_lines_of_a_question_reach_the_model(context: SearchContext) -> None:
    """Code keeps its indentation; control characters go."""
    code = "for x in y:\n    if x:\n\ta()\n\nWhen does a() run?"
    model = ScriptedAnswerModel("NO_ANSWER")
    run(context, model, {"messages": [("user", f"\n{code}\x00\r\n")]})
    assert model.chats[0][-1].text == code


@pytest.mark.parametrize("collection", ["docs", None])
def test_a_long_question_is_looked_up_by_its_beginning(
    context: SearchContext, search: ScriptedAdapter, collection: str | None
) -> None:
    """Without a model the question is the query, in one line; one without a word is told as such."""
    asked = f"{QUESTION}\n\n{'asyncio ' * 1000}"
    result = run(context, None, {"question": asked, "collection_scope": collection})
    assert result["passages"]
    assert result["flags"] == ["no_model"]
    if collection is None:
        (sent,) = search.requests
        assert sent.query.startswith(f"{QUESTION} asyncio asyncio")
        assert len(sent.query) <= MAX_QUERY_CHARS
    empty = run(context, None, {"question": "?", "collection_scope": collection})
    assert (empty["outcome"], empty["flags"]) == ("unanswered", ["no_model", "tool_failed"])
    assert "add a word to search for" in empty["messages"][-1].content


def test_listeners_hear_of_models_and_tools(context: SearchContext) -> None:
    """As runs below their nodes; a LangChain model is told once."""
    recorder = RunRecorder()
    model = ScriptedChatModel(
        replies=[ScriptedToolCalls(RETRIEVE, SEARCH), "Use asyncio.timeout [1]."]
    )
    result = run(context, model, callbacks=[recorder])
    assert result["outcome"] == "answered"
    assert recorder.tree() == [
        ("k_ask_model", "chat", "scripted"),
        ("k_ask_model", "chat", "scripted"),
        ("k_call_tools", "tool", "retrieve"),
        ("k_call_tools", "tool", "web_search"),
    ]


@pytest.mark.parametrize("double", [ScriptedChatModel, None])
def test_a_chat_sees_no_draft(context: SearchContext, double: Any) -> None:
    """What the model wrote has citations that nobody checked: only the answer is streamed."""
    replies = [ScriptedToolCalls(RETRIEVE), "Use asyncio.timeout [1]. See [99]."]
    model = ScriptedAnswerModel(*replies) if double is None else double(replies=replies)
    asking = context.model_copy(update={"model": model})
    shown = [one for one, _ in graph.stream(ASKED, context=asking, stream_mode="messages")]
    assert [one.type for one in shown] == ["ai"]
    assert shown[0].content.startswith("Use asyncio.timeout. [1] See. [no source]\n\nSources:")


def test_over_the_wire_and_from_a_cassette(context: SearchContext, tmp_path: Path) -> None:
    """With the adapter of the settings; the recording plays without a server."""
    tape = tmp_path / "run.jsonl"
    with OpenAIServer(ScriptedToolCalls(RETRIEVE, SEARCH), "Use asyncio.timeout [1].") as server:
        settings = context.using().model_copy(
            update={"openai_api_key": None, "openai_base_url": server.base_url}
        )
        recording = context.model_copy(
            update={"settings": settings, "cassette": Cassette.record(tape)}
        )
        live = run(recording, "openai:gpt-4o-mini")
        roles = [one["role"] for one in server.requests[1].body["messages"]]
    assert live["outcome"] == "answered"
    assert roles == ["system", "user", "assistant", "tool", "tool"]
    replay = Cassette.replay(tape)
    played = run(context.model_copy(update={"cassette": replay, "provider": None}), None)
    assert played["answer"] == live["answer"]
    assert replay.missing == []


HOSTILE = {**FENCE_ESCAPES, **INSTRUCTIONS, **MARKUP}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_of_a_page_changes_a_call(
    context: SearchContext, store: SQLiteStore, name: str
) -> None:
    """The model obeys whatever it reads outside of a fence: there is nothing, in two turns.

    The orders stand in titles and texts of pages, in the collection and on the web, and the model
    repeats them in its answer.
    """
    bad = f"{HOSTILE[name]}\n{ORDER} asyncio timeout"
    page = document(f"{ORDER} {HOSTILE[name]}"[:200], f"{TASKS}\n{bad}", query="q", rank=1)
    store.collections.replace_document(
        TenantScope("local", "docs"), page, chunks(f"{TASKS}\n{bad}")
    )
    web = ScriptedAdapter(
        [
            ProviderSearchResult(
                "https://a.org/x", f"asyncio {bad}", f"timeout {bad}", ORDER, content=bad
            )
        ]
    )
    obeying = ObeyingModel(RETRIEVE, SEARCH, answer=f"{ORDER} {HOSTILE[name]} Tea is hot [1].")
    asking = context.model_copy(update={"provider": web, "model": ScriptedAnswerModel(obeying)})
    compiled = build_graph(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    for question in (QUESTION, "And how in a thread?"):
        result = compiled.invoke(
            {"question": question, "collection_scope": "docs"}, config, context=asking
        )
        assert obeying.orders == []
        assert result["telemetry"]["nodes"]["k_call_tools"]["call_count"] == 2
    assert {one.query for one in web.requests} == {"asyncio timeout"}


def test_the_obeying_model_does_obey(context: SearchContext) -> None:
    """Without a fence around it: else the test above would prove nothing."""
    obeying = ObeyingModel(RETRIEVE)
    run(context, ScriptedAnswerModel(obeying), {"question": ORDER, "collection_scope": "docs"})
    assert obeying.orders[0] == ("web_search", "my-secret-key")


async def test_many_runs_at_once(context: SearchContext) -> None:
    """Each has its own numbers and answer."""
    models = [
        ScriptedAnswerModel(ScriptedToolCalls(RETRIEVE), f"Use asyncio.timeout, says {n} [1].")
        for n in range(20)
    ]
    runs = (
        graph.ainvoke(ASKED, context=context.model_copy(update={"model": one})) for one in models
    )
    for n, result in enumerate(await asyncio.gather(*runs)):
        assert result["answer"]["text"] == f"Use asyncio.timeout, says {n}. [1]"


def test_the_schemas_serve_forms_and_chats() -> None:
    """Each field is described, and `messages` are messages."""
    fields = graph.get_input_jsonschema()["properties"]
    assert set(fields) == {"question", "messages", "collection_scope"}
    assert all("description" in field for field in fields.values())
    assert "messages" in graph.get_output_jsonschema()["properties"]


def test_an_answer_that_was_cut_off_is_told(context: SearchContext) -> None:
    """In the answer, and in the message that people read."""
    model = ScriptedAnswerModel(
        ScriptedToolCalls(RETRIEVE), ChatReply("Use asyncio.timeout [1]. And", cut_off=True)
    )
    result = run(context, model)
    assert "cut off" in result["answer"]["message"]
    assert "cut off" in result["messages"][-1].content
