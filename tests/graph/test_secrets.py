"""Twenty planted secrets come out nowhere: not where things go well, nor where they are echoed.

Each is searched for as it is, quoted, encoded, cut in half and backwards: in results, errors,
states, events, spans, checkpoints, cassettes, databases, logs and the command's output.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import uuid
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import quote

import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from support.planted_secrets import (
    SECRETS,
    VENDORS,
    chain,
    encodings,
    files_of,
    leaks,
    quoted,
)
from support.ports import closed_port
from support.scripted_world import INPUT, QUESTION

from collection_search import (
    CollectionSearchGraph,
    SearchContext,
    Settings,
    WebSearchError,
    WebSearchService,
    WebSearchWorker,
    build_graph,
)
from collection_search.cassette import Cassette
from collection_search.cli import main
from collection_search.contracts.options import NO_OPTIONS
from collection_search.errors import CollectionSearchError
from collection_search.runtime.concurrency import run_blocking
from collection_search.settings.adapter_factory import make_adapter
from collection_search.testing import (
    FakeClock,
    OpenAIServer,
    OtlpServer,
    ProviderServer,
    RecordingSink,
    RecordingTrigger,
    example_context,
)
from collection_search.testing.keyring import MemoryKeyring
from collection_search.testing.openai_server import OpenAIFailure, RawReply
from collection_search.testing.provider_server import DIALECTS
from collection_search.testing.providers.google import ENGINE_ID
from collection_search.testing.providers.sample_index import find_hits
from collection_search.testing.providers.wire import Reply

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


PATIENCE_S: Final = 60.0
FOREIGN: Final = f"Authorization: Bearer {SECRETS['foreign-bearer']}"
TARGET: Final = f"/login?session=1&api_key={quoted('foreign-parameter')}"


class Listener(logging.Handler):
    """Keeps every record as text, with its traceback and all of its fields."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts += [self.format(record), repr(vars(record))]


@pytest.fixture(autouse=True)
def logged() -> Iterator[None]:
    """Listen to every logger at DEBUG, and judge all that was logged at the end."""
    loggers = [logging.getLogger(), *map(logging.getLogger, logging.root.manager.loggerDict)]
    before = {logger: logger.level for logger in loggers}
    listener = Listener()
    logging.getLogger().addHandler(listener)
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
    yield
    logging.getLogger().removeHandler(listener)
    for logger, level in before.items():
        logger.setLevel(level)
    assert leaks("the log", *listener.texts) == []


def echoes(server: ProviderServer) -> dict[str, Reply]:
    """Return every answer that repeats what the client sent, or a secret of somebody else."""
    key = server.dialect.key
    own = {name: failure.reply for name, failure in server.failures.items()}
    shown = {
        name: reply
        for name, reply in own.items()
        if reply.shows_request or "echoed" in name or key.encode() in reply.body
    }
    encoded = ", ".join(encodings(key))
    page = f"<html><p>{key}</p><pre>{FOREIGN}</pre></html>"
    said = {"error": {"code": 400, "message": f"{key} {FOREIGN} {key}", "status": key}}
    return shown | {
        "html": Reply(200, page.encode(), {"Content-Type": "text/html"}, shows_request=True),
        "page": Reply(403, page.encode(), {"Content-Type": "text/html"}, shows_request=True),
        "redirect": Reply(302, headers={"Location": f"https://a.example/?key={key}"}),
        "redirect_quoted": Reply(307, headers={"Location": f"/?token={quote(key, safe='')}"}),
        "redirect_of_others": Reply(302, headers={"Location": TARGET}),
        "json": Reply.of_json(said, 400),
        "json_in_a_200": Reply.of_json(said),
        "detail": Reply.of_json(
            {"detail": [{"loc": ["body", key], "msg": f"{key} {FOREIGN}"}]}, 422
        ),
        "encoded": Reply.of_json({"error": {"code": 400, "message": encoded}}, 400),
        "encoded_in_text": Reply.of_text(encoded, 401),
        "throttled": Reply.of_json({"error": f"{key}: slow down", "message": key}, 429).having(
            Retry_After=key
        ),
        **{
            f"cut_at_{size}": Reply.of_text(f"{'a ' * (size // 2 - 8)}{key} {key}", 400)
            for size in (300, 1200, 2000, 4000)
        },
        "broken": Reply(500, f'{{"error": "{key}'.encode(), {"Content-Type": "application/json"}),
    }


def found_with_credentials(server: ProviderServer) -> Reply:
    """Return an answer with two rows, one of which has a name and a password in its address."""
    dialect = server.dialect
    good, bad = (dialect.row(page) for page in find_hits("asyncio")[:2])
    user, password = quoted("result-user"), quoted("result-password")
    bad[dialect.fields["url"]] = f"https://{user}:{password}@docs.example.org/private"
    return Reply.of_json(dialect.envelope([good, bad]))


def without_texts(query: str) -> dict[str, Any]:
    """Return a request that needs no page of the web."""
    return {"query": query, "options": {"include_content": False}}


def access(server: ProviderServer) -> dict[str, Any]:
    own = {"api_key": server.dialect.key, "base_url": server.base_url}
    return own | ({"search_engine_id": ENGINE_ID} if server.dialect.name == "google" else {})


@pytest.fixture(params=VENDORS)
def vendor(request: pytest.FixtureRequest) -> Iterator[ProviderServer]:
    """A vendor's double that takes the planted key."""
    with ProviderServer(DIALECTS[request.param](SECRETS[request.param])) as server:
        yield server


def test_at_least_twenty_are_planted() -> None:
    """Each is another one; what is looked for is found, and no secret is a word of the rest."""
    assert len(SECRETS) >= 20
    assert len(set(SECRETS.values())) == len(SECRETS)
    assert leaks("a test", f"x{SECRETS['chat'][::-1]}x") != []
    assert leaks("a test", QUESTION) == []


# --- one provider


@pytest.mark.slow
def test_adapter_and_worker(vendor: ProviderServer, tmp_path: Path) -> None:
    """Answers, errors with all their causes, spans, outcomes, cassettes and what they look like."""
    name = vendor.dialect.name
    settings = Settings(home=tmp_path, providers={name: access(vendor)})
    adapter = make_adapter(settings, "search", name)
    tape = tmp_path / "tape.jsonl"
    cassette, sink, clock = Cassette.record(tape), RecordingSink(), FakeClock()
    cassette.hide(settings)
    worker = WebSearchWorker(
        cassette.search(adapter),
        sleep=clock.sleep,
        asleep=clock.asleep,
        timer=clock.monotonic,
        spans=sink,
        timeout_s=PATIENCE_S,
        deadline_s=3600,
    )
    told: list[Any] = [settings, adapter, worker, cassette, adapter.source]
    told += [vars(adapter), repr(adapter.request("q", 5, 0, NO_OPTIONS))]
    replies = {"usual": None, "odd": found_with_credentials(vendor), **echoes(vendor)}
    for reply in replies.values():
        vendor.reply(reply) if reply else vendor.recover()
        for call in (worker.run, lambda **given: asyncio.run(worker.arun(**given))):
            response = call(query="asyncio", context=example_context())
            told += [response.model_dump_json(), response]
        with suppress(CollectionSearchError):
            adapter.search("asyncio", max_results=5, timeout=PATIENCE_S)
        try:
            asyncio.run(adapter.asearch("asyncio", max_results=5, timeout=PATIENCE_S))
        except CollectionSearchError as error:
            told += [error, chain(error)]
    told += [(span.fields, span.failure) for span in sink.spans]
    assert any("[secret]" in str(each) for each in told)
    assert leaks(name, *told, tape.read_bytes()) == []


@pytest.mark.slow
def test_service(vendor: ProviderServer, tmp_path: Path) -> None:
    """Answers, errors, and what the next searches are told while the provider is closed."""
    name = vendor.dialect.name
    settings = Settings(
        home=tmp_path,
        providers={name: access(vendor)},
        default_provider=name,
        search_timeout_s=PATIENCE_S,
    )
    service = WebSearchService(settings)
    told: list[Any] = [service, vars(service)]
    vendor.reply(found_with_credentials(vendor))
    told.append(service.search(without_texts("asyncio")).model_dump_json())
    once = {"unauthorized", "html", "page", "redirect", "redirect_quoted", "redirect_of_others"}
    for number, (_, reply) in enumerate(
        item for item in echoes(vendor).items() if item[0] in once or "echoed" in item[0]
    ):
        vendor.reply(reply)
        try:
            told.append(service.search(without_texts(f"asyncio {number}")).model_dump_json())
        except WebSearchError as error:
            told += [error, chain(error), error.message]
    told.append(service.initialize(SECRETS["chat"], name))
    assert leaks(name, *told) == []
    for file, content in files_of(tmp_path):
        assert leaks(file, content) == []


@pytest.mark.slow
def test_a_key_in_the_keyring(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is used, and shown by its last characters alone."""
    key = SECRETS["keyring"]
    with MemoryKeyring(), ProviderServer(DIALECTS["kagi"](key)) as server, ExitStack() as stack:
        monkeypatch = stack.enter_context(pytest.MonkeyPatch.context())
        monkeypatch.setenv("COLLECTION_SEARCH_HOME", str(tmp_path))
        monkeypatch.setenv("KAGI_BASE_URL", server.base_url)
        monkeypatch.setattr("sys.stdin", _Typed(key))
        codes = [command("keys", "set", "kagi")]
        server.fail("key_echoed", after=1)
        calls = (
            ("keys", "list"),
            ("keys", "list", "--json"),
            ("search", "asyncio", "--provider", "kagi", "--json"),
            ("search", "sqlite", "--provider", "kagi"),
            ("doctor", "--provider", "kagi", "--spend", "--json"),
            ("doctor", "--provider", "kagi"),
            ("keys", "remove", "kagi"),
        )
        codes += [command(*arguments) for arguments in calls]
    assert codes[:4] == [0, 0, 0, 0]
    assert server.requests
    told = capsys.readouterr()
    assert key[-4:] in told.out
    assert leaks("the command", told.out, told.err) == []
    for file, content in files_of(tmp_path):
        assert leaks(file, content) == []


class _Typed:
    """What a person or a pipe gives the command."""

    def __init__(self, text: str) -> None:
        self._text = text

    def readline(self) -> str:
        return f"{self._text}\n"

    def read(self) -> str:
        return self._text

    def isatty(self) -> bool:
        return False


def command(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    return int(str(stopped.value.code))


# --- the whole run


class World:
    """Search, models, embeddings and tracing, all with secrets of their own."""

    def __init__(self, home: Path, provider: str = "tavily", **replies: Any) -> None:
        self.home = home
        self.search = ProviderServer(DIALECTS[provider](SECRETS[provider]))
        queries = {"queries": ["asyncio timeouts", "cancel asyncio tasks", "python tasks"]}
        self.chat = OpenAIServer(replies.get("chat", queries))
        self.embeddings = OpenAIServer(embeddings=replies.get("embeddings", ()))
        self.tracing = OtlpServer()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        for server in (self.search, self.chat, self.embeddings, self.tracing):
            self._stack.enter_context(server)
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stack.close()

    def settings(self, *, passwords: bool) -> Settings:
        """Return settings with the keys; with `passwords`, addresses hold them as well."""

        def address(url: str, name: str) -> str:
            return url.replace("://", f"://me:{quoted(name)}@") if passwords else url

        return Settings(
            home=self.home,
            provider=self.search.dialect.name,
            providers={self.search.dialect.name: access(self.search)},
            model="openai:gpt-4o-mini",
            embeddings="openai:text-embedding-3-small",
            openai_api_key=SECRETS["chat"],
            openai_base_url=address(self.chat.base_url, "chat-password"),
            embeddings_api_key=SECRETS["embeddings"],
            embeddings_base_url=address(self.embeddings.base_url, "embeddings-password"),
            langfuse_public_key=f"pk-lf-{uuid.uuid4()}",
            langfuse_secret_key=SECRETS["langfuse"],
            langfuse_base_url=address(self.tracing.base_url, "langfuse-password"),
            search_timeout_s=PATIENCE_S,
        )


def refusals(name: str, *, passwords: bool = True) -> dict[str, Any]:
    """Return what a model's endpoint says that repeats what it was sent, or somebody else's key."""
    key = SECRETS[name]
    password = SECRETS[f"{name}-password"] if passwords else ""
    encoded = ", ".join(encodings(key))
    return {
        "refused": OpenAIFailure(401, f"Incorrect API key provided: {key} {password}. {FOREIGN}"),
        "encoded": OpenAIFailure(400, f"Not understood: {encoded}"),
        "odd_encoded": RawReply(json.dumps({"error": "", "choices": encoded}).encode(), 200),
        "unknown": OpenAIFailure(404, f"The model of {key} at me:{password} does not exist."),
        "page": RawReply(f"<html>{key} {FOREIGN}</html>".encode(), 403, "text/html"),
        "redirect": RawReply(b"", 302, headers={"Location": f"https://a.example/?key={key}"}),
        "odd": RawReply(json.dumps({"error": key, "choices": key}).encode(), 200),
    }


async def run_of(world: World, settings: Settings, told: list[Any]) -> None:
    """Run the graph with a checkpointer, streaming everything, on a cassette; tell all of it."""
    cassette = Cassette.record(world.home / "tape.jsonl")
    context = SearchContext(settings=settings, cassette=cassette, trigger=RecordingTrigger())
    told += [settings, context, cassette]
    config: Any = {"configurable": {"thread_id": "t"}}
    modes: Any = ["values", "updates", "custom", "debug", "tasks", "checkpoints"]
    async with AsyncSqliteSaver.from_conn_string(str(world.home / "checkpoints.db")) as saver:
        graph: Any = build_graph(checkpointer=saver)
        try:
            given = {**INPUT, "auto_ingest": True}
            async for event in graph.astream(given, config, context=context, stream_mode=modes):
                told.append(event)
        except CollectionSearchError as error:
            told += [error, chain(error)]
        told += [state async for state in graph.aget_state_history(config)]
    sink = await context.sink()
    await asyncio.to_thread(sink.flush, PATIENCE_S)


@pytest.mark.slow
@pytest.mark.parametrize("passwords", [False, True], ids=["keys", "passwords"])
@pytest.mark.parametrize(
    "trouble",
    [
        "none",
        "rows",
        "search",
        "redirect",
        *(f"{w}-{n}" for w in ("chat", "embeddings") for n in refusals(w)),
    ],
)
def test_a_whole_run(tmp_path: Path, trouble: str, *, passwords: bool) -> None:
    """State, stream, checkpoints, spans, cassette and databases, whichever part fails."""
    where, _, what = trouble.partition("-")
    replies: dict[str, Any] = {}
    if what:
        refused = refusals(where, passwords=passwords)[what]
        replies = {where: refused if where == "chat" else (refused,)}
    with World(tmp_path, **replies) as world:
        if trouble == "rows":
            world.search.reply(found_with_credentials(world.search))
        elif where in ("search", "redirect"):
            name = {"search": "key_echoed", "redirect": "redirect"}[where]
            world.search.reply(echoes(world.search)[name])
        told: list[Any] = []
        run_blocking(run_of(world, world.settings(passwords=passwords), told))
        spans = [
            (s.name, dict(s.attributes), s.status_message, s.events) for s in world.tracing.spans
        ]
        assert len(world.chat.requests) >= 1
        assert world.search.requests
    assert {name for name, *_ in spans} >= {"k_generate_strategy", "k_parallel_web_search"}
    assert leaks("the run", *told) == []
    assert leaks("the trace", *spans) == []
    kept = dict(files_of(tmp_path))
    assert {"tape.jsonl", "checkpoints.db", "usage.db"} <= kept.keys()
    for file, content in kept.items():
        assert leaks(file, content) == []


@pytest.mark.slow
def test_a_run_without_a_cassette_keeps_answers(tmp_path: Path) -> None:
    """What is kept for the next search holds no secret either, nor does the plain facade."""
    with World(tmp_path) as world:
        world.search.reply(found_with_credentials(world.search))
        context = SearchContext(settings=world.settings(passwords=False))
        results = [CollectionSearchGraph(context).run(INPUT) for _ in range(2)]
        assert len(world.search.requests) == 3
    assert leaks("the run", *results) == []
    for file, content in files_of(tmp_path):
        assert leaks(file, content) == []


@pytest.mark.parametrize("status", [None, 407, 502])
def test_a_password_of_the_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int | None
) -> None:
    """The proxy is dead, asks for another password, or fails, and repeats what it was sent."""
    with ProviderServer(DIALECTS["tavily"]()) as proxy, closed_port() as closed:
        if status:
            proxy.reply(Reply(status, b"who is that?", shows_request=True))
        port = proxy.base_url.rpartition(":")[2] if status else closed
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:{quoted('proxy-password')}@127.0.0.1:{port}")
        monkeypatch.setenv("HTTP_PROXY", os.environ["HTTPS_PROXY"])
        told: list[Any] = []
        for scheme in ("http", "https"):
            known = {"api_key": SECRETS["tavily"], "base_url": f"{scheme}://search.invalid"}
            settings = Settings(home=tmp_path, providers={"tavily": known})
            adapter, clock = make_adapter(settings, "search", "tavily"), FakeClock()
            worker = WebSearchWorker(adapter, asleep=clock.asleep, timer=clock.monotonic)
            response = asyncio.run(worker.arun(query="q", context=example_context()))
            assert response.outcome.decision == "error"
            told += [response, response.model_dump_json()]
            with pytest.raises(CollectionSearchError) as caught:
                asyncio.run(adapter.asearch("q", max_results=5, timeout=PATIENCE_S))
            told.append(chain(caught.value))
    assert leaks("the search", *told) == []


# --- the command


def variables(world: World) -> dict[str, str]:
    """Return the environment of the command, with a secret in all that may hold one."""
    with closed_port() as closed:
        proxy = f"http://me:{quoted('proxy-password')}@127.0.0.1:{closed}"
    keys = {f"{name.upper()}_API_KEY": SECRETS[name] for name in VENDORS}
    nowhere = {f"{name.upper()}_BASE_URL": "http://127.0.0.1:9" for name in VENDORS}
    settings = world.settings(passwords=True)
    return {
        **{name: value for name, value in os.environ.items() if "PYTEST" not in name},
        **keys,
        **nowhere,
        "GOOGLE_SEARCH_ENGINE_ID": ENGINE_ID,
        "TAVILY_BASE_URL": world.search.base_url,
        "HTTPS_PROXY": proxy,
        "NO_PROXY": "127.0.0.1",
        "COLLECTION_SEARCH_HOME": str(world.home),
        "COLLECTION_SEARCH_PROVIDER": "tavily",
        "COLLECTION_SEARCH_MODEL": "openai:gpt-4o-mini",
        "COLLECTION_SEARCH_EMBEDDINGS": "openai:text-embedding-3-small",
        "OPENAI_API_KEY": SECRETS["chat"],
        "OPENAI_BASE_URL": str(settings.openai_base_url),
        "COLLECTION_SEARCH_EMBEDDINGS_API_KEY": SECRETS["embeddings"],
        "COLLECTION_SEARCH_EMBEDDINGS_BASE_URL": str(settings.embeddings_base_url),
        "LANGFUSE_PUBLIC_KEY": "pk-lf-of-the-test",
        "LANGFUSE_SECRET_KEY": SECRETS["langfuse"],
        "LANGFUSE_BASE_URL": str(settings.langfuse_base_url),
    }


EVERYTHING: Final = """
import logging, sys
from collection_search.cli import main
logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
main(sys.argv[1:])
"""
"""The command in a program that logs all there is."""


@pytest.mark.slow
@pytest.mark.parametrize("trouble", ["none", "key_echoed", "redirect", "unauthorized", "chat"])
def test_the_command_in_a_process(tmp_path: Path, trouble: str) -> None:
    """run, search, doctor, keys and costs, verbose, with everything that libraries log."""
    calls: tuple[tuple[str, ...], ...] = (
        ("run", QUESTION, "--collection", "c", "--json", "--record", str(tmp_path / "tape.jsonl")),
        ("search", "asyncio", "--json"),
    )
    if trouble == "none":
        calls += (("run", QUESTION, "--collection", "c", "--auto-ingest", "--no-wait"),)
        calls += (("doctor", "--json"), ("keys", "list", "--json"), ("costs", "--json"))
    elif trouble == "key_echoed":
        calls += (("doctor",), ("doctor", "--provider", "tavily", "--spend"))
    chat = {"chat": refusals("chat")["refused"]} if trouble == "chat" else {}
    with World(tmp_path, **chat) as world:
        if trouble not in ("none", "chat"):
            world.search.reply(echoes(world.search)[trouble])
        environment, told = variables(world), []
        for arguments in calls:
            done = subprocess.run(
                [sys.executable, "-c", EVERYTHING, "--verbose", *arguments],
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=240,
            )
            assert done.returncode in (0, 3, 4), done.stderr[-2000:]
            assert done.stdout
            told += [done.stdout, done.stderr]
    assert leaks("the command", *told) == []
    kept = dict(files_of(tmp_path))
    assert trouble != "none" or {"usage.db", "collections.db", "tape.jsonl"} <= kept.keys()
    for file, content in kept.items():
        assert leaks(file, content) == []
