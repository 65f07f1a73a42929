"""`collection-search serve` as a process of its own: runs, streams, and an orderly end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx
import pytest
from support.page_api import PageApi
from support.page_hosts import variables_for
from support.page_world import HELD_PAGES, PageWorld
from support.ports import free_port
from support.scripted_world import INPUT
from support.served_app import served_app, wait_until_up
from support.served_runs import API, read_events
from support.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = [sys.executable, "-m", "collection_search", "serve"]
PATIENCE_S = 120
HERONS = "How do herons catch fish?"
HELD_HERONS = "How do herons with patience catch fish?"


@pytest.mark.usefixtures("offline_index")
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


@pytest.mark.slow
def test_a_killed_server_s_runs_go_on_in_the_next(tmp_path: Path) -> None:
    """One of them in the midst of its search, one at a gate; no page is stored twice."""
    context = {"provider": "searxng"}
    with PageWorld() as world:
        variables = variables_for(world)
        with served_app(tmp_path, **variables) as server, PageApi(server.url) as api:
            waiting = api.run("birds", HERONS, graph="collection_review", context=context)
            world.hold()
            given = {"question": HELD_HERONS, "collection_scope": "birds", "auto_ingest": True}
            begun = api.post("/runs", input=given, context=context)
            world.wait_until_held()
            events_path = f"{API}/runs/{begun['run_id']}/events"
            told = read_until(f"{server.url}{events_path}", '"k_parallel_web_search"')
            server.process.kill()
        world.release()
        with served_app(tmp_path, **variables) as server, PageApi(server.url) as api:
            ended = api.ended(begun["run_id"])
            assert (ended["status"], ended["outcome"]) == ("done", "auto_ingest_triggered")
            text = httpx.get(f"{server.url}{events_path}", trust_env=False).text
            *events, _ = read_events(text)
            assert [one.number for one in events] == list(range(1, len(events) + 1))
            assert text.startswith("\n".join(told))
            gate = api.get(f"/gates/{waiting['gate_id']}")
            urls = [one["url"] for one in gate["candidates"]][:2]
            decision = {"status": "partial", "approved_urls": urls}
            api.post(f"/gates/{gate['gate_id']}/decision", **decision)
            assert api.ended(waiting["run_id"])["status"] == "done"
            ticket = ended["output"]["ingestion"]["ticket"]
            wait_until(lambda: not api.get(f"/tickets/{ticket}")["pending"])
            stored = [one["url"] for one in api.documents("birds")]
            assert len(stored) == len(set(stored))
            assert {urlsplit(one).path for one in stored} >= {page.path for page in HELD_PAGES}


def read_until(url: str, sign: str) -> list[str]:
    """Return the lines of a stream that goes on, up to the one with this sign."""
    lines: list[str] = []
    with httpx.stream("GET", url, trust_env=False, timeout=PATIENCE_S) as stream:
        for line in stream.iter_lines():
            lines.append(line)
            if sign in line:
                break
    return lines


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


@pytest.mark.parametrize("host", ["nosuch.invalid", "192.0.2.7"])
def test_a_host_that_is_elsewhere_is_told(host: str, tmp_path: Path) -> None:
    """Another port would not help."""
    own = {"COLLECTION_SEARCH_HOME": str(tmp_path), "COLLECTION_SEARCH_SERVER_AUTH": "true"}
    done = subprocess.run(
        [*COMMAND, "--host", host],
        env=os.environ | own,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    said = " ".join(done.stderr.split())
    assert done.returncode == 2, said
    assert f"cannot listen on {host}:" in said
    assert "Give --host a name or an address of this machine." in said
    assert "--port" not in said


def test_the_app_that_a_server_loads_relieves_the_collector(tmp_path: Path) -> None:
    """As `langgraph dev` loads it; a host that mounts an app of its own keeps its collector."""
    code = (
        "import asyncio, gc, sys\n"
        "from collection_search.server import app as module\n"
        "app = module.app if sys.argv[1] == 'loaded' else module.create_app()\n"
        "async def serve():\n"
        "    async with app.router.lifespan_context(app):\n"
        "        print(gc.get_freeze_count() > 0)\n"
        "asyncio.run(serve())\n"
    )
    environment = os.environ | {"COLLECTION_SEARCH_HOME": str(tmp_path)}
    told = [
        subprocess.run(
            [sys.executable, "-c", code, how], env=environment, capture_output=True, check=True
        ).stdout.strip()
        for how in ("loaded", "mounted")
    ]
    assert told == [b"True", b"False"]
