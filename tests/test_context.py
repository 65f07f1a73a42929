"""Which ports a run uses."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.runtime import Runtime
from pydantic import ValidationError

from collection_search import SearchContext, Settings
from collection_search.errors import ConfigError
from collection_search.runtime.spans import NULL_SINK
from collection_search.settings.process_defaults import process_settings
from collection_search.testing import (
    ScriptedAdapter,
    ScriptedChatModel,
    ScriptedEmbedder,
    ScriptedQueryModel,
)

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search.ports import Storage


def runtime(context: Any, server_info: Any = None) -> Runtime[Any]:
    return Runtime(context=context, server_info=server_info)


def test_our_own_context_is_taken_as_it_is() -> None:
    """A SearchContext is the run's context."""
    own = SearchContext(case_id="c")
    assert SearchContext.of(runtime(own)) is own


@pytest.mark.parametrize(
    "given",
    [None, object(), {}, {"something": "else"}, {"collection_search": None}],
    ids=["none", "foreign", "empty", "unknown keys", "nothing under our key"],
)
def test_a_run_without_our_context_uses_the_defaults(given: Any) -> None:
    """No context, or one of a host that knows nothing of us, is fine."""
    assert SearchContext.of(runtime(given)) == SearchContext()


def test_a_host_context_carries_ours() -> None:
    """As an attribute or as a key `collection_search`, object or mapping."""
    own = SearchContext(case_id="c")
    assert SearchContext.of(runtime(SimpleNamespace(collection_search=own))) is own
    assert SearchContext.of(runtime({"collection_search": own})) is own
    assert SearchContext.of(runtime({"collection_search": {"case_id": "c"}})) == own
    assert SearchContext.of(runtime({"model": "the host's own"})) == SearchContext()


def test_a_wrong_value_is_refused() -> None:
    """JSON cannot smuggle something that is neither a name nor an object."""
    with pytest.raises(ValidationError, match="give a name") as caught:
        SearchContext(provider={"api_key": "hunter2"})
    assert "hunter2" not in str(caught.value)
    for no_store in ({"path": "/etc"}, "/etc/passwd"):
        with pytest.raises(ValidationError, match="store"):
            SearchContext(store=no_store)


def test_on_a_server_the_tenant_is_the_authenticated_user() -> None:
    """Whatever tenant a remote caller names, his own is used; without users the configured one."""
    asked = SearchContext(tenant_id="victim")
    user = SimpleNamespace(user=SimpleNamespace(identity="acme"))
    assert SearchContext.of(runtime(asked, user)).tenant() == "acme"
    nobody = SimpleNamespace(user=None)
    assert SearchContext.of(runtime(asked, nobody)).tenant() == process_settings().tenant


@pytest.mark.parametrize("field", ["provider", "model", "embeddings", "reranker"])
def test_on_a_server_names_are_those_of_the_settings(field: str) -> None:
    """A remote caller cannot choose what the operator did not configure."""
    with pytest.raises(ConfigError, match=field):
        SearchContext.of(
            runtime(SearchContext(**{field: "expensive:one"}), SimpleNamespace(user=None))
        )


@pytest.mark.parametrize("choice", ["model", "none"])
def test_on_a_server_premium_may_be_judged_without_a_folder(choice: str) -> None:
    """A remote caller may take the operator's model, or nobody; a folder is the operator's alone."""
    asked = runtime(SearchContext(reranker=choice), SimpleNamespace(user=None))
    assert SearchContext.of(asked).reranker_choice() == choice
    folder = runtime(SearchContext(reranker="local:/etc"), SimpleNamespace(user=None))
    with pytest.raises(ConfigError, match="reranker 'local:/etc' is not configured"):
        SearchContext.of(folder)


async def test_names_and_objects_are_both_accepted(tmp_path: Path) -> None:
    """A provider and a model may be given live; a LangChain model is wrapped."""
    adapter, model = ScriptedAdapter(), ScriptedQueryModel([])
    context = SearchContext(provider=adapter, model=model, settings=Settings(home=tmp_path))
    assert (await context.search_provider()).adapter is adapter
    assert await context.query_model() is model
    wrapped = await context.model_copy(
        update={"model": ScriptedChatModel(replies=["x"])}
    ).query_model()
    assert wrapped is not None
    assert callable(wrapped.plan)


async def test_a_live_object_is_known_again_in_the_next_run(tmp_path: Path) -> None:
    """A host makes a context per run; what the object refuses is asked for once."""
    answer = {"queries": ["asyncio cancel"]}
    chat = ScriptedChatModel(replies=[answer], refuses=frozenset({"json_schema"}))
    for _ in range(2):
        model = await SearchContext(settings=Settings(home=tmp_path), model=chat).query_model()
        assert model is not None
        await model.plan("asyncio", purpose="search", count=1)
    assert chat.methods == ["json_schema", "function_calling", "function_calling"]


async def test_the_choice_of_provider_is_explained(tmp_path: Path) -> None:
    """Automatic choice ends at the offline corpus and says so; an unknown name lists the known."""
    settings = Settings(home=tmp_path)
    chosen = await SearchContext(settings=settings).search_provider()
    assert chosen.adapter.provider_name == "offline"
    assert "no provider is configured" in chosen.reason
    with pytest.raises(ConfigError, match="offline"):
        await SearchContext(settings=settings, provider="bing").search_provider()


async def test_names_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    """A model where none is taken, and an adapter that only wraps live objects."""
    settings = Settings(home=tmp_path)
    with pytest.raises(ConfigError, match=r"'offline' takes no model"):
        await SearchContext(settings=settings, provider="offline:large").search_provider()
    with pytest.raises(ConfigError, match=r"'langchain' cannot be named"):
        await SearchContext(settings=settings, model="langchain:large").query_model()


def test_threads_that_come_at_once_share_one_store(tmp_path: Path) -> None:
    """Or its workers would be as many as the threads."""
    barrier = threading.Barrier(8)

    def store(_: int) -> Storage:
        context = SearchContext(settings=Settings(home=tmp_path))
        barrier.wait(60)
        return asyncio.run(context.storage())

    with ThreadPoolExecutor(8) as pool:
        assert len({id(one) for one in pool.map(store, range(8))}) == 1


async def test_lexical_means_no_embedder(tmp_path: Path) -> None:
    """Without a model there is no embedder, and a wrong object is refused."""
    settings = Settings(home=tmp_path)
    assert await SearchContext(settings=settings).embedder() is None
    with pytest.raises(ConfigError, match="embeddings"):
        await SearchContext(settings=settings, embeddings=object()).embedder()


@pytest.mark.parametrize("fingerprint", [None, 7, "", " "])
async def test_an_embedder_needs_a_name(tmp_path: Path, fingerprint: Any) -> None:
    """By its fingerprint vectors of different models are told apart."""
    unnamed = ScriptedEmbedder()
    unnamed.fingerprint = fingerprint
    given = SearchContext(settings=Settings(home=tmp_path), embeddings=unnamed)
    with pytest.raises(ConfigError, match="The embedder ScriptedEmbedder has the fingerprint"):
        await given.embedder()


async def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    """An object that cannot plan is an error of the settings, told in a sentence."""
    wrong = SearchContext(settings=Settings(home=tmp_path), model=object())
    with pytest.raises(ConfigError, match="model needs a name"):
        await wrong.query_model()


async def test_a_model_without_a_name_is_told_what_it_lacks(tmp_path: Path) -> None:
    """It has a plan, so the sentence names the other attribute."""

    class Planner:
        async def plan(self, *_: Any, **__: Any) -> None: ...

    wrong = SearchContext(settings=Settings(home=tmp_path), model=Planner())
    with pytest.raises(ConfigError, match="Planner has `plan` but no `model_name`"):
        await wrong.query_model()


@pytest.mark.parametrize(
    "given", [{"provider": ScriptedAdapter}, {"model": ScriptedQueryModel}, {"embeddings": object}]
)
def test_a_class_is_no_instance(given: dict[str, Any]) -> None:
    """It has the methods, so that only the first call would fail."""
    with pytest.raises(ValidationError, match="is a class: give an instance"):
        SearchContext(**given)


async def test_without_keys_there_is_no_tracing(tmp_path: Path) -> None:
    """No Langfuse key, no sink; keys with tracing switched off neither."""
    plain = Settings(home=tmp_path)
    assert await SearchContext(settings=plain).sink() is NULL_SINK
    off = Settings(
        home=tmp_path, langfuse_public_key="pk", langfuse_secret_key="sk", langfuse_tracing=False
    )
    assert await SearchContext(settings=off).sink() is NULL_SINK


def test_ids_are_made_once_and_follow_the_host() -> None:
    """Given ids stay, missing ones are made, the host's run id is used."""
    assert SearchContext(run_id="r", trace_id="t").ids("host")["run_id"] == "r"
    ids = SearchContext().ids("host")
    assert (ids["run_id"], ids["trace_id"]) == ("host", "host")
    assert SearchContext().ids() != SearchContext().ids()


def test_json_schema_shows_names_only() -> None:
    """The form of a remote caller has neither tenant nor live objects."""
    fields = SearchContext.model_json_schema()["properties"]
    assert {"provider", "model", "embeddings", "ranking_profile", "case_id"} <= fields.keys()
    assert not {"tenant_id", "store", "trigger", "spans", "settings", "run_id"} & fields.keys()


@pytest.mark.parametrize(
    ("fallback", "is_there", "missing"),
    [
        ("wikipedia", True, None),
        ("brave", False, "BRAVE_API_KEY"),
        ("tavily", False, "TAVILY_API_KEY"),
        ("searxng", False, "SEARXNG_URL"),
        ("serper", False, None),
    ],
    ids=["needs no key", "no key", "a trial without key", "no address", "the first itself"],
)
async def test_a_fallback_is_there_or_says_what_it_lacks(
    tmp_path: Path, fallback: str, is_there: bool, missing: str | None
) -> None:
    """Once, in words for a person."""
    settings = Settings.load(
        home=tmp_path,
        providers={"serper": {"api_key": "made-up-0123456789"}},
        use_fallback=True,
        fallback_provider=fallback,
    )
    context = SearchContext(settings=settings, provider="serper")
    providers, notices = await context.search_providers()
    names = [one.adapter.provider_name for one in providers]
    assert names == (["serper", fallback] if is_there else ["serper"])
    assert len(notices) == bool(missing)
    assert all(missing in notice for notice in notices if missing)


async def test_a_fallback_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    """A typing error would otherwise be noticed on the day on which it is needed."""
    settings = Settings.load(
        home=tmp_path,
        providers={"serper": {"api_key": "made-up-0123456789"}},
        use_fallback=True,
        fallback_provider="brvae",
    )
    with pytest.raises(ConfigError, match="'brvae'"):
        await SearchContext(settings=settings, provider="serper").search_providers()
