"""A real Aegra server on the loopback address, with PostgreSQL and Redis of its own."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from .langgraph_server import ROOT
from .ports import free_port
from .served_app import is_ours, wait_until_up
from .waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PYTHON: Final = "AEGRA_PYTHON"
"""Variable with the Python that has Aegra, which needs 3.12 or newer; `.ci/aegra` sets it."""
REDIS: Final = "redis-server"
STOP_S: Final = 60.0


class AegraServer(NamedTuple):
    url: str
    log: Path


def what_aegra_lacks() -> str:
    """Return what is missing on this machine; empty where Aegra can be started."""
    if not os.environ.get(PYTHON):
        return f"{PYTHON} names no Python with aegra-api: run .ci/aegra"
    return "" if shutil.which(REDIS) else f"needs the program {REDIS}"


@contextmanager
def aegra_server(folder: Path, database_url: str) -> Iterator[AegraServer]:
    """Run Aegra with the project's `langgraph.json`; its own tables are in the same database."""
    write_configuration(folder)
    port, log = free_port(), folder / "aegra.log"
    with redis_server(folder) as redis_url, log.open("wb") as output:
        environment = {
            **{key: value for key, value in os.environ.items() if not is_ours(key)},
            "COLLECTION_SEARCH_HOME": str(folder / "home"),
            "COLLECTION_SEARCH_DATABASE_URL": database_url,
            "DATABASE_URL": database_url,
            "REDIS_BROKER_ENABLED": "true",
            "REDIS_URL": redis_url,
            "LANGSMITH_TRACING": "false",
        }
        options = ["--host", "127.0.0.1", "--port", str(port)]
        process = subprocess.Popen(
            [os.environ[PYTHON], "-m", "uvicorn", "aegra_api.main:app", *options],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until_up(f"{url}/health", process, log)
            yield AegraServer(url, log)
        finally:
            process.terminate()
            process.wait(timeout=STOP_S)


def write_configuration(folder: Path) -> None:
    """Write the project's configuration in Aegra's form: it finds graphs by files alone."""
    configured = json.loads((ROOT / "langgraph.json").read_text("utf-8"))
    names = list(configured["graphs"])
    source = f"from collection_search.graphs.served import {', '.join(names)}\n"
    (folder / "graphs.py").write_text(source, "utf-8")
    graphs = {name: f"./graphs.py:{name}" for name in names}
    text = json.dumps({**configured, "graphs": graphs})
    (folder / "aegra.json").write_text(text, "utf-8")


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """Run Redis without a file, and yield its URL."""
    port = free_port()
    options = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]
    process = subprocess.Popen([REDIS, *options], cwd=folder, stdout=subprocess.DEVNULL)

    def answers() -> bool:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False

    try:
        wait_until(answers)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait(timeout=STOP_S)
