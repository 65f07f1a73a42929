"""A real `langgraph dev` server on the loopback address, without a key."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from .ports import free_port
from .served_app import wait_until_up

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[2]


class Server(NamedTuple):
    url: str
    log: Path


@contextmanager
def langgraph_dev(
    folder: Path, configuration: Mapping[str, Any] = MappingProxyType({}), **variables: str
) -> Iterator[Server]:
    """Run the server with the project's `langgraph.json` and further configuration and variables."""
    configured = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))
    text = json.dumps(configured | dict(configuration))
    (folder / "langgraph.json").write_text(text, encoding="utf-8")
    port = free_port()
    environment = {
        **{key: value for key, value in os.environ.items() if "API_KEY" not in key},
        "COLLECTION_SEARCH_HOME": str(folder / "home"),
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "1",
        "LANGSMITH_TRACING": "false",
        **variables,
    }
    log = folder / "server.log"
    command = [Path(sys.executable).with_name("langgraph"), "dev", "--no-browser", "--no-reload"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--port", str(port), "--n-jobs-per-worker", "10"],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until_up(f"{url}/ok", process, log)
            yield Server(url, log)
        finally:
            process.terminate()
            process.wait(timeout=90)
