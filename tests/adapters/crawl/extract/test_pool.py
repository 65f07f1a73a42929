"""Extraction in processes: what dies there, dies alone; nothing is left behind."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.waiting import wait_until, wait_until_async

from collection_search.adapters.crawl.extract.deadline_watch import DeadlineWatch
from collection_search.adapters.crawl.extract.extraction_process import (
    ExtractionProcess,
    ProcessLimits,
)
from collection_search.adapters.crawl.extract.pool import Extraction
from collection_search.errors import FetchError
from collection_search.testing.hostile_site.file_types import pdf, stacked_bomb
from collection_search.testing.hostile_site.replies import MARKER, PAGE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from collection_search.adapters.crawl.extract.extracted import Extracted

LINUX = sys.platform == "linux"
SLOW = b"<html><body>" + b"<p>a <b>b</b> c</p>" * 20_000 + b"</body></html>"
"""Takes longer than a tenth of a second of CPU on any machine, and is no offence."""


@pytest.fixture
def extraction() -> Iterator[Extraction]:
    made = Extraction(workers=1, limits=ProcessLimits(wall_s=120.0))
    yield made
    made.close()


def processes(extraction: Extraction) -> list[int]:
    assert extraction._pool is not None
    running = [worker._process for worker in extraction._pool._workers]
    return [process.pid for process in running if process is not None]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def refused(extraction: Extraction, body: bytes, name: str = "a.html") -> FetchError:
    with pytest.raises(FetchError) as caught:
        await extraction.extract(body, name=name)
    return caught.value


@pytest.mark.slow
async def test_html_and_pdf_come_back_as_title_and_text(extraction: Extraction) -> None:
    page = await extraction.extract(PAGE, name="a.html")
    assert (page.title, MARKER in page.text) == ("Herons", True)
    assert (await extraction.extract(pdf(), name="a.pdf")).text == MARKER


@pytest.mark.slow
async def test_the_servers_charset_reaches_the_process(extraction: Extraction) -> None:
    page = "<html><body><p>アオサギが浅瀬で待つ</p></body></html>".encode("euc_jp")
    assert "アオサギ" in (await extraction.extract(page, name="a.html", charset="euc_jp")).text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "reason", "words"),
    [
        (b"<html><body></body></html>", "empty", "no text"),
        (b"%PDF-1.7 and noise", "extraction_failed", "PDF cannot be read"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\r", "extraction_failed", "neither text nor PDF"),
        (b"<html>" + b"<b>" * 700_000, "extraction_failed", "more than 600,000 tags"),
    ],
)
async def test_what_cannot_be_read_says_why(
    extraction: Extraction, body: bytes, reason: str, words: str
) -> None:
    error = await refused(extraction, body)
    assert (error.reason, error.retryable) == (reason, False)
    assert words in str(error)


@pytest.mark.slow
async def test_nothing_starts_before_the_first_document_and_nothing_stays_after_close() -> None:
    extraction = Extraction(workers=2)
    assert extraction._pool is None
    await extraction.extract(PAGE, name="a.html")
    [pid] = processes(extraction)  # one document, one process
    await extraction.aclose()
    assert not is_alive(pid)
    await extraction.extract(PAGE, name="a.html")  # it can be used again
    await extraction.aclose()


@pytest.mark.slow
async def test_a_document_over_the_time_is_killed_and_the_next_one_is_read() -> None:
    extraction = Extraction(workers=1, limits=ProcessLimits(cpu_s=60.0, wall_s=0.05))
    error = await refused(extraction, SLOW)
    assert (error.reason, error.retryable) == ("extraction_killed", False)
    assert "0.05 s" in str(error)
    assert processes(extraction) == []
    extraction._pool._workers[0]._limits = ProcessLimits()  # type: ignore[union-attr]
    assert MARKER in (await extraction.extract(PAGE, name="a.html")).text
    extraction.close()


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="the system has no such limit")
async def test_a_document_over_the_memory_costs_its_process_alone(extraction: Extraction) -> None:
    error = await refused(extraction, stacked_bomb(), "a.pdf")
    assert (error.reason, error.retryable) == ("extraction_killed", False)
    assert "512 MiB" in str(error)
    assert MARKER in (await extraction.extract(PAGE, name="a.html")).text


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="the system does not tell")
async def test_a_process_lives_for_many_documents_and_not_after_a_huge_one(
    extraction: Extraction,
) -> None:
    """What a parser once took it does not always give back."""
    ballast = b"x" * (280 << 20)  # the size of this program does not count
    await extraction.extract(PAGE, name="a.html")
    first = processes(extraction)
    await extraction.extract(PAGE, name="a.html")
    assert processes(extraction) == first
    del ballast
    huge = b"<html><body><p>" + "w\u0151rd ".encode() * 1_600_000  # two bytes a character
    await extraction.extract(huge, name="a.html")
    assert processes(extraction) == []
    await extraction.extract(PAGE, name="a.html")
    assert processes(extraction) != first


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="the system has no such limit")
async def test_cpu_time_is_limited_for_each_document() -> None:
    """The system counts whole seconds, so that no limit at all ends within two of them."""
    extraction = Extraction(workers=1, limits=ProcessLimits(cpu_s=0.0, wall_s=600.0))
    assert MARKER in (await extraction.extract(PAGE, name="a.html")).text
    error = await refused(extraction, b"<html><body>" + b"<p>a <b>b</b> c</p>" * 140_000)
    assert (error.reason, error.retryable) == ("extraction_killed", False)
    assert "0 s of CPU" in str(error)
    extraction.close()


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no such signal")
def test_a_process_that_was_killed_from_outside_may_be_tried_again() -> None:
    """It ended while it read the document; the next attempt has a new process."""
    dies = "import os, signal, sys; sys.stdin.buffer.read(1); os.kill(os.getpid(), signal.SIGKILL)"
    watch = DeadlineWatch()
    worker = ExtractionProcess(ProcessLimits(), watch)
    worker._process = subprocess.Popen(
        [sys.executable, "-c", dies], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with pytest.raises(FetchError) as caught:
        worker.read(PAGE, "a.html", None)
    assert (caught.value.reason, caught.value.retryable) == ("extraction_killed", True)
    assert MARKER in worker.read(PAGE, "a.html", None).text
    worker.stop()
    watch.stop()


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no such signal")
async def test_a_process_that_was_killed_between_two_documents_is_replaced(
    extraction: Extraction,
) -> None:
    """Nobody notices: the next document is read by a new process."""
    await extraction.extract(PAGE, name="a.html")
    [pid] = processes(extraction)
    assert extraction._pool is not None
    [worker] = extraction._pool._workers
    assert worker._process is not None
    os.kill(pid, signal.SIGKILL)
    worker._process.wait()
    assert MARKER in (await extraction.extract(PAGE, name="a.html")).text
    assert processes(extraction) != [pid]


@pytest.mark.slow
def test_a_process_that_is_slow_to_end_by_itself_was_not_killed_from_outside() -> None:
    """It ended over the document, so the next attempt would end likewise."""
    dies = "import os, sys, time; os.close(1); time.sleep(0.3); sys.exit(1)"
    watch = DeadlineWatch()
    worker = ExtractionProcess(ProcessLimits(), watch)
    worker._process = subprocess.Popen(
        [sys.executable, "-c", dies], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with pytest.raises(FetchError, match="exit code 1") as caught:
        worker.read(PAGE, "a.html", None)
    assert (caught.value.reason, caught.value.retryable) == ("extraction_killed", False)
    watch.stop()


@pytest.mark.slow
async def test_a_cancelled_document_holds_nobody_up(extraction: Extraction) -> None:
    waiting = [asyncio.ensure_future(extraction.extract(SLOW, name="a")) for _ in range(50)]
    await asyncio.sleep(0)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert MARKER in (await extraction.extract(PAGE, name="a.html")).text


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no such signal")
async def test_close_ends_what_is_being_read_and_what_waits(extraction: Extraction) -> None:
    await extraction.extract(PAGE, name="a.html")
    [pid] = processes(extraction)
    os.kill(pid, signal.SIGSTOP)  # none of them is read before the end
    reading = [asyncio.ensure_future(extraction.extract(SLOW, name="a")) for _ in range(5)]
    await asyncio.sleep(0)
    await extraction.aclose()
    errors = await asyncio.gather(*reading, return_exceptions=True)
    assert {(e.reason, e.retryable) for e in errors if isinstance(e, FetchError)} == {
        ("extraction_killed", True)
    }
    assert len(errors) == 5


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no such signal")
async def test_close_ends_the_processes_where_a_waiting_document_was_cancelled(
    extraction: Extraction,
) -> None:
    await extraction.extract(PAGE, name="a.html")
    [pid] = processes(extraction)
    os.kill(pid, signal.SIGSTOP)  # none of them is read before the end
    reading = [asyncio.ensure_future(extraction.extract(SLOW, name="a")) for _ in range(5)]
    await asyncio.sleep(0)
    reading[-1].cancel()
    await asyncio.sleep(0)
    await extraction.aclose()
    assert not is_alive(pid)
    errors = await asyncio.gather(*reading, return_exceptions=True)
    assert [type(error) for error in errors] == [FetchError] * 4 + [asyncio.CancelledError]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no such signals")
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
async def test_a_signal_to_all_processes_is_left_to_the_program(
    extraction: Extraction, number: str
) -> None:
    """Such as a terminal or a service manager sends: the program decides what is finished."""
    await extraction.extract(PAGE, name="a.html")
    [pid] = processes(extraction)
    os.kill(pid, getattr(signal, number))
    assert MARKER in (await extraction.extract(PAGE, name="a.html")).text
    assert processes(extraction) == [pid]


@pytest.mark.slow
def test_several_loops_share_the_processes() -> None:
    extraction = Extraction(workers=2)
    found: list[str] = []

    async def read() -> None:
        pages = await asyncio.gather(*(extraction.extract(PAGE, name="a.html") for _ in range(5)))
        found.extend(page.title for page in pages)

    threads = [threading.Thread(target=lambda: asyncio.run(read())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["Herons"] * 15
    assert len(processes(extraction)) == 2
    extraction.close()


@pytest.mark.slow
async def test_a_finished_document_does_not_wait_for_a_slow_one(
    extraction: Extraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outcomes are given out together, yet none is held for long."""
    await extraction.extract(PAGE, name="a.html")
    assert extraction._pool is not None
    [worker] = extraction._pool._workers
    read, go_on = worker.read, threading.Event()

    def held(body: bytes, *facts: Any) -> Extracted:
        assert body is PAGE or go_on.wait(120)
        return read(body, *facts)

    monkeypatch.setattr(worker, "read", held)
    quick = asyncio.ensure_future(extraction.extract(PAGE, name="a.html"))
    slow = [asyncio.ensure_future(extraction.extract(SLOW, name="a.html")) for _ in range(3)]
    try:
        await wait_until_async(quick.done)
        assert not any(each.done() for each in slow)
    finally:
        go_on.set()
    assert MARKER in quick.result().text
    await asyncio.gather(*slow)


@pytest.mark.slow
async def test_processes_end_with_the_object() -> None:
    extraction = Extraction(workers=1)
    await extraction.extract(PAGE, name="a.html")
    [pid] = processes(extraction)
    del extraction
    gc.collect()
    assert not is_alive(pid)


PROGRAM = """
import asyncio, os, sys
from collection_search.adapters.crawl.extract.pool import Extraction
from collection_search.testing.hostile_site.replies import PAGE

LONG = b'<html>' + b'<p>x' * 50_000

async def main():
    extraction = Extraction(workers=1)
    await extraction.extract(PAGE, name="a.html")
    print(extraction._pool._workers[0]._process.pid, flush=True)
    {then}

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no such signals")
@pytest.mark.parametrize(
    "then",
    [
        "",
        "raise SystemExit(3)",
        "os.kill(os.getpid(), 9)",
        (
            "asyncio.create_task(extraction.extract(b'<html>' + b'<p>x' * 50_000, name='a.html'))\n"
            "    await asyncio.sleep(0.05); os.kill(os.getpid(), 9)"
        ),
    ],
)
def test_no_process_outlives_its_program(then: str) -> None:
    """However the program ends: its end closes the pipe that the process reads from."""
    program = textwrap.dedent(PROGRAM).format(then=then)
    ended = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, check=False, timeout=120
    )
    pid = int(ended.stdout)
    wait_until(lambda: not is_running(pid))


def is_running(pid: int) -> bool:
    """Tell whether the process runs; one that only waits to be collected has ended."""
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], stdout=subprocess.PIPE, check=False
    ).stdout
    return bool(state.strip()) and not state.startswith(b"Z")


def environment_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="the system does not tell")
async def test_no_secret_of_the_environment_reaches_a_process(
    extraction: Extraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "canary-4711")
    await extraction.extract(PAGE, name="a.html")
    [pid] = processes(extraction)
    assert b"canary-4711" not in environment_of(pid)


@pytest.mark.slow
async def test_importing_it_loads_no_parser() -> None:
    names = "[name for name in sys.modules if name.split('.')[0] in {'lxml', 'trafilatura'}]"
    program = "import json, sys, collection_search.adapters.crawl.extract.pool;"
    done = await asyncio.create_subprocess_exec(
        sys.executable, "-c", f"{program} print(json.dumps({names}))", stdout=subprocess.PIPE
    )
    assert json.loads((await done.communicate())[0]) == []
