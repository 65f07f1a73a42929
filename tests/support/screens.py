"""The screens of the command, as terminals of several widths show them.

`make screens` keeps them in `docs/screens`, as NAME-80.txt and NAME-140.txt. The search engine,
the site and the models are doubles on this machine; times, ids and addresses are masked.
"""

from __future__ import annotations

import atexit
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from fcntl import ioctl
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .terminal_rows import TerminalRow, terminal_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

WIDTHS: Final = (80, 140)
QUESTION: Final = "How do I cancel an asyncio task after a timeout?"
_LIMIT_S: Final = 120.0
_COMMANDS: Final = (
    "run",
    "review",
    "decisions",
    "search",
    "ask",
    "coverage",
    "page",
    "collections",
    "corpus",
    "ingest",
    "worker",
    "mcp",
    "serve",
    "tokens",
    "costs",
    "eval",
    "keys",
    "doctor",
)


@dataclass(frozen=True)
class Shot:
    """A command, and the name of its screen; without a name it only prepares the next."""

    name: str
    arguments: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    answers: tuple[tuple[str, str], ...] = ()
    """A question of the command, and what a person types."""


PLANNED: Final = {"COLLECTION_SEARCH_MODEL": "openai:gpt-4o-mini"}
PAID: Final = {
    **PLANNED,
    "COLLECTION_SEARCH_PROVIDER": "tavily",
    "COLLECTION_SEARCH_EMBEDDINGS": "openai:text-embedding-3-small",
}


def shots(world: Mapping[str, str]) -> list[Shot]:
    """Return the commands in their order."""
    written = {**PLANNED, "OPENAI_BASE_URL": world["writer"]}
    gone = f"{world['web']}/3/whatsnew/3.11.html"
    into = ("--collection", "asyncio")
    criteria = ("--criterion", "It shows code", "--criterion", "It names a version of Python")
    return [
        Shot("doctor", ("doctor",)),
        Shot("doctor-all", ("doctor", "--all")),
        Shot("collections-none", ("collections",)),
        Shot("run-without-collection", ("run", QUESTION)),
        Shot("run", ("run", QUESTION, *into)),
        Shot("search", ("search", "cancel asyncio task after timeout")),
        Shot("search-nothing", ("search", "qwertz", "--freshness", "day")),
        Shot("run-nothing", ("run", "qwertz", *into)),
        Shot("run-failing", ("run", QUESTION, *into), {"SEARXNG_URL": "http://127.0.0.1:9"}),
        Shot("run-auto-ingest", ("run", QUESTION, *into, "--auto-ingest", "--min-score", "40")),
        Shot(
            "run-off-topic",
            ("run", "a soup of potatoes, how long?", *into, "--auto-ingest", "--min-score", "99"),
        ),
        Shot("run-criteria", ("run", QUESTION, *into, *criteria), PLANNED),
        Shot("run-too-dear", ("run", QUESTION, *into, "--max-cost", "0.001"), PAID),
        Shot("run-paid", ("run", QUESTION, *into, "--max-cost", "0.05"), PAID),
        Shot("search-paid", ("search", "asyncio"), PAID),
        Shot("estimate", ("run", QUESTION, *into, "--estimate"), PAID),
        Shot("ask", ("ask", QUESTION, *into)),
        Shot("ask-with-model", ("ask", QUESTION, *into), written),
        Shot("ask-nothing", ("ask", "Which potatoes for a soup?", *into)),
        Shot("ask-unknown", ("ask", QUESTION, "--collection", "asyncoi")),
        Shot(
            "ingest-add",
            (
                "ingest",
                "add",
                f"{world['web']}/soup/potato",
                gone,
                "--collection",
                "cooking-with-what-the-garden-has",
            ),
        ),
        Shot("ingest-failed", ("ingest", "failed")),
        Shot("collections", ("collections",)),
        Shot("collections-show", ("collections", "show", "asyncio")),
        Shot("coverage", ("coverage", *into)),
        Shot("coverage-last", ("coverage", *into, "--last")),
        Shot("refresh", ("collections", "refresh", "asyncio")),
        Shot(
            "review-later",
            ("run", QUESTION, "--collection", "reviewed", "--review"),
            answers=(("Decide now?", "n"),),
        ),
        Shot("reviews", ("review",)),
        Shot(
            "review-now",
            ("run", "asyncio timeout", "--collection", "reviewed", "--review"),
            answers=(
                ("Decide now?", "y"),
                ("Approve (", "1-3"),
                ("Add a URL", ""),
                ("Comment", "as an example"),
                ("Ingest 3", "y"),
            ),
        ),
        Shot("decisions", ("decisions", "stats")),
        Shot("retry-failed", ("ingest", "retry-failed")),
        Shot("worker", ("worker", "--once")),
        Shot("page", ("page", f"{world['web']}/soup/potato")),
        Shot("page-failing", ("page", gone)),
        Shot("costs-day", ("costs",)),
        Shot("costs-run", ("costs", "--by", "run")),
        Shot("costs-name", ("costs", "--by", "name")),
        Shot("corpus", ("corpus",)),
        Shot("eval", ("eval", "--dataset", world["dataset"], "--collection", "asyncio")),
        Shot("error-command", ("serch", "x")),
        Shot("error-option", ("run", QUESTION, *into, "--max-candidats", "3")),
        Shot("error-provider", ("run", QUESTION, *into, "--provider", "gogle")),
        Shot("error-arrow", ("search", '-> search "asyncio" depth:deeep')),
        Shot("error-min-score", ("run", QUESTION, *into, "--min-score", "400")),
        Shot("help", ("--help",)),
        *(Shot(f"help-{name}", (name, "--help")) for name in _COMMANDS),
    ]


@contextmanager
def served() -> Iterator[dict[str, str]]:
    """Serve the doubles from a process of their own, and yield their addresses."""
    import support

    path = os.pathsep.join([str(Path(support.__path__[0]).parent), *sys.path])
    process = subprocess.Popen(
        [sys.executable, "-m", "support.screen_world"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": path},
        text=True,
    )
    assert process.stdin
    assert process.stdout
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.stdin.close()
        process.wait(30)


def take(shot: Shot, columns: int, variables: Mapping[str, str]) -> list[TerminalRow]:
    """Run the command in a terminal of its own and return the rows of the screen."""
    child, terminal = pty.fork()
    if not child:
        _run(shot.arguments, {**variables, **shot.variables})
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    os.kill(child, signal.SIGCONT)
    written, left, answered = b"", list(shot.answers), 0
    until = time.monotonic() + _LIMIT_S
    while time.monotonic() < until:
        if not select.select([terminal], [], [], 1.0)[0]:
            continue
        try:
            part = os.read(terminal, 65_536)
        except OSError:  # the command has ended
            break
        if not part:
            break
        written += part
        asked = written[answered:].endswith((b": ", b"? "))
        if left and asked and left[0][0].encode() in written[answered:]:
            answered = len(written)
            os.write(terminal, f"{left.pop(0)[1]}\n".encode())
    else:
        os.kill(child, signal.SIGKILL)
        raise TimeoutError(f"{shot.name} has not ended: {written.decode()[-500:]}")
    os.close(terminal)
    os.waitpid(child, 0)
    return terminal_rows(written.decode(errors="replace"), columns=columns)


def take_all(columns: int, world: Mapping[str, str]) -> Iterator[tuple[str, list[TerminalRow]]]:
    """Yield every screen in a data folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="screens-"))  # no object that the end of a fork deletes
    try:
        dataset = write_dataset(folder / "labelled")
        variables = _variables(folder / "data", world)
        for shot in shots({**world, "dataset": str(dataset)}):
            yield shot.name, take(shot, columns, variables)
    finally:
        shutil.rmtree(folder)


def keep(folder: Path | None) -> None:
    """Write every screen into the folder, without one to stdout: a line of JSON each."""
    _import_all()
    with served() as world:
        for columns in WIDTHS:
            for name, rows in take_all(columns, world):
                if folder is None:
                    sys.stdout.write(f"{json.dumps([name, columns, rows])}\n")
                    sys.stdout.flush()  # the next command is a fork of this process
                    continue
                folder.mkdir(parents=True, exist_ok=True)
                text = "".join(f"{mask(row.text)}\n" for row in rows)
                (folder / f"{name}-{columns}.txt").write_text(text, encoding="utf-8")


_MASKS: Final = (
    (re.compile(r"\d+ms|\d+\.\ds(?!\w)"), "0.1s"),
    (re.compile(r"\d\.\d / \d\.\d"), "0.5 / 0.9"),
    (re.compile(r"127\.0\.0\.1:\d{2,5}"), "127.0.0.1:40000"),
    (re.compile(r"(/\S*)?/screens-\w+/"), "/home/ann/"),
    (re.compile(r"\b20\d\d-\d\d-\d\d \d\d:\d\d"), "2026-11-24 12:00"),
    (re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "2026-11-24T12:00:00Z"),
    (re.compile(r"\b(run|gate|rev)[-_][0-9a-f]{6,}\b"), r"\1-0123abcd"),
)


def mask(text: str) -> str:
    """Return the row without what differs from run to run.

    >>> mask("⏱️ 31ms")
    '⏱️ 0.1s'
    """
    for pattern, shown in _MASKS:
        text = pattern.sub(shown, text)
    return text


def write_dataset(folder: Path) -> Path:
    """Write a data set of three questions in BEIR layout, and return its folder."""
    from .screen_world import OTHER_PAGES, SEARCH_PAGES

    (folder / "qrels").mkdir(parents=True)
    pages = [*SEARCH_PAGES, *OTHER_PAGES]
    rows = [
        {"_id": f"d{n}", "title": page.title, "text": page.snippet} for n, page in enumerate(pages)
    ]
    asked = [
        {"_id": "q0", "text": QUESTION},
        {"_id": "q1", "text": "Which lock of asyncio has a timeout?"},
        {"_id": "q2", "text": "How long do potatoes simmer?"},
    ]
    for name, lines in (("corpus", rows), ("queries", asked)):
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text)
    judged = "query-id\tcorpus-id\tscore\nq0\td0\t1\nq0\td1\t1\nq1\td3\t1\nq2\td6\t1\n"
    (folder / "qrels" / "test.tsv").write_text(judged)
    return folder


def _variables(home: Path, world: Mapping[str, str]) -> dict[str, str]:
    host = world["web"].removeprefix("http://")
    return {
        "COLLECTION_SEARCH_HOME": str(home),
        "COLLECTION_SEARCH_PROVIDER": "searxng",
        "COLLECTION_SEARCH_EMBEDDINGS": "lexical",
        "COLLECTION_SEARCH_FETCH_ALLOWED": host,
        "SEARXNG_URL": world["web"],
        "OPENAI_API_KEY": "sk-of-the-screens",
        "OPENAI_BASE_URL": world["planner"],
        "TAVILY_API_KEY": world["paid_key"],
        "TAVILY_BASE_URL": world["paid"],
        "LANGFUSE_TRACING_ENABLED": "false",
        "TERM": "xterm",
        "TTY_INTERACTIVE": "0",  # no spinner: what it leaves behind depends on the moment
        "USER": "ann",
        "LOGNAME": "ann",
    }


_OURS: Final = re.compile(
    r"(COLLECTION_SEARCH|OPENAI|LANGFUSE|LANGSMITH|LANGCHAIN|SEARXNG|GOOGLE|NO_COLOR|FORCE_COLOR|"
    r"COLUMNS|LINES)|.*(_API_KEY|_BASE_URL|_PROXY|_proxy)$"
)


def _run(arguments: tuple[str, ...], variables: Mapping[str, str]) -> Any:
    """Run the command in this forked process, and end it."""
    code = 1
    try:
        for name in list(os.environ):
            if _OURS.match(name):
                del os.environ[name]
        os.environ.update(variables)
        while os.get_terminal_size(1).columns == 0:
            time.sleep(0.001)
        for number, name in ((0, "stdin"), (1, "stdout"), (2, "stderr")):
            mode = "r" if number == 0 else "w"
            setattr(sys, name, open(number, mode, closefd=False, encoding="utf-8", buffering=1))  # noqa: SIM115
        from collection_search.cli import main

        main(arguments)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    finally:
        try:  # as a process that was not forked ends: what was spent is written
            threading._shutdown()  # type: ignore[attr-defined]
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def _import_all() -> None:
    """Import what the commands need, once for all of them."""
    import importlib

    for name in ("run", "ask", "coverage", "review", "costs", "evaluate", "doctor", "worker"):
        importlib.import_module(f"collection_search.cli.{name}")
    for name in ("graphs.collection_search", "graphs.refresh", "tools.ingest", "tools.answer"):
        importlib.import_module(f"collection_search.{name}")


if __name__ == "__main__":
    keep(Path(sys.argv[1]) if sys.argv[1:] else None)
