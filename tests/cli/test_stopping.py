"""Commands that are told to stop while something hangs."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.scripted_world import QUESTION
from support.waiting import wait_until

from collection_search import SearchContext, Settings
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.cli.shared.signals import STOP_LIMIT_S
from collection_search.settings.process_defaults import process_settings
from collection_search.tools.ingest import ingest

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

    from collection_search.contracts.ingestion import Claim

    Start = Callable[..., subprocess.Popen[str]]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc"),
]
TOO_LATE = f"It did not stop within {STOP_LIMIT_S:g} s."
EXIT_CODES = {signal.SIGTERM: 143, signal.SIGHUP: 129}


class HangingSite(ThreadingHTTPServer):
    """A site with a robots.txt, whose pages are never answered."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Hangs)
        self.asked = threading.Semaphore(0)
        self.over = threading.Event()
        self.is_answered = False
        self.entry = f"127.0.0.1:{self.server_address[1]}"
        self.url = f"http://{self.entry}/page"


class _Hangs(BaseHTTPRequestHandler):
    server: HangingSite

    def do_GET(self) -> None:
        if self.path == "/robots.txt":
            self.send_error(404)
        elif self.server.is_answered:
            body = b"<html><body><p>Green tea is steeped for two minutes.</p></body></html>"
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        else:
            self.server.asked.release()
            self.server.over.wait(300)

    def log_message(self, *_arguments: Any) -> None:
        """Print nothing."""


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[HangingSite]:
    with HangingSite() as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        monkeypatch.setenv("COLLECTION_SEARCH_FETCH_ALLOWED", made.entry)
        monkeypatch.setenv("COLLECTION_SEARCH_FETCH_TIMEOUT_S", "300")
        yield made
        made.over.set()
        made.shutdown()


@pytest.fixture
def stuck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that appears when a double blocks its thread."""
    path = tmp_path / "stuck"
    monkeypatch.setenv("STUCK", str(path))
    return path


def send(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Send a signal, and wait until the process has got it: two of a kind are one until then."""
    process.send_signal(number)
    wait_until(lambda: process.poll() is not None or not _is_pending(process.pid, number))


def _is_pending(pid: int, number: signal.Signals) -> bool:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    masks = [int(line.split()[1], 16) for line in lines if line.startswith(("SigPnd", "ShdPnd"))]
    return any(mask >> (number - 1) & 1 for mask in masks)


def ended(process: subprocess.Popen[str], children: list[int]) -> tuple[int, str]:
    """Return exit code and stderr; none of its child processes may be left.

    What hangs does so for longer than this waits: that the process ends shows that it has a limit.
    """
    _, err = process.communicate(timeout=120)
    assert "Traceback" not in err
    assert "Exception ignored" not in err
    wait_until(lambda: not any(map(is_running, children)))
    return process.returncode, err


def children_of(process: subprocess.Popen[str]) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{process.pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
            found += map(int, (task / "children").read_text().split())
    return found


def is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def free_row() -> Claim:
    """Return the one row of the ledger, which another worker can have at once."""
    store = SQLiteStore.from_settings(process_settings())
    claim = store.ledger.claim("another-host:1:worker", lease_s=60, fetch=True)
    store.close()
    assert claim is not None
    return claim


ADD = ("ingest", "add", "--collection", "tea")


def started_on(command: str, site: HangingSite, started: Start) -> subprocess.Popen[str]:
    """Start a command that soon waits for the page."""
    if command == "add":
        return started(*ADD, site.url)
    if command == "worker":
        context = SearchContext(settings=process_settings())
        ingest([site.url], collection="tea", context=context, work=False)
        return started("worker")
    site.is_answered = True
    with started(*ADD, site.url) as process:
        _, err = process.communicate(timeout=90)
        assert process.returncode == 0, err
    site.is_answered = False
    return started("collections", "refresh", "tea", "--no-search")


@pytest.mark.parametrize("command", ["worker", "add", "refresh"])
def test_a_second_ctrl_c_ends_at_once(command: str, site: HangingSite, started: Start) -> None:
    """It does not wait for the page in hand, and its row is free nevertheless."""
    with started_on(command, site, started) as process:
        assert site.asked.acquire(timeout=120)
        children = children_of(process)
        send(process, signal.SIGINT)
        send(process, signal.SIGINT)
        code, err = ended(process, children)
    assert code == 130
    assert "Interrupted again." in err
    assert free_row().attempts == 1


@pytest.mark.parametrize("command", ["worker", "add", "refresh"])
def test_a_hanging_page_is_given_back(command: str, site: HangingSite, started: Start) -> None:
    """SIGTERM and SIGHUP leave it some time; then the command ends within the stated limit."""
    number = signal.SIGHUP if command == "refresh" else signal.SIGTERM
    with started_on(command, site, started) as process:
        assert site.asked.acquire(timeout=120)
        children = children_of(process)
        send(process, number)
        code, err = ended(process, children)
    assert code == EXIT_CODES[number]
    assert "in the ledger" in err
    assert free_row().attempts == 1


def test_an_idle_worker_ends_with_129_when_its_terminal_is_closed(started: Start) -> None:
    with started("worker") as process:
        assert process.stderr
        assert "Ctrl-C ends it" in process.stderr.readline()
        children = children_of(process)
        send(process, signal.SIGHUP)
        code, err = ended(process, children)
    assert code == 129
    assert "waits in the ledger" in err


def test_a_blocked_thread_does_not_keep_the_process(stuck: Path, started: Start) -> None:
    """Nothing can cancel it: the process ends at the limit."""
    with started("search", QUESTION, "--provider", "stuck") as process:
        wait_until(stuck.exists)
        children = children_of(process)
        send(process, signal.SIGINT)
        code, err = ended(process, children)
    assert code == 130
    assert TOO_LATE in err
    assert "ledger" not in err


def test_an_embedder_that_blocks_the_event_loop(stuck: Path, started: Start) -> None:
    """Its page is given back, and the command ends."""
    options = ("--auto-ingest", "--top-k", "1", "--embeddings", "stuck_embedder")
    run = ("run", QUESTION, "--collection", "py", "--provider", "scripted", *options)
    with started(*run) as process:
        wait_until(stuck.exists)
        children = children_of(process)
        send(process, signal.SIGINT)
        code, _ = ended(process, children)
    assert code == 130
    assert free_row().attempts == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_extraction_that_hangs_ends_with_its_command(
    number: signal.Signals,
    site: HangingSite,
    started: Start,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However the command ends: no process is left, not even one that hangs."""
    site.is_answered = True
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    folders = [str(Path(__file__).with_name("stuck_extraction")), str(Path.cwd())]
    with started(*ADD, site.url, PYTHONPATH=os.pathsep.join(folders)) as process:
        wait_until(lambda: [*tmp_path.glob("stuck-*")])
        pid = int(next(tmp_path.glob("stuck-*")).name.partition("-")[2])
        assert is_running(pid)
        process.send_signal(number)
        _, err = process.communicate(timeout=90)
    assert process.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL)
    assert "Traceback" not in err
    wait_until(lambda: not is_running(pid))
    store = SQLiteStore.from_settings(Settings.load())
    assert store.ledger.sweep(is_gone=lambda _: True) == (number == signal.SIGKILL)
    store.close()
