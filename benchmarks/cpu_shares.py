"""Where the processor time of one question goes: samples of the stack, by part.

`python benchmarks/cpu_shares.py [--at-once 200] [--seconds 20] [--of floor]`. One question at a
time is asked of servers that answer at once, many at once of servers that take their usual time. A
sample belongs to the innermost frame of a part that has a line below; what that frame calls
elsewhere (pydantic, regular expressions, numpy) counts as its own.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import world
from contestants import CONTESTANTS
from environment import keep_to_cores, load
from measure import StubProcess
from stub import LATENCY_MS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

PARTS: Final = {
    "/langgraph/": "LangGraph",
    "/langchain_core/": "LangGraph",
    "/langsmith/": "LangGraph",
    "/collection_search/graphs/": "LangGraph",
    "/aiohttp/": "HTTP: aiohttp",
    "/yarl/": "HTTP: aiohttp",
    "/multidict/": "HTTP: aiohttp",
    "/collection_search/adapters/http.py": "HTTP: own",
    "/collection_search/adapters/models/": "chat and strategy",
    "/collection_search/nodes/generate_strategy.py": "chat and strategy",
    "/collection_search/planning/prompts.py": "chat and strategy",
    "/collection_search/planning/fallback.py": "chat and strategy",
    "/collection_search/adapters/search/": "search adapter",
    "/collection_search/adapters/embeddings/": "embedding",
    "/collection_search/nodes/stage.py": "stage and context",
    "/collection_search/context.py": "stage and context",
    "/collection_search/settings/adapter_factory.py": "stage and context",
    "/collection_search/settings/provider_choice.py": "stage and context",
    "/collection_search/settings/": "stage and context",
    "/collection_search/contracts/inputs.py": "stage and context",
    "/collection_search/tools/money/": "books",
    "/collection_search/ports/usage.py": "books",
    "/collection_search/adapters/stores/sqlite/": "books",
    "/collection_search/text/urls.py": "URL rule",
    "/collection_search/tools/search_rows.py": "rows",
    "/collection_search/contracts/search.py": "rows",
    "/collection_search/contracts/service.py": "rows",
    "/collection_search/contracts/ingestion.py": "rows",
    "/collection_search/text/clean.py": "rows",
    "/collection_search/tools/similarity/": "rank: node",
    "/collection_search/tools/": "worker",
    "/collection_search/nodes/parallel_web_search.py": "merge",
    "/collection_search/ranking/similarity.py": "rank: similarity",
    "/collection_search/ranking/lexicon.py": "rank: words",
    "/collection_search/ranking/tokenization.py": "rank: words",
    "/collection_search/languages/": "rank: words",
    "/collection_search/ranking/heuristics.py": "rank: heuristics",
    "/collection_search/ranking/scoring.py": "rank: scores",
    "/collection_search/nodes/embedding_rank.py": "rank: node",
    "/collection_search/runtime/concurrency.py": "threads",
    "/anyio/": "threads",
    "/benchmarks/floor.py": "floor",
    "/asyncio/": "event loop",
}
"""The first part whose text stands in a file's path; without any the frame's caller is asked."""
INTERVAL_S: Final = 0.001
LARGEST: Final = 4


class Sampler:
    """Counts where the processor is, while inside its `with` block."""

    def __init__(self) -> None:
        self.parts: Counter[str] = Counter()
        self.functions: Counter[tuple[str, str]] = Counter()
        self.collecting_s = 0.0
        """Spent by the garbage collector, whatever the samples call it."""
        self._began = 0.0

    def __enter__(self) -> Self:
        gc.callbacks.append(self._collect)
        signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, INTERVAL_S, INTERVAL_S)
        return self

    def __exit__(self, *exc_info: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        gc.callbacks.remove(self._collect)

    def _collect(self, phase: str, _info: dict[str, int]) -> None:
        if phase == "start":
            self._began = time.thread_time()
        else:
            self.collecting_s += time.thread_time() - self._began

    def _sample(self, _number: int, frame: FrameType | None) -> None:
        part, function = _place(_working(frame))
        self.parts[part] += 1
        self.functions[part, function] += 1


def _working(frame: FrameType | None) -> FrameType | None:
    """Return the frame that used the time: while the event loop waits it is another thread's."""
    if frame is None or frame.f_code.co_name != "select":
        return frame
    waiting = {"select", "wait", "get", "read"}
    others = (
        other
        for thread, other in sys._current_frames().items()  # noqa: SLF001 - the only way there
        if thread != threading.get_ident() and other.f_code.co_name not in waiting
    )
    return next(others, frame)


def _place(frame: FrameType | None) -> tuple[str, str]:
    outer: FrameType | None = frame
    while outer is not None:
        path = outer.f_code.co_filename
        for text, part in PARTS.items():
            if text in path:
                return part, f"{Path(path).stem}.{outer.f_code.co_name}"
        outer = outer.f_back
    return "other", Path(frame.f_code.co_filename).stem if frame else ""


async def _measure(name: str, size: int, seconds: float, folder: str) -> Iterator[str]:
    latency = dict.fromkeys(LATENCY_MS, 0.0) if size == 1 else None
    numbers, sampler = count(1), Sampler()
    with StubProcess(latency) as stub:
        keep_to_cores(last=False)
        config = {**stub.urls, "provider": "tavily", "home": folder}
        async with CONTESTANTS[name](config) as ask:

            async def crowd() -> int:
                questions = [world.question(number) for number in islice(numbers, size)]
                await asyncio.gather(*(ask(each) for each in questions))
                return len(questions)

            for _ in range(3):
                await ask(world.question(next(numbers)))
            await crowd()
            asked, cpu, ends = 0, time.process_time(), time.monotonic() + seconds
            with sampler:
                while time.monotonic() < ends:
                    asked += await crowd()
            each_ms = 1000 * (time.process_time() - cpu) / asked
    collecting_ms = 1000 * sampler.collecting_s / asked
    title = f"{name}, {size} at once, {asked} questions, {load()}"
    return _report(sampler, f"{title}, {collecting_ms:.2f} ms of it garbage collection", each_ms)


def _report(sampler: Sampler, title: str, each_ms: float) -> Iterator[str]:
    samples = sampler.parts.total()
    yield f"## {each_ms:.1f} ms of processor time per question: {title}, {samples} samples\n"
    yield "| part | ms | % | most of it in |\n| --- | --- | --- | --- |"
    for part, hits in sampler.parts.most_common():
        most = [
            f"{function} {each_ms * number / samples:.2f}"
            for (of, function), number in sampler.functions.most_common()
            if of == part
        ]
        share = hits / samples
        most_told = ", ".join(most[:LARGEST])
        yield f"| {part} | {each_ms * share:.2f} | {100 * share:.0f} | {most_told} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--at-once", type=int, default=1, help="questions at the same time")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--of", choices=CONTESTANTS, default="product")
    options: Any = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        of, size, seconds = options.of, options.at_once, options.seconds
        lines = asyncio.run(_measure(of, size, seconds, folder))
        print("\n".join(lines))


if __name__ == "__main__":
    main()
