"""The examples of embedding run as they stand, offline, in a data folder of their own."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support.doc_runner import run_code
from support.example_modules import FOLDER, example_module
from support.langgraph_server import langgraph_dev

from collection_search.testing import EmbedderContract

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search.ports import Embedder

pytestmark = pytest.mark.slow


def output_of(program: str, *arguments: str, folder: Path = FOLDER) -> str:
    """Return what the program prints."""
    run = subprocess.run(
        [sys.executable, program, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(FOLDER.parent)))},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.usefixtures("offline_index")
def test_plain_python():
    """Pages are stored, and passages of the collection are shown."""
    shown = output_of("plain_python.py")
    assert "[1] asyncio — Coroutines and Tasks" in shown
    assert " pages stored" in shown
    assert "100% of the queries are answered" in shown


@pytest.mark.usefixtures("offline_index")
def test_an_own_embedder():
    """It is told in the telemetry, and the collection is found by it."""
    shown = output_of("own_embedder.py")
    assert shown.startswith("hashed-parts:256: ")
    assert "https://docs.python.org/" in shown


class TestHashedParts(EmbedderContract):
    """The embedder passes the contract of all embedders."""

    def embedder(self) -> Embedder:
        embedder: Embedder = example_module("own_embedder").HashedParts()
        return embedder


@pytest.mark.usefixtures("offline_index")
def test_an_mcp_client():
    """A result, and an error that is one for the client too."""
    shown = output_of("mcp_client.py")
    assert "Tools: web_search, retrieve, collection_search, read_page" in shown
    assert "URL: https://docs.python.org/" in shown
    assert "retrieve: True Error: There is no collection 'nothing-here'." in shown


@pytest.mark.usefixtures("offline_index")
def test_a_host_with_packages_of_our_names():
    """Both sides' code runs, and our nodes are in its stream."""
    shown = output_of("graphs/newsroom.py", folder=FOLDER / "host_project").splitlines()
    assert shown == [
        "  research > k_generate_strategy",
        "  research > k_parallel_web_search",
        "  research > k_embedding_rank",
        "  research > k_auto_ingest",
        "research",
        "write",
        "What 3 sources say about asyncio.timeout",
    ]


@pytest.mark.usefixtures("offline_index")
def test_a_notebook(capsys: pytest.CaptureFixture[str]):
    """Its cells run one after another, and it is kept without outputs."""
    notebook = json.loads((FOLDER / "notebook.ipynb").read_text("utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells)
    names: dict[str, Any] = {}
    with asyncio.Runner() as runner:
        for cell in cells:
            run_code("".join(cell["source"]), names, runner)
    shown = capsys.readouterr().out
    assert " pages stored" in shown
    assert "[1] asyncio — Coroutines and Tasks: https://docs.python.org/" in shown


@pytest.mark.server
def test_a_remote_graph(tmp_path: Path):
    """Its nodes are streamed, and its result is in the local graph's state."""
    with langgraph_dev(tmp_path, COLLECTION_SEARCH_PROVIDER="offline") as server:
        shown = output_of("remote_graph.py", server.url)
    assert "remote node: k_embedding_rank" in shown
    assert "search_completed" in shown
