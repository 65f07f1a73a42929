"""A real `collection-search serve` process on the loopback address, without a key."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import httpx
import pytest

from .ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

START_S = 90.0
STOP_S = 90.0
VENDORS = ("OPENAI_", "LANGFUSE_", "LANGSMITH_", "LANGCHAIN_", "SEARXNG_", "COLLECTION_SEARCH_")

_AS_HOST = ("unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"')


class ServedApp(NamedTuple):
    url: str
    log: Path
    process: subprocess.Popen[bytes]


@contextmanager
def served_app(
    folder: Path, *, port: int = 0, host: str = "", **variables: str
) -> Iterator[ServedApp]:
    """Run the command with a data folder of its own and further environment variables.

    With a `host` the process finds this name of its machine; see `can_name_hosts`.
    """
    port = port or free_port()
    environment = {
        **{key: value for key, value in os.environ.items() if not is_ours(key)},
        "COLLECTION_SEARCH_HOME": str(folder / "home"),
        "LANGFUSE_TRACING_ENABLED": "false",
        **variables,
    }
    log = folder / "serve.log"
    command = [sys.executable, "-m", "collection_search", "serve", "--port", str(port)]
    if host:
        command = [*_AS_HOST, host, *command]
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until_up(f"{url}/app/api/health", process, log)
            yield ServedApp(url, log, process)
        finally:
            process.terminate()
            process.wait(timeout=STOP_S)


def can_name_hosts() -> bool:
    """Return whether this user may give a process another host name."""
    try:
        done = subprocess.run([*_AS_HOST, "other", "true"], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def is_ours(name: str) -> bool:
    """Return whether a variable of this machine could reach the server's settings."""
    return name.startswith(VENDORS) or name.upper().endswith(("_API_KEY", "_BASE_URL", "_PROXY"))


def wait_until_up(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Return once the address answers. Fails with the log when the process ends or time is up."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            if httpx.get(address, trust_env=False).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    pytest.fail(log.read_text())
