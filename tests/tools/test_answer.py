"""A written answer from a collection: cited, marked, paid within the ceiling, or not written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.hostile_texts import FENCE_ESCAPES, open_fence

from collection_search import Settings, answer
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.cassette import Cassette
from collection_search.context import SearchContext
from collection_search.contracts.answer import Answer
from collection_search.contracts.collection import TenantScope
from collection_search.errors import InputError, ModelError
from collection_search.planning.answer_prompts import NO_ANSWER
from collection_search.ports import ChatReply
from collection_search.testing import (
    OpenAIServer,
    RecordingSink,
    ScriptedAnswerModel,
    ScriptedQueryModel,
)
from collection_search.testing.stores.suite import chunks, document
from collection_search.tools.answer import aanswer
from collection_search.tools.answers.outcomes import render

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUESTION = "How do I cancel an asyncio task after a timeout?"
TASKS = "To cancel an asyncio task after a timeout, use asyncio.timeout as a context manager."
WRITTEN = "Use asyncio.timeout as a context manager [1]. It is fast [7]."


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore.from_settings(Settings(home=tmp_path))
    put(store, "tasks", TASKS)
    yield store
    store.close()


@pytest.fixture
def context(tmp_path: Path, store: SQLiteStore) -> SearchContext:
    return SearchContext(settings=Settings(home=tmp_path), store=store)


def put(store: SQLiteStore, name: str, text: str, tenant: str = "local") -> None:
    page = document(name, text, query="asyncio", rank=1)
    store.collections.replace_document(TenantScope(tenant, "docs"), page, chunks(text))


async def ask(context: SearchContext, **more: Any) -> Answer:
    return await aanswer(QUESTION, collection="docs", context=context.model_copy(update=more))


async def test_an_answer_cites_its_passages(context: SearchContext) -> None:
    """Text, sentences, sources, and what it cost."""
    model = ScriptedAnswerModel(WRITTEN, model_name="gpt-4o-mini")
    given = await ask(context, model=model)
    assert (given.outcome, given.reason, given.message) == ("answered", None, None)
    assert given.text == "Use asyncio.timeout as a context manager. [1] It is fast. [no source]"
    assert [(one.citations, one.supported) for one in given.sentences] == [([1], True), ([], False)]
    assert [one.n for one in given.sources()] == [1]
    assert given.sources()[0].text == TASKS
    assert (given.model, given.input_tokens, given.output_tokens) == ("gpt-4o-mini", 29, 44)
    assert given.cost_usd == pytest.approx(3.075e-05)
    assert Answer.model_validate(given.model_dump(mode="json")) == given


async def test_the_passages_reach_the_model_inside_the_fence_and_without_tools(
    context: SearchContext, store: SQLiteStore
) -> None:
    """Whatever a page holds, one fence is around it, and the question is outside."""
    for number, text in enumerate(FENCE_ESCAPES.values()):
        put(store, f"hostile{number}", f"{TASKS} {text}")
    model = ScriptedAnswerModel(WRITTEN)
    await ask(context, model=model, settings=context.using())
    _, user = model.chats[0]
    fenced, _, question = user.text.rpartition("\n\n")
    open_fence(fenced)
    assert QUESTION in question
    assert model.tools == [[]]


async def test_without_a_model_there_are_passages(context: SearchContext) -> None:
    """A model that only plans is none that can answer."""
    for model in (None, ScriptedQueryModel(["a"])):
        given = await ask(context, model=model)
        assert (given.outcome, given.reason, given.text) == ("unanswered", "no_model", None)
        assert "COLLECTION_SEARCH_MODEL" in str(given.message)
        assert [one.text for one in given.passages] == [TASKS]
        assert given.cost_usd == 0


@pytest.mark.parametrize(
    ("error", "cost"),
    [
        (ModelError("The model is down.", may_be_billed=False), 0.0),
        (ModelError("The model is down."), None),
        (RuntimeError("The model is down."), None),
    ],
)
async def test_a_failing_model_leaves_the_passages(
    context: SearchContext, error: Exception, cost: float | None
) -> None:
    """Whatever it raises; the cause is told, and whether it may have cost something."""
    given = await ask(context, model=ScriptedAnswerModel(error))
    assert (given.reason, given.cost_usd) == ("model_failed", cost)
    assert "The model is down." in str(given.message)
    assert given.passages


async def test_a_call_beyond_the_ceiling_is_not_made(context: SearchContext) -> None:
    """The run's ceiling counts for answers too."""
    model = ScriptedAnswerModel(WRITTEN, model_name="gpt-4o-mini")
    given = await ask(context, model=model, max_cost_usd=0.0)
    assert (given.reason, given.cost_usd, model.chats) == ("cost_limit", 0.0, [])
    assert "ceiling" in str(given.message)


@pytest.mark.parametrize("said", [NO_ANSWER, f"{NO_ANSWER}.", f"**{NO_ANSWER}**"])
async def test_a_model_may_find_no_answer(context: SearchContext, said: str) -> None:
    """Then there is no text, and the passages are there to look at."""
    given = await ask(context, model=ScriptedAnswerModel(said))
    assert (given.outcome, given.reason, given.text) == ("unanswered", "not_answered", None)
    assert given.passages


async def test_a_text_without_any_valid_citation_is_no_answer(context: SearchContext) -> None:
    """It is shown with its marks, and not counted as answered."""
    given = await ask(context, model=ScriptedAnswerModel("Just kill it [4]."))
    assert (given.outcome, given.text) == ("unanswered", "Just kill it. [no source]")


async def test_nobody_is_asked_where_nothing_is_good_enough(context: SearchContext) -> None:
    """Neither for no passages nor for those below the level."""
    model = ScriptedAnswerModel(WRITTEN)
    nothing = await aanswer(
        "zzz qqq", collection="docs", context=context.model_copy(update={"model": model})
    )
    assert (nothing.outcome, nothing.reason) == ("unanswered", "no_passages")
    far = "Which bakery in Vienna bakes the best cakes for a party manager?"
    below = await aanswer(
        far, collection="docs", context=context.model_copy(update={"model": model})
    )
    assert (below.reason, len(below.passages), model.chats) == ("below_level", 1, [])


async def test_the_collections_of_others_are_not_read(
    context: SearchContext, store: SQLiteStore
) -> None:
    """Another tenant's collection of the same name does not exist."""
    put(store, "secret", f"{TASKS} The secret is heron.", tenant="acme")
    model = ScriptedAnswerModel(WRITTEN)
    given = await ask(context, model=model)
    assert "heron" not in model.chats[0][1].text + given.model_dump_json()
    with pytest.raises(InputError, match="no collection"):
        await aanswer(QUESTION, collection="docs", tenant="other", context=context)


async def test_a_chat_is_recorded_and_replayed(context: SearchContext, tmp_path: Path) -> None:
    """Though the fence's id is another one each time."""
    tape = tmp_path / "run.jsonl"
    recorded = await ask(
        context, model=ScriptedAnswerModel(WRITTEN), cassette=Cassette.record(tape)
    )
    replay = Cassette.replay(tape)
    assert await ask(context, cassette=replay) == recorded
    assert replay.missing == []
    with pytest.raises(InputError, match="was recorded with another model"):
        await ask(context, model="openai:other", cassette=replay)


async def test_a_recording_without_chats_says_so(context: SearchContext, tmp_path: Path) -> None:
    """The recorded model only planned."""
    tape = tmp_path / "run.jsonl"
    await ask(context, model=ScriptedQueryModel(["a"]), cassette=Cassette.record(tape))
    given = await ask(context, cassette=Cassette.replay(tape))
    assert given.reason == "no_model"
    assert "cassette" in str(given.message)


async def test_the_call_is_an_observation(context: SearchContext) -> None:
    """With model, tokens, cost and outcome."""
    sink = RecordingSink()
    await ask(context, model=ScriptedAnswerModel(WRITTEN, model_name="gpt-4o-mini"), spans=sink)
    (span,) = sink.named("answer")
    assert (span.kind, span.fields["outcome"]) == ("generation", "answered")
    assert span.tokens["cost_usd"] == pytest.approx(3.075e-05)


def test_the_blocking_form_over_the_wire(tmp_path: Path, store: SQLiteStore) -> None:
    """With the adapter of the settings."""
    with OpenAIServer(WRITTEN) as server:
        settings = Settings(
            home=tmp_path,
            model="openai:gpt-4o-mini",
            openai_api_key="sk-of-the-test-0123456789",
            openai_base_url=server.base_url,
        )
        context = SearchContext(settings=settings, store=store)
        given = answer(QUESTION, collection="docs", context=context)
        assert given.outcome == "answered"
        assert "tools" not in server.requests[0].body


@pytest.mark.parametrize(
    ("text", "outcome"), [("Use a timeout [1]. And then", "answered"), ("Use a", "unanswered")]
)
async def test_an_answer_that_was_cut_off_is_told(
    context: SearchContext, text: str, outcome: str
) -> None:
    """Beside what there is of it."""
    given = await ask(context, model=ScriptedAnswerModel(ChatReply(text, cut_off=True)))
    assert given.outcome == outcome
    assert "cut off" in str(given.message)
    assert str(given.message) in render(given)
    whole = await ask(context, model=ScriptedAnswerModel("Use a timeout [1]."))
    assert whole.message is None
