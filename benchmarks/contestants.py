"""One contestant in a process of its own: questions come as lines of JSON, answers go likewise.

`python contestants.py NAME CONFIG`, where CONFIG is JSON: addresses of the stub, the search
provider, a data folder, and where Langfuse listens. All questions of a line are asked at once.
"""

from __future__ import annotations

import asyncio
import json
import re
import resource
import sys
import time
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from environment import keep_to_cores
from stock_parts import stock_parts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from collection_search import Settings

    Ask: TypeAlias = "Callable[[str], Awaitable[dict[str, Any]]]"
    Config: TypeAlias = "Mapping[str, str]"


WARM_UP: Final = 3
"""Questions to a fresh process that are not measured."""


@asynccontextmanager
async def floor(config: Config) -> AsyncIterator[Ask]:
    """Give the floor over aiohttp."""
    import aiohttp
    import orjson
    from floor import ask

    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=60)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def post(url: str, body: Any) -> bytes:
            async with session.post(url, data=orjson.dumps(body), headers=_JSON) as answer:
                answer.raise_for_status()
                return await answer.read()

        async def once(question: str) -> dict[str, Any]:
            urls = await ask(question, post, config["models_url"], config["search_url"])
            return {"urls": urls}

        yield once


@asynccontextmanager
async def floor_httpx(config: Config) -> AsyncIterator[Ask]:
    """Give the floor over httpx with aiohttp as its transport."""
    import aiohttp
    import httpx
    import httpx_aiohttp
    import orjson
    from floor import ask

    def session() -> aiohttp.ClientSession:
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60))

    transport = httpx_aiohttp.AiohttpTransport(client=session)
    async with httpx.AsyncClient(transport=transport, timeout=30) as client:

        async def post(url: str, body: Any) -> bytes:
            answer = await client.post(url, content=orjson.dumps(body), headers=_JSON)
            return answer.raise_for_status().content

        async def once(question: str) -> dict[str, Any]:
            urls = await ask(question, post, config["models_url"], config["search_url"])
            return {"urls": urls}

        yield once


@asynccontextmanager
async def product(config: Config) -> AsyncIterator[Ask]:
    """Give the whole graph with the adapters that its settings name."""
    from collection_search import CollectionSearchGraph, SearchContext

    graph = CollectionSearchGraph(SearchContext(settings=settings_of(config)))

    async def once(question: str) -> dict[str, Any]:
        _, result = await graph.arun(
            {"question": question, "collection_scope": "benchmark", "purpose": "collection_search"}
        )
        if result["outcome"] != "search_completed" or result["flags"]:
            raise RuntimeError(f"{result['outcome']} {result['flags']} {result['search']}")
        return {
            "urls": [row["url"] for row in result["results"]],
            "telemetry": result["telemetry"],
        }

    yield once


def settings_of(config: Config) -> Settings:
    """Return settings that name the stub as search provider and as the endpoint of the models.

    All else is as it is shipped, unless `config` says that the product forgets its answers.
    """
    from pydantic import SecretStr

    from collection_search import Settings
    from collection_search.settings import ProviderAccess

    traced = config.get("langfuse_url")
    tuned = {"answer_cache_s": 0.0} if "forgets" in config else {}
    provider = config["provider"]
    access = ProviderAccess(api_key=SecretStr("tvly-key"), base_url=config["search_url"])
    return Settings(
        home=Path(config["home"]),
        provider=provider,
        providers={provider: access},
        model="openai:gpt-4o-mini",
        embeddings="openai:text-embedding-3-small",
        openai_api_key=SecretStr("sk-key"),
        openai_base_url=config["models_url"],
        **tuned,
        langfuse_public_key="pk-lf-key" if traced else None,
        langfuse_secret_key=SecretStr("sk-lf-key") if traced else None,
        langfuse_base_url=traced,
    )


CONTESTANTS = {
    "floor": floor,
    "floor, httpx API": floor_httpx,
    "product": product,
    "product, Langfuse on": product,
    "product tuned, no answer kept": product,
    "stock parts": stock_parts,
    "stock parts, LLM re-ranker": partial(stock_parts, judge=True),
}
_JSON = {"Content-Type": "application/json"}


async def at_once(ask: Ask, questions: list[str]) -> dict[str, Any]:
    """Return what asking all the questions at the same time gave and took."""
    waited, cpu, started = waited_ns(), time.process_time_ns(), time.monotonic_ns()
    answers = await asyncio.gather(*(ask(each) for each in questions), return_exceptions=True)
    ended, cpu = time.monotonic_ns(), time.process_time_ns() - cpu
    return {
        "answers": [each for each in answers if not isinstance(each, BaseException)],
        "errors": [repr(each)[:500] for each in answers if isinstance(each, BaseException)],
        "started": started,
        "ended": ended,
        "cpu_ns": cpu,
        "waited_ns": waited_ns() - waited,
        "peak_mib": peak_mib(),
    }


def waited_ns() -> int:
    """Return how long the main thread was ready to run and had no core, where the system tells."""
    schedule = Path("/proc/self/schedstat")
    return int(schedule.read_text().split()[1]) if schedule.exists() else 0


def peak_mib() -> float:
    """Return the most memory that this process ever held, in MiB."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says includes the parent's memory at the start
        found = re.search(r"VmHWM:\s*(\d+) kB", status.read_text())
        assert found
        return int(found[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def _main(name: str, config: Config) -> None:
    lines = asyncio.StreamReader(limit=1 << 20)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async with AsyncExitStack() as stack:
        ask = await stack.enter_async_context(CONTESTANTS[name](config))
        while line := await lines.readline():
            print(json.dumps(await at_once(ask, json.loads(line))), flush=True)


if __name__ == "__main__":
    keep_to_cores(last=False)
    asyncio.run(_main(sys.argv[1], json.loads(sys.argv[2])))
