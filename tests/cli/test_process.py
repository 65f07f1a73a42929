"""The command as a process: signals, terminals, encodings, pipes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.scripted_world import QUESTION

from collection_search import Settings
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.cli.shared.interruption import NOT_BEGUN
from collection_search.testing import OtlpServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.command_line import Invoke

    from collection_search.testing.otlp import ScriptedStatus

Start = Callable[..., "subprocess.Popen[str]"]
RUN = ("run", QUESTION, "--collection", "py", "--provider", "scripted")
SEARCH = ("search", QUESTION, "--provider", "scripted")
MOVES_THE_CURSOR = "\x1b[2K"
COLOUR = re.compile(r"\x1b\[[0-9;]*[34][0-7]")


def interrupted(
    process: subprocess.Popen[str], *, after: str, by: signal.Signals = signal.SIGINT
) -> tuple[int, str, str]:
    """Send the signal once a line of stderr holds `after`; return code, stdout and stderr."""
    assert process.stderr
    for line in process.stderr:
        if after in line:
            break
    process.send_signal(by)
    out, err = process.communicate(timeout=90)
    return process.returncode, out, err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "Interrupted. Nothing was stored;"),
        (("--auto-ingest",), "Interrupted. Nothing is lost"),
    ],
)
def test_ctrl_c_while_searching(started: Start, options: tuple[str, ...], says: str) -> None:
    """The run ends at once with 130; it speaks of the ledger where it would ingest."""
    code, out, err = interrupted(
        started(*RUN, "--provider", "hanging", *options), after="Strategy Generation"
    )
    assert code == 130
    assert out == ""
    assert err.startswith(f"collection-search: {says}")
    assert ("ledger" in err) == bool(options)
    assert "Traceback" not in err


@pytest.mark.slow
def test_ctrl_c_while_indexing(started: Start) -> None:
    """The run has not begun: it speaks neither of a ledger nor of costs."""
    process = started(*RUN, "--provider", "offline", "--auto-ingest")
    code, out, err = interrupted(process, after="Indexing the documentation")
    assert (code, out) == (130, "")
    assert err == f"collection-search: {NOT_BEGUN}\n"


@pytest.mark.slow
def test_an_interrupted_search_does_not_speak_of_the_ledger(started: Start) -> None:
    """Nothing of it is kept but what it cost."""
    process = started("search", QUESTION, "--provider", "hanging", "-v")
    code, out, err = interrupted(process, after="search provider: ")
    assert (code, out) == (130, "")
    (told,) = [line for line in err.splitlines() if line.startswith("collection-search: ")]
    says = "Interrupted. Nothing was stored; 'collection-search costs' tells what was paid."
    assert told == f"collection-search: {says}"


AT_ONCE = """
import functools, signal, socket, time
from collection_search.cli import main

class SlowlyRead(socket.socket):
    def recv(self, size):
        data = super().recv(size)
        time.sleep(0.5 if size == 1 else 0)  # the thread that reads signals, on a busy machine
        return data

def make_pair(make=socket.socketpair):
    received, sent = make()
    return SlowlyRead(fileno=received.detach()), sent

socket.socketpair = make_pair
set_handler = signal.signal
set_handler(signal.SIGINT, signal.default_int_handler)

def interrupt_at_once(number, handler):
    before = set_handler(number, handler)
    if number == signal.SIGINT and isinstance(handler, functools.partial):  # that of asyncio
        signal.raise_signal(signal.SIGINT)
    return before

signal.signal = interrupt_at_once
main(["doctor"])
"""


def test_ctrl_c_as_an_event_loop_begins() -> None:
    """`asyncio.run` forgets it then and raises CancelledError in place of KeyboardInterrupt."""
    ended = subprocess.run(
        [sys.executable, "-c", AT_ONCE],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 130
    assert ended.stderr == "collection-search: Interrupted. Nothing was changed.\n"


FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="a device of Linux")
@pytest.mark.parametrize("arguments", [("--help",), ("collections",), ("collections", "--json")])
def test_a_full_disk_is_told(arguments: tuple[str, ...]) -> None:
    """One sentence and code 1, whichever way the command prints."""
    with FULL.open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "collection_search", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 1
    assert ended.stderr.startswith("collection-search: The output cannot be written (No space left")
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize("arguments", [("--help",), ("collections",), ("collections", "--json")])
def test_a_reader_that_has_gone_is_no_mistake(arguments: tuple[str, ...]) -> None:
    """As after `| head`: nothing is said, and the code is that of SIGPIPE."""
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(
        [sys.executable, "-m", "collection_search", *arguments],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (141, "")


@pytest.mark.slow
def test_an_interrupt_while_a_string_is_executed(started: Start) -> None:
    """`python -m` ends with 130 here, too; CPython alone would end it by SIGINT, which is -2."""
    process = started(*SEARCH, "--provider", "interrupting")
    _, err = process.communicate(timeout=90)
    assert process.returncode == 130
    assert err.startswith("collection-search: Interrupted. Nothing was stored;")
    assert len(err.splitlines()) == 1


@pytest.mark.slow
def test_ctrl_c_while_ingesting_gives_the_pages_back(
    started: Start, command: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the workers held is released at once, and the next worker goes on with it."""
    process = started(*RUN, "--auto-ingest", "--top-k", "2", "--embeddings", "slow")
    code, _, err = interrupted(process, after="Auto-Ingest")
    assert code == 130
    assert "'collection-search worker' goes on with it" in err
    assert SQLiteStore.from_settings(Settings.load()).ledger.pending_in_s() == 0
    monkeypatch.setenv("COLLECTION_SEARCH_EMBEDDINGS", "words")
    assert command("worker", "--once").code == 0
    assert "py                  2       2        0" in command("collections").out


@pytest.mark.slow
@pytest.mark.parametrize(("by", "ends"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_worker_stops_when_it_is_told_to(started: Start, by: signal.Signals, ends: int) -> None:
    """Either signal ends an idle worker in order."""
    code, _, err = interrupted(started("worker"), after="Ctrl-C ends it", by=by)
    assert code == ends
    assert "waits in the ledger" in err


@pytest.mark.slow
@pytest.mark.parametrize("answer", [200, "hang", "refuse"])
def test_traces_are_sent_at_the_end_without_holding_it_up(
    started: Start, answer: ScriptedStatus
) -> None:
    """What was observed arrives before the command ends; a tracing server in trouble costs 2 s."""
    with OtlpServer(answer) as server:
        began = time.monotonic()
        process = started(
            *SEARCH,
            LANGFUSE_PUBLIC_KEY="pk-lf-command",
            LANGFUSE_SECRET_KEY="sk-lf-command",
            LANGFUSE_BASE_URL=server.base_url,
        )
        out, err = process.communicate(timeout=90)
        took_s = time.monotonic() - began
        assert (process.returncode, "cancel-task-1" in out) == (0, True), err
        assert took_s < 60
        if answer == 200:
            assert [span.name for span in server.spans] == ["tool.web_search"]
        else:
            assert err.count("warning: ") == 1


@pytest.mark.slow
def test_plain_ascii_output(started: Start) -> None:
    """A terminal that does not know a character gets a question mark, not an error."""
    process = started(*SEARCH, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    out, err = process.communicate(timeout=90)
    assert process.returncode == 0, err
    assert "asyncio ? How to cancel" in out


@pytest.mark.slow
def test_a_reader_that_leaves_early(started: Start) -> None:
    """`| head` ends the command without a traceback."""
    with started(*SEARCH) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()


def parts_of(terminal: int) -> Iterator[bytes]:
    """Yield what is written to a terminal, until nobody has its other side open."""
    with suppress(OSError):
        while part := os.read(terminal, 1 << 16):
            yield part


@pytest.mark.slow
def test_a_terminal_shows_progress_and_keeps_stdout_clean(plugin_path: list[str]) -> None:
    """With a terminal on stderr JSON on stdout stays one object; NO_COLOR is respected."""
    terminal, its_end = os.openpty()
    variables = {
        "PYTHONPATH": os.pathsep.join(plugin_path),
        "TERM": "xterm-256color",
        "NO_COLOR": "1",
        "COLUMNS": "80",
    }
    written: list[bytes] = []
    with subprocess.Popen(
        [sys.executable, "-m", "collection_search", *RUN, "--auto-ingest", "--json"],
        stdout=subprocess.PIPE,
        stderr=its_end,
        env=os.environ | variables,
    ) as process:
        os.close(its_end)
        reading = threading.Thread(target=lambda: written.extend(parts_of(terminal)))
        reading.start()  # a terminal that nobody reads is full after a while
        out, _ = process.communicate(timeout=90)
    reading.join()
    os.close(terminal)
    shown = b"".join(written).decode()
    assert process.returncode == 0
    assert json.loads(out)["outcome"] == "auto_ingest_triggered"
    assert "✅ Web Search" in shown
    assert MOVES_THE_CURSOR in shown
    assert not COLOUR.search(shown)
