"""The command, run in this process or in one of its own, with adapters found by entry point."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.command_line import Ended, Invoke
from support.loopback_site import LoopbackSite
from support.scripted_world import QUESTION

from collection_search import Settings
from collection_search.cli import main
from collection_search.runtime.concurrency import run_blocking
from collection_search.settings.adapter_factory import make_adapter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PLUGIN = Path(__file__).with_name("plugin")
ENTRY_POINTS = {
    "search": (
        "scripted",
        "off_topic",
        "empty",
        "partial",
        "refusing",
        "hanging",
        "stuck",
        "interrupting",
        "keyless",
        "talkative",
        "with_pdf",
    ),
    "models": ("planner", "broken_model"),
    "embeddings": ("words", "other_words", "broken_embedder", "slow", "stuck_embedder"),
}


@pytest.fixture(scope="session")
def plugin_path(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Folders that hold an installed distribution with entry points."""
    site = tmp_path_factory.mktemp("site")
    metadata = site / "cli_doubles-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: cli-doubles\nVersion: 1.0\n")
    sections = (
        "\n".join([f"[collection_search.{group}]", *(f"{n} = cli_doubles:{n}" for n in names)])
        for group, names in ENTRY_POINTS.items()
    )
    (metadata / "entry_points.txt").write_text("\n".join(sections))
    return [str(site), str(PLUGIN)]


@pytest.fixture
def loopback(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackSite]:
    """A site without pages, which the command may read at once."""
    with LoopbackSite() as site:
        monkeypatch.setenv("COLLECTION_SEARCH_FETCH_ALLOWED", ",".join(site.allowed))
        monkeypatch.setenv("COLLECTION_SEARCH_FETCH_DELAY_S", "0")
        monkeypatch.setenv("COLLECTION_SEARCH_EXTRACT_PROCESSES", "1")
        yield site
        run_blocking(make_adapter(Settings.load(), "readers", "web").aclose())


@pytest.fixture
def command(
    plugin_path: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Invoke:
    """Run the command here and return its exit code with what it printed."""
    for folder in plugin_path:
        monkeypatch.syspath_prepend(folder)

    def invoke(*arguments: str) -> Ended:
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert isinstance(stopped.value.code, int)
        return Ended(stopped.value.code, *capsys.readouterr())

    return invoke


@pytest.fixture
def run(command: Invoke) -> Invoke:
    """Run `collection-search run` with the scripted provider, if no other is named."""

    def invoke(*options: str, provider: str = "scripted", question: str = QUESTION) -> Ended:
        return command("run", question, "--collection", "py", "--provider", provider, *options)

    return invoke


class Started(subprocess.Popen[str]):
    """A process that ends with its `with` block at the latest, also when the test fails in it."""

    def __exit__(self, *exc_info: object) -> None:
        self.kill()
        super().__exit__(*exc_info)


def heed_signals() -> None:
    """Undo what a shell does to background jobs, and `nohup`: ignore Ctrl-C, and hanging up."""
    for one in (signal.SIGINT, signal.SIGHUP):
        signal.signal(one, signal.SIG_DFL)


@pytest.fixture
def started(plugin_path: list[str]) -> Callable[..., subprocess.Popen[str]]:
    """Start the command in a process of its own."""

    def start(*arguments: str, stdin: int | None = None, **variables: str) -> subprocess.Popen[str]:
        return Started(
            [sys.executable, "-m", "collection_search", *arguments],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=heed_signals,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(plugin_path)} | variables,
        )

    return start
