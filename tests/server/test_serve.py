"""`collection-search serve` as a process of its own: runs, streams, and an orderly end."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import httpx
import pytest
from support.scripted_world import INPUT
from support.served_app import free_port, wait_until_up
from support.served_runs import API, read_events

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = [sys.executable, "-m", "collection_search", "serve"]
PATIENCE_S = 120


def test_it_serves_runs_until_ctrl_c(tmp_path: Path) -> None:
    """A run's events arrive; an open stream of a waiting run does not hold up the end."""
    port, log = free_port(), tmp_path / "serve.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*COMMAND, "--port", str(port)], stdout=output, stderr=subprocess.STDOUT
        )
    try:
        url = f"http://127.0.0.1:{port}"
        wait_until_up(f"{url}{API}/health", process, log)
        with httpx.Client(base_url=url, trust_env=False, timeout=PATIENCE_S) as client:
            assert client.get("/", follow_redirects=False).headers["location"] == "/app/"
            started = client.post(f"{API}/runs", json={"input": INPUT}).json()
            events = read_events(client.get(f"{API}/runs/{started['run_id']}/events").text)
            assert events[-1].data["status"] == "done"
            review = {"graph": "collection_review", "input": INPUT}
            run_id = client.post(f"{API}/runs", json=review).json()["run_id"]
            with client.stream("GET", f"{API}/runs/{run_id}/events") as stream:
                lines = stream.iter_lines()
                next(line for line in lines if '"status": "waiting"' in line)
                process.send_signal(signal.SIGINT)
                assert not any(line == "event: end" for line in lines)
        assert process.wait(timeout=PATIENCE_S) == 130
    finally:
        process.kill()
        process.wait()
    told = log.read_text()
    assert "Serving http://127.0.0.1:" in told
    assert "Traceback" not in told, told


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--host", "0.0.0.0"], "COLLECTION_SEARCH_SERVER_AUTH=true"),
        (["--port", "{taken}"], "Choose another port"),
    ],
)
def test_it_refuses_to_start(options: list[str], told: str) -> None:
    """Without tokens no other machine may reach it, and a taken port is told."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = str(other.getsockname()[1])
        given = [option.format(taken=taken) for option in options]
        done = subprocess.run(
            [*COMMAND, *given], capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    assert done.returncode == 2
    assert told in " ".join(done.stderr.split())
